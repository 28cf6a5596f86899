"""Runs of several processes: under torchrun, with players that ask the net, and with the net on a GPU."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from agents.bearoff import Bearoff, WithBearoff
from agents.network import ValueNet, load_network, read_checkpoint
from agents.value import ValueAgent
from arena.bearing_off import make_bearoff
from engine import BatchGame, find_ruleset
from engine.slots import OFF
from learning.checkpoint import dealt
from learning.config import load_config
from learning.players import Players, seed_of
from learning.ranks import RankError, Ranks
from learning.selfplay import collect, joined
from tests.commands import ROOT, refused, run
from tests.test_runs import HYPER, TINY, ended, metrics, same, started, trained

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch can use no GPU here")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TINY)


def launched(*words: str, restarts: int = 0) -> subprocess.Popen[str]:
    """A training of two processes under torchrun, here."""
    command = [*TORCHRUN, f"--max-restarts={restarts}", str(ROOT / "train.py"), "tiny.toml", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def saved() -> int:
    """The updates in last.pt, 0 where there is none."""
    is_there = Path("runs/tiny/checkpoints/last.pt").exists()
    return int(read_checkpoint("runs/tiny")["counters"]["updates"]) if is_there else 0


def rank(launcher: subprocess.Popen[str], number: int) -> psutil.Process:
    """One of the processes that torchrun has started."""
    children = psutil.Process(launcher.pid).children()
    return next(child for child in children if child.environ().get("RANK") == str(number))


def kill(launcher: subprocess.Popen[str], number: int) -> None:
    """Kill -9 one of them, and see it gone."""
    victim = rank(launcher, number)
    victim.kill()
    victim.wait(60)


@pytest.mark.full
def test_a_run_under_torchrun_is_the_plain_commands_even_if_each_process_was_killed_once() -> None:  # S66
    settings = ["run.updates=80", "run.save_updates=7"]
    launcher = launched(*settings, restarts=2)
    until(lambda: saved() >= 7)
    kill(launcher, 1)
    until(lambda: saved() >= 35)
    kill(launcher, 0)
    done = ended(launcher)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("trained on") == 2  # both came to their end
    assert [path.name for path in Path("runs").iterdir()] == ["tiny"]
    assert load_config(Path("runs/tiny/config.toml")).run.workers == 2
    assert trained(*settings, "run.workers=2", "run.name=plain").returncode == 0
    assert metrics("tiny") == metrics("plain")
    assert same(read_checkpoint("runs/tiny")["weights"], read_checkpoint("runs/plain")["weights"])


@pytest.mark.full
def test_a_dead_process_ends_the_run_under_torchrun_with_a_message() -> None:
    launcher = launched("run.updates=1000000", "run.save_updates=5")
    until(lambda: saved() > 0)
    kill(launcher, 1)
    done = ended(launcher)
    assert done.returncode == 1
    assert "another process of this run has died" in done.stderr
    assert "the last good checkpoint is runs/tiny/checkpoints/last.pt" in done.stderr
    assert "games" in read_checkpoint("runs/tiny")


@pytest.mark.full
def test_a_process_that_hangs_ends_the_run_after_a_minute() -> None:
    launcher = launched("run.updates=1000000", "run.save_updates=5")
    until(lambda: saved() > 0)
    first, other = rank(launcher, 0), rank(launcher, 1)
    other.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    try:
        psutil.wait_procs([first], timeout=80)
        assert not first.is_running() or first.status() == psutil.STATUS_ZOMBIE
        assert 55 < time.monotonic() - began < 75
    finally:
        other.kill()
    assert "does not answer" in ended(launcher).stderr


def test_cores_is_one_process_a_core_and_the_number_is_written() -> None:
    cores = psutil.cpu_count() or 1
    config = load_config(Path("tiny.toml"), ["run.updates=1", "run.workers=cores", f"selfplay.batch={20 * cores}"])
    assert config.run.workers == cores
    two = load_config(Path("tiny.toml"), ["run.updates=1", "run.players=cores", f"selfplay.batch={20 * cores}"])
    assert two.run.players == 2 * cores


@pytest.mark.parametrize(("setting", "number"), [("run.workers=3", "3"), ("run.players=7", "1 x 7")])
def test_processes_that_cannot_share_the_games_are_refused(setting: str, number: str) -> None:
    refused(run("train.py", "tiny.toml", "run.updates=1", setting), f"{number} processes cannot share", "batch=20")
    assert not Path("runs").exists()


def test_a_run_goes_on_with_another_number_of_processes() -> None:
    assert trained("run.workers=2", "run.updates=10").returncode == 0
    before = read_checkpoint("runs/tiny")
    done = run("train.py", "--resume", "runs/tiny", "run.updates=30", "run.workers=1")
    assert done.returncode == 0, done.stderr
    assert "its 2 batches of games are 1 from now on" in done.stdout
    after = read_checkpoint("runs/tiny")
    assert (len(before["games"]), len(after["games"])) == (2, 1)
    assert after["counters"]["updates"] == 30
    assert load_config(Path("runs/tiny/config.toml")).run.workers == 1


def test_games_that_are_dealt_anew_are_the_same_games_and_no_dice_come_twice() -> None:
    batches = [BatchGame(HYPER, 6, seed_of(3, number)) for number in (0, 1)]
    for batch, times in zip(batches, (4, 9), strict=True):
        for _ in range(times):
            batch.restart(np.array([0, 5]))
    states = dealt([batch.state() for batch in batches], 3)
    assert np.array_equal(np.concatenate([s["seeds"] for s in states]), np.concatenate([b.seeds for b in batches]))
    used = {seed for number in (0, 1) for seed in BatchGame(HYPER, 100, seed_of(3, number)).seeds[:24].tolist()}
    for state in states:
        batch = BatchGame(HYPER, 4)
        batch.restore(state)
        batch.restart(np.arange(4))
        assert not used & set(batch.seeds.tolist())
        used |= set(batch.seeds.tolist())


def player_of(seed: int, bearoff: Bearoff | None = None) -> ValueAgent:
    torch.manual_seed(seed)
    judge = ValueNet(HYPER, (8,)).judge()
    evaluator = judge if bearoff is None else WithBearoff(judge, bearoff)
    return ValueAgent(evaluator, HYPER, "self", noise=0.1, gammon_weight=0.5)


@pytest.mark.parametrize("bearoff", [None, make_bearoff(HYPER)], ids=["net", "table"])
def test_players_of_their_own_play_what_one_process_would(bearoff: Bearoff | None) -> None:  # S65: started by spawn
    agent, seeds = player_of(1, bearoff), [seed_of(5, number) for number in range(3)]
    with Players(HYPER, 40, seeds) as players:
        found = [players.collect(agent, 6) for _ in range(2)]
        states = players.states()
        players.restore(states[::-1])
        turned = players.states()
    games = [BatchGame(HYPER, 40, seed) for seed in seeds]
    for trajectory in found:
        wanted = joined([collect(game, agent, 6) for game in games])
        assert vars(trajectory).keys() == vars(wanted).keys()
        assert all(np.array_equal(getattr(trajectory, name), value) for name, value in vars(wanted).items())
    assert all(np.array_equal(state["boards"], game.boards) for state, game in zip(states, games, strict=True))
    assert [state["seed"] for state in turned] == seeds[::-1]


def test_a_run_with_players_resumes_exactly() -> None:
    settings = ["run.players=2", "td.lambda=0.5", "optimizer.rate=0.001"]  # no schedule, which a budget would stretch
    assert run("train.py", "tiny.toml", *settings, "run.updates=20", "run.name=whole").returncode == 0
    assert run("train.py", "tiny.toml", *settings, "run.updates=10").returncode == 0
    assert run("train.py", "--resume", "runs/tiny", "run.updates=20").returncode == 0
    whole, resumed = read_checkpoint("runs/whole"), read_checkpoint("runs/tiny")
    assert same(whole["weights"], resumed["weights"])
    assert same(whole["games"], resumed["games"])


def test_a_dead_player_ends_the_run_with_a_message() -> None:
    with Players(HYPER, 10, [1, 2]) as players:
        players.processes[1].kill()
        with pytest.raises(RankError, match="a player process of this run has died"):
            players.collect(player_of(1), 2)
    assert not any(process.is_alive() for process in players.processes)


@pytest.mark.parametrize("variant", ["backgammon", "plakoto", "acey_deucey", "irish"])
def test_the_rows_a_gpu_looks_up_give_what_the_rows_that_are_on_give(variant: str) -> None:
    rules = find_ruleset(variant)
    net, game = ValueNet(rules, (16, 8)), BatchGame(rules, 200, seed=2)
    collect(game, ValueAgent(net, rules, "self"), 40)
    with torch.no_grad():
        rows = net.all_rows(torch.from_numpy(game.boards), torch.from_numpy(game.pending))
        signal = net.first(net.table(), rows, None)
    possible = rules.scoring.possible(game.boards, rules)
    everywhere, can_all = net.judge().rest(signal, np.ones_like(possible)), possible.all(axis=1)
    assert can_all.any()
    assert everywhere[can_all] == pytest.approx(net.values(game.boards, game.pending)[can_all], abs=1e-6)


def test_a_gpu_that_is_not_there_is_refused_before_a_folder_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    refused(run("train.py", "tiny.toml", "run.updates=1", "run.device=cuda"), 'run.device="cuda"', "no GPU")
    assert not Path("runs").exists()


def test_weights_that_a_gpu_saved_load_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:  # S52
    assert run("train.py", "tiny.toml", "run.updates=10").returncode == 0
    file = Path("runs/tiny/checkpoints/last.pt")
    here = read_checkpoint(file)
    with monkeypatch.context() as patched:
        patched.setattr(torch.serialization, "location_tag", lambda storage: "cuda:0")
        torch.save(here, file)
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="CUDA"):
            torch.load(file, weights_only=True)
    assert same(read_checkpoint(file), here)
    done = run("train.py", "--resume", "runs/tiny", "run.updates=20")  # the optimizer's state came along
    assert done.returncode == 0, done.stderr


@pytest.mark.full
def test_a_compiled_net_saves_the_same_names_and_gives_the_same_values() -> None:  # S53
    plain, compiled = ValueNet(HYPER, (8,)), ValueNet(HYPER, (8,))
    compiled.compile(backend="eager")
    compiled.load_state_dict(plain.state_dict())
    assert list(compiled.state_dict()) == list(plain.state_dict())
    game = BatchGame(HYPER, 20, seed=1)
    with torch.no_grad():
        assert compiled(game.boards, game.pending).numpy() == pytest.approx(
            plain(game.boards, game.pending).numpy(), abs=1e-6
        )


def rate_of(name: str) -> float:
    """Turns a second of a finished run, evaluations not counted."""
    counters = read_checkpoint(f"runs/{name}")["counters"]
    return float(counters["plies"] / counters["seconds"])


@pytest.mark.full
def test_one_thread_is_within_a_tenth_of_the_best_number_of_threads() -> None:  # S70
    net = ["variant=backgammon", "net.hidden=[128, 128]", "selfplay.batch=2000", "optimizer.minibatch=500"]
    rates = {}
    for threads in (1, psutil.cpu_count() or 1):
        settings = [*net, "run.minutes=0.5", f"run.threads={threads}", f"run.name=threads-{threads}"]
        assert trained(*settings).returncode == 0
        rates[threads] = rate_of(f"threads-{threads}")
    assert rates[1] > 0.9 * max(rates.values()), rates


@needs_gpu
def test_a_net_on_a_gpu_gives_the_values_it_gives_here() -> None:
    rules = find_ruleset("backgammon")
    net, game = ValueNet(rules, (128, 128)), BatchGame(rules, 500, seed=2)
    collect(game, ValueAgent(net, rules, "self"), 60)
    assert game.boards[:, :, OFF].any()
    here = net.values(game.boards, game.pending)
    assert net.to("cuda").values(game.boards, game.pending) == pytest.approx(here, abs=1e-4)


@needs_gpu
def test_a_run_on_a_gpu_resumes_there_and_without_it() -> None:
    done = trained("run.updates=20", "run.device=cuda", "run.players=2")
    assert done.returncode == 0, done.stderr
    command = [sys.executable, str(ROOT / "train.py"), "--resume", "runs/tiny"]
    assert subprocess.run([*command, "run.updates=30"], check=False, timeout=300).returncode == 0
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    words = [*command, "run.updates=40", "run.device=cpu"]
    assert subprocess.run(words, check=False, timeout=300, env=hidden).returncode == 0
    assert load_network("runs/tiny", HYPER).bias.is_cpu


def test_two_processes_with_one_seed_are_the_same_run_twice_and_resume_exactly() -> None:
    settings = ["run.workers=2", "run.updates=20", "run.save_updates=10"]
    for name in ("one", "two"):
        done = trained(*settings, f"run.name={name}")
        assert done.returncode == 0, done.stderr
    assert metrics("one") == metrics("two")
    assert same(read_checkpoint("runs/one")["weights"], read_checkpoint("runs/two")["weights"])
    contents = read_checkpoint("runs/one")
    assert len(contents["games"]) == 2
    assert not torch.equal(contents["games"][0]["seeds"], contents["games"][1]["seeds"])  # games of their own
    command = [sys.executable, str(ROOT / "train.py"), "--resume", "runs/one", "run.updates=30"]
    assert subprocess.run(command, check=False, timeout=300).returncode == 0
    assert read_checkpoint("runs/one")["counters"]["updates"] == 30


def test_a_process_on_each_of_two_machines_is_the_run_of_two_on_one() -> None:
    """Gradients are then summed by messages, not in shared memory."""
    settings = ["run.updates=12", "run.save_updates=6"]
    assert trained(*settings, "run.workers=2", "run.name=one").returncode == 0
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = ["--nnodes=2", "--nproc-per-node=1", "--master-addr=127.0.0.1", f"--master-port={port}"]
    launcher = [sys.executable, "-m", "torch.distributed.run", *place]
    command = [str(ROOT / "train.py"), "tiny.toml", *settings, "run.name=two"]
    machines = [subprocess.Popen([*launcher, f"--node-rank={number}", *command]) for number in (0, 1)]
    try:
        assert [machine.wait(300) for machine in machines] == [0, 0]
    finally:
        for machine in machines:
            machine.kill()
    assert metrics("one") == metrics("two")
    assert same(read_checkpoint("runs/one")["weights"], read_checkpoint("runs/two")["weights"])


def test_a_dead_process_ends_the_run_with_a_message() -> None:
    child = started("run.workers=2", "run.updates=1000000", "run.save_updates=5")
    time.sleep(1.0)
    others = psutil.Process(child.pid).children()
    assert len(others) == 1
    others[0].kill()
    done = ended(child)
    assert done.returncode == 1
    assert "another process of this run has died" in done.stderr
    assert "Traceback" not in done.stderr
    assert "games" in read_checkpoint("runs/tiny")


def test_a_signal_to_one_process_stops_all_of_them() -> None:
    child = started("run.workers=2", "run.updates=1000000")
    time.sleep(1.0)
    others = psutil.Process(child.pid).children()
    child.terminate()
    done = ended(child)
    assert done.returncode == 143, done.stderr
    psutil.wait_procs(others, timeout=20)
    assert not [other for other in others if other.is_running()]


def test_a_signal_that_comes_while_processes_agree_waits_for_the_next_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it counted at once, this process would stop, and another one would wait for it in the next update."""
    total, calls = Ranks.total, []

    def interrupted(self: Ranks, sums: Mapping[str, float]) -> dict[str, float]:
        calls.append(sums["stop"])
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return total(self, sums)

    monkeypatch.setattr(Ranks, "total", interrupted)
    assert run("train.py", "tiny.toml", "run.updates=20").returncode == 143
    assert calls == [0, 0, 0, signal.SIGTERM]
    assert saved() == 4
