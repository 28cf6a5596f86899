"""Everything that dice can bring, with its exact probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.queues import queues_of
from engine.ruleset import Ruleset
from engine.slots import Boards, Codes, Flags, Rows

Weights = npt.NDArray[np.float64]  # (R,): probabilities


@dataclass(frozen=True, eq=False)
class Chances:
    """What can come after each of M positions, R distinct results in all, in the order of the positions.

    MINE is the side that acts then; `turned` says whether that is the other side than MINE of the
    position it came from. The weights of one position sum to 1.
    """

    boards: Boards  # (R, 2, SLOTS)
    pending: Codes  # (R,), none of them waits for dice
    turned: Flags  # (R,)
    weight: Weights  # (R,)
    parent: Rows  # (R,): the position it came from

    @property
    def size(self) -> int:
        """R, how many results there are."""
        return self.parent.size


def outcomes_of_chance(boards: Boards, pending: Codes, rules: Ruleset) -> Chances:
    """Everything that dice can bring to M positions, until somebody has to decide.

    Equal results are merged: an ordinary roll has 21, with 1/36 and 2/36. Chance that leads to
    chance, such as an opening throw that is rolled afresh, is followed to its end. A position that
    waits for no dice is its own only result.

    Args:
        boards: (M, 2, SLOTS) int8.
        pending: (M,) int8.
        rules: of all positions.
    """
    q = queues_of(rules)
    parent, turned, weight = np.arange(pending.size), np.zeros(pending.size, np.bool_), np.ones(pending.size)
    while (waits := q.is_chance.take(pending)).any():
        ways = np.where(waits, q.ways.take(pending), 1).astype(np.intp)
        row = np.repeat(np.arange(parent.size), ways)
        way = np.arange(row.size) - np.repeat(np.cumsum(ways) - ways, ways)
        early = rules.turn.is_early(seen(boards, parent, turned), rules).astype(np.intp).take(row)
        code, waits = pending.take(row), waits.take(row)
        turns = turned.take(row) ^ (waits & q.chance_passes[early, code, way])
        code = np.where(waits, q.chance_code[early, code, way], code)
        same = (parent.take(row) << 8) + (turns.astype(np.intp) << 7) + code  # codes are below 128
        _, first, which = np.unique(same, return_index=True, return_inverse=True)
        weight = np.bincount(which, (weight / ways).take(row), first.size).astype(np.float64)
        parent, turned, pending = parent.take(row.take(first)), turns.take(first), code.take(first)
    return Chances(seen(boards, parent, turned), pending, turned, weight, parent)


def seen(boards: Boards, parent: Rows, turned: Flags) -> Boards:
    """(R, 2, SLOTS): these positions, seen by the other side where `turned`; chance changes nothing else."""
    here = boards.take(parent, axis=0)
    return np.where(turned[:, None, None], here[:, ::-1], here)
