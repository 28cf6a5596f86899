"""Games that an agent plays against itself, recorded position by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agents.base import Agent
from engine.game import BatchGame
from engine.slots import Boards, Codes


@dataclass(frozen=True, eq=False)
class Trajectory:
    """T decisions of N games: the position before each, before its dice, and what came of it.

    `outcome` is for MINE of the position it belongs to, `passed` says whether MINE of the next
    position is the other side. Where a game ended, the next position is the start of a new one.
    """

    boards: Boards  # (T + 1, N, 2, SLOTS)
    pending: Codes  # (T + 1, N)
    outcome: npt.NDArray[np.int8]  # (T, N), -1 where the game goes on
    passed: npt.NDArray[np.bool_]  # (T, N)
    lengths: npt.NDArray[np.int32]  # (G,): turns of each game that ended here
    winners: npt.NDArray[np.int8]  # (G,): seat that won, -1 for a draw
    turns: int  # turns played, over all games
    rows: int  # afterstates looked at
    truncated: int  # games cut at the ruleset's limit

    @property
    def games(self) -> int:
        """How many games ended."""
        return self.lengths.size


def collect(game: BatchGame, agent: Agent, decisions: int) -> Trajectory:
    """Play on for so many decisions in every game; a finished one is replaced by a new one.

    Games beyond the ruleset's limit are cut where the trajectory ends, so that none of its targets
    depends on a game that was.
    """
    size = len(game)
    boards = np.empty((decisions + 1, *game.boards.shape), np.int8)
    pending = np.empty((decisions + 1, size), np.int8)
    outcome = np.empty((decisions, size), np.int8)
    passed = np.empty((decisions, size), np.bool_)
    lengths, winners = [], []
    turns = rows = 0
    for t in range(decisions):
        boards[t], pending[t] = game.boards, game.pending
        after = game.afterstates()
        result = game.step(after, agent.choose(after, game.noise))
        outcome[t], passed[t] = result.outcome, result.passed
        rows += after.game.size
        turns += int(result.passed.sum())
        over = np.flatnonzero(game.is_over)
        if over.size:
            payoff = game.rules.payoffs.take(result.outcome.take(over))
            seat = result.seat.take(over)
            winners.append(np.where(payoff == 0, -1, np.where(payoff > 0, seat, 1 - seat)).astype(np.int8))
            lengths.append(game.plies.take(over))
            game.restart(over)
    boards[decisions], pending[decisions] = game.boards, game.pending
    cut = np.flatnonzero(game.plies >= game.rules.ply_limit)
    if cut.size:
        game.restart(cut)
    return Trajectory(
        boards,
        pending,
        outcome,
        passed,
        np.concatenate(lengths) if lengths else np.empty(0, np.int32),
        np.concatenate(winners) if winners else np.empty(0, np.int8),
        turns,
        rows,
        cut.size,
    )


def joined(parts: Sequence[Trajectory]) -> Trajectory:
    """Trajectories of as many decisions each, side by side as one."""
    boards, pending, outcome, passed = (
        np.concatenate([getattr(part, name) for part in parts], axis=1)
        for name in ("boards", "pending", "outcome", "passed")
    )
    lengths, winners = (np.concatenate([getattr(part, name) for part in parts]) for name in ("lengths", "winners"))
    turns, rows, truncated = (sum(getattr(part, name) for part in parts) for name in ("turns", "rows", "truncated"))
    return Trajectory(boards, pending, outcome, passed, lengths, winners, turns, rows, truncated)
