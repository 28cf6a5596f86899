"""A watched duel: intervals that hold at every look, and the same games on one core and on many."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
import numpy.typing as npt
import psutil
import pytest

from agents.registry import make_agent
from arena.luck import judge_for
from arena.match import match
from arena.sequential import ALPHA, interval_at_every_look, looks, verdict
from engine import find_ruleset
from tests.commands import ROOT, refused, run

HYPER, IRISH = find_ruleset("hypergammon"), find_ruleset("irish")
POLICY = f"policy:{ROOT / 'checkpoints' / 'irish.npz'}"
DUELS, PAIRS, LOOK = 1000, 5000, 100


def declared(points: npt.NDArray[np.float64]) -> int:
    """In how many of (duels, pairs) somebody is declared the better one at some look."""
    return sum(any(verdict(duel[:seen]) for seen in range(LOOK, PAIRS + 1, LOOK)) for duel in points)


@pytest.mark.parametrize(
    ("pair_means", "weights"),
    [
        pytest.param([-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2], [2, 4, 12, 12, 40, 12, 12, 4, 2], id="plain points"),
        pytest.param([-1, 0, 1], [1, 48, 1], id="nearly the same agent"),
        pytest.param([-3, 0.5], [1, 6], id="rare heavy losses"),
    ],
)
def test_of_1000_duels_between_equals_no_more_than_alpha_are_ever_declared(
    pair_means: list[float], weights: list[float]
) -> None:
    generator = np.random.default_rng(5)
    chance = np.array(weights) / sum(weights)
    assert np.dot(pair_means, chance) == pytest.approx(0)
    duels = generator.choice(np.array(pair_means, np.float64), size=(DUELS, PAIRS), p=chance)
    bound = ALPHA + 2 * np.sqrt(ALPHA * (1 - ALPHA) / DUELS)
    assert declared(duels) / DUELS <= bound


def test_looking_again_and_again_at_the_usual_interval_declares_far_more_than_alpha() -> None:
    duels = np.random.default_rng(5).normal(size=(DUELS, PAIRS))
    seen = np.arange(LOOK, PAIRS + 1, LOOK)
    means = duels.cumsum(axis=1)[:, seen - 1] / seen
    assert (np.abs(means) > 1.96 / np.sqrt(seen)).any(axis=1).mean() > 0.3  # what the test above must find out


def test_a_true_difference_of_a_twentieth_of_a_point_is_found_in_2000_pairs() -> None:
    generator = np.random.default_rng(6)
    found = [verdict(generator.normal(0.05, 0.3, size=2000)) for _ in range(200)]
    assert found.count(1) >= 198
    assert verdict(generator.normal(-0.05, 0.3, size=2000)) == -1


def test_nothing_is_settled_before_100_pairs_nor_where_nothing_varies() -> None:
    assert verdict(np.where(np.arange(99) % 9 == 0, 0.9, 1.0)) == 0
    assert verdict(np.where(np.arange(100) % 9 == 0, 0.9, 1.0)) == 1
    assert interval_at_every_look(np.ones(500)) == (-np.inf, np.inf)


def test_looks_come_every_100_pairs_and_later_every_eighth() -> None:
    assert list(looks(1000)) == [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]
    assert list(looks(1130))[-3:] == [900, 1012, 1130]


def test_many_processes_play_what_one_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.match.JUDGED_AT_ONCE", 4)
    two = make_agent(POLICY, IRISH), make_agent("pips", IRISH)
    judge = judge_for(two, None, IRISH)
    assert judge is not None
    monkeypatch.setattr("arena.match.os.cpu_count", lambda: 1)
    alone = match(IRISH, two, 32, 1, judge)
    monkeypatch.setattr("arena.match.os.cpu_count", lambda: 2)
    together = match(IRISH, two, 32, 1, judge)
    assert alone.luck is not None
    assert together.luck is not None
    assert (together.outcome == alone.outcome).all()
    assert (together.luck.sums == alone.luck.sums).all()
    assert together.record() == alone.record()


def test_evaluate_stops_when_it_is_settled_and_says_so() -> None:
    words = ("evaluate.py", "hypergammon", "random", "pips", "--games", "2000", "--until")
    pair = json.loads(run(*words, "A>B", "--json", "-").stdout)["pairs"][0]
    assert pair["games"] == 200
    assert pair["high"] < 0
    assert "Settled after 200 games: B > A" in run(*words, "pips > random").stdout
    done = run("evaluate.py", "hypergammon", "pips", "pips", "--games", "300", "--until", "A>B")
    assert "Not settled who is better after 300 games" in done.stdout


@pytest.mark.parametrize("asked", ["A", "A>A", "A>C", "A>B>A", "pips>gnubg"])  # A is what a shell leaves of A>B
def test_until_has_to_name_both_agents(asked: str) -> None:
    done = run("evaluate.py", "hypergammon", "pips", "random", "--until", asked)
    refused(done, f"--until {asked}: must be 'A>B', in quotes")


def test_until_is_for_two_agents() -> None:
    refused(run("evaluate.py", "hypergammon", "pips", "random", "random", "--until", "A>B"), "two agents, found 3")


def test_processes_that_play_end_with_the_one_that_was_killed() -> None:
    command = [sys.executable, str(ROOT / "evaluate.py"), "backgammon", "pips", "random", "--games", "1000000"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    players: list[psutil.Process] = []
    deadline = time.monotonic() + 60
    while not any(player.cpu_times().user > 1 for player in players) and time.monotonic() < deadline:
        time.sleep(0.1)
        players = psutil.Process(child.pid).children(recursive=True)
    assert time.monotonic() < deadline, "none of them began to play"
    child.kill()
    child.wait()
    _, alive = psutil.wait_procs(players, timeout=20)
    for player in alive:
        player.kill()
    assert not alive
