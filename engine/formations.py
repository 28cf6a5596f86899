"""Bans on positions, judged where a play ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.ruleset import Ruleset, Sight, is_closed_out
from engine.slots import Flags


@dataclass(frozen=True, kw_only=True)
class ClosedBoard:
    """No closed home board while the opponent has a checker on the bar."""

    hard: Literal[True] = True

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        return "No play may end with all home points held by two or more while the opponent is on the bar."

    def bad(self, see: Sight) -> Flags:
        """(M,) flags: the play ends with a closed board against the bar."""
        return is_closed_out(see.boards, see.rules)
