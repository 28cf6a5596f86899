"""Small games are learned until nobody can win from the policy, as their exact solution tells."""

from __future__ import annotations

import numpy as np
import pytest

from agents.value import ValueAgent
from arena.exact import measure, policy_of, solve, state_values
from arena.solving import graph_of
from engine import Ruleset, find_ruleset, queues_of
from engine.slots import SLOTS
from learning.config import load_config
from learning.learner import Learner
from learning.targets import exact_targets
from tests.commands import ROOT
from tests.training import learned

BAR = 0.01  # points a game


def small_game_learned(name: str, house: dict[str, str], updates: int) -> Learner:
    settings = [f"variant={name}", *(f'rules.{key}="{value}"' for key, value in house.items())]
    settings += [f"run.updates={updates}", "net.hidden=[64, 64]"]
    return learned(load_config(ROOT / "configs" / "small.toml", settings))


@pytest.mark.parametrize(
    ("name", "house"),
    [
        ("backgammon", {"points": "8", "checkers": "1"}),  # hits
        ("kotra", {"points": "8", "checkers": "1"}),  # hits, entering on empty points only
        ("plakoto", {"points": "8", "checkers": "2"}),  # pins
    ],
)
def test_the_best_opponent_wins_next_to_nothing_from_a_small_game_learned(name: str, house: dict[str, str]) -> None:
    learner = small_game_learned(name, house, updates=60)
    solution = solve(graph_of(learner.rules))
    agent = ValueAgent(learner.net, learner.rules, "learned")
    found = measure(policy_of(agent, solution.graph), solution, state_values(agent, solution.graph))
    assert found.exploitability <= BAR
    untrained = ValueAgent(Learner(learner.rules, learner.config).net, learner.rules, "untrained")
    assert measure(policy_of(untrained, solution.graph), solution).exploitability > BAR


class Even:
    """An evaluator that thinks every position even."""

    def __init__(self, rules: Ruleset) -> None:
        self.rules = rules

    def values(
        self, boards: object, pending: np.ndarray[tuple[int], np.dtype[np.int8]]
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return np.full((pending.size, 2), 0.5, np.float32)


def test_the_mean_over_all_rolls_counts_every_roll_with_its_chance() -> None:
    """Pencil: from 4 of 8 only 2-2, one roll of four, bears the last checker off; the others leave an even game."""
    rules = find_ruleset("irish", {"points": "8", "checkers": "1", "setup": "8:1"})
    board = np.zeros((1, 2, SLOTS), np.int8)
    board[0, 0, 4] = board[0, 1, 1] = 1
    pending = np.array([queues_of(rules).code(("roll",))], np.int8)
    agent = ValueAgent(Even(rules), rules, "even")
    assert exact_targets(agent, board, pending, rules)[0] == pytest.approx([1 / 4 + 3 / 8, 3 / 8])
