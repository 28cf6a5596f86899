"""Runs: folders, locks, exact resume, signals, and what is written for people to watch."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from filelock import FileLock
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from agents.network import ValueNet, load_network, read_checkpoint
from agents.registry import make_agent
from agents.value import ValueAgent
from arena.duel import duel, improved
from engine import BatchGame, find_ruleset
from learning.config import load_config
from learning.growth import fill
from learning.learner import Learner
from learning.runs import RunFolder
from tests.commands import ROOT, Done, process, refused, run

HYPER = find_ruleset("hypergammon")
TINY = """
variant = "hypergammon"
seed = 3
[net]
hidden = [8]
[selfplay]
batch = 20
plies = 4
[optimizer]
minibatch = 40
[run]
save_minutes = 1000.0
[evaluate]
opponents = ["random"]
games = 20
times = 1
"""


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has its own runs/, and the config tiny.toml beside it."""
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TINY)


def trained(*words: str) -> subprocess.CompletedProcess[str]:
    """A training in processes of its own, here."""
    command = [sys.executable, str(ROOT / "train.py"), "tiny.toml", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


class Killed(Exception):
    """Stands for kill -9 in this process: nothing is saved after it."""


def interrupted(monkeypatch: pytest.MonkeyPatch, at_update: int, *words: str) -> None:
    """A training that dies at an update."""
    original = Learner.update

    def update(self: Learner, *arguments: Any) -> float:
        if self.counters.updates == at_update:
            raise Killed
        return original(self, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Learner, "update", update)
        with pytest.raises(Killed):
            run("train.py", "tiny.toml", *words)


def metrics(folder: str) -> list[dict[str, float]]:
    """The lines of metrics.jsonl without seconds and rates."""
    lines = [json.loads(line) for line in Path("runs", folder, "metrics.jsonl").read_text().splitlines()]
    return [{tag: value for tag, value in line.items() if not tag.startswith("speed/")} for line in lines]


def same(one: Any, other: Any) -> bool:
    """Are two checkpoints bit-identical, seconds excepted?"""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one if k not in ("seconds", "config"))
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("budget", ["run.updates=200", "run.games=300", "run.plies=12000"])
def test_a_killed_and_resumed_run_is_bit_identical_to_one_never_stopped(
    budget: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # S47
    settings = [budget, "run.save_updates=50"]
    assert run("train.py", "tiny.toml", *settings, "run.name=whole").returncode == 0
    interrupted(monkeypatch, 73, *settings, "run.name=killed")
    assert read_checkpoint("runs/killed")["counters"]["updates"] == 50
    assert run("train.py", "--resume", "runs/killed").returncode == 0
    whole, killed = read_checkpoint("runs/whole"), read_checkpoint("runs/killed")
    assert same(whole["games"], killed["games"])  # dice
    assert same(whole["optimizer"], killed["optimizer"])
    assert same(whole["weights"], killed["weights"])
    assert metrics("whole") == metrics("killed")


def test_a_resumed_run_counts_on_and_its_schedule_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:  # S48
    interrupted(monkeypatch, 30, "run.updates=60", "run.save_updates=20")
    assert run("train.py", "--resume", "runs/tiny").returncode == 0
    records = [line for line in metrics("tiny") if "train/loss" in line]
    assert [line["updates"] for line in records] == [10, 20, 30, 40, 50, 60]
    rates = [line["train/rate"] for line in records]
    assert rates == sorted(rates, reverse=True)


def test_a_used_up_budget_ends_with_a_message_and_a_larger_one_extends_the_run() -> None:  # S48
    run("train.py", "tiny.toml", "run.updates=10")
    done = run("train.py", "--resume", "runs/tiny")
    assert done.returncode == 0
    assert "has used up its budget" in done.stdout
    done = run("train.py", "--resume", "runs/tiny", "run.updates=20")
    assert done.returncode == 0
    assert "schedules now stretch" in done.stdout
    assert read_checkpoint("runs/tiny")["counters"]["updates"] == 20
    assert "updates = 20" in Path("runs/tiny/config.toml").read_text()


def test_resume_refuses_what_is_no_run_or_would_be_another_one() -> None:  # S49
    run("train.py", "tiny.toml", "run.updates=2")
    refused(run("train.py", "--resume", "runs/none"), "no run there")
    refused(run("train.py", "--resume", "runs/tiny/checkpoints/last.pt"), "holds checkpoints/last.pt")
    refused(run("train.py", "--resume", "runs/tiny", "net.hidden=[9]"), "net cannot change", "train.init=")
    refused(run("train.py", "--resume", "runs/tiny", "tiny.toml"), "either a config or --resume")
    os.replace("runs/tiny/checkpoints/100.pt", "runs/tiny/checkpoints/last.pt")
    refused(run("train.py", "--resume", "runs/tiny"), "holds weights only")
    Path("runs/tiny/checkpoints/last.pt").write_bytes(b"PK\x03\x04 half a file")
    refused(run("train.py", "--resume", "runs/tiny"), "last.pt: not a readable checkpoint")


def test_a_second_run_has_a_folder_of_its_own_and_says_so() -> None:
    run("train.py", "tiny.toml", "run.updates=1")
    done = run("train.py", "tiny.toml", "run.updates=1")
    assert "runs/tiny exists; this run is runs/tiny-2" in done.stdout
    assert Path("runs/tiny-2/checkpoints/last.pt").exists()


def test_a_lock_refuses_a_second_process() -> None:
    run("train.py", "tiny.toml", "run.updates=1")
    with FileLock("runs/tiny/lock"):
        refused(process(str(ROOT / "train.py"), "--resume", str(Path("runs/tiny").resolve())), "another process")


def test_a_run_tells_command_versions_seed_and_machine() -> None:
    run("train.py", "tiny.toml", "run.updates=1")
    facts = json.loads(Path("runs/tiny/run.json").read_text())
    assert facts["command"][1:] == ["tiny.toml", "run.updates=1"]
    assert facts["seed"] == 3
    assert {"python", "torch", "numpy"} <= set(facts["versions"])
    assert facts["machine"]["cores"] >= 1


def test_every_5_percent_leaves_a_snapshot_and_every_file_loads_as_weights_only() -> None:  # S51
    run("train.py", "tiny.toml", "run.updates=40")
    files = sorted(Path("runs/tiny/checkpoints").glob("*.pt"))
    assert [f.stem for f in files] == [f"{p:03}" for p in range(5, 101, 5)] + ["best", "last"]
    for file in files:
        assert torch.load(file, weights_only=True)["variant"] == "hypergammon"
    assert "optimizer" not in read_checkpoint(files[0])


def test_the_saved_best_reaches_the_logged_figure_again() -> None:  # S69
    told = run("train.py", "tiny.toml", "run.updates=60", "evaluate.times=3", "evaluate.games=200").stdout
    assert re.search("greedy bot v random: .* of 200 games", told)
    figures = read_checkpoint("runs/tiny/checkpoints/best.pt")["figures"]["random"]
    agent = make_agent("td:runs/tiny/checkpoints/best.pt", HYPER)
    again = duel(HYPER, agent, make_agent("random", HYPER), 200, seed=3)
    assert again.ppg == figures["ppg"]
    assert figures["games"] == 200
    logged = [line["ppg/random"] for line in metrics("tiny") if "ppg/random" in line]
    assert len(logged) == 3
    assert again.ppg in logged
    low, high = again.interval()
    assert (figures["low"], figures["high"]) == (low, high)


@pytest.mark.parametrize("is_kept", [True, False], ids=["a lucky pair", "every tenth pair"])
def test_best_is_replaced_only_by_what_is_better_for_certain(is_kept: bool, tmp_path: Path) -> None:
    """Of two nets, the second evaluated last: a lucky point more is not enough, an interval above 0 is."""
    generator = np.random.default_rng(4)
    before = {"random": generator.choice([-1.0, 0.0, 1.0], size=500)}
    lucky = {"random": before["random"] + np.where(np.arange(500) == 7, 1.0, 0.0)}  # one pair better
    better = {"random": before["random"] + np.where(np.arange(500) % 10 == 7, 1.0, 0.0)}  # every tenth
    folder = RunFolder(tmp_path)
    learner = Learner(HYPER, load_config(Path("tiny.toml"), ["run.updates=1"]))
    folder.note(learner, {"random": {"ppg": 0.0}}, before, improved(before, folder.best_points, 0))
    now = lucky if is_kept else better
    folder.note(learner, {"random": {"ppg": 1.0}}, now, improved(now, folder.best_points, 0))
    kept = read_checkpoint(tmp_path / "checkpoints" / "best.pt")["figures"]["random"]["ppg"]
    assert kept == (0.0 if is_kept else 1.0)
    assert folder.figures == {"random": {"ppg": 1.0}}


def test_evaluations_of_other_lengths_and_opponents_are_compared_in_what_they_share() -> None:
    pairs = (np.arange(100) % 3).astype(np.float64)
    assert improved({"random": pairs}, {}, 0)
    assert improved({"random": pairs}, {"pips": pairs}, 0)
    assert improved({"random": pairs + 1, "pips": pairs}, {"random": pairs[:50]}, 0)
    assert not improved({"random": pairs, "pips": pairs + 1}, {"random": pairs[:50]}, 0)


def test_a_resumed_run_still_knows_how_good_its_best_was(monkeypatch: pytest.MonkeyPatch) -> None:
    run("train.py", "tiny.toml", "run.updates=20", "evaluate.games=100")
    first = Path("runs/tiny/checkpoints/best.pt").read_bytes()
    seen: list[set[str]] = []

    def never(now: Any, before: Any, seed: int) -> bool:
        seen.append({f"{spec} {pairs.size}" for spec, pairs in before.items()})
        return False

    monkeypatch.setattr("train.improved", never)
    assert run("train.py", "--resume", "runs/tiny", "run.updates=40").returncode == 0
    assert seen == [{"random 50"}]
    assert Path("runs/tiny/checkpoints/best.pt").read_bytes() == first


def test_two_runs_with_one_seed_are_equal_and_no_global_dice_are_used(monkeypatch: pytest.MonkeyPatch) -> None:  # S55
    def forbidden(*arguments: Any, **keywords: Any) -> None:
        raise AssertionError("a global random state was used")

    for name in ("random", "rand", "randn", "randint", "normal", "choice", "permutation", "shuffle", "uniform"):
        monkeypatch.setattr(np.random, name, forbidden)
    for name in ("random", "randint", "choice", "shuffle"):
        monkeypatch.setattr(random, name, forbidden)
    for name in ("one", "two"):
        assert run("train.py", "tiny.toml", "run.updates=30", f"run.name={name}").returncode == 0
    assert metrics("one") == metrics("two")
    run("train.py", "tiny.toml", "run.updates=30", "run.name=other", "seed=4")
    assert metrics("other") != metrics("one")


def series(folder: str) -> dict[str, list[int]]:
    """The steps of every scalar curve of a run, as tensorboard reads them."""
    events = EventAccumulator(folder)
    events.Reload()
    return {tag: [event.step for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_the_curves_of_a_resumed_run_are_one_rising_series_each(monkeypatch: pytest.MonkeyPatch) -> None:  # S56
    interrupted(monkeypatch, 55, "run.updates=80", "run.save_updates=30")
    run("train.py", "--resume", "runs/tiny")
    for tag, steps in series("runs/tiny").items():
        assert steps == sorted(set(steps)), tag
    assert len(series("runs/tiny")["train/loss"]) == 8


def test_curves_pictures_and_hyperparameters_are_in_one_folder() -> None:  # S57
    run("train.py", "tiny.toml", "run.updates=20")
    events = EventAccumulator("runs/tiny")
    events.Reload()
    tags = events.Tags()
    assert not [path for path in Path("runs/tiny").iterdir() if path.is_dir() and path.name != "checkpoints"]
    for tag in ("train/loss", "game/plies", "game/hits_per_turn", "game/share_of_3_points", "game/wins_of_seat_0"):
        assert tag in tags["scalars"]
    for tag in ("value/opening", "value/calibration_error", "ppg/random", "speed/memory_mib", "speed/share_play"):
        assert tag in tags["scalars"]
    assert {"value/calibration", "game/position"} <= set(tags["images"])
    assert any("hparams" in name for name in events.summary_metadata)
    written: dict[str, set[float]] = defaultdict(set)
    for line in Path("runs/tiny/metrics.jsonl").read_text().splitlines():
        for tag, value in json.loads(line).items():
            written[tag].add(round(value, 3))
    assert set(tags["scalars"]) == set(written) - {"plies", "updates"}


def test_quiet_says_nothing_before_the_end() -> None:
    done = run("train.py", "tiny.toml", "run.updates=20", "--quiet")
    assert done.stdout.strip().startswith("trained on")
    assert done.stderr == ""


def test_a_weight_that_is_no_number_stops_the_run_and_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Learner.targets

    def poisoned(self: Learner, trajectory: Any) -> Any:
        if self.counters.updates == 12:
            with torch.no_grad():
                self.net.bias[0] = float("nan")
        return original(self, trajectory)

    monkeypatch.setattr(Learner, "targets", poisoned)
    done = run("train.py", "tiny.toml", "run.updates=20", "run.save_updates=5")
    assert done.returncode == 1
    assert "update 13" in done.stderr
    assert "last good checkpoint is runs/tiny/checkpoints/last.pt" in done.stderr
    assert read_checkpoint("runs/tiny")["counters"]["updates"] == 10


def started(*words: str) -> subprocess.Popen[str]:
    """A training in a process of its own, once it has begun to learn."""
    child = subprocess.Popen(
        [sys.executable, str(ROOT / "train.py"), "tiny.toml", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and not list(Path("runs").glob("*/metrics.jsonl")):
        time.sleep(0.05)
    return child


def ended(child: subprocess.Popen[str]) -> Done:
    out, err = child.communicate(timeout=300)
    return Done(child.returncode, out, err)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_tells_how_to_go_on(number: signal.Signals, code: int) -> None:
    child = started("run.updates=1000000")
    time.sleep(0.5)
    child.send_signal(number)
    done = ended(child)
    assert done.returncode == code
    assert "go on with: python train.py --resume runs/tiny" in done.stderr
    assert "Traceback" not in done.stderr
    saved = read_checkpoint("runs/tiny")["counters"]["updates"]
    assert saved > 0
    assert run("train.py", "--resume", "runs/tiny", f"run.updates={saved + 10}").returncode == 0


def kill_at_random_moments(times: int) -> None:
    generator = random.Random(5)
    for number in range(times):
        command = [sys.executable, str(ROOT / "train.py")]
        command += (
            ["tiny.toml", "run.updates=1000000", "run.save_updates=1"] if number == 0 else ["--resume", "runs/tiny"]
        )
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = Path("runs/tiny/checkpoints/last.pt").stat().st_mtime if number else 0.0
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            last = Path("runs/tiny/checkpoints/last.pt")
            if last.exists() and last.stat().st_mtime > before:
                break
            time.sleep(0.01)
        time.sleep(generator.uniform(0, 0.2))
        child.kill()
        child.wait()
        contents = read_checkpoint("runs/tiny")
        assert "games" in contents


def test_kill_9_while_saving_every_update_leaves_a_last_that_loads() -> None:  # S50
    kill_at_random_moments(3)


@pytest.mark.full
def test_kill_9_at_20_random_moments_leaves_a_last_that_loads() -> None:  # S50
    kill_at_random_moments(20)


def test_tensorboard_starts() -> None:  # S58
    done = process("-m", "tensorboard.main", "--version")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith("2.")


@pytest.mark.parametrize(
    ("setting", "parts"),
    [
        ("rules.higher_die=False", ["higher_die"]),
        ("optimizer.epochs=false", ["optimizer.epochs", "number"]),
        ("td.lambda=1.5", ["td.lambda", "0..1"]),
        ("optimizer.minibatch=0", ["optimizer.minibatch", "1.."]),
        ("train.init=nowhere.pt", ["nowhere.pt", "no such checkpoint"]),
    ],
)
def test_a_bad_setting_is_refused_before_a_folder_is_made(setting: str, parts: list[str]) -> None:  # S61
    refused(run("train.py", "tiny.toml", "run.updates=1", setting), *parts)
    assert not Path("runs").exists()


def test_small_numbers_are_numbers() -> None:  # S60
    config = load_config(Path("tiny.toml"), ["optimizer.rate=1e-4", "run.minutes=1", "selfplay.noise=1e-08"])
    assert config.optimizer.rate == 0.0001
    assert config.selfplay.noise == 1e-08


def growth_and_threads(updates: int, *settings: str) -> tuple[float, int]:
    """Resident memory at the end of a run over that after a third of it, and the threads at the end."""
    code = (
        "import sys, psutil, train, cli\n"
        "from learning.learner import Learner\n"
        "original, sizes = Learner.update, []\n"
        "def update(self, *a):\n"
        "    sizes.append(psutil.Process().memory_info().rss)\n"
        "    return original(self, *a)\n"
        "Learner.update = update\n"
        f"sys.argv = ['train.py', 'tiny.toml', 'run.updates={updates}', '--quiet', *{list(settings)}]\n"
        "train.main()\n"
        f"print('growth', sizes[-1] / sizes[{updates // 3}], 'threads', psutil.Process().num_threads())\n"
    )
    place = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=place)
    words = done.stdout.split()
    return float(words[words.index("growth") + 1]), int(words[words.index("threads") + 1])


def test_neither_memory_nor_threads_grow_with_the_updates() -> None:  # S62, S70
    growth, threads = growth_and_threads(600)
    assert growth < 1.02
    assert threads <= (psutil.cpu_count() or 1) + 10


@pytest.mark.full
def test_memory_does_not_grow_in_30_000_updates_of_4096_games() -> None:  # S62
    growth, _ = growth_and_threads(30_000, "selfplay.batch=4096", "selfplay.plies=1", "optimizer.minibatch=4096")
    assert growth < 1.02


@pytest.mark.parametrize("hidden", [(8,), (12,), (8, 8), (16, 20, 9)])
def test_a_larger_net_filled_from_a_smaller_one_gives_the_same_values(hidden: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    small, large = ValueNet(HYPER, (8,)), ValueNet(HYPER, hidden)
    fill(large, small, np.random.default_rng(1))
    game = BatchGame(HYPER, 200, seed=1)
    assert large.values(game.boards, game.pending) == pytest.approx(small.values(game.boards, game.pending), abs=1e-6)


def test_a_run_starts_from_the_weights_of_another() -> None:
    run("train.py", "tiny.toml", "run.updates=20")
    old = load_network("runs/tiny", HYPER)
    done = run(
        "train.py",
        "tiny.toml",
        "run.updates=1",
        "optimizer.rate=0.0",
        "run.name=grown",
        "net.hidden=[16, 8]",
        "train.init=runs/tiny",
    )
    assert done.returncode == 0, done.stderr
    new = load_network("runs/grown", HYPER)
    game = BatchGame(HYPER, 50, seed=1)
    assert new.values(game.boards, game.pending) == pytest.approx(old.values(game.boards, game.pending), abs=1e-5)
    refused(
        run("train.py", "tiny.toml", "run.updates=1", "net.hidden=[4]", "train.init=runs/tiny"),
        "does not fit",
        "narrower",
    )


def test_a_run_starts_from_an_exported_policy() -> None:
    run("train.py", "tiny.toml", "run.updates=20")
    assert run("export.py", "runs/tiny", "tiny.npz").returncode == 0
    settings = ["run.updates=1", "optimizer.rate=0.0", "run.name=again", "train.init=tiny.npz"]
    assert run("train.py", "tiny.toml", *settings).returncode == 0
    assert same(read_checkpoint("runs/again")["weights"], read_checkpoint("runs/tiny")["weights"])


def test_neither_seat_is_favoured_by_a_net(monkeypatch: pytest.MonkeyPatch) -> None:  # S74
    run("train.py", "tiny.toml", "run.updates=200", "selfplay.batch=100")
    agent = ValueAgent(load_network("runs/tiny", HYPER), HYPER, "bot")
    game = BatchGame(HYPER, 4000, seed=9)
    wins = 0
    while len(game):
        after = game.afterstates()
        result = game.step(after, agent.choose(after, game.noise))
        won = HYPER.payoffs[result.outcome] > 0
        wins += int((game.is_over & (won == (result.seat == 0))).sum())
        game.keep(np.flatnonzero(~game.is_over))
    assert abs(wins / 4000 - 0.5) < 0.03
