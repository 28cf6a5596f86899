"""Binding the tables: an event between two turns that opens a closed board."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.reach import is_closed_out
from engine.ruleset import Ruleset
from engine.slots import Boards, Counts, Flags


@dataclass(frozen=True, kw_only=True)
class BindTheTables:
    """A side may not end its turn with a closed home board while the opponent is on the bar.

    If it does, a throw decides who names one of its home points; `strip`: all but one of the
    checkers there go to their owner's bar, otherwise a single one does. `toss` tells how the
    throw is made; the chances are equal either way, for ties are thrown again.
    """

    strip: bool = True
    toss: Literal["one_die_each", "two_dice_total"] = "one_die_each"

    def tell(self, rules: Ruleset) -> str:
        """The event as sentences."""
        throw = "one die" if self.toss == "one_die_each" else "two dice"
        gone = "all but one of the checkers there go" if self.strip else "one checker there goes"
        return (
            "Binding the tables: whoever ends a turn with a closed home board against the bar is bound. Each side "
            f"throws {throw}, the higher names one of the home points, and {gone} to their owner's bar."
        )

    def is_due(self, boards: Boards, rules: Ruleset) -> Flags:
        """(M,) flags: the turn of MINE ends with a closed board against the bar."""
        return is_closed_out(boards, rules)

    def stripped(self, held: Counts) -> Counts:
        """(M,) int8: how many of the `held` checkers of the opened point go to the bar."""
        return held - np.int8(1) if self.strip else np.ones_like(held)
