"""The commands as people type them: answers, and one line with exit code 2 on bad input."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from engine import VARIANTS
from tests.commands import QUICK, Done, process, refused, run

OPENING = "24:2 13:5 8:3 6:5 / 24:2 13:5 8:3 6:5"


def engine(*words: str) -> Done:
    return run("-m", "engine", *words)


def test_list_names_every_variant() -> None:
    done = engine("list")
    assert done.returncode == 0
    assert all(rules.name in done.stdout for rules in VARIANTS)
    assert "tabard" in done.stdout


@pytest.mark.parametrize("name", [rules.name for rules in VARIANTS])
def test_show_tells_rules_options_and_sources(name: str) -> None:
    done = engine("show", name)
    assert done.returncode == 0, done.stderr
    for part in ("Start:", "House rules", "points", "Sources:"):
        assert part in done.stdout


def test_show_tells_the_rules_as_set() -> None:
    assert "played four times" in engine("show", "irish", "rules.doubles=x4").stdout


def test_legal_lists_results_as_json() -> None:
    listing = json.loads(engine("legal", "backgammon", OPENING, "6-5", "--json").stdout)
    assert listing["count"] == 7
    assert "24:1 13:6 8:3 6:5 / 24:2 13:5 8:3 6:5" in listing["afterstates"]
    assert listing["pending"] == ["roll"] * 7
    assert listing["passed"] == [True] * 7
    assert listing["outcome"] == [None] * 7


def test_legal_says_what_a_finished_game_pays_and_that_nothing_is_pending() -> None:
    listing = json.loads(engine("legal", "backgammon", "1:1 / 12:15", "2-1", "--json").stdout)
    assert listing == {
        "count": 1,
        "afterstates": ["off:15 / 12:15"],
        "pending": [None],
        "passed": [None],
        "outcome": [2],
        "plays": ["1/off"],
    }


def test_the_commands_run_as_programs() -> None:
    assert process("-m", "engine", "list").returncode == 0
    refused(process("train.py", "configs/quick.toml", "run.minuts=1"), "run.minuts", "did you mean 'minutes'?")
    refused(process("evaluate.py", "irsh", "random", "pips"), "did you mean irish?")


def test_every_position_that_legal_prints_it_also_reads() -> None:
    position = "12:1 8:1 7:1 6:1 5:3 4:2 3:2 2:2 1:2 / bar:1 5:14"
    listing = json.loads(engine("legal", "irish", position, "6-2", "--json").stdout)
    for text, pending in zip(listing["afterstates"], listing["pending"], strict=True):
        if pending == "toss":
            opened = engine("legal", "irish", f"{text} | queue:open", "-", "--json")
            assert json.loads(opened.stdout)["count"] == 6
            break
    shown = engine("legal", "irish", position, "6-2").stdout
    again = shown.splitlines()[0].removeprefix("Irish: ")
    assert again.endswith("queue:62")
    assert json.loads(engine("legal", "irish", again, "-", "--json").stdout) == listing


def test_house_rules_and_flags_may_come_in_any_order() -> None:
    done = engine("legal", "irish", OPENING, "--json", "6-6", "rules.doubles=x4")
    assert json.loads(done.stdout)["count"] == 11


def test_dice_are_fair_and_told_by_seat() -> None:
    done = engine("dice", "--rolls", "400000", "--seed", "3")
    assert done.returncode == 0
    assert done.stdout.count("seat") >= 2
    assert done.stdout.strip().endswith("fair")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["legal", "backgammon", "6:16 / 24:2", "6-5"], ["6:16", "15 checkers"]),
        (["legal", "backgammon", "6:15 bar:1 / 24:2", "6-5"], ["16 checkers"]),
        (["legal", "backgammon", "6:2 / 19:2", "6-5"], ["point 6", "their 19"]),
        (["legal", "backgammon", "6:-2 / 24:2", "6-5"], ["6:-2", "not a number"]),
        (["legal", "backgammon", "25:2 / 24:2", "6-5"], ["25:2", "1..24"]),
        (["legal", "backgammon", "6:² / 24:2", "6-5"], ["not a number"]),
        (["legal", "backgammon", OPENING, "²-5"], ["²-5", "1 to 6"]),
        (["legal", "backgammon", OPENING, "6-5", "rules.points=²"], ["rules.points=²", "a whole number"]),
        (["legal", "backgammon", OPENING, "6-5", "rules.points=" + "9" * 5000], ["a whole number"]),
        (["legal", "backgammon", "6:2 6:3 / 24:2", "6-5"], ["6 is named twice"]),
        (["legal", "backgammon", "6:2", "6-5"], ["MINE / THEIRS"]),
        (["legal", "backgammon", OPENING, "7-5"], ["7-5", "1 to 6"]),
        (["legal", "backgammon", OPENING, "65"], ["'65'", "6-1"]),
        (["legal", "backgammon", OPENING, "-"], ["needs a roll"]),
        (["legal", "backgammon", OPENING + " | queue:open", "-"], ["never has this pending"]),
        (["legal", "irish", OPENING + " | queue:toss", "-"], ["waits for dice"]),
        (["legal", "irish", OPENING + " | queue:65", "6-5"], ["the roll must be -"]),
        (["legal", "irish", OPENING + " | laps:1,1", "6-5"], ["laps:1,1", "irish knows"]),
        (["legal", "backgammon", "off:15 / 24:2", "6-5"], ["the game is over"]),
        (["legal", "plakoto", "6:1 5:1 4:2 3:3 1:2 / p20:1 p24:1 9:13", "6-5"], ["is over"]),  # a mother
        (["legal", "bakgammon", OPENING, "6-5"], ["did you mean backgammon?"]),
        (["legal", "irish", OPENING, "6-5", "rules.duobles=x4"], ["did you mean rules.doubles?"]),
        (["legal", "irish", OPENING, "6-5", "doubles=x4"], ["must be rules.KEY=VALUE"]),
        (["legal", "irish", OPENING, "6-5", "rules.doubles=x4", "rules.doubles=x4"], ["set twice"]),
        (["show", "dutch", "rules.checkers=0"], ["checkers=0"]),
        (["shwo"], ["invalid choice"]),
        (["dice", "--rolls", "many"], ["not a whole number"]),
        ([], ["required"]),
    ],
)
def test_bad_input_ends_with_one_line_and_exit_code_2(words: list[str], parts: list[str]) -> None:  # S25
    refused(engine(*words), *parts)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["irish", "random", "pisp"], ["pisp", "did you mean pips?"]),
        (["irish", "random", "td"], ["must be td:PATH"]),
        (["irish", "random", "pips:x"], ["must be pips"]),
        (["irish", "random", "td:nowhere.pt"], ["nowhere.pt", "no such checkpoint"]),
        (["irish", "random", "td:README.md"], ["README.md", "not a readable checkpoint"]),
        (["irish", "random"], ["AGENT"]),
        (["irish", "random", "pips", "--games", "1"], ["below 2"]),
        (["irish", "random", "pips", "rules.x=1"], ["did you mean"]),
        (["irish", "random", "pips", "--json", "no/such/folder.json"], ["there is no folder"]),
        (["irish", "random", "pips", "--json", "."], ["--json", "is a folder"]),
    ],
)
def test_evaluate_refuses_bad_input(words: list[str], parts: list[str]) -> None:
    refused(run("evaluate.py", *words), *parts)


def test_evaluate_writes_its_figures_as_json() -> None:
    done = run("evaluate.py", "hypergammon", "pips", "random", "--games", "200", "--seed", "3", "--json", "-")
    record = json.loads(done.stdout)
    assert record["variant"] == "hypergammon"
    pair = record["pairs"][0]
    assert (pair["a"], pair["b"], pair["games"]) == ("pips", "random", 200)
    assert pair["low"] < pair["ppg"] < pair["high"]
    assert sum(pair["outcomes"].values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("setting", "parts"),
    [
        ("optimizer.learning_rte=0.1", ["optimizer.learning_rte", "unknown key", "did you mean"]),
        ("td.lamda=0.5", ["td.lamda: unknown key; did you mean 'lambda'?"]),
        ("optimzer.rate=1e-4", ["optimzer: unknown key; did you mean 'optimizer'?"]),
        ('optimizer.rate="fast"', ["optimizer.rate", "number", "'fast'"]),
        ("selfplay.batch=2.5", ["selfplay.batch", "integer", "2.5"]),
        ("selfplay.batch=true", ["selfplay.batch", "integer"]),
        ("selfplay.batch=0", ["selfplay.batch", "greater than or equal to 1"]),
        ("td.lambda=[[0.5, 1.0], [0.2, 0.0]]", ["td.lambda", "progress rising"]),
        ("rules.doubels=x4", ["did you mean rules.doubles?"]),
        ("variant=irsh", ["did you mean irish?"]),
        ('evaluate.opponents=["pisp"]', ["did you mean pips?"]),
        ("run.minutes", ["must be KEY=VALUE"]),
        ("seed.x=1", ["seed is a value"]),
    ],
)
def test_train_refuses_a_bad_setting_before_any_work(
    setting: str, parts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(run("train.py", str(QUICK), setting), *parts)
    assert not list(tmp_path.iterdir())


def test_train_refuses_a_missing_or_broken_config(tmp_path: Path) -> None:
    refused(run("train.py", "nowhere.toml"), "nowhere.toml", "no such config")
    (tmp_path / "broken.toml").write_text("variant = irish")
    refused(run("train.py", str(tmp_path / "broken.toml")), "not TOML")
    (tmp_path / "endless.toml").write_text('variant = "irish"')
    refused(run("train.py", str(tmp_path / "endless.toml")), "no budget")
    (tmp_path / "nameless.toml").write_text("[run]\nupdates = 1")
    refused(run("train.py", str(tmp_path / "nameless.toml")), "variant: missing")


def test_train_help_lists_every_key_with_type_and_default() -> None:
    from learning.config import keys

    text = run("train.py", "--help").stdout
    for name, (_, default, line) in keys():
        assert name in text
        assert line in text
        assert default in text


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny finished run."""
    folder = tmp_path_factory.mktemp("training")
    words = [
        "run.minutes=5",
        "run.updates=3",
        "selfplay.batch=50",
        "net.hidden=[8]",
        "evaluate.games=20",
        "run.name=tiny",
    ]
    with contextlib.chdir(folder):
        done = run("train.py", str(QUICK), *words)
    assert done.returncode == 0, done.stderr
    assert "bot v random" in done.stdout
    assert "tensorboard --logdir" in done.stdout
    assert "\r" not in done.stdout + done.stderr
    return folder / "runs" / "tiny"


