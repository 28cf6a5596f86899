"""Watching a duel while it is played: an interval that holds at every look, and when to stop."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

ALPHA = 0.05  # how often at most the interval misses the truth, at any look
FEWEST = 100  # pairs before the first look: the interval trusts that their mean is nearly normal
TUNED_FOR = 1000  # pairs at which the interval is narrowest for its kind
Points = npt.NDArray[np.float64]  # (pairs,)


def interval_at_every_look(points: Points, alpha: float = ALPHA) -> tuple[float, float]:
    """An interval of the mean that may be looked at after every pair: all looks together miss with `alpha`.

    Robbins' normal mixture with the spread estimated: for sums S of t standard normal numbers,

        |S| < sqrt((t + 1 / r) (log(1 + t r) + 2 log(1 / alpha)))   for all t together, with 1 - alpha,

    where r, the variance of the mixture, makes the width at TUNED_FOR pairs nearly the least. Asymptotic,
    so from FEWEST pairs on; before that, and where nothing varied yet, the interval is endless.

    Args:
        points: (pairs,) so far, with one mean whatever came before.
        alpha: how often at most it misses.

    Source: Robbins (1970), "Statistical methods related to the law of the iterated logarithm";
    Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas (2024), "Time-uniform central limit theory and
    asymptotic confidence sequences".
    """
    size = points.size
    if size < FEWEST or np.ptp(points) == 0:
        return -np.inf, np.inf
    goal = -2 * np.log(alpha)
    mixture = (goal + np.log(goal) + 1) / TUNED_FOR
    far = np.sqrt((size + 1 / mixture) * (np.log(1 + size * mixture) + goal)) / size
    mean, reach = float(points.mean()), float(far * points.std(ddof=1))
    return mean - reach, mean + reach


def verdict(points: Points, alpha: float = ALPHA) -> int:
    """1 where the mean is settled to be above 0, -1 where below, 0 where it is open."""
    low, high = interval_at_every_look(points, alpha)
    return int(low > 0) - int(high < 0)


def looks(pairs: int) -> Iterator[int]:
    """After how many pairs to look: every 100, later every eighth of what was played; the last are all `pairs`."""
    done = 0
    while done < pairs:
        done = min(done + max(FEWEST, done // 8), pairs)
        yield done
