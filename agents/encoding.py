"""How a net sees a position: which rows of its first layer are on. Numpy only.

The first layer is a sum of rows of a table, one row for every (cell, count) that is on and one for
the queue that is pending; that is the same as multiplying a vector of thermometers with a matrix,
and about seven times as fast (measured, 128 wide, one core). Everything follows from the ruleset.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from engine.queues import queues_of
from engine.ruleset import Ruleset
from engine.slots import CELLS, NOWHERE, OFF, SLOTS, THEIRS, Boards, Codes, where

COUNTS = 32  # rows a cell has in the table; -1 (pinned) is the last
CELL_BITS = COUNTS.bit_length() - 1
LAST = THEIRS * SLOTS + NOWHERE  # the last cell of a position, in which nothing ever stands
MARK = np.int8(-COUNTS)  # a count that nothing has
ENCODING = 1  # the version, written into every checkpoint


@dataclass(frozen=True, eq=False)
class Encoding:
    """The inputs of a ruleset: U cells that can hold something, L levels of a count, Q inputs of a queue.

    Row `cell * COUNTS + count % COUNTS` of the table stands for a cell with that count, row
    `CELLS * COUNTS + code` for a queue.
    """

    cells: npt.NDArray[np.intp]  # (U,) of 0..CELLS - 1
    levels: npt.NDArray[np.float32]  # (COUNTS, L): a count as a thermometer, and whether it is a pinned checker
    queues: npt.NDArray[np.float32]  # (C, Q)

    def active(self, boards: Boards, pending: Codes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The rows that are on in M positions, flat, and where each position's rows begin.

        Args:
            boards: (M, 2, SLOTS) int8, MINE acts next.
            pending: (M,) int8.

        Returns:
            (A,) int64 rows of the table, (M,) int64 starts.
        """
        marked = boards.reshape(pending.size, CELLS).copy()
        marked[:, LAST] = MARK  # where the row of the queue will be, the last of each position
        flat = marked.reshape(-1)
        rows = where(flat.view(np.bool_))
        counts = flat.take(rows)
        ends = where(counts == MARK)
        rows &= CELLS - 1
        rows <<= CELL_BITS
        counts &= COUNTS - 1
        rows |= counts
        rows[ends] = CELLS * COUNTS + pending.astype(np.int64)
        return rows, np.concatenate([[0], ends + 1])[:-1]

    def thermometers(self, boards: Boards) -> npt.NDArray[np.float32]:
        """(M, U * L) the levels of every cell of (M, 2, SLOTS) int8 boards."""
        held = boards.reshape(len(boards), CELLS).take(self.cells, axis=1) & (COUNTS - 1)
        return self.levels.take(held, axis=0).reshape(len(boards), -1)


@lru_cache(maxsize=16)
def encoding_of(rules: Ruleset) -> Encoding:
    """The encoding of a ruleset (kept); slots that stay empty in it have no inputs."""
    slots = [OFF, *range(1, rules.points + 1)]
    if rules.contact.fate == "bar":
        slots.append(rules.bar)
    if rules.start_row[rules.hand]:
        slots.append(rules.hand)
    slots += rules.memory.values()
    cells = np.array([side * SLOTS + slot for side in (0, 1) for slot in slots])
    pins = rules.contact.fate == "pinned"
    levels = np.zeros((COUNTS, 4 + pins), np.float32)
    for count in range(1, rules.checkers + 1):
        levels[count, :4] = count >= 1, count >= 2, count >= 3, max(count - 3, 0) / 2
    if pins:
        levels[-1, 4] = 1
    inputs = queues_of(rules).inputs
    return Encoding(cells, levels, inputs[:, inputs.min(axis=0) < inputs.max(axis=0)])
