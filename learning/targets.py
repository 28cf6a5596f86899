"""What each position of a trajectory should have predicted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents.value import ValueAgent
from engine.chances import outcomes_of_chance
from engine.decisions import afterstates
from engine.ruleset import Ruleset
from engine.slots import Boards, Codes

Values = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
ROLLS_AT_ONCE = 9216  # a slice whose replies fit into the memory


def one_hot(outcome: npt.NDArray[np.int8], outcomes: int) -> Values:
    """(..., K) float32: 1 at each outcome, all zero where it is -1 (the game goes on)."""
    hot: Values = (outcome[..., None] == np.arange(outcomes)).astype(np.float32)
    return hot


def lambda_targets(
    values: Values, outcomes: Values, passed: Flags, lambda_: float, known: Flags | None = None
) -> Values:
    """Outcome probabilities each position should have predicted: TD(lambda), forward view.

    A position is seen by the side that acts in it, so what follows is turned around whenever the
    turn passed:

        G[t] = outcome[t]                                          if decision t ended the game
        G[t] = view((1 - lambda) * values[t+1] + lambda * G[t+1])  otherwise

    where view() reverses the outcome axis if `passed[t]`, and G[T] = values[T]: the horizon is
    bootstrapped. Where the value of a position is known exactly, G[t] = values[t].

    Args:
        values: (T + 1, N, K) float32, predictions for the position of each decision.
        outcomes: (T, N, K) float32, one-hot where that decision ended a game, else zero.
        passed: (T, N) bool, False where the same side acts again.
        lambda_: weight of longer returns, 0 (one decision) to 1 (outcome only).
        known: (T + 1, N) bool, positions whose values are exact; none where None.

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
        following = np.where(is_over, outcomes[t], seen)
        if known is not None:
            following = np.where(known[t, :, None], values[t], following)
        targets[t] = following
    return targets


def exact_targets(agent: ValueAgent, boards: Boards, pending: Codes, rules: Ruleset) -> Values:
    """Outcome probabilities each position should have predicted: the mean over everything that can be rolled.

        E[s] = sum over results r of chance: P(r) * view(values of the best reply to r)

    The best reply has the highest equity for the side that decides; view() turns the outcome axis
    around where that side or the one that acts next is the other than MINE of the position.

    Args:
        agent: chooses the replies, and values what they lead to.
        boards: (M, 2, SLOTS) int8.
        pending: (M,) int8; a position that waits for no dice has one result.
        rules: of all positions.

    Returns:
        (M, K) float32; every row sums to 1.
    """
    targets = np.zeros((pending.size, rules.payoffs.size), np.float32)
    at_once = ROLLS_AT_ONCE // rules.faces**2
    for low in range(0, pending.size, at_once):
        part = slice(low, low + at_once)
        chances = outcomes_of_chance(boards[part], pending[part], rules)
        replies = afterstates(chances.boards, chances.pending, rules)
        values = one_hot(replies.outcome, rules.payoffs.size)
        going = np.flatnonzero(replies.outcome < 0)
        if going.size:
            found = agent.evaluator.values(replies.boards.take(going, axis=0), replies.pending.take(going))
            values[going] = np.where(replies.passed.take(going)[:, None], found[:, ::-1], found)
        best = values.take(agent.best(values @ agent.payoffs, replies), axis=0)
        seen = np.where(chances.turned[:, None], best[:, ::-1], best) * chances.weight[:, None]
        np.add.at(targets[part], chances.parent, seen.astype(np.float32))
    return targets
