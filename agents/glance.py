"""Playing by a net that looks in full only at the plays which a glance at its first layer leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from agents.base import Scores
from agents.network import ROWS_AT_ONCE, Judge
from agents.value import EVEN, ValueAgent
from engine.decisions import Afterstates
from engine.ruleset import Ruleset
from engine.slots import Rows

Signs = npt.NDArray[np.float32]  # (M,)
WIDEST = 128  # first layer with which a glance was seen to save more than its fit costs; 256-128 lost
PLAYS_A_WEIGHT = 100  # with half as many a fit missed nearly twice as often in other decisions as in its own
RIDGE = 1e-3  # of the mean variance of an input; keeps a line through units that are never on


@dataclass(frozen=True, eq=False)
class Glance:
    """Guesses equities by a line through what leaves the first layer; good enough to see what is hopeless.

    The line tells the plays of a decision from each other, not one decision from another.
    """

    slope: Tensor  # (H,)
    height: float
    margin: float  # points below the best guess of a decision at which a play is hopeless

    def guess(self, signal: Tensor, sign: Signs) -> Signs:
        """(M,) points for the chooser, but for what the plays of a decision have in common."""
        points: Signs = sign * torch.add(signal @ self.slope, self.height).numpy()
        return points

    def promising(self, signal: Tensor, sign: Signs, starts: Rows) -> Rows:
        """The rows that may be the best of their decision, at least one of each.

        Args:
            signal: (M, H) what leaves the first layer.
            sign: (M,) 1 where the chooser acts next, -1 where the other side does.
            starts: (D,) where the rows of each decision begin.
        """
        guess = self.guess(signal, sign)
        least = np.maximum.reduceat(guess, starts) - self.margin
        return np.flatnonzero(~(guess < least.repeat(np.diff(starts, append=sign.size))))  # what is no number stays


def fitted(signal: Tensor, sign: Signs, equity: Scores, starts: Rows, missed: float) -> Glance:
    """The glance that fits equities best by least squares within decisions.

    Args:
        signal, sign, starts: as for `Glance.promising`.
        equity: (M,) points for the chooser.
        missed: share of these decisions whose best play it may drop.
    """
    counts, first = np.diff(starts, append=sign.size), torch.from_numpy(starts)
    inputs = torch.cat([signal, torch.ones(sign.size, 1)], dim=1) * torch.from_numpy(sign)[:, None]
    means = functional.embedding_bag(torch.arange(sign.size), inputs, first, mode="mean")
    sums = torch.from_numpy(np.add.reduceat(equity, starts)).float()
    product = (inputs.T @ inputs - (means.T * torch.from_numpy(counts)) @ means).double()
    product.diagonal().add_(RIDGE * (product.trace() / len(product) + 1))
    wanted = inputs.T @ torch.from_numpy(equity).float() - means.T @ sums
    line = torch.linalg.solve(product, wanted.double()).float()
    glance = Glance(line[:-1], float(line[-1]), 0.0)
    guess = glance.guess(signal, sign)
    best = np.where(equity >= np.maximum.reduceat(equity, starts).repeat(counts), guess, -np.inf)
    short = np.maximum.reduceat(guess, starts) - np.maximum.reduceat(best, starts)
    return replace(glance, margin=float(np.quantile(short, 1 - missed, method="higher")) + EVEN)


class GlancingAgent(ValueAgent):
    """Takes the play with the highest equity among those that a glance does not drop.

    The glance is fitted to the first plays that this agent looks at, which it judges in full until they are
    enough. It keeps that, other than most agents: make a new one when the weights change.

    Args:
        judge: of a net on the processor.
        rules: of the games it plays.
        spec: the text that makes this agent again.
        missed: share of the decisions it is fitted to whose best play may be dropped.
        gammon_weight: as of `ValueAgent`.
    """

    def __init__(self, judge: Judge, rules: Ruleset, spec: str, missed: float, gammon_weight: float = 1.0) -> None:
        super().__init__(judge, rules, spec, gammon_weight=gammon_weight)
        self.judge, self.missed, self.enough = judge, missed, PLAYS_A_WEIGHT * (judge.net.hidden[0] + 1)
        self.seen: list[tuple[Tensor, Signs, Scores, Rows]] = []  # to fit a glance to
        self.glance: Glance | None = None

    def _judged(self, after: Afterstates, asked: Rows) -> Scores:
        """(A,) equities of the `asked` rows; -inf where a glance was enough."""
        equity, possible = np.full(asked.size, -np.inf), self.rules.scoring.possible
        signs = np.where(after.passed.take(asked), np.float32(-1), np.float32(1))
        for part, starts in parts(after.game.take(asked)):
            boards, sign = after.boards.take(asked[part], axis=0), signs[part]
            signal = self.judge.first(boards, after.pending.take(asked[part]))
            if self.glance is None:
                equity[part] = sign * (self.judge.rest(signal, possible(boards, self.rules)) @ self.payoffs)
                self._remember(signal, sign, equity[part], starts)
            else:
                kept = self.glance.promising(signal, sign, starts)
                signal = signal.index_select(0, torch.from_numpy(kept))
                values = self.judge.rest(signal, possible(boards.take(kept, axis=0), self.rules))
                equity[part.start + kept] = sign.take(kept) * (values @ self.payoffs)
        return equity

    def _remember(self, *seen: *tuple[Tensor, Signs, Scores, Rows]) -> None:
        """Fit the glance as soon as plays and equities are enough."""
        self.seen.append(seen)
        signal, sign, equity, starts = zip(*self.seen, strict=True)
        sizes = [each.size for each in sign]
        if sum(sizes) >= self.enough:
            before = np.cumsum([0, *sizes[:-1]])
            first = np.concatenate([each + rows for each, rows in zip(starts, before, strict=True)])
            self.glance = fitted(torch.cat(signal), np.concatenate(sign), np.concatenate(equity), first, self.missed)
            self.seen.clear()


def parts(game: npt.NDArray[np.int32]) -> Iterator[tuple[slice, Rows]]:
    """Slices of whole decisions, of about `ROWS_AT_ONCE` rows, and where in each the rows of a decision begin.

    Args:
        game: (A,) of each row, in order.
    """
    starts = np.flatnonzero(np.diff(game, prepend=-1))
    least = np.append(np.arange(0, game.size, ROWS_AT_ONCE), game.size)
    ends = np.append(starts, game.size)
    for low, high in pairwise(np.unique(np.searchsorted(starts, least))):
        yield slice(ends[low], ends[high]), starts[low:high] - starts[low]
