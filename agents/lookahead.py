"""Playing one roll ahead: a value function asked after every roll and its best reply."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agents.base import Choice, Scores, candidates
from agents.value import Evaluator, ValueAgent
from engine.chances import Chances, outcomes_of_chance
from engine.decisions import Afterstates, afterstates
from engine.ruleset import Ruleset
from engine.slots import Boards, Codes, Keys

KEEP = 8  # plays of a decision that are looked at, where there are more
WITHIN = 0.3  # points below the best, or a tenth of the largest payoff where that is more
POSITIONS_AT_ONCE = 4096  # after the roll; a slice whose replies fit into the memory


class LookaheadAgent(ValueAgent):
    """Takes the play with the highest equity after every possible roll and the best reply to it (1-ply).

    A reply is the best by `evaluator` for whoever acts then: the opponent, or the same side where it
    rolls again. Each roll counts with its true probability. Looked at are all plays of a decision
    where they are no more than `keep`, else the best `keep` by 0-ply, and of these only the ones that
    are no more than 0.3 points (or a tenth of the largest payoff) below the best. Forced plays are not
    looked at, and what ends the game is known.

    Args:
        evaluator: gives outcome probabilities of positions.
        rules: of the games it plays.
        spec: the text that makes this agent again.
        keep: how many plays of a decision are looked at.
    """

    def __init__(self, evaluator: Evaluator, rules: Ruleset, spec: str, keep: int = KEEP) -> None:
        super().__init__(evaluator, rules, spec)
        self.keep = keep
        self.within = max(WITHIN, float(rules.payoffs.max()) / 10)

    def choose(self, after: Afterstates, noise: Keys) -> Choice:
        """(N,) rows with the highest equity; ties by checkers off, pips, order."""
        choice = after.start[:-1].copy()
        games = np.flatnonzero(after.counts > 1)
        if games.size:
            part, rows = after.of(games)
            choice[games] = rows.take(self.best(self.equities(part), part))
        return choice

    def equities(self, after: Afterstates) -> Scores:
        """(M,) points for the chooser, one roll ahead; -inf for plays that are not looked at."""
        shallow = super().equities(after)
        rows = candidates(shallow, after, self.keep, self.within)
        equity = np.full(shallow.size, -np.inf)
        equity[rows] = shallow[rows]
        asked = rows[after.outcome.take(rows) < 0]
        if asked.size:
            ahead = self.ahead(after.boards.take(asked, axis=0), after.pending.take(asked))
            equity[asked] = np.where(after.passed.take(asked), -ahead, ahead)
        return equity

    def ahead(self, boards: Boards, pending: Codes) -> Scores:
        """(M,) equities of positions for MINE: the mean over the dice of the best reply's.

        Args:
            boards: (M, 2, SLOTS) int8.
            pending: (M,) int8; a position that waits for no dice is decided at once.
        """
        chances, worth = replies(super().equities, boards, pending, self.rules)
        return np.bincount(chances.parent, chances.weight * worth, pending.size).astype(np.float64)


def replies(
    equities: Callable[[Afterstates], Scores], boards: Boards, pending: Codes, rules: Ruleset
) -> tuple[Chances, Scores]:
    """Everything that dice can bring to M positions (R results), and what the best play there is worth.

    Args:
        equities: gives the (A,) points of plays for their chooser, who takes the best.
        boards: (M, 2, SLOTS) int8.
        pending: (M,) int8; a position that waits for no dice is decided at once.
        rules: of all positions.

    Returns:
        R chances, and (R,) points for MINE of the position they came from.
    """
    chances = outcomes_of_chance(boards, pending, rules)
    best = np.empty(chances.size)
    for low in range(0, chances.size, POSITIONS_AT_ONCE):
        part = slice(low, low + POSITIONS_AT_ONCE)
        plays = afterstates(chances.boards[part], chances.pending[part], rules)
        best[part] = np.maximum.reduceat(equities(plays), plays.start[:-1])
    return chances, np.where(chances.turned, -best, best)
