"""A policy of other rules: what it is shown, what its outcomes become, and what it cannot read."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from agents.base import AgentError
from agents.foreign import ForeignEvaluator, outcomes_between, relative
from agents.registry import make_agent
from arena.duel import duel
from engine import BatchGame, Ruleset, find_ruleset, parse_position, queues_of
from engine.slots import Boards, Codes
from tests.commands import ROOT

BACKGAMMON, IRISH, DUTCH = map(find_ruleset, ("backgammon", "irish", "dutch"))
POLICIES = ROOT / "checkpoints"


class Watched:
    """An evaluator that remembers what it was shown; whoever acts next wins the best there is."""

    def __init__(self, rules: Ruleset) -> None:
        self.rules = rules

    def values(self, boards: Boards, pending: Codes) -> npt.NDArray[np.float32]:
        self.boards, self.queues = boards, [queues_of(self.rules).names[code] for code in pending]
        return np.eye(1, self.rules.payoffs.size, dtype=np.float32).repeat(len(pending), axis=0)


def read(theirs: Ruleset, rules: Ruleset, position: str, queue: str) -> tuple[Boards, str, list[float]]:
    """What a policy of `theirs` is shown of a position, of its queue, and the outcomes here."""
    watched = Watched(theirs)
    board = parse_position(position, rules)[0][None]
    code = np.array([queues_of(rules).names.index(queue)], np.int8)
    outcomes = ForeignEvaluator(watched, theirs, rules, "watched").values(board, code)
    return watched.boards[0], watched.queues[0], outcomes[0].tolist()


def same(board: Boards, rules: Ruleset, position: str) -> bool:
    """Is this the board of a position?"""
    return board.tobytes() == parse_position(position, rules)[0].tobytes()


# -- what it is shown ---------------------------------------------------------------------------------


def test_checkers_in_hand_are_shown_on_the_bar_where_there_is_no_hand() -> None:
    board, _, _ = read(BACKGAMMON, DUTCH, "hand:12 bar:1 20:2 / hand:15", "roll")
    assert same(board, BACKGAMMON, "bar:13 20:2 / bar:15")


def test_checkers_in_hand_stay_there_where_there_is_a_hand() -> None:
    acey = find_ruleset("acey_deucey")
    board, _, _ = read(DUTCH, acey, "hand:12 bar:1 20:2 / hand:15", "roll")
    assert same(board, DUTCH, "hand:12 bar:1 20:2 / hand:15")


def test_a_double_played_once_by_each_number_is_the_nearest_double() -> None:
    _, queue, _ = read(BACKGAMMON, IRISH, "13:15 / 13:15", "44")
    assert queue == "4444"


def test_of_a_long_turn_it_sees_the_numbers_to_be_played_now() -> None:
    _, queue, _ = read(BACKGAMMON, find_ruleset("french"), "13:15 / 13:15", "3333,4444,roll")
    assert queue == "3333"


def test_where_a_point_is_to_be_opened_the_other_side_is_on_roll() -> None:
    board, queue, outcomes = read(BACKGAMMON, IRISH, "6:15 / bar:1 6:14", "toss")
    assert same(board, BACKGAMMON, "bar:1 6:14 / 6:15")
    assert queue == "roll"
    assert outcomes == [0, 1]  # the evaluator lets that side win


def test_who_opens_a_point_of_the_other_side_is_on_roll_himself() -> None:
    board, queue, outcomes = read(BACKGAMMON, IRISH, "bar:1 6:14 / 6:15", "open_theirs")
    assert same(board, BACKGAMMON, "bar:1 6:14 / 6:15")
    assert queue == "roll"
    assert outcomes == [1, 0]


def test_the_throw_that_may_be_played_is_seen_as_played() -> None:
    assert relative(("either", (5, 4)), BACKGAMMON) == (queues_of(BACKGAMMON).code(((5, 4),)), False)
    assert relative(("name", "roll"), BACKGAMMON) == (queues_of(BACKGAMMON).code(("roll",)), False)


def test_turns_that_are_not_counted_here_are_over() -> None:
    gul_bara = find_ruleset("gul_bara")
    board, _, _ = read(gul_bara, find_ruleset("narde"), "24:15 / 24:15", "roll")
    assert gul_bara.turns_told == 3
    assert board[:, gul_bara.memory["turns"]].tolist() == [3, 3]


@pytest.mark.parametrize("name", ["backgammon", "irish", "dutch"])
def test_in_its_own_game_nothing_is_foreign(name: str) -> None:
    rules, path = find_ruleset(name), f"policy:{POLICIES / name}.npz"
    match = duel(rules, make_agent(f"foreign:{path}", rules), make_agent(path, rules), 40, seed=1)
    assert (match.points == 0).all()
    assert match.plies[0].tolist() == match.plies[1].tolist()


# -- what its outcomes become --------------------------------------------------------------------------


def between(theirs: list[int], ours: list[int]) -> list[list[float]]:
    return [list(map(float, row)) for row in outcomes_between(np.array(theirs, np.float32), np.array(ours, np.float32))]


def test_a_gammon_is_a_win_where_there_are_none() -> None:
    assert between([3, 2, 1, -1, -2, -3], [1, -1]) == [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]


def test_a_win_is_the_nearest_win() -> None:
    assert between([1, -1], [2, -2]) == [[1, 0], [0, 1]]
    assert between([4, -4], [15, 2, 1, -1, -2, -15]) == [[0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0]]


def test_the_less_is_taken_where_two_wins_are_equally_near() -> None:
    assert between([2, -2], [3, 1, -1, -3]) == [[0, 1, 0, 0], [0, 0, 1, 0]]


def test_a_draw_is_a_draw_or_half_of_each() -> None:
    assert between([1, 0, -1], [2, 1, -1, -2])[1] == [0, 0.5, 0.5, 0]
    assert between([1, 0, -1], [2, 1, 0, -1, -2])[1] == [0, 0, 1, 0, 0]


# -- what it cannot read ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "rules", "reason"),
    [
        ("backgammon", "narde", "track is contrary there, parallel12 here"),
        ("backgammon", "hypergammon", "checkers is 15 there, 3 here"),
        ("backgammon", "plakoto", "it has never seen pinned checkers"),
        ("plakoto", "backgammon", "it has never seen checkers on the bar"),
        ("gioul", "dutch", "it has never seen checkers on the bar"),
    ],
)
def test_what_a_policy_has_no_place_for_is_refused(theirs: str, rules: str, reason: str) -> None:
    with pytest.raises(AgentError) as error:
        ForeignEvaluator(Watched(find_ruleset(theirs)), find_ruleset(theirs), find_ruleset(rules), "here")
    assert str(error.value) == f"here: trained for {theirs}, cannot read {rules}: {reason}"


def test_other_points_are_refused() -> None:
    small = find_ruleset("backgammon", {"points": "8", "checkers": "15", "setup": "8:8 3:7"})
    with pytest.raises(AgentError, match="points is 24 there, 8 here"):
        make_agent(f"foreign:policy:{POLICIES / 'backgammon.npz'}", small)


@pytest.mark.parametrize("spec", ["foreign:pips", "foreign:", "foreign:policy:", "foreign:foreign:policy:x", "foreign"])
def test_only_a_value_function_can_be_foreign(spec: str) -> None:
    with pytest.raises(AgentError, match="must be foreign:td:PATH"):
        make_agent(spec, BACKGAMMON)


# -- how it plays -------------------------------------------------------------------------------------------


def test_the_spec_of_a_foreign_policy_makes_it_again() -> None:
    spec = f"foreign:policy:{POLICIES / 'backgammon.npz'},ply=1,keep=2"
    agent = make_agent(spec, IRISH)
    assert agent.spec == spec
    game = BatchGame(IRISH, 2)
    game.step(found := game.afterstates(), agent.choose(found, game.noise))


def test_a_policy_of_backgammon_beats_chance_in_other_games() -> None:
    for rules in (IRISH, DUTCH):
        foreign = make_agent(f"foreign:policy:{POLICIES / 'backgammon.npz'}", rules)
        assert duel(rules, foreign, make_agent("random", rules), 40, seed=1).ppg > 0.5
