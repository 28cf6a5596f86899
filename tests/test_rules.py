"""Rules that no single roll shows: sequences of turns, dice, payoffs, ends of games."""

from __future__ import annotations

import numpy as np
import pytest

from engine import BatchGame, IllegalPlay, Ruleset, afterstates, find_ruleset, parse_position, queues_of
from tests.positions import after, board, boards, checkers, plays

BACKGAMMON = find_ruleset("backgammon")
IRISH = find_ruleset("irish")
DUTCH = find_ruleset("dutch")


def test_the_larger_number_is_played_when_either_but_not_both_can_be() -> None:
    # their 22 is my 3: 10/6/3 and 10/7/3 are blocked
    assert plays(BACKGAMMON, "10:1 / 22:2", "4-3") == boards(BACKGAMMON, "6:1 / 22:2")


def test_two_passes_in_a_row_hand_the_turn_over_and_back() -> None:  # S22
    position = "bar:1 5:2 4:2 3:2 2:2 1:2 / bar:1 6:2 5:2 4:2 3:2 2:2"
    mine = after(BACKGAMMON, position, "6-5")
    assert mine.game.size == 1
    assert mine.passed[0]
    theirs = afterstates(mine.boards, np.array([queues_of(BACKGAMMON).code(((4, 3),))], np.int8), BACKGAMMON)
    assert theirs.game.size == 1
    assert theirs.passed[0]
    assert checkers(theirs.boards[0], BACKGAMMON) == board(BACKGAMMON, position)
    again = afterstates(theirs.boards, np.array([queues_of(BACKGAMMON).code(((1, 1, 1, 1),))], np.int8), BACKGAMMON)
    assert (again.boards[:, 1, BACKGAMMON.bar] == 0).all()  # bar/24 is open


def test_a_position_without_a_legal_play_has_one_row_the_pass() -> None:  # S64
    found = after(BACKGAMMON, "bar:2 6:13 / 6:2 5:2 4:2 3:2 2:2 1:5", "6-5")
    assert found.game.size == 1
    assert found.passed[0]
    assert found.outcome[0] == -1


def test_choosing_row_1000_of_1330_gives_that_afterstate() -> None:  # S20
    position = "24:1 21:1 18:1 16:1 15:1 14:1 13:2 11:1 10:1 9:1 8:1 7:1 6:2 / 24:15"
    game = BatchGame(BACKGAMMON, 1)
    game.boards = parse_position(position, BACKGAMMON)[0][None]
    game.pending[:] = queues_of(BACKGAMMON).code(((1, 1, 1, 1),))
    found = game.afterstates()
    assert found.game.size == 1330
    wanted = found.boards[1000].copy()
    game.step(found, np.array([1000]))
    assert (game.boards[0] == wanted).all()


def test_a_choice_outside_the_rows_of_its_game_is_refused_and_changes_nothing() -> None:  # S23
    game = BatchGame(BACKGAMMON, 2, seed=1)
    found = game.afterstates()
    before = game.boards.copy()
    with pytest.raises(IllegalPlay, match="game 0: row"):
        game.step(found, found.start[1:])
    assert (game.boards == before).all()


def test_a_game_that_waits_for_dice_has_no_afterstates_yet() -> None:  # S23
    game = BatchGame(BACKGAMMON, 2, seed=1)
    with pytest.raises(ValueError, match="waits for dice"):
        afterstates(game.boards, game.pending, BACKGAMMON)


def test_a_finished_game_asks_for_restart() -> None:  # S23
    game = BatchGame(BACKGAMMON, 1)
    game.boards = parse_position("1:1 / 1:1", BACKGAMMON)[0][None]
    game.pending[:] = queues_of(BACKGAMMON).code(("roll",))
    game.step(game.afterstates(), np.array([0]))
    with pytest.raises(ValueError, match="game 0 is over"):
        game.afterstates()


@pytest.mark.parametrize(
    ("loser", "points"),
    [("12:15", 2), ("12:14 20:1", 3), ("12:14 bar:1", 3), ("12:13 20:1 off:1", 1)],
    ids=["gammon", "backgammon in the home board", "backgammon on the bar", "one checker off"],
)
def test_a_win_pays_by_how_far_the_loser_is_behind(loser: str, points: int) -> None:  # S14
    found = after(BACKGAMMON, f"1:1 off:14 / {loser}", "2-1")
    assert BACKGAMMON.payoffs[found.outcome].tolist() == [points]


