"""The best play of every first roll, as an agent sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from agents.base import Agent, Choice, Scores
from agents.value import Evaluator, ValueAgent
from engine.chances import outcomes_of_chance
from engine.decisions import Afterstates, afterstates
from engine.playtext import format_play, write_queue
from engine.queues import queues_of
from engine.ruleset import Ruleset
from engine.slots import Boards, Keys


class Analyst(Protocol):
    """An agent that tells what it thinks of every play."""

    @property
    def spec(self) -> str:
        """The text that makes this agent again."""

    def choose(self, after: Afterstates, noise: Keys) -> Choice:
        """The row that each game takes."""

    def equities(self, after: Afterstates) -> Scores:
        """(M,) points per game that the chooser expects after each row."""


@dataclass(frozen=True, eq=False)
class Opening:
    """A first roll and what is best with it; `win` and `gammon` are shares, None where the agent tells none.

    A turn of several decisions is played to its end: `play` joins them, the runner-up differs in the first.
    """

    roll: str
    chance: float  # of this roll, given what a first roll can be
    board: Boards  # (2, SLOTS) after the best play, the chooser is MINE
    play: str
    equity: float
    runner_up: str | None  # None where there is no other play, or none near enough for the agent to look at
    runner_up_equity: float | None
    win: float | None
    gammon: float | None  # won by more than the least win, a part of `win`; None where every win pays alike

    def record(self) -> dict[str, object]:
        """All figures as plain values."""
        return {name: value for name, value in vars(self).items() if name != "board"}


def openings(agent: Analyst, rules: Ruleset) -> list[Opening]:
    """The best play of every distinct first decision, in the order of the rolls.

    Who begins makes no difference: both sides start alike.
    """
    q = queues_of(rules)
    start = np.stack([rules.start_row, rules.start_row])[None]
    chances = outcomes_of_chance(start, np.array([q.code(("first",))], np.int8), rules)
    weights = np.bincount(chances.pending, chances.weight, q.is_chance.size)
    codes = sorted(np.flatnonzero(weights).tolist(), key=lambda code: _order(q.items[code]), reverse=True)
    return [opening(agent, start[0], code, float(weights[code]), rules) for code in codes]


def _order(queue: tuple[object, ...]) -> tuple[int, ...]:
    """Larger rolls first; what is chosen before any number, last."""
    return next((item for item in queue if isinstance(item, tuple)), ())


def opening(agent: Analyst, board: Boards, code: int, chance: float, rules: Ruleset) -> Opening:
    """The best play of one first decision: of (2, SLOTS) with this code pending."""
    q, plays = queues_of(rules), list[str]()
    roll = write_queue(q.items[code], rules)
    best: tuple[float, str | None, float | None] | None = None
    while True:
        after = afterstates(board[None], np.array([code], np.int8), rules)
        row = int(agent.choose(after, np.zeros(1, np.uint64))[0])
        best = best or ranked(agent, after, row, rules)
        plays.append(format_play(board, code, row, rules))
        board, code = after.boards[row], int(after.pending[row])
        if after.outcome[row] >= 0 or after.passed[row] or q.is_chance[code]:
            break
    played = board[::-1] if after.passed[row] else board
    shares = shares_of(agent, after, row, rules)
    return Opening(roll, chance, played, ", then ".join(plays), *best, *shares)


def ranked(agent: Analyst, after: Afterstates, row: int, rules: Ruleset) -> tuple[float, str | None, float | None]:
    """The equity of the row taken in one decision, and the next best play with its equity."""
    equity = agent.equities(after)
    others = np.where(np.arange(equity.size) == row, -np.inf, equity)
    second = int(others.argmax())
    if not np.isfinite(others[second]):
        return float(equity[row]), None, None
    text = format_play(after.before[0], int(after.decided[0]), second, rules)
    return float(equity[row]), text, float(equity[second])


def shares_of(agent: Agent, after: Afterstates, row: int, rules: Ruleset) -> tuple[float | None, float | None]:
    """How often the chooser wins, and by more than the least win, as a value function sees the row."""
    if not isinstance(agent, ValueAgent):
        return None, None
    evaluator: Evaluator = agent.evaluator
    values = evaluator.values(after.boards[row : row + 1], after.pending[row : row + 1])[0]
    mine: npt.NDArray[np.float32] = values[::-1] if after.passed[row] else values
    wins = rules.payoffs > 0
    more = rules.payoffs > rules.payoffs[wins].min()
    return float(mine[wins].sum()), float(mine[more].sum()) if more.any() else None
