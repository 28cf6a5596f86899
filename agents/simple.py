"""Two agents that need no training: chance, and a counter of pips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agents.base import Choice, Scores, least
from engine.decisions import Afterstates
from engine.game import below
from engine.ruleset import Ruleset
from engine.slots import MINE, OFF, THEIRS, Keys

Sides = npt.NDArray[np.int8]  # (M, SLOTS)


@dataclass(frozen=True)
class Random:
    """Any legal play, each equally likely."""

    rules: Ruleset
    spec: str = "random"

    def choose(self, after: Afterstates, noise: Keys) -> Choice:
        """(N,) rows, drawn from `noise`."""
        return after.start[:-1] + below(noise, after.counts.astype(np.uint64))

    def shares(self, after: Afterstates) -> Scores:
        """(M,) the same for every row of a decision."""
        return np.repeat(1 / after.counts, after.counts)


@dataclass(frozen=True)
class Pips:
    """The lowest own minus opposing pips; then more checkers off, then fewer blots where blots are in danger."""

    rules: Ruleset
    spec: str = "pips"

    def choose(self, after: Afterstates, noise: Keys) -> Choice:
        """(N,) rows; the first of what is left equal, so there is no chance in it."""
        chooser = np.where(after.passed, THEIRS, MINE)
        rows = np.arange(chooser.size)
        mine, theirs = after.boards[rows, chooser], after.boards[rows, 1 - chooser]
        lead = (pips(mine, self.rules) - pips(theirs, self.rules)).astype(np.float64)
        scores: Scores = (lead * 16 - mine[:, OFF]) * 32
        if self.rules.contact.fate != "safe":
            scores += (mine[:, 1 : self.rules.points + 1] == 1).sum(axis=1)
        return least(scores, after)


def pips(side: Sides, rules: Ruleset) -> npt.NDArray[np.int64]:
    """(M,) pips that one side, (M, SLOTS) int8, still has to go; bar and hand count P + 1."""
    weights = np.arange(side.shape[1])
    weights[rules.hand] = rules.bar
    weights[rules.hand + 1 :] = 0
    return np.abs(side).astype(np.int64) @ weights
