"""Rollouts: the luck that is taken out is luck, and what is left is the value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from agents.lookahead import LookaheadAgent
from agents.value import ValueAgent
from arena.rollout import roll_out
from engine import BatchGame, Ruleset, find_ruleset, parse_position, queues_of
from engine.slots import MINE, THEIRS, Boards, Codes

BACKGAMMON = find_ruleset("backgammon")


class ByPips:
    """Wins the least there is, the surer the fewer pips; noisy, so that plays differ."""

    def __init__(self, rules: Ruleset) -> None:
        self.rules = rules

    def values(self, boards: Boards, pending: Codes) -> npt.NDArray[np.float32]:
        slots = np.arange(self.rules.hand + 1)
        pips = boards[:, :, : slots.size] @ slots
        win = 1 / (1 + np.exp((pips[:, MINE] - pips[:, THEIRS]) / 30 + 0.02 * np.sin(pips.sum(axis=1))))
        values = np.zeros((len(pending), self.rules.payoffs.size), np.float32)
        least = int(np.flatnonzero(self.rules.payoffs > 0)[-1])
        values[:, least], values[:, -1 - least] = win, 1 - win
        return values


class Ignorant(ByPips):
    """Thinks that both sides win equally often."""

    def values(self, boards: Boards, pending: Codes) -> npt.NDArray[np.float32]:
        values = np.zeros((len(pending), self.rules.payoffs.size), np.float32)
        values[:, [0, -1]] = 0.5
        return values


def player(rules: Ruleset, evaluator: type[ByPips] = ByPips) -> ValueAgent:
    return ValueAgent(evaluator(rules), rules, "test")


def reached(rules: Ruleset, games: int) -> tuple[Boards, Codes]:
    """Positions some turns into games."""
    game, agent = BatchGame(rules, games, seed=4), player(rules)
    for _ in range(12):
        after = game.afterstates()
        game.step(after, agent.choose(after, game.noise))
    assert not game.is_over.any()
    return game.boards, game.pending


def to_roll(position: str) -> tuple[Boards, Codes]:
    """A position of backgammon before its roll."""
    code = queues_of(BACKGAMMON).code(("roll",))
    return parse_position(position, BACKGAMMON)[0][None], np.array([code], np.int8)


def test_after_one_turn_all_luck_is_known_and_every_trial_is_the_mean() -> None:
    boards, pending = reached(BACKGAMMON, 6)
    found = roll_out(player(BACKGAMMON), boards, pending, trials=5, plies=1, seed=1)
    ahead = LookaheadAgent(ByPips(BACKGAMMON), BACKGAMMON, "test").ahead(boards, pending)
    assert found.adjusted == pytest.approx(
        np.repeat(ahead[:, None], 5, axis=1), abs=1e-5
    )  # equal is what differs by 1e-6
    assert found.errors == pytest.approx(np.zeros(6), abs=1e-5)
    assert found.plain.std(axis=1).max() > 0.05


def test_a_checker_on_the_six_point_comes_off_in_27_of_36_rolls() -> None:
    board, pending = to_roll("6:1 off:14 / 1:1 off:14")  # else the opponent takes off his last one
    found = roll_out(player(BACKGAMMON, Ignorant), board, pending, trials=1000, plies=10, seed=2)
    assert set(found.plain[0].tolist()) == {1, -1}
    assert set(found.adjusted[0].round(6).tolist()) == {0.75, -0.25}  # 1 - 0.25 and -1 + 0.75
    assert found.means[0] == pytest.approx(27 / 36 - 9 / 36, abs=4 * float(found.errors[0]))


@pytest.mark.parametrize("name", ["backgammon", "irish", "plakoto"])
def test_the_luck_has_no_mean_and_most_of_the_noise(name: str) -> None:
    rules = find_ruleset(name)
    boards, pending = reached(rules, 2)
    found = roll_out(player(rules), boards, pending, trials=100, plies=2, seed=3)
    luck = found.plain - found.adjusted
    assert (np.abs(luck.mean(axis=1)) < 4 * luck.std(axis=1) / np.sqrt(100)).all()
    assert (found.adjusted.std(axis=1) < 0.7 * found.plain.std(axis=1)).all()


class Leader(ByPips):
    """Is sure that who has more checkers off wins."""

    def values(self, boards: Boards, pending: Codes) -> npt.NDArray[np.float32]:
        values = np.zeros((len(pending), self.rules.payoffs.size), np.float32)
        values[np.arange(len(pending)), np.where(boards[:, MINE, 0] > boards[:, THEIRS, 0], 0, -1)] = 1
        return values


@pytest.mark.parametrize(
    ("name", "position", "queue"),
    [
        ("backgammon", "24:9 off:6 / 13:10 off:5", "roll"),
        ("acey_deucey", "24:9 off:6 / 13:10 off:5", "roll"),  # with bonus rolls and doubles named
        ("gul_bara", "24:9 off:6 / 24:10 off:5", "roll"),  # with cascades
        ("irish", "24:9 off:6 / bar:2 6:2 5:2 4:2 3:2 off:5", "roll"),
        ("irish", "1:2 2:1 3:1 4:1 5:2 6:2 off:6 / bar:1 13:9 off:5", "toss"),  # either side may open a point
    ],
)
def test_points_are_always_those_of_the_side_that_began(name: str, position: str, queue: str) -> None:
    rules = find_ruleset(name)
    board = parse_position(position, rules)[0][None]
    code = np.array([queues_of(rules).names.index(queue)], np.int8)
    best = float(rules.payoffs[0])
    found = roll_out(player(rules, Leader), board, code, trials=100, plies=2, seed=3)
    assert (found.plain == best).all()
    assert found.adjusted == pytest.approx(np.full((1, 100), best))
    if queue == "roll":
        turned = roll_out(player(rules, Leader), board[:, ::-1], code, trials=100, plies=2, seed=3)
        assert (turned.plain == -best).all()


def test_all_positions_have_the_same_dice() -> None:
    boards, pending = (np.repeat(array, 2, axis=0) for array in reached(BACKGAMMON, 1))
    found = roll_out(player(BACKGAMMON), boards, pending, trials=40, plies=4, seed=5)
    assert (found.plain[0] == found.plain[1]).all()
    assert len(set(found.plain[0].tolist())) > 20


def test_a_roll_comes_up_as_often_as_it_should() -> None:
    board, pending = to_roll("6:1 off:14 / 6:5 5:5 4:5")
    found = roll_out(player(BACKGAMMON, Ignorant), board, pending, trials=3_600, plies=1, seed=6)
    assert (found.plain[0] > 0).sum() == pytest.approx(2_700, abs=4 * np.sqrt(3_600 * 0.75 * 0.25))