def test_who_has_a_checker_off_can_lose_no_gammon() -> None:  # S15
    position = parse_position("6:2 5:2 / 24:1 13:13 off:1", BACKGAMMON)[0][None]
    possible = BACKGAMMON.scoring.possible(position, BACKGAMMON)[0]
    assert possible.tolist() == [False, False, True, True, False, False]


@pytest.mark.parametrize("name", ["backgammon", "irish", "irish_play65", "dutch", "nackgammon", "hypergammon"])
def test_what_one_side_wins_the_other_loses(name: str) -> None:  # S32
    payoffs = find_ruleset(name).payoffs
    assert (payoffs == -payoffs[::-1]).all()
    assert (payoffs != 0).all()


def first_rolls(rules: Ruleset, games: int) -> tuple[np.ndarray, np.ndarray]:
    """Who starts, and the name of the first roll, of many games."""
    game = BatchGame(rules, games, seed=7)
    game.roll()
    return game.seat, np.array(queues_of(rules).names)[game.pending]


def test_backgammon_opens_with_one_of_15_equal_pairs_and_never_a_double() -> None:  # S27
    seat, roll = first_rolls(BACKGAMMON, 60_000)
    names, counts = np.unique(roll, return_counts=True)
    assert len(names) == 15
    assert abs(counts - 4000).max() < 5 * np.sqrt(60_000 / 15 * 14 / 15)
    assert abs(seat.mean() - 0.5) < 0.01


@pytest.mark.parametrize("rules", [IRISH, DUTCH], ids=["irish", "dutch"])
def test_where_the_winner_of_the_toss_rolls_afresh_one_in_six_is_a_double(rules: Ruleset) -> None:  # S27
    seat, roll = first_rolls(rules, 60_000)
    is_double = np.array([len(set(name)) == 1 for name in roll])
    assert abs(is_double.mean() - 1 / 6) < 5 * np.sqrt(5 / 36 / 60_000)
    assert abs(seat.mean() - 0.5) < 0.01


def test_either_side_opens_a_bound_point_half_of_the_time() -> None:
    game = BatchGame(IRISH, 10_000, seed=3)
    closed = parse_position("8:1 6:2 5:4 4:2 3:2 2:2 1:2 / bar:1 5:14", IRISH)[0]
    game.boards = np.repeat(closed[None], 10_000, axis=0)
    game.pending[:] = queues_of(IRISH).code(("toss",))
    game.roll()
    names = np.array(queues_of(IRISH).names)[game.pending]
    assert set(names) == {"open", "open_theirs"}
    assert abs((names == "open").mean() - 0.5) < 0.025
    assert (game.boards[names == "open_theirs", 1] == closed[0]).all()


def test_after_a_point_was_opened_the_other_side_rolls_whoever_chose() -> None:
    mine = after(IRISH, "8:1 6:2 5:4 4:2 3:2 2:2 1:2 / bar:1 5:14 | queue:open", "-")
    theirs = after(IRISH, "bar:1 5:14 / 8:1 6:2 5:4 4:2 3:2 2:2 1:2 | queue:open_theirs", "-")
    assert mine.passed.all()
    assert not theirs.passed.any()
    assert (mine.boards == theirs.boards).all()


def test_the_opponent_sees_the_mirror_image() -> None:  # S18
    position, mirror = "24:2 13:5 8:3 6:5 / 24:2 13:4 10:1 8:3 6:5", "24:2 13:4 10:1 8:3 6:5 / 24:2 13:5 8:3 6:5"
    game = BatchGame(BACKGAMMON, 1)
    game.boards = parse_position(position, BACKGAMMON)[0][None]
    game._turn(np.array([0]))
    assert checkers(game.boards[0], BACKGAMMON) == board(BACKGAMMON, mirror)


def test_only_the_movers_pips_fall_by_exactly_the_dice_where_nothing_is_hit_or_wasted() -> None:  # S18
    found = after(BACKGAMMON, "24:2 13:5 8:3 6:5 / 24:2 13:5 8:3 6:5", "6-5")
    weights = np.arange(32)
    assert (found.boards[:, 1].astype(int) @ weights == 167 - 11).all()
    assert (found.boards[:, 0].astype(int) @ weights == 167).all()


def test_a_hypergammon_game_ends_with_its_third_checker() -> None:  # S21
    hyper = find_ruleset("hypergammon")
    found = after(hyper, "1:1 off:2 / 12:3", "2-1")
    assert hyper.payoffs[found.outcome].tolist() == [2]
