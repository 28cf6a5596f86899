"""Which queue of numbers a roll gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.ruleset import Queue, Roll, Ruleset
from engine.slots import Boards, Flags


@dataclass(frozen=True, kw_only=True)
class PlainTurn:
    """One roll a turn. Two different numbers are played once each, a double `times` times."""

    times: Literal[2, 4] = 4
    memory: tuple[str, ...] = ()

    def tell(self, rules: Ruleset) -> str:
        """Doubles as a sentence."""
        how = "four times" if self.times == 4 else "twice, each die once"
        return f"Each number of a roll is one step; a double's number is played {how}."

    def program(self, roll: Roll, early: bool, rules: Ruleset) -> Queue:
        """The two numbers, the larger first, or the double's number so many times."""
        large, small = roll
        return ((large,) * self.times,) if large == small else ((large, small),)

    def named(self, number: int, rules: Ruleset) -> Queue:
        """Nobody names a double here."""
        raise AssertionError("no queue of this turn holds `name`")

    def incomplete(self, left: tuple[int, ...], rest: Queue) -> tuple[Queue, bool]:
        """Numbers that cannot be played are lost."""
        return ("roll",), True

    def is_early(self, boards: Boards, rules: Ruleset) -> Flags:
        """(M,) flags: no roll is different from the others."""
        return np.zeros(len(boards), np.bool_)

    def remember(self, boards: Boards, passed: Flags, rules: Ruleset) -> None:
        """Nothing to remember."""
