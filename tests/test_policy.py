"""Exported policies: they play as the checkpoint does, without torch, and nothing else is taken for one."""

from __future__ import annotations

import io
import json
import pickle
import random
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from agents.base import difference
from agents.encoding import encoding_of
from agents.network import ValueNet
from agents.policy import Policy, load_policy, product, read_policy, sum_rows
from agents.policy_card import FORMAT
from agents.policy_file import LARGEST, SUFFIXES, Arrays, PolicyError, read_file, write_file
from agents.registry import make_agent
from agents.value import ValueAgent
from engine import BatchGame, Ruleset, find_ruleset
from engine.describe import sentences
from learning.checkpoint import contents_of, write
from learning.config import Config, Net, Run
from learning.learner import Learner
from learning.selfplay import collect
from tests.commands import process, refused, run

IRISH = find_ruleset("irish")
BACKGAMMON = find_ruleset("backgammon")
Edit = Callable[[dict[str, Any], dict[str, Any]], object]  # of a card and of arrays


def checkpoint(folder: Path, rules: Ruleset, hidden: list[int]) -> tuple[Path, ValueNet]:
    """The checkpoint of a run that has not begun, with every weight in use, and its net."""
    config = Config(variant=rules.name, rules=dict(rules.house), seed=5, run=Run(updates=1), net=Net(hidden=hidden))
    learner = Learner(rules, config)
    with torch.no_grad():
        for number, weight in enumerate(learner.net.parameters()):
            weight.mul_(2).add_(0.01 * (number + 1))
    path = folder / "checkpoints" / "last.pt"
    write(contents_of(learner, {}), path)
    return path, learner.net


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of Irish."""
    return checkpoint(tmp_path_factory.mktemp("source"), IRISH, [8, 8])[0]


@pytest.fixture(scope="module")
def exported(source: Path) -> dict[str, Path]:
    """It as a policy, by suffix."""
    files = {suffix: source.with_name(f"policy{suffix}") for suffix in SUFFIXES}
    for file in files.values():
        assert run("export.py", str(source), str(file)).returncode == 0
    return files


def edited(file: Path, to: Path, edit: Edit) -> Path:
    """A copy of a policy file with its card or its arrays changed, of the same format."""
    text, arrays = read_file(file)
    card = json.loads(text)
    changed: dict[str, Any] = dict(arrays)
    edit(card, changed)
    if to.suffix == ".npz":
        np.savez(to, card=np.frombuffer(json.dumps(card).encode(), np.uint8), **changed)
    else:
        from safetensors.numpy import save_file

        save_file(changed, to, {"card": json.dumps(card)})
    return to


def neither_plays_nor_shows(file: Path, *parts: str) -> None:
    """Both commands refuse it, in one line."""
    refused(run("evaluate.py", "irish", "random", f"policy:{file}"), str(file), *parts)
    refused(run("export.py", str(file)), str(file), *parts)


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


# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("edit", "parts"),
    [
        (lambda card, arrays: card.update(format="tabula-rasa policy 2"), ["policy 2", "this program reads"]),
        (lambda card, arrays: card.clear(), ["format None"]),
        (lambda card, arrays: card.update(encoding=2), ["encoding 2, this program reads 1"]),
        (lambda card, arrays: card.pop("encoding"), ["encoding None"]),
        (lambda card, arrays: card.pop("hidden"), ["damaged card", "'hidden'"]),
        (lambda card, arrays: card.update(hidden=[]), ["damaged card", "'hidden'"]),
        (lambda card, arrays: card.update(hidden=[8, -8]), ["damaged card", "'hidden'"]),
        (lambda card, arrays: card.update(hidden=[8] * 100), ["damaged card", "'hidden'"]),
        (lambda card, arrays: card.update(hidden=[10**9, 10**9]), ["damaged card", "'hidden'"]),
        (lambda card, arrays: card.update(variant=["irish"]), ["damaged card", "'variant'"]),
        (lambda card, arrays: card.update(config=nested(100)), ["nested more than"]),
        (lambda card, arrays: card.update(variant="irsh"), ["rules are not known here", "did you mean irish?"]),
        (lambda card, arrays: card.update(rules={"duobles": "x4"}), ["rules are not known here", "rules.doubles"]),
        (lambda card, arrays: card.update(rules={"points": "²"}), ["rules are not known here"]),
        (lambda card, arrays: card.update(outcomes=[2, -2]), ["outcomes are [2, -2]", "[1.0, -1.0]"]),
        (lambda card, arrays: card.update(hidden=[8, 9]), ["'layers.0.weight'", "(8, 8)", "(9, 8)"]),
        (lambda card, arrays: arrays.pop("bias"), ["'bias' is missing"]),
        (lambda card, arrays: arrays.clear(), ["is missing"]),
        (lambda card, arrays: arrays.update(extra=arrays["bias"]), ["'extra' belongs to no policy"]),
        (lambda card, arrays: arrays.update(bias=arrays["bias"][:7]), ["'bias'", "(7,)", "(8,)"]),
        (lambda card, arrays: arrays.update(bias=arrays["bias"].astype(np.float64)), ["'bias'", "type", "4'"]),
        (lambda card, arrays: arrays.update(bias=arrays["bias"].astype(np.int32)), ["'bias'", "type"]),
        (lambda card, arrays: arrays.update(bias=arrays["bias"] * np.nan), ["'bias'", "not finite"]),
        (lambda card, arrays: arrays.update(bias=arrays["bias"] / np.float32(0)), ["'bias'", "not finite"]),
        (lambda card, arrays: arrays.update(bias=arrays["bias"] * np.float32(1.01)), ["damaged", "weights"]),
        (lambda card, arrays: arrays.update(bias=arrays["bias"] * 0 + np.float32(3e38)), ["could overflow"]),
        (lambda card, arrays: arrays.update({n: a * np.float32(1e15) for n, a in arrays.items()}), ["could overflow"]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*divide.*:RuntimeWarning", "ignore:.*invalid.*:RuntimeWarning")
def test_a_policy_with_another_card_or_other_arrays_is_refused(
    suffix: str, edit: Edit, parts: list[str], exported: dict[str, Path], tmp_path: Path
) -> None:
    neither_plays_nor_shows(edited(exported[suffix], tmp_path / f"x{suffix}", edit), *parts)


def nested(depth: int) -> dict[str, Any]:
    """A table in a table in a table."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"x": value}
    return value


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_policy_plays_only_under_its_own_rules(suffix: str, exported: dict[str, Path]) -> None:
    spec = f"policy:{exported[suffix]}"
    assert run("evaluate.py", "irish", spec, "random", "--games", "4").returncode == 0
    refused(run("evaluate.py", "dutch", spec, "random"), str(exported[suffix]), "trained for irish, this game is dutch")
    refused(
        run("evaluate.py", "irish", spec, "random", "rules.higher_die=false", "rules.doubles=x4"),
        "this game is irish rules.doubles=x4 rules.higher_die=false (rules.doubles is each_once there, x4 here)",
    )


