"""Situations that random play hardly ever meets, started from positions near them and played on at random.

Each is counted, and a test fails if its situation never came.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from engine import Afterstates, BatchGame, Ruleset, afterstates, find_ruleset, parse_position, queues_of
from engine.slots import MINE, SLOTS, THEIRS

GAMES = 400
WEIGHTS = np.where(np.arange(SLOTS) <= 25, np.arange(SLOTS), 0)


def played_on(
    rules: Ruleset, position: str, queue: str, decisions: int, look: Callable[[BatchGame, Afterstates], int]
) -> int:
    """How often `look` counted something, in games played on at random from one position."""
    game = BatchGame(rules, GAMES, seed=7)
    board, _ = parse_position(position, rules)
    game.boards[:] = board
    game.pending[:] = queues_of(rules).names.index(queue)
    found = 0
    for _ in range(decisions):
        after = game.afterstates()
        found += look(game, after)
        game.step(after, after.start[:-1] + (game.noise % after.counts.astype(np.uint64)).astype(np.int64))
        game.keep(np.flatnonzero(~game.is_over))
        if not len(game):
            break
    return found


def test_tables_are_bound() -> None:
    rules = find_ruleset("irish")
    toss = queues_of(rules).names.index("toss")
    position = "12:1 8:1 7:1 6:1 5:3 4:2 3:2 2:2 1:2 / bar:1 5:14"  # IR-3
    count = played_on(rules, position, "roll", 12, lambda game, after: int((after.pending == toss).sum()))
    assert count > 50


def test_a_wall_over_the_seam_is_refused() -> None:
    rules, free = find_ruleset("narde"), find_ruleset("narde", {"wall": "none"})
    position = "24:9 23:1 22:1 21:1 8:1 2:2 / 24:15 | turns:1,1"  # NA-5

    seam = [24, 23, 22, 21, 2, 1]

    def walls(after: Afterstates) -> np.ndarray:
        """(M,) flags: the chooser holds six in a row over its 1|24."""
        sides = after.boards[np.arange(after.game.size), np.where(after.passed, THEIRS, MINE)]
        return np.asarray((sides[:, seam] > 0).all(axis=1))

    def look(game: BatchGame, after: Afterstates) -> int:
        assert not (walls(after) & _nobody_ahead(after)).any()
        return int(walls(afterstates(game.boards, game.pending, free)).sum())

    assert played_on(rules, position, "roll", 3, look) > 20


def _nobody_ahead(after: Afterstates) -> np.ndarray:
    """(M,) flags: all of the other side's checkers stand behind its 14..9, none is off."""
    theirs = np.where(after.passed, MINE, THEIRS)
    side = after.boards[np.arange(theirs.size), theirs]
    return np.asarray((side[:, :9] == 0).all(axis=1))


def test_nobody_can_ever_move_again_and_it_is_a_draw() -> None:
    rules = find_ruleset("tapa")
    draw = rules.payoffs.tolist().index(0)
    position = "p24:1 2:1 1:13 / p24:1 1:14"  # TA-1 but for one checker
    assert played_on(rules, position, "roll", 20, lambda game, after: int((after.outcome == draw).sum())) > 10


def test_both_mothers_are_pinned_and_it_is_a_draw() -> None:
    rules = find_ruleset("plakoto")
    draw = rules.payoffs.tolist().index(0)
    position = "p24:1 5:14 / 24:1 8:7 6:6 1:1"  # PL-4
    assert played_on(rules, position, "roll", 4, lambda game, after: int((after.outcome == draw).sum())) > 50


def test_a_bonus_chain_has_a_second_link() -> None:
    rules = find_ruleset("acey_deucey")
    name = queues_of(rules).names.index("name")
    links: dict[int, tuple[int, int]] = {}  # by a game's seed: whose turn it is, how many doubles it has named

    def look(game: BatchGame, after: Afterstates) -> int:
        second = 0
        for seed, seat, pending in zip(game.seeds.tolist(), game.seat.tolist(), game.pending.tolist(), strict=True):
            before, count = links.get(seed, (seat, 0))
            count = (count if before == seat else 0) + (pending == name)
            links[seed] = seat, count
            second += pending == name and count == 2
        return second

    assert played_on(rules, "hand:14 22:1 / hand:15", "name", 5, look) > 5  # 1-2 comes again after one in 18


def test_a_left_over_is_itself_blocked() -> None:
    rules = find_ruleset("gioul")
    names = queues_of(rules).names

    def look(game: BatchGame, after: Afterstates) -> int:
        left = np.array([name.endswith("roll") and name != "roll" for name in names])[game.pending]
        still = (after.boards[after.start[:-1]] == game.boards).all(axis=(1, 2)) & (after.counts == 1)
        return int((left & still & ~after.passed[after.start[:-1]]).sum())

    assert played_on(rules, "24:1 14:14 / 24:13 16:1 6:1", "roll", 12, look) > 5  # near GI-4


def test_a_hard_limit_beats_the_larger_number() -> None:
    rules, free = find_ruleset("moultezim"), find_ruleset("moultezim", {"opp_start_limit": "none"})
    numbers = queues_of(rules).numbers
    position = "24:10 13:1 11:1 10:1 9:1 8:1 / 24:7 18:1 17:1 16:1 15:1 14:1 13:1 7:1 6:1"  # MO-3

    def look(game: BatchGame, after: Afterstates) -> int:
        return int(np.sum(used_up(after) < used_up(afterstates(game.boards, game.pending, free))))

    def used_up(after: Afterstates) -> np.ndarray:
        """(N,) pips that the first result of each game uses of a roll of two numbers; 0 for doubles."""
        first = after.start[:-1]
        side = after.boards[first, np.where(after.passed[first], THEIRS, MINE)].astype(int)
        pips = after.before[:, MINE].astype(int) @ WEIGHTS - side @ WEIGHTS
        return np.where(numbers[after.decided][:, 0] == numbers[after.decided][:, 1], 0, pips)

    assert played_on(rules, position, "roll", 4, look) > 10


@pytest.mark.parametrize("name", ["gul_bara", "european_acey_deucey"])
def test_a_turn_of_several_tiers_is_played_out(name: str) -> None:
    rules = find_ruleset(name)
    is_long = np.array(["," in queue for queue in queues_of(rules).names])
    start = "24:15 / 24:15" if name == "gul_bara" else "hand:15 / hand:15"
    assert played_on(rules, start, "roll", 60, lambda game, after: int(is_long[game.pending].sum())) > 100
