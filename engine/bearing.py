"""How checkers are borne off, once all are home."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.ruleset import Ruleset


def while_pinned_sentence(allowed: bool, rules: Ruleset) -> str:
    """Whether a pinned checker stops bearing off, where checkers are pinned."""
    if rules.contact.fate != "pinned":
        return ""
    if allowed:
        return " A checker that is pinned at home stops nothing, and does not count as the highest."
    return " While a checker of its own is pinned, a side bears off none."


@dataclass(frozen=True, kw_only=True)
class StandardBearing:
    """A die takes a checker from its own point, or from the highest one if nothing stands higher."""

    while_pinned: bool = False

    def tell(self, rules: Ruleset) -> str:
        """Bearing off as a sentence."""
        text = "With all checkers home, a die bears off from its own point, or from the highest if none stands higher."
        return text + while_pinned_sentence(self.while_pinned, rules)

    def may_leave(self, point: int, die: int, held: Sequence[int]) -> bool:
        """The exact point, or the highest point held by a larger die."""
        return die == point or (die > point and point == max(held))


@dataclass(frozen=True, kw_only=True)
class FreeBearing:
    """A die takes a checker from its own point or any lower one, also past higher checkers."""

    while_pinned: bool = False

    def tell(self, rules: Ruleset) -> str:
        """Bearing off as a sentence."""
        text = "With all checkers home, a die bears off any checker on its own point or a lower one."
        return text + while_pinned_sentence(self.while_pinned, rules)

    def may_leave(self, point: int, die: int, held: Sequence[int]) -> bool:
        """Any point up to the die."""
        return die >= point


@dataclass(frozen=True, kw_only=True)
class ExactBearing:
    """A die takes a checker from its own point only; otherwise it is a step, or lost."""

    while_pinned: bool = False

    def tell(self, rules: Ruleset) -> str:
        """Bearing off as a sentence."""
        text = "With all checkers home, a die bears off from its own point only."
        return text + while_pinned_sentence(self.while_pinned, rules)

    def may_leave(self, point: int, die: int, held: Sequence[int]) -> bool:
        """The exact point."""
        return die == point
