"""The geometry of a board: what follows from its number of points, and where the opponent's points lie."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from engine.slots import NOWHERE, SLOTS, THEIRS, Words, pack, pack_reversed, reverse, span

Track = Literal["contrary", "parallel12", "parallel0"]


@dataclass(frozen=True, kw_only=True)
class Board:
    """P points that each side counts for itself, P..1 towards home, and how the two counts meet.

    `contrary`: the sides move in opposite directions. `parallel12`: the same way, half a lap apart.
    `parallel0`: the same way over the same points. Each is its own inverse.
    """

    points: int = 24
    track: Track = "contrary"

    # -- what follows from the number of points --------------------------------------------------

    @property
    def quarter(self) -> int:
        """A quarter of the board: the home points, the faces of a die, the length of a prime."""
        return self.points // 4

    @property
    def faces(self) -> int:
        """The faces of a die."""
        return self.quarter

    @property
    def bar(self) -> int:
        """The slot of checkers that were hit."""
        return self.points + 1

    @property
    def hand(self) -> int:
        """The slot of checkers that have not entered yet."""
        return self.points + 2

    @cached_property
    def board_words(self) -> np.uint32:
        """The set of all points."""
        return span(1, self.points)

    @cached_property
    def home_words(self) -> np.uint32:
        """The set of the home points."""
        return span(1, self.quarter)

    @cached_property
    def away_words(self) -> np.uint32:
        """The set of all places from which a checker still has to come home: outside points, bar, hand."""
        return span(self.quarter + 1, self.hand)

    # -- the opponent's points ---------------------------------------------------------------------

    def opposing(self, point: int) -> int:
        """The number in one side's count of the other side's `point`."""
        if self.track == "contrary":
            return self.points + 1 - point
        if self.track == "parallel12":
            half = self.points // 2
            return point + half if point <= half else point - half
        return point

    @cached_property
    def across(self) -> npt.NDArray[np.intp]:
        """(SLOTS,): the opponent's cell, `THEIRS * SLOTS + slot`, at each of my points; an empty one elsewhere."""
        cells = np.full(SLOTS, THEIRS * SLOTS + NOWHERE, np.intp)
        for point in range(1, self.points + 1):
            cells[point] = THEIRS * SLOTS + self.opposing(point)
        return cells

    def mirrored(self, flags: npt.NDArray[np.bool_]) -> Words:
        """(M, SLOTS) flags of one side -> (M,) words: points of the other side's count."""
        if self.track == "contrary":  # a reversed word is the opposite direction
            return (pack_reversed(flags) >> np.uint32(SLOTS - 2 - self.points)) & self.board_words
        return self._shifted(pack(flags))

    def turned(self, words: Words) -> Words:
        """(M,) words: points of one side's count, in the other side's count."""
        if self.track == "contrary":
            return (reverse(words) >> np.uint32(SLOTS - 2 - self.points)) & self.board_words
        return self._shifted(words)

    def _shifted(self, words: Words) -> Words:
        """The other side's count where both move the same way."""
        words = words & self.board_words
        if self.track == "parallel12":
            half = np.uint32(self.points // 2)
            words = ((words << half) | (words >> half)) & self.board_words
        return words
