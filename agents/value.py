"""Playing by a value function: the highest equity after the play."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from agents.base import Choice, Scores, least
from agents.simple import pips
from engine.decisions import Afterstates
from engine.ruleset import Ruleset
from engine.slots import MINE, OFF, THEIRS, Boards, Codes, Keys, Rows

EVEN = 1e-6  # equities closer than this are equal: the last bits of a float depend on the batch
FLOAT_BITS = np.uint64(40)


class Evaluator(Protocol):
    """Something that knows outcome probabilities: a net, an exported policy, an exact table."""

    def values(self, boards: Boards, pending: Codes) -> npt.NDArray[np.float32]:
        """(M, K) float32 outcome probabilities for the side that acts next."""


class ValueAgent:
    """Takes the play with the highest equity, as `evaluator` sees what follows (0-ply).

    Equal equities: more checkers off, then fewer pips, then the first.

    Args:
        evaluator: gives outcome probabilities of positions.
        rules: of the games it plays.
        spec: the text that makes this agent again.
        noise: standard deviation of what is added to every equity, in points; for exploring.
        gammon_weight: weight of what a win pays beyond the least; 1 plays for points, 0 for wins.
    """

    def __init__(
        self, evaluator: Evaluator, rules: Ruleset, spec: str, noise: float = 0.0, gammon_weight: float = 1.0
    ) -> None:
        self.evaluator, self.rules, self.spec, self.noise = evaluator, rules, spec, noise
        sizes = np.abs(rules.payoffs)
        single = sizes[sizes > 0].min()
        self.payoffs = np.sign(rules.payoffs) * np.where(sizes > 0, single + gammon_weight * (sizes - single), 0)

    def choose(self, after: Afterstates, noise: Keys) -> Choice:
        """(N,) rows with the highest equity; forced plays are not looked at."""
        asked = np.flatnonzero((after.outcome < 0) & (after.counts > 1).take(after.game))
        equity = self._equities(after, asked)
        if self.noise:
            generator = np.random.default_rng(noise[:1].tolist())
            equity[asked] += generator.normal(scale=self.noise, size=asked.size)
        return self.best(equity, after)

    def equities(self, after: Afterstates) -> Scores:
        """(M,) points for the chooser: what finished games pay, and what the others are worth."""
        return self._equities(after, np.flatnonzero(after.outcome < 0))

    def _equities(self, after: Afterstates, asked: Rows) -> Scores:
        """(M,) equities of finished games and of the `asked` rows, none of them finished; 0 elsewhere."""
        equity = np.zeros(after.game.size)
        over = np.flatnonzero(after.outcome >= 0)
        equity[over] = self.payoffs.take(after.outcome.take(over))
        if asked.size:
            equity[asked] = self._judged(after, asked)
        return equity

    def _judged(self, after: Afterstates, asked: Rows) -> Scores:
        """(A,) equities of the `asked` rows."""
        values = self.evaluator.values(after.boards.take(asked, axis=0), after.pending.take(asked))
        judged: Scores = np.where(after.passed.take(asked), -1.0, 1.0) * (values @ self.payoffs)
        return judged

    def best(self, equity: Scores, after: Afterstates) -> Choice:
        """(N,) rows with the highest (M,) equity; ties by checkers off, pips, order."""
        top = np.maximum.reduceat(equity, after.start[:-1])
        rows = np.flatnonzero(equity >= top.take(after.game) - EVEN)
        scores = np.full(equity.size, np.inf)
        chooser = np.where(after.passed.take(rows), THEIRS, MINE)
        mine = after.boards.reshape(-1, after.boards.shape[2]).take(2 * rows + chooser, axis=0)
        scores[rows] = pips(mine, self.rules) - 1000.0 * mine[:, OFF]
        return least(scores, after)
