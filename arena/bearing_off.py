"""Bear-off tables, made: both sides at home, out of each other's way, so that each moves as if it were alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from agents.bearoff import Bearoff, Sides, places
from engine.chances import outcomes_of_chance
from engine.decisions import afterstates
from engine.queues import queues_of
from engine.ruleset import InputError, Ruleset
from engine.slots import MINE, THEIRS

Values = npt.NDArray[np.float64]


class NotPlain(InputError):
    """These rules have no plain bearing off; the message says what stands against it."""


@dataclass(frozen=True, eq=False)
class Alone:
    """What one side can reach: place i has the rolls `rolls[i]..`, roll r the replies `replies[r]..` of `target`."""

    rolls: npt.NDArray[np.int64]  # (n + 1,)
    weight: Values  # (R,)
    replies: npt.NDArray[np.int64]  # (R + 1,)
    target: npt.NDArray[np.int32]  # (M,): a place


def alone(rules: Ruleset, theirs: Sides, index: Bearoff) -> Alone:
    """Every roll and reply of a side in each place, against `theirs` (SLOTS,) int8.

    Raises:
        NotPlain: a turn is more than one decision, or something may have to be passed.
    """
    mine = places(rules)[1:]
    boards = np.stack([mine, np.broadcast_to(theirs, mine.shape)], axis=1)
    rules.recall(boards)
    roll = queues_of(rules).code(("roll",))
    chances = outcomes_of_chance(boards, np.full(len(boards), roll, np.int8), rules)
    after = afterstates(chances.boards, chances.pending, rules)
    going = after.outcome < 0
    if (after.pending[going] != roll).any() or not after.passed[going].all():
        raise NotPlain(f"{rules.name}: a turn can be more than one decision, so there is no bear-off table")
    target = index.placed(after.boards[np.arange(going.size), np.where(going, THEIRS, MINE)])
    if (target >= chances.parent.take(after.game) + 1).any():
        raise NotPlain(f"{rules.name}: a side may have to pass while it bears off, so there is no bear-off table")
    rolls = np.concatenate([[0, 0], np.cumsum(np.bincount(chances.parent))])
    return Alone(rolls, chances.weight, after.start, target)


def check_plain(rules: Ruleset) -> None:
    """Refuse rules under which the sides can meet at home.

    Raises:
        NotPlain: they can.
    """
    home = set(range(1, rules.quarter + 1))
    if home & {rules.opposing(point) for point in home}:
        raise NotPlain(f"{rules.name}: both sides bear off from the same points, so there is no bear-off table")


@dataclass(frozen=True, eq=False)
class Moved:
    """What is known so far of whoever has moved to place i, against a side in place j that is about to roll."""

    equity: Values  # (n, n)
    shares: Values  # (n, n, C), of the outcomes that can come

    def learn(self, i: slice | int, j: slice | int, shares: Values, payoffs: Values) -> None:
        """Note (m, C) shares for the side about to roll, in the columns or rows j of i."""
        self.shares[i, j] = shares[..., ::-1]
        self.equity[i, j] = shares[..., ::-1] @ payoffs


def make_bearoff(rules: Ruleset, progress: bool = False) -> Bearoff:
    """The table of a ruleset: perfect play of both sides, from the pairs with the fewest pips upwards.

    Raises:
        NotPlain: these rules have no plain bearing off.
    """
    check_plain(rules)
    sides = places(rules)
    size, count = len(sides), rules.payoffs.size
    index = Bearoff(rules, np.empty(0, np.intp), np.empty((size, size, 0), np.float32))
    moves = alone(rules, sides[1], index)
    if not np.array_equal(moves.target, alone(rules, sides[-1], index).target):
        raise NotPlain(
            f"{rules.name}: what a side may play at home depends on the other, so there is no bear-off table"
        )
    final = np.stack([np.broadcast_to(sides[0], sides.shape), sides], axis=1)[1:]
    ends = rules.scoring.outcome(final, rules)
    outcomes = np.unique(np.concatenate([ends, count - 1 - ends])).astype(np.intp)
    payoffs = rules.payoffs[outcomes].astype(np.float64)
    moved = Moved(np.zeros((size, size)), np.zeros((size, size, outcomes.size)))
    moved.shares[0, 1:] = ends[:, None] == outcomes
    moved.equity[0] = moved.shares[0] @ payoffs
    for i in tqdm(range(1, size), desc="places", unit="", disable=None if progress else True):
        moved.learn(slice(1, i), i, as_mover(moves, moved, i), payoffs)
        moved.learn(i, slice(1, i + 1), against(moves, moved, i), payoffs)
    return Bearoff(rules, outcomes, np.ascontiguousarray(moved.shares.transpose(1, 0, 2)[..., ::-1], np.float32))


def as_mover(moves: Alone, moved: Moved, i: int) -> Values:
    """(i - 1, C) shares of the side about to roll in place i, against the places 1..i - 1."""
    opponents = np.arange(1, i)
    shares = np.zeros((opponents.size, moved.shares.shape[2]))
    for roll in range(int(moves.rolls[i]), int(moves.rolls[i + 1])):
        target = moves.target[moves.replies[roll] : moves.replies[roll + 1]]
        best = moved.equity[target, 1:i].argmax(axis=0)
        shares += moves.weight[roll] * moved.shares[target.take(best), opponents]
    return shares


def against(moves: Alone, moved: Moved, i: int) -> Values:
    """(i, C) shares of a side about to roll in the places 1..i, against place i."""
    rolls = moves.rolls[1 : i + 1]
    end = int(moves.rolls[i + 1])
    replies = moves.replies[: end + 1]
    equity = moved.equity[:, i].take(moves.target[: replies[-1]])
    best = np.maximum.reduceat(equity, replies[:-1])
    rows = np.flatnonzero(equity == np.repeat(best, np.diff(replies)))
    first = rows.take(np.searchsorted(rows, replies[:-1]))
    shares = moves.weight[:end, None] * moved.shares[moves.target.take(first), i]
    return np.asarray(np.add.reduceat(shares, rolls, axis=0))
