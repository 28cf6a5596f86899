"""Paired games and what is reported of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agents.registry import make_agent
from agents.simple import pips
from arena.duel import Duel, duel
from engine import find_ruleset, parse_position

HYPER = find_ruleset("hypergammon")


@pytest.mark.parametrize("spec", ["random", "pips"])
def test_an_agent_against_itself_scores_exactly_0(spec: str) -> None:
    agent = make_agent(spec, HYPER)
    assert (duel(HYPER, agent, agent, 1000, seed=1).points == 0).all()


def test_swapping_the_agents_turns_the_sign() -> None:
    a, b = make_agent("pips", HYPER), make_agent("random", HYPER)
    assert duel(HYPER, a, b, 1000, seed=2).ppg == -duel(HYPER, b, a, 1000, seed=2).ppg > 0


def test_the_same_seed_gives_the_same_figures() -> None:
    a, b = make_agent("pips", HYPER), make_agent("random", HYPER)
    assert duel(HYPER, a, b, 500, seed=3).record() == duel(HYPER, a, b, 500, seed=3).record()


def test_a_game_beyond_the_limit_is_truncated_and_scores_0() -> None:  # S29
    rules = replace(HYPER, ply_limit=5)
    match = duel(rules, make_agent("pips", rules), make_agent("random", rules), 200, seed=1)
    assert match.truncated == 1
    assert match.ppg == 0
    assert (match.plies == 5).all()


def test_the_interval_is_about_two_standard_errors_wide() -> None:
    outcome = np.where(np.random.default_rng(1).random((2, 4000)) < 0.5, 2, 3).astype(np.int8)  # +1 or -1
    match = Duel(HYPER, "a", "b", 0, outcome, np.zeros((2, 4000), np.int32))
    low, high = match.interval()
    error = match.points.std() / np.sqrt(4000)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.05)
    assert low < match.ppg < high


def test_shares_and_wins_are_read_from_the_outcomes() -> None:
    outcome = np.array([[0, 2], [5, -1]], np.int8)  # +3, +1, -3 and a cut game
    match = Duel(HYPER, "a", "b", 0, outcome, np.zeros((2, 2), np.int32))
    assert match.shares() == {3: 0.25, 2: 0, 1: 0.25, -1: 0, -2: 0, -3: 0.25}
    assert (match.wins, match.truncated, match.ppg) == (0.5, 0.25, 0.25)


def test_bar_and_hand_count_one_more_than_the_farthest_point() -> None:
    dutch = find_ruleset("dutch")
    board, _ = parse_position("bar:1 hand:2 24:1 1:1 off:10 / hand:15", dutch)
    assert pips(board, dutch).tolist() == [3 * 25 + 24 + 1, 15 * 25]
