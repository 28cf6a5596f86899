"""Ratings of a field from duels with the same dice: Bradley-Terry on wins, least squares on points, and how sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import optimize
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from arena.duel import Duel

ELO = 400 / math.log(10)  # Elo points of a factor e in the odds of winning
SAMPLES = 1000  # of the bootstrap
SAMPLES_AT_ONCE = 50
DRAWN_GAMES = 1.0  # that everybody is given against an opponent in the middle of the field
Floats = npt.NDArray[np.float64]
Meetings = Sequence[tuple[int, int]]  # (duels,) pairs of entrants


@dataclass(frozen=True, eq=False)
class Scale:
    """A rating of every entrant whose mean is 0, and how sure it is.

    `value` is (n,); `low` and `high` are the ends of its 95 % interval; `above` (n, n) is the
    likelihood of superiority: the share of resamplings in which the row is above the column.
    """

    value: Floats
    low: Floats
    high: Floats
    above: Floats

    def take(self, order: npt.NDArray[np.int64]) -> Scale:
        """The same with the entrants in another order."""
        rows = np.ix_(order, order)
        return Scale(self.value[order], self.low[order], self.high[order], self.above[rows])


@dataclass(frozen=True, eq=False)
class Ratings:
    """Both ratings of a field.

    `groups` (n,) are alike for entrants who can be compared by wins alone: from each leads a chain
    of wins to every other. Between groups somebody won every game, and only `DRAWN_GAMES` keeps the
    gap finite: it is a lower bound, and its interval too narrow. `misfit` is the root mean square of
    the points a game that one number an entrant leaves unexplained, beyond luck or not.
    """

    elo: Scale
    ppg: Scale
    groups: npt.NDArray[np.int32]
    misfit: float

    def take(self, order: npt.NDArray[np.int64]) -> Ratings:
        """The same with the entrants in another order."""
        return Ratings(self.elo.take(order), self.ppg.take(order), self.groups[order], self.misfit)


def meetings(runs: Sequence[str]) -> list[tuple[int, int]]:
    """Who plays whom: all, save that an earlier snapshot of a run meets only anchors and the next snapshot.

    Anchors are the entrants that belong to no run, and the last snapshot of every run. So a run of n
    snapshots costs a number of duels that grows with n, not with its square.

    Args:
        runs: (n,) the run that each entrant is a snapshot of, in order; empty for the others.
    """
    is_anchor = [not run or run not in runs[at + 1 :] for at, run in enumerate(runs)]
    return [
        (a, b)
        for a, b in combinations(range(len(runs)), 2)
        if is_anchor[a] or is_anchor[b] or (b == a + 1 and runs[a] == runs[b])
    ]


def rate(duels: Sequence[Duel], pairing: Meetings, size: int, seed: int) -> Ratings:
    """Rate a field; intervals by bootstrap over pairs of games.

    Duels share their dice, so a resampling draws the same pairs again in all of them, for both
    ratings; what all duels owe to the same luck stays in step.

    Args:
        duels: all of equally many games with the same seed.
        pairing: which two entrants each duel was between; all must be linked by duels.
        size: n, how many entrants.
        seed: of the resampling.
    """
    scores = np.stack([_scores(duel) for duel in duels])
    points = np.stack([duel.points for duel in duels])
    drawn = _resampled(np.concatenate([scores, points]), seed)
    games = duels[0].games
    elo = bradley_terry(scores.mean(axis=1), pairing, size, games)
    elos = np.stack([bradley_terry(row, pairing, size, games, elo) for row in drawn[:, : len(duels)]])
    ppg = least_squares(points.mean(axis=1), pairing, size)
    ppgs = least_squares(drawn[:, len(duels) :], pairing, size)
    a, b = np.transpose(pairing)
    left = points.mean(axis=1) - (ppg[a] - ppg[b])
    mean = scores.mean(axis=1)
    beats = np.zeros((size, size))
    beats[a, b], beats[b, a] = mean > 0, mean < 1
    groups = connected_components(beats, connection="strong")[1]
    return Ratings(_scale(elo, elos), _scale(ppg, ppgs), groups, float(np.sqrt((left**2).mean())))


def bradley_terry(
    wins: Floats, pairing: Meetings, size: int, games: float, start: Floats | None = None
) -> npt.NDArray[np.float64]:
    """Elo ratings of most likelihood: the odds of a win are 10 ** (difference / 400).

    Everybody is also given `DRAWN_GAMES` against an opponent rated 0. This changes a rating by less
    than its error where there were real wins and losses; without it whoever won or lost every game
    would be infinitely far away, and entrants who never met by any chain would float.

    Args:
        wins: (duels,) share of games that the first of the two won; a draw is half a win.
        pairing: which two entrants each duel was between.
        size: n, how many entrants.
        games: of every duel.
        start: (n,) Elo to begin the search at.

    Returns:
        (n,) Elo, their mean 0.

    Source: Bradley & Terry (1952); the existence of a maximum: Ford (1957).
    """
    a, b = np.transpose(pairing)
    prior = DRAWN_GAMES / games
    design = np.zeros((len(pairing), size))
    design[np.arange(len(pairing)), a], design[np.arange(len(pairing)), b] = 1, -1

    def loss(rating: Floats) -> tuple[float, Floats]:
        gap = rating[a] - rating[b]
        told = wins @ np.logaddexp(0, -gap) + (1 - wins) @ np.logaddexp(0, gap)
        held = prior / 2 * (np.logaddexp(0, -rating) + np.logaddexp(0, rating)).sum()
        return float(told + held), (expit(gap) - wins) @ design + prior * (expit(rating) - 0.5)

    def curvature(rating: Floats) -> Floats:
        chance, even = expit(rating[a] - rating[b]), expit(rating)
        bend: Floats = (design.T * (chance * (1 - chance))) @ design + np.diag(prior * even * (1 - even))
        return bend

    begin = np.zeros(size) if start is None else start / ELO
    found = optimize.minimize(loss, begin, jac=True, hess=curvature, method="trust-exact", options={"gtol": 1e-7})
    elo: Floats = ELO * (found.x - found.x.mean())
    return elo


def least_squares(points: Floats, pairing: Meetings, size: int) -> npt.NDArray[np.float64]:
    """Points a game against the mean of the field: the numbers whose differences fit the duels best.

    Args:
        points: (..., duels) mean points of the first of the two.
        pairing: which two entrants each duel was between.
        size: n, how many entrants.

    Returns:
        (..., n) float64, their mean 0.
    """
    a, b = np.transpose(pairing)
    design = np.zeros((len(pairing), size))
    design[np.arange(len(pairing)), a], design[np.arange(len(pairing)), b] = 1, -1
    fitted: Floats = points @ np.linalg.pinv(design).T
    return fitted


def _scores(duel: Duel) -> Floats:
    """(pairs,) share of the two games of each pair that the first agent won; a draw or a cut game is half."""
    results: Floats = (np.sign(np.append(duel.rules.payoffs, 0)) + 1) / 2
    scores: Floats = results[duel.outcome].mean(axis=0)
    return scores


def _resampled(values: Floats, seed: int) -> Floats:
    """(SAMPLES, V) means of (V, pairs) values over pairs drawn with replacement, the same ones for every row."""
    pairs, generator = values.shape[1], np.random.default_rng(seed)
    parts = []
    for _ in range(0, SAMPLES, SAMPLES_AT_ONCE):
        counts = generator.multinomial(pairs, np.full(pairs, 1 / pairs), SAMPLES_AT_ONCE)
        parts.append(counts @ values.T / pairs)
    return np.concatenate(parts)


def _scale(value: Floats, samples: Floats) -> Scale:
    """A rating (n,) with its resamplings (SAMPLES, n)."""
    low, high = np.quantile(samples, (0.025, 0.975), axis=0)
    ahead = np.sign(samples[:, :, None] - samples[:, None, :])
    return Scale(value, low, high, (ahead.mean(axis=0) + 1) / 2)
