"""Constants of a ruleset for growing plays: lookups by step and by cell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from engine.ruleset import Ruleset
from engine.slots import ALL_SLOTS, SLOTS, Keys, Words


@dataclass(frozen=True, eq=False)
class Tables:
    """Lookups by step (die * SLOTS + source) and by cell."""

    landing: npt.NDArray[np.intp]  # (faces + 1) * SLOTS: where a step ends
    cell_key: Keys  # (2 * SLOTS,)
    game_key: np.uint64  # times the game's number
    falling: Words  # (SLOTS,): the slots that may be left after this one, in falling order


@lru_cache(maxsize=64)
def tables_of(rules: Ruleset) -> Tables:
    """The lookups of a ruleset (kept: the same ruleset gives the same object)."""
    constants = np.random.default_rng(20_240_229).integers(1 << 63, size=2 * SLOTS + 1, dtype=np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
    landing = np.zeros((rules.faces + 1, SLOTS), np.intp)
    for die in range(1, rules.faces + 1):
        for src in range(1, rules.hand + 1):
            landing[die, src] = max(min(src, rules.bar) - die, 0)
    falling = np.full(SLOTS, ALL_SLOTS, np.uint32)  # the bar is left first and the hand when it likes
    for point in range(1, rules.points + 1):
        falling[point] = (1 << (point + 1)) - 1
    falling[rules.hand] = (1 << (rules.hand + 1)) - 1
    return Tables(landing.reshape(-1), constants[: 2 * SLOTS], constants[2 * SLOTS], falling)
