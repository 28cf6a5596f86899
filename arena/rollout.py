"""Truncated rollouts with the luck of the dice taken out: what a position is worth, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from agents.base import Scores
from agents.value import ValueAgent
from engine.chances import outcomes_of_chance
from engine.decisions import afterstates
from engine.game import ODD, below, mix, seeds_of
from engine.slots import Boards, Codes, Keys

Results = npt.NDArray[np.float64]  # (M, trials): points of every trial

TRIALS_AT_ONCE = 512  # a slice whose replies to all rolls fit into the memory
SCALE = 1 << 24  # a draw in 1 / SCALE of the certain


@dataclass(frozen=True, eq=False)
class Rollouts:
    """M positions rolled out, each with the same dice, in points for MINE of the position.

    `adjusted` are the results with the luck taken out, `plain` without; both have the same mean.
    """

    adjusted: Results
    plain: Results

    @property
    def means(self) -> Scores:
        """(M,) what the positions are worth."""
        return np.asarray(self.adjusted.mean(axis=1), np.float64)

    @property
    def errors(self) -> Scores:
        """(M,) standard errors of `means`."""
        return np.asarray(self.adjusted.std(axis=1, ddof=1) / np.sqrt(self.adjusted.shape[1]), np.float64)


def roll_out(
    agent: ValueAgent, boards: Boards, pending: Codes, trials: int, plies: int, seed: int, bar: tqdm[None] | None = None
) -> Rollouts:
    """Play positions on, many times and a few turns each, and value where that leads.

    Both sides take what `agent` likes best at 0-ply; after `plies` turns stands its value of the
    position reached. From every result the luck is subtracted: for each roll, the value of the best
    play for what came up minus the mean of the same over all that could have come up, each with its
    true probability. Its expectation is 0, so that the mean stays and most of the noise goes.

    Trial t has the same dice in all positions, as far as the same is to be rolled.

    Args:
        agent: plays and values.
        boards: (M, 2, SLOTS) int8, none of them finished.
        pending: (M,) int8.
        trials: how many games a position.
        plies: how many turns of a game.
        seed: of the dice.
        bar: told of every finished trial.

    Source: Zare, "Hedging toward skill"; GNU Backgammon manual, variance reduction.
    """
    adjusted, plain = np.empty((2, pending.size * trials))
    seeds = np.tile(seeds_of(seed, trials), pending.size)
    for low in range(0, seeds.size, TRIALS_AT_ONCE):
        part = slice(low, min(low + TRIALS_AT_ONCE, seeds.size))
        position = np.arange(part.start, part.stop) // trials
        plain[part], luck = _played(agent, boards[position], pending[position], plies, seeds[part])
        adjusted[part] = plain[part] - luck
        if bar is not None:
            bar.update(position.size)
    return Rollouts(adjusted.reshape(-1, trials), plain.reshape(-1, trials))


def _played(agent: ValueAgent, boards: Boards, pending: Codes, plies: int, seeds: Keys) -> tuple[Scores, Scores]:
    """(T,) points and (T,) luck of T games played on, for MINE of where they began."""
    points, luck = np.zeros((2, pending.size))
    game = np.arange(pending.size)  # which game each row still is
    sign, turns, draws = np.ones(pending.size), np.zeros(pending.size, np.int64), 0
    while game.size:
        chances = outcomes_of_chance(boards, pending, agent.rules)
        replies = afterstates(chances.boards, chances.pending, agent.rules)
        equity = agent.equities(replies)
        best = agent.best(equity, replies)
        side = np.where(chances.turned, -1.0, 1.0)  # MINE of the position is the chooser
        worth = equity.take(best) * side
        mean = np.bincount(chances.parent, chances.weight * worth, game.size)
        draws += 1
        came = _drawn(chances.parent, chances.weight, seeds.take(game), draws)
        row = best.take(came)
        luck[game] += sign * (worth.take(came) - mean)
        points[game] = sign * worth.take(came)
        passed, over = replies.passed.take(row), replies.outcome.take(row) >= 0
        sign = sign * side.take(came) * np.where(passed, -1.0, 1.0)
        turns = turns + passed
        going = np.flatnonzero(~over & (turns < plies))
        boards, pending = replies.boards.take(row.take(going), axis=0), replies.pending.take(row.take(going))
        game, sign, turns = game.take(going), sign.take(going), turns.take(going)
    return points, luck


def _drawn(parent: npt.NDArray[np.intp], weight: Scores, seeds: Keys, draws: int) -> npt.NDArray[np.intp]:
    """(T,) which of the results of chance comes up in each game, by its own dice."""
    first = np.searchsorted(parent, np.arange(seeds.size))
    stir = np.array([draws], np.uint64) * ODD
    draw = below(mix(seeds + stir), np.full(seeds.size, SCALE, np.uint64)) / SCALE
    reached = np.cumsum(weight)
    before = (reached - weight).take(first)
    last = np.append(first[1:], parent.size) - 1
    return np.asarray(np.minimum(np.searchsorted(reached, before + draw, side="right"), last), np.intp)
