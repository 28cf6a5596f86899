"""What a run's net thinks, looked at while it learns: calibration, the opening, a position."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents.value import ValueAgent
from engine.game import BatchGame
from engine.ruleset import Ruleset
from learning.learner import Learner
from learning.log import Log
from learning.pictures import BINS, draw_board, draw_calibration
from learning.selfplay import collect

GAMES = 500  # of self-play, for calibration
SAMPLE_DECISIONS = 12  # how far the game is that a position is drawn from


def watch(learner: Learner, agent: ValueAgent, log: Log) -> dict[str, float]:
    """Calibration and the value of the opening as scalars; pictures of calibration and of a position go to the log."""
    rules, seed = learner.rules, learner.config.seed
    predicted, actual = calibration(agent, rules, GAMES, seed)
    sample = BatchGame(rules, 1, seed)
    to_roll = np.array([sample.queues.code(("roll",))], np.int8)
    opening = float((learner.net.values(sample.boards, to_roll) @ rules.payoffs).item())
    log.figure("value/calibration", draw_calibration(predicted, actual), learner)
    collect(sample, agent, SAMPLE_DECISIONS)
    equity = float((learner.net.values(sample.boards, sample.pending) @ rules.payoffs).item())
    log.figure("game/position", draw_board(sample.boards[0], rules, f"equity {equity:+.3f}"), learner)
    return {"value/opening": opening, "value/calibration_error": calibration_error(predicted, actual)}


def calibration(agent: ValueAgent, rules: Ruleset, games: int, seed: int) -> tuple[npt.NDArray[np.float64], ...]:
    """Predicted and actual wins over whole self-play games, every position of them.

    Returns:
        Two (positions,) float64: the probability of a win that the value function gave the side to
        act, and 1, 0 or one half (a draw) for what it got. Games cut at the limit are left out.
    """
    game = BatchGame(rules, games, seed)
    wins = rules.payoffs > 0
    number, seats, chances = [], [], []
    payoff, place = np.full(games, np.nan), np.arange(games)  # of seat 0
    while place.size:
        seats.append(game.seat.copy())
        number.append(place)
        chances.append(agent.evaluator.values(game.boards, game.pending)[:, wins].sum(axis=1))
        after = game.afterstates()
        result = game.step(after, agent.choose(after, game.noise))
        over = np.flatnonzero(game.is_over)
        sign = np.where(result.seat.take(over) == 0, 1, -1)
        payoff[place[over]] = sign * rules.payoffs[result.outcome[over]]
        going = np.flatnonzero(~game.is_over & (game.plies < rules.ply_limit))
        game.keep(going)
        place = place[going]
    seen = payoff[np.concatenate(number)] * np.where(np.concatenate(seats) == 0, 1, -1)
    known = ~np.isnan(seen)
    return np.concatenate(chances).astype(np.float64)[known], (np.sign(seen[known]) + 1) / 2


def calibration_error(predicted: npt.NDArray[np.float64], actual: npt.NDArray[np.float64]) -> float:
    """Mean distance of prediction and frequency over equal bins, weighted by how many positions fall in each."""
    bins = np.minimum((predicted * BINS).astype(int), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    gaps = np.bincount(bins, predicted - actual, BINS)
    return float(np.abs(gaps).sum() / counts.sum())