def test_house_rules_that_change_nothing_are_no_difference() -> None:
    assert difference(IRISH, find_ruleset("irish", {"doubles": "each_once"})) is None
    reason = difference(IRISH, find_ruleset("irish", {"must_play": "none"}))
    assert reason is not None
    assert reason.endswith("(rules.must_play is max_numbers there, none here)")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_no_policy_is_refused(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"x{suffix}"
    neither_plays_nor_shows(file, "no such policy")
    file.mkdir()
    neither_plays_nor_shows(file, "not a file")
    file.rmdir()
    for content in (
        b"",
        b"\0" * 100,
        b"PK\5\6" + b"\0" * 18,
        b"\x08\0\0\0\0\0\0\0[1, 2] 3",
        Path(__file__).read_bytes(),
    ):
        file.write_bytes(content)
        neither_plays_nor_shows(file)
    with file.open("wb") as sparse:
        sparse.truncate(LARGEST + 1)
    neither_plays_nor_shows(file, "larger than")


def test_another_suffix_is_refused(exported: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "policy.zip"
    file.write_bytes(exported[".npz"].read_bytes())
    refused(run("evaluate.py", "irish", "random", f"policy:{file}"), "must end with .npz or .safetensors")
    refused(run("evaluate.py", "irish", "random", "policy"), "must be policy:PATH")
    for own, other in (SUFFIXES, SUFFIXES[::-1]):
        file = tmp_path / f"x{other}"
        file.write_bytes(exported[own].read_bytes())
        neither_plays_nor_shows(file, f"not a readable {other} file")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_arrays_of_another_program_are_refused(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"x{suffix}"
    if suffix == ".npz":
        np.savez(file, weights=np.zeros((3, 3)))
    else:
        from safetensors.numpy import save_file

        save_file({"weights": np.zeros((3, 3))}, file)
    neither_plays_nor_shows(file, "not a policy of this program: it has no card")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_truncated_file_never_plays(suffix: str, exported: dict[str, Path], tmp_path: Path) -> None:
    content = exported[suffix].read_bytes()
    file = tmp_path / f"x{suffix}"
    for part in range(20):
        file.write_bytes(content[: len(content) * part // 20])
        neither_plays_nor_shows(file, "truncated")
    file.write_bytes(content[:-1])
    neither_plays_nor_shows(file, "truncated")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_damaged_file_is_refused_or_a_policy_but_nothing_else(
    suffix: str, exported: dict[str, Path], tmp_path: Path
) -> None:
    """Bytes changed at random: whatever a library makes of them, a caller sees a PolicyError."""
    content = exported[suffix].read_bytes()
    file = tmp_path / f"x{suffix}"
    dice = random.Random(8)
    for _ in range(600):
        damaged = bytearray(content)
        for _ in range(dice.choice((1, 1, 3, 30))):
            begin = 0 if dice.random() < 0.5 else max(len(damaged) - 1200, 0)
            damaged[begin + dice.randrange(min(1200, len(damaged)))] = dice.randrange(256)
        file.write_bytes(damaged)
        with suppress(PolicyError):
            assert isinstance(read_policy(file), Policy)


# -- malice --------------------------------------------------------------------------------------------------


class Malicious:
    """Runs code where it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("code was run",)


def with_member(file: Path, to: Path, name: str, member: bytes, compression: int = zipfile.ZIP_STORED) -> Path:
    """A copy of an .npz file with one more member, or another instead."""
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(to, "w", compression) as new:
        for entry in old.namelist():
            if entry != name:
                new.writestr(entry, old.read(entry))
        new.writestr(name, member)
    return to


def npy(header: str, content: bytes = b"") -> bytes:
    """A file that claims to be an array."""
    line = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(line)) + line.encode() + content


@pytest.mark.parametrize("name", ["bias", "card", "extra"])
def test_a_pickle_in_an_npz_is_refused_and_not_run(name: str, exported: dict[str, Path], tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Malicious()], object), allow_pickle=True)
    for number, member in enumerate((buffer.getvalue(), pickle.dumps(Malicious()))):
        file = with_member(exported[".npz"], tmp_path / f"{number}.npz", f"{name}.npy", member)
        for words in (["evaluate.py", "irish", f"policy:{file}", "random"], ["export.py", str(file)]):
            done = run(*words)
            refused(done, str(file), name)
            assert "code was run" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "member",
    [
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }"),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 99999999999999), }", b"\0" * 32),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }", b"\0" * 32),
        npy("{'descr': '<f4', 'fortran_order': True, 'shape': (8,), }", b"\0" * 32),
        npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (8,), }", b"\0" * 32),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-8,), }", b"\0" * 32),
        npy("(" * 100),
        npy("")[:9],
        b"",
    ],
)
def test_an_array_that_is_not_what_its_header_says_is_refused(
    member: bytes, exported: dict[str, Path], tmp_path: Path
) -> None:
    neither_plays_nor_shows(with_member(exported[".npz"], tmp_path / "x.npz", "bias.npy", member), "'bias'")


def test_what_is_compressed_is_refused_before_it_is_inflated(exported: dict[str, Path], tmp_path: Path) -> None:
    bomb = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (25000000,), }", b"\0" * 100_000_000)
    file = with_member(exported[".npz"], tmp_path / "x.npz", "bias.npy", bomb, zipfile.ZIP_DEFLATED)
    assert file.stat().st_size < LARGEST
    neither_plays_nor_shows(file, "compressed")


def test_a_safetensors_file_with_an_absurd_header_is_refused(exported: dict[str, Path], tmp_path: Path) -> None:
    content = exported[".safetensors"].read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    file = tmp_path / "x.safetensors"
    file.write_bytes(struct.pack("<Q", 1 << 40) + content[8:])
    neither_plays_nor_shows(file, "not a readable .safetensors file")
    for shape, offsets in (([10**12], [0, 4 * 10**12]), ([10**30], [0, 32]), ([8], [0, 64]), ([8], [-32, 0])):
        header["bias"] = {"dtype": "F32", "shape": shape, "data_offsets": offsets}
        text = json.dumps(header).encode()
        file.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])
        neither_plays_nor_shows(file, "not a readable .safetensors file")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_card_that_is_no_card_is_refused(suffix: str, exported: dict[str, Path], tmp_path: Path) -> None:
    _, arrays = read_file(exported[suffix])
    file = tmp_path / f"x{suffix}"
    for text in ("", "{", "3", "[" * 100_000, '{"format": ' + "9" * 5000 + "}"):
        write_file(file, text, arrays)
        neither_plays_nor_shows(file)
    with pytest.raises(PolicyError, match="at most"):
        write_file(file, "x" * (1 << 21), arrays)
    large: Arrays = {"weights": np.zeros(LARGEST, np.float32)}
    with pytest.raises(PolicyError, match="at most"):
        write_file(file, "{}", large)


def test_an_array_named_twice_is_refused(exported: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    file.write_bytes(exported[".npz"].read_bytes())
    zeros: npt.NDArray[np.float32] = np.zeros(8, np.float32)
    buffer = io.BytesIO()
    np.save(buffer, zeros)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(file, "a") as archive:
        archive.writestr("bias.npy", buffer.getvalue())
    neither_plays_nor_shows(file, "two arrays of one name")
