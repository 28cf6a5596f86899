"""The generator of another program, where it is installed, finds the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine import BatchGame, afterstates, find_ruleset, queues_of
from engine.slots import MINE, THEIRS, Boards

BACKGAMMON = find_ruleset("backgammon")
POINTS = BACKGAMMON.points


def positions(count: int) -> tuple[Boards, np.ndarray]:
    """Positions and pending rolls of random games, spread over all phases."""
    game = BatchGame(BACKGAMMON, 500, seed=21)
    boards, pending = [], []
    for decision in range(5000):
        after = game.afterstates()
        if decision % 7 == 3:
            boards.append(game.boards.copy())
            pending.append(game.pending.copy())
            if len(boards) * 500 >= count:
                break
        game.step(after, after.start[:-1] + (game.noise % after.counts.astype(np.uint64)).astype(np.int64))
        over = np.flatnonzero(game.is_over)
        if over.size:
            game.restart(over)
    return np.concatenate(boards)[:count], np.concatenate(pending)[:count]


def signed(board: Boards) -> list[int]:
    """26 numbers: their bar, points 1..24 in my count (mine positive), my bar."""
    mine, theirs = board[MINE].astype(int), board[THEIRS].astype(int)
    points = [mine[p] - theirs[POINTS + 1 - p] for p in range(1, POINTS + 1)]
    return [int(n) for n in (theirs[POINTS + 1], *points, mine[POINTS + 1])]


def compare(peer: Any, count: int) -> None:
    boards, pending = positions(count)
    found = afterstates(boards, pending, BACKGAMMON)
    numbers = queues_of(BACKGAMMON).numbers
    for game in range(count):
        rows = range(found.start[game], found.start[game + 1])
        ours = {tuple(signed(found.boards[row, ::-1] if found.passed[row] else found.boards[row])) for row in rows}
        die, other = int(numbers[pending[game], 0]), int(numbers[pending[game], 1])
        theirs = {tuple(board) for board in peer.possible_moves(signed(boards[game]), die, other)}
        assert ours == (theirs or {tuple(signed(boards[game]))}), (signed(boards[game]), die, other)


def test_another_generator_agrees_on_random_positions() -> None:
    compare(pytest.importorskip("bgsage", exc_type=ImportError), 1_000)


@pytest.mark.full
def test_another_generator_agrees_on_20_000_random_positions() -> None:
    compare(pytest.importorskip("bgsage", exc_type=ImportError), 20_000)