def test_a_run_leaves_config_metrics_curves_and_a_checkpoint(run_folder: Path) -> None:
    names = {path.name for path in run_folder.iterdir()}
    assert {"config.toml", "run.json", "metrics.jsonl", "checkpoints"} <= names
    assert any(name.startswith("events.out.tfevents") for name in names)
    records = [json.loads(line) for line in (run_folder / "metrics.jsonl").read_text().splitlines()]
    assert any("train/loss" in record for record in records)
    assert {"ppg/random", "ppg/pips"} <= set(records[-1])


def test_the_resolved_config_trains_again(run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("train.py", str(run_folder / "config.toml"))
    assert done.returncode == 0, done.stderr
    again = (tmp_path / "runs" / "tiny" / "config.toml").read_text()
    assert again == (run_folder / "config.toml").read_text()


def test_a_checkpoint_plays_as_an_agent_and_only_under_its_own_rules(run_folder: Path) -> None:
    spec = f"td:{run_folder}"
    assert run("evaluate.py", "irish", spec, "random", "--games", "20").returncode == 0
    refused(run("evaluate.py", "dutch", spec, "random"), "trained for irish, this game is dutch")
    refused(run("evaluate.py", "irish", spec, "random", "rules.doubles=x4"), "this game is irish rules.doubles=x4")


def test_a_file_that_would_run_code_is_refused(tmp_path: Path) -> None:
    import pickle

    class Malicious:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return print, ("code was run",)

    (tmp_path / "bad.pt").write_bytes(pickle.dumps(Malicious()))
    done = process("evaluate.py", "irish", f"td:{tmp_path / 'bad.pt'}", "random")
    refused(done, "bad.pt: not a readable checkpoint: it holds more than tensors and plain values")
    assert "code was run" not in done.stdout + done.stderr
