"""Exported policies: they play as the checkpoint does, without torch, and tell what they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from agents.encoding import encoding_of
from agents.policy import load_policy, product, read_policy, sum_rows
from agents.policy_card import FORMAT
from agents.policy_file import SUFFIXES
from agents.registry import make_agent
from agents.value import ValueAgent
from engine import BatchGame, Ruleset, find_ruleset
from engine.describe import sentences
from learning.selfplay import collect
from tests.commands import process, refused, run
from tests.policies import BACKGAMMON, IRISH, checkpoint, edited

# -- it plays as the checkpoint does -----------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(("rules", "hidden"), [(IRISH, [24]), (BACKGAMMON, [32, 16, 8])], ids=["irish", "backgammon"])
def test_a_policy_values_and_chooses_as_its_checkpoint(
    rules: Ruleset, hidden: list[int], suffix: str, tmp_path: Path
) -> None:
    source, net = checkpoint(tmp_path, rules, hidden)
    file = tmp_path / f"policy{suffix}"
    assert run("export.py", str(source), str(file)).returncode == 0
    policy = load_policy(file, rules)
    agents = ValueAgent(net, rules, "net"), ValueAgent(policy, rules, "policy")
    chance = make_agent("random", rules)
    game = BatchGame(rules, 100, seed=9)
    masked = 0
    for _ in range(100):
        after = game.afterstates()
        asked = np.flatnonzero(after.outcome < 0)
        boards, pending = after.boards[asked], after.pending[asked]
        expected, values = net.values(boards, pending), policy.values(boards, pending)
        assert np.abs(expected - values).max() < 1e-5
        is_possible = rules.scoring.possible(boards, rules)
        assert np.array_equal(values == 0, ~is_possible)
        masked += int((~is_possible).sum())
        choices = [agent.choose(after, game.noise) for agent in agents]
        assert np.array_equal(choices[0], choices[1])
        game.step(after, chance.choose(after, game.noise))
        game.restart(np.flatnonzero(game.is_over))
    assert masked > 0 or rules.payoffs.size == 2


def test_the_values_of_a_policy_are_the_same_in_any_batch(exported: dict[str, Path]) -> None:
    policy = load_policy(exported[".npz"], IRISH)
    trajectory = collect(BatchGame(IRISH, 30, seed=2), make_agent("random", IRISH), 50)
    boards, pending = trajectory.boards.reshape(-1, 2, 32), trajectory.pending.reshape(-1)
    together = policy.values(boards, pending)
    assert together.dtype == np.float32
    assert together.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert policy.values(boards[:0], pending[:0]).shape == (0, 2)
    for part in (slice(0, 1), slice(7, 14), slice(900, 1412)):  # 1, 7 and 512 positions: S63
        assert policy.values(boards[part], pending[part]) == pytest.approx(together[part], abs=1e-6)


def test_rows_of_a_table_are_summed_and_signals_multiplied_as_numpy_does() -> None:
    generator = np.random.default_rng(3)
    trajectory = collect(BatchGame(BACKGAMMON, 20, seed=2), make_agent("random", BACKGAMMON), 9)
    rows, starts = encoding_of(BACKGAMMON).active(trajectory.boards.reshape(-1, 2, 32), trajectory.pending.reshape(-1))
    table = generator.normal(size=(int(rows.max()) + 1, 7)).astype(np.float32)
    assert sum_rows(table, rows, starts) == pytest.approx(np.add.reduceat(table[rows], starts, axis=0), abs=1e-5)
    for size in (1, 16, 33):
        signal = generator.normal(size=(size, 7)).astype(np.float32)
        assert product(signal, table[:7]) == pytest.approx(signal @ table[:7], abs=1e-5)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_exported_policy_plays_without_torch(exported: dict[str, Path], suffix: str) -> None:
    words = ["evaluate.py", "irish", f"policy:{exported[suffix]}", "random", "--games", "20", "--json", "-"]
    code = (
        f"import sys, runpy; sys.argv = {words}\n"
        "try: runpy.run_path('evaluate.py', run_name='__main__')\n"
        "except SystemExit as end: print(end.code)\n"
        "print(sorted({'torch', 'tensorboard', 'matplotlib', 'pydantic', 'safetensors'} & set(sys.modules)))"
    )
    record, status, modules = process("-c", code).stdout.splitlines()
    assert json.loads(record)["pairs"][0]["a"] == f"policy:{exported[suffix]}"
    assert status == "0"
    assert modules == ("[]" if suffix == ".npz" else "['safetensors']")


def test_a_card_is_printed_without_torch(exported: dict[str, Path]) -> None:
    code = (
        f"import sys, export; sys.argv = ['export.py', {str(exported['.npz'])!r}]; export.main()\n"
        "print('torch' in sys.modules)"
    )
    assert process("-c", code).stdout.splitlines()[-1] == "False"


# -- the card ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_card_tells_the_rules_the_net_the_run_and_the_figures(suffix: str, tmp_path: Path) -> None:
    rules = find_ruleset("irish", {"doubles": "x4"})
    source, _ = checkpoint(tmp_path, rules, [8])
    contents = torch.load(source, weights_only=True)
    contents["figures"] = {"pips": {"ppg": 0.5, "games": 2000}}
    torch.save(contents, source)
    file = tmp_path / f"policy{suffix}"
    done = run("export.py", str(source), str(file))
    assert done.returncode == 0, done.stderr
    assert f"{file.stat().st_size:,} bytes" in done.stdout
    assert f"evaluate.py irish policy:{file} pips rules.doubles=x4" in done.stdout
    card = json.loads(run("export.py", str(file), "--json").stdout)
    assert card == {
        "format": FORMAT,
        "variant": "irish",
        "rules": {"doubles": "x4"},
        "in_force": sentences(rules),
        "encoding": 1,
        "outcomes": [1, -1],
        "hidden": [8],
        "weights": card["weights"],
        "config": contents["config"],
        "counters": contents["counters"],
        "figures": {"pips": {"ppg": 0.5, "games": 2000}},
    }
    assert load_policy(file, rules).card == card
    shown = run("export.py", str(file)).stdout
    for part in ("irish", "doubles", "x4", "optimizer.rate", "pips.ppg", "updates", *sentences(rules)[1].split()):
        assert part in shown


def test_a_checkpoint_without_figures_gives_an_empty_table(exported: dict[str, Path]) -> None:
    assert read_policy(exported[".npz"]).card["figures"] == {}
    assert "figures: none" in run("export.py", str(exported[".npz"])).stdout


def test_figures_in_a_list_are_numbered(exported: dict[str, Path], tmp_path: Path) -> None:
    file = edited(exported[".npz"], tmp_path / "x.npz", lambda card, _: card.update(figures=[{"ppg": 1.5}, {"ppg": 2}]))
    shown = run("export.py", str(file)).stdout
    assert [line.split() for line in shown.splitlines()[-2:]] == [["1.ppg", "1.5"], ["2.ppg", "2"]]


def test_a_card_cannot_steer_the_terminal(exported: dict[str, Path], tmp_path: Path) -> None:
    file = edited(
        exported[".npz"], tmp_path / "x.npz", lambda card, _: card.update(in_force=["\x1b[2J"], note="\x1b]0;x")
    )
    shown = run("export.py", str(file))
    assert shown.returncode == 0
    assert "\x1b" not in shown.stdout


# -- writing -------------------------------------------------------------------------------------------------


def test_the_usual_net_takes_less_than_a_megabyte_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    source, _ = checkpoint(tmp_path, BACKGAMMON, [128, 128])
    for suffix in SUFFIXES:
        files = [tmp_path / f"{name}{suffix}" for name in "ab"]
        for file in files:
            run("export.py", str(source), str(file))
        assert files[0].stat().st_size < 1_000_000
        assert files[0].read_bytes() == files[1].read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {
        "a.npz",
        "b.npz",
        "a.safetensors",
        "b.safetensors",
        "checkpoints",
    }


def test_numpy_reads_an_npz_policy_without_this_program(exported: dict[str, Path]) -> None:
    with np.load(exported[".npz"], allow_pickle=False) as contents:
        assert json.loads(contents["card"].tobytes())["variant"] == "irish"
        assert contents["layers.1.weight"].shape == (2, 8)


def test_a_run_folder_is_exported_by_its_last_checkpoint(
    source: Path, exported: dict[str, Path], tmp_path: Path
) -> None:
    assert run("export.py", str(source.parent.parent), str(tmp_path / "x.npz")).returncode == 0
    assert (tmp_path / "x.npz").read_bytes() == exported[".npz"].read_bytes()


def test_export_overwrites_only_where_it_is_told_to(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.npz"
    out.write_text("mine")
    refused(run("export.py", str(source), str(out)), "exists already; --force overwrites it")
    assert out.read_text() == "mine"
    assert run("export.py", str(source), str(out), "--force").returncode == 0
    assert read_policy(out).rules == IRISH
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]


def test_export_refuses_to_overwrite_its_input(source: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.npz"
    copy.write_bytes(source.read_bytes())
    (tmp_path / "link.npz").hardlink_to(copy)
    for out in (copy, tmp_path / "link.npz"):
        refused(run("export.py", str(copy), str(out), "--force"), "would overwrite the checkpoint itself")
    assert copy.read_bytes() == source.read_bytes()


def test_export_refuses_bad_input(source: Path, exported: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "folder.npz").mkdir()
    refused(run("export.py"), "FILE")
    refused(run("export.py", str(source)), "give OUT too")
    refused(run("export.py", str(source), str(tmp_path / "x.pt")), "must end with .npz or .safetensors")
    refused(run("export.py", str(source), str(tmp_path / "x")), "must end with .npz or .safetensors")
    refused(run("export.py", str(source), "no/such/x.npz"), "there is no folder no/such")
    refused(run("export.py", str(source), str(tmp_path / "folder.npz"), "--force"), "is a folder")
    refused(run("export.py", str(source), str(tmp_path / f"{'x' * 300}.npz")), "cannot be written")
    refused(run("export.py", "nowhere.pt", str(tmp_path / "x.npz")), "nowhere.pt: no such checkpoint")
    refused(run("export.py", str(exported[".npz"]), str(tmp_path / "x.npz")), "not a readable checkpoint")
    refused(run("export.py", str(source), str(tmp_path / "x.npz"), "--json"), "--json")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.npz"]


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("config", {"x": torch.zeros(2)}, "plain values"),
        ("config", {"x": float("nan")}, "plain values"),
        ("counters", 3, "'counters'"),
        ("figures", "good", "'figures'"),
    ],
)
def test_a_checkpoint_with_strange_contents_is_not_exported(
    name: str, value: object, part: str, source: Path, tmp_path: Path
) -> None:
    contents = torch.load(source, weights_only=True)
    contents[name] = value
    torch.save(contents, tmp_path / "strange.pt")
    refused(run("export.py", str(tmp_path / "strange.pt"), str(tmp_path / "x.npz")), part)
    assert not (tmp_path / "x.npz").exists()


def test_a_net_that_has_diverged_is_not_exported(source: Path, tmp_path: Path) -> None:
    contents = torch.load(source, weights_only=True)
    contents["weights"]["bias"][3] = float("nan")
    torch.save(contents, tmp_path / "diverged.pt")
    refused(run("export.py", str(tmp_path / "diverged.pt"), str(tmp_path / "x.npz")), "'bias'", "not finite")
