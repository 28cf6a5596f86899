"""How checkers are borne off, once all are home."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.ruleset import Ruleset


@dataclass(frozen=True, kw_only=True)
class StandardBearing:
    """A die takes a checker from its own point, or from the highest one if nothing stands higher."""

    while_pinned: bool = False

    def tell(self, rules: Ruleset) -> str:
        """Bearing off as a sentence."""
        return "With all checkers home, a die bears off from its own point, or from the highest if none stands higher."

    def may_leave(self, point: int, die: int, held: Sequence[int]) -> bool:
        """The exact point, or the highest point held by a larger die."""
        return die == point or (die > point and point == max(held))


@dataclass(frozen=True, kw_only=True)
class FreeBearing:
    """A die takes a checker from its own point or any lower one, also past higher checkers."""

    while_pinned: bool = False

    def tell(self, rules: Ruleset) -> str:
        """Bearing off as a sentence."""
        return "With all checkers home, a die bears off any checker on its own point or a lower one."

    def may_leave(self, point: int, die: int, held: Sequence[int]) -> bool:
        """Any point up to the die."""
        return die >= point
