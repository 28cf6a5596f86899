"""Dice, seeds, restarts: what a batch of games keeps besides the boards."""

from __future__ import annotations

import pickle

import numpy as np

from engine import BatchGame, find_ruleset
from engine.decisions import GAMES_AT_ONCE
from engine.game import mix, seeds_of
from tests.commands import process

BACKGAMMON = find_ruleset("backgammon")
HYPER = find_ruleset("hypergammon")


def rolls(game: BatchGame, count: int) -> np.ndarray:
    """(count, games): the next rolls as 0..35."""
    rows, ways = np.arange(len(game)), np.full(len(game), 36, np.uint64)
    return np.stack([game.draw(rows, ways) for _ in range(count)])


def test_a_ruleset_from_another_process_finds_the_tables_that_are_there() -> None:
    rules = find_ruleset("irish")
    assert hash(rules) == hash(find_ruleset("irish"))  # and now it is known
    code = (
        "import pickle, sys; from engine import find_ruleset, queues_of; "
        "rules = pickle.loads(bytes.fromhex(sys.argv[1])); print(queues_of(rules) is queues_of(find_ruleset('irish')))"
    )
    assert process("-c", code, pickle.dumps(rules).hex()).stdout.strip() == "True"


def test_the_mixer_is_splitmix64() -> None:
    # the first outputs for seed 0 of the reference implementation (Vigna, splitmix64.c)
    odd = np.uint64(0x9E3779B97F4A7C15)
    first = mix(np.array([1, 2, 3], np.uint64) * odd)
    assert [hex(int(x)) for x in first] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f"]


def test_every_game_has_its_own_dice() -> None:
    thrown = rolls(BatchGame(BACKGAMMON, 1024, seed=1), 8)
    assert len({tuple(column) for column in thrown.T}) == 1024


def test_equal_seeds_give_equal_dice() -> None:
    seeds = seeds_of(5, 10)
    game = BatchGame(BACKGAMMON, 20, seeds=np.tile(seeds, 2))
    thrown = rolls(game, 50)
    assert (thrown[:, :10] == thrown[:, 10:]).all()


def test_dice_do_not_depend_on_how_many_games_run_beside() -> None:
    few, many = rolls(BatchGame(BACKGAMMON, 3, seed=9), 20), rolls(BatchGame(BACKGAMMON, 50, seed=9), 20)
    assert (few == many[:, :3]).all()


def test_a_restarted_game_has_new_dice() -> None:
    game = BatchGame(BACKGAMMON, 4, seed=2)
    before = rolls(game, 30)
    game.restart(np.arange(4))
    assert (rolls(game, 30) != before).any(axis=0).all()


def test_keeping_some_games_leaves_them_as_they_were() -> None:
    whole, part = BatchGame(HYPER, 30, seed=4), BatchGame(HYPER, 30, seed=4)
    part.keep(np.arange(10, 20))
    for _ in range(8):
        for game in (whole, part):
            after = game.afterstates()
            game.step(after, after.start[:-1])
        assert (whole.boards[10:20] == part.boards).all()


def test_turns_are_counted_when_they_pass_or_end_the_game() -> None:
    game = BatchGame(BACKGAMMON, 100, seed=3)
    for turn in range(1, 6):
        after = game.afterstates()
        game.step(after, after.start[:-1])
        assert (game.plies == turn).all()


def test_outcome_and_seat_speak_for_the_side_that_was_stored() -> None:
    game = BatchGame(HYPER, 400, seed=8)
    wins = 0
    for _ in range(200):
        stored = game.seat.copy()
        after = game.afterstates()
        actor = game.seat.copy()
        result = game.step(after, after.start[:-1])
        assert (result.seat == stored).all()
        won = HYPER.payoffs[result.outcome] > 0
        assert (won == (actor == stored))[result.outcome >= 0].all()  # only who acts can bear off the last checker
        wins += int(game.is_over.sum())
        game.restart(np.flatnonzero(game.is_over))
    assert wins > 100


def test_results_say_of_which_positions_and_numbers_they_are() -> None:
    game = BatchGame(BACKGAMMON, GAMES_AT_ONCE + 10, seed=4)
    game.step(game.afterstates(), game.afterstates().start[:-1])
    after = game.afterstates()
    boards, pending = game.boards.copy(), game.pending.copy()
    games = np.array([GAMES_AT_ONCE + 5, 3])
    part, _ = after.of(games)
    game.step(after, after.start[:-1])
    for found, rows in ((after, np.arange(len(game))), (part, games)):
        assert (found.before == boards[rows]).all()
        assert (found.decided == pending[rows]).all()
