"""Bans on single steps, asked at each step of a play."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.ruleset import Ruleset, Sight
from engine.slots import MINE, Words, bit


@dataclass(frozen=True, kw_only=True)
class FirstRollEnters:
    """A roll that begins with all checkers in the hand only enters."""

    order_matters: Literal[False] = False

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        return "A roll that begins with all checkers in the hand only enters."

    def allow(self, can: Words, see: Sight) -> Words:
        """(M,) words: only the hand, where the decision began with all checkers there."""
        hand = see.rules.hand
        all_in_hand = see.before[:, MINE, hand] == see.rules.checkers
        return np.where(all_in_hand, can & bit(hand), can)
