"""What each position of a trajectory should have predicted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


def one_hot(outcome: npt.NDArray[np.int8], outcomes: int) -> Values:
    """(..., K) float32: 1 at each outcome, all zero where it is -1 (the game goes on)."""
    hot: Values = (outcome[..., None] == np.arange(outcomes)).astype(np.float32)
    return hot


def lambda_targets(values: Values, outcomes: Values, passed: Flags, lambda_: float) -> Values:
    """Outcome probabilities each position should have predicted: TD(lambda), forward view.

    A position is seen by the side that acts in it, so what follows is turned around whenever the
    turn passed:

        G[t] = outcome[t]                                          if decision t ended the game
        G[t] = view((1 - lambda) * values[t+1] + lambda * G[t+1])  otherwise

    where view() reverses the outcome axis if `passed[t]`, and G[T] = values[T]: the horizon is
    bootstrapped.

    Args:
        values: (T + 1, N, K) float32, predictions for the position of each decision.
        outcomes: (T, N, K) float32, one-hot where that decision ended a game, else zero.
        passed: (T, N) bool, False where the same side acts again.
        lambda_: weight of longer returns, 0 (one decision) to 1 (outcome only).

    Returns:
        (T, N, K) float32; every row sums to 1.

    Raises:
        ValueError: lambda_ is outside 0..1.

    Source: Sutton & Barto (2018), section 12.1; Tesauro (1995).
    """
    if not 0 <= lambda_ <= 1:
        raise ValueError(f"lambda={lambda_}: must be from 0 to 1")
    weight = np.float32(lambda_)
    targets = np.empty_like(outcomes)
    following = values[-1]
    for t in range(len(outcomes) - 1, -1, -1):
        mixed = (1 - weight) * values[t + 1] + weight * following
        seen = np.where(passed[t, :, None], mixed[:, ::-1], mixed)
        is_over = outcomes[t].any(axis=-1, keepdims=True)
        targets[t] = following = np.where(is_over, outcomes[t], seen)
    return targets
