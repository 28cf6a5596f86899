"""Luck: what came up against everything that could have come up, in points, as a fixed evaluator sees it.

The luck of a chance event (a roll, an opening throw, a toss) is what the evaluator's best play is
worth after what came, minus the mean of the same over all that could have come, each with its true
probability. Its expectation is 0 whatever the evaluator thinks and whoever plays, so results minus
luck have the same mean as results, and less spread the better the evaluator is.

Source: the variance reduction of backgammon rollouts (Montgomery, 2000); control variates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from agents.base import Agent, AgentError, Appraiser, Scores
from agents.lookahead import replies
from agents.policy import Policy
from agents.registry import make_agent
from agents.value import Evaluator, ValueAgent
from engine.decisions import Afterstates
from engine.game import BatchGame
from engine.queues import queues_of
from engine.ruleset import Ruleset
from engine.slots import Boards, Codes, Flags, Rows

KINDS = ("opening throw", "roll", "bonus roll", "toss")
KIND_OF = {"first": 0, "roll": 1, "toss": 3}  # by the head of a queue; a roll behind a roll of the same turn is a bonus
BONUS = 2
ERRORS = 4.0  # standard errors that a mean of 0 may be away from 0
ROUNDING = 1e-6  # points by which an event without luck, such as a toss of equal worth, may miss 0
COEFFICIENTS = (0.8, 1.2)  # what a point of luck is worth between equals, where the evaluator knows the game
NO_NET = "none of these agents has a value function; --luck SPEC names one"
Values = npt.NDArray[np.float64]  # (pairs,)


@dataclass(frozen=True, eq=False)
class Luck:
    """The luck of the games of a duel, in points for the first agent.

    Last axis: whose event it was, the first agent's (0) or the second's (1); an opening throw or a
    toss is of the side whose view the position has.
    """

    spec: str  # of the evaluator
    sums: npt.NDArray[np.float64]  # (2, pairs, KINDS, 2)
    events: npt.NDArray[np.int32]  # the same shape: how many there were

    @property
    def points(self) -> Values:
        """(pairs,) mean luck of the two games of each pair."""
        total: Values = self.sums.sum(axis=(2, 3)).mean(axis=0)
        return total


class Judge:
    """A fixed evaluator: it says what every play is worth, and its name.

    Args:
        appraiser: whose equities count.
        spec: the text that makes it again.
    """

    def __init__(self, appraiser: Appraiser, spec: str) -> None:
        self.appraiser, self.spec = appraiser, spec

    def quick(self) -> Judge:
        """The same; an exported policy is computed by torch where that is installed: slow to load, thrice as fast."""
        if not isinstance(self.appraiser, ValueAgent) or not isinstance(self.appraiser.evaluator, Policy):
            return self
        try:
            growth = import_module("learning.growth")
        except ImportError:
            return self
        net: Evaluator = growth.net_of(self.appraiser.evaluator).eval()
        return Judge(ValueAgent(net, self.appraiser.rules, self.spec), self.spec)


def judge_of(agent: Agent, rules: Ruleset) -> Judge | None:
    """An agent's own view of plays, at 0-ply where it has a value function; None where it has no view."""
    if isinstance(agent, ValueAgent):
        spec = agent.spec.partition(",")[0]
        return Judge(ValueAgent(agent.evaluator, rules, spec), spec)
    return Judge(agent, agent.spec) if isinstance(agent, Appraiser) else None


def judge_for(agents: Sequence[Agent], spec: str | None, rules: Ruleset) -> Judge | None:
    """The evaluator of a duel's luck: the one named, else that of the first agent that has one; None if nobody has.

    Args:
        agents: who plays.
        spec: of another evaluator; `none` for no adjustment; None for the agents' own.
        rules: of all games.

    Raises:
        AgentError: what is named has no value function, or cannot be made.
    """
    if spec == "none":
        return None
    if spec is None:
        return next((judge for judge in (judge_of(agent, rules) for agent in agents) if judge), None)
    judge = judge_of(make_agent(spec, rules), rules)
    if judge is None:
        raise AgentError(f"--luck {spec}: has no value function; must be td:PATH, policy:FILE or none")
    return judge


def luck_of_chance(judge: Judge, boards: Boards, pending: Codes, came: Codes, turned: Flags, rules: Ruleset) -> Scores:
    """(N,) points of luck for MINE of N positions that waited for dice.

    Equal positions, such as the first one of all games, are looked at once.

    Args:
        judge: the evaluator.
        boards: (N, 2, SLOTS) int8, before the dice.
        pending: (N,) int8, codes of chance.
        came: (N,) int8, the code that is pending after the dice.
        turned: (N,) bool, has the view turned then.
        rules: of all positions.
    """
    whole = np.concatenate([boards.reshape(pending.size, -1), pending[:, None]], axis=1)
    as_bytes = whole.view(np.dtype((np.void, whole.shape[1]))).reshape(-1)
    _, first, which = np.unique(as_bytes, return_index=True, return_inverse=True)
    chances, worth = replies(judge.appraiser.equities, boards.take(first, axis=0), pending.take(first), rules)
    mean = np.bincount(chances.parent, chances.weight * worth, first.size)
    keys = key_of(chances.parent, chances.turned, chances.pending)
    order = np.argsort(keys)
    at = order.take(np.searchsorted(keys, key_of(which, turned, came), sorter=order))
    luck: Scores = worth.take(at) - mean.take(which)
    return luck


def key_of(parent: Rows, turned: Flags, code: Codes) -> npt.NDArray[np.int64]:
    """(N,) one number for what came of which position; codes are below 128."""
    return (parent.astype(np.int64) << 8) + (turned.astype(np.int64) << 7) + code.astype(np.int64)


class Tally:
    """Adds up the luck of a batch of games while they are played.

    Args:
        judge: the evaluator.
        rules: of all games.
        games: N, how many there are.
    """

    def __init__(self, judge: Judge, rules: Ruleset, games: int) -> None:
        self.judge, self.rules, self.queues = judge, rules, queues_of(rules)
        heads = [queue[0] for queue in self.queues.items]
        self.kinds = np.array([KIND_OF.get(head, -1) if isinstance(head, str) else -1 for head in heads])
        self.sums = np.zeros((games, len(KINDS), 2))
        self.events = np.zeros((games, len(KINDS), 2), np.int32)
        self.goes_on: Flags = np.zeros(games, np.bool_)  # the last decision was a play, and the turn did not pass

    def roll(self, game: BatchGame, place: Rows, first_seat: npt.NDArray[np.int64]) -> None:
        """Throw the dice of games that wait for them, and note whose luck it was.

        Args:
            game: the games that still go on.
            place: (M,) which of the N each of them is.
            first_seat: (M,) the seat of the first agent.
        """
        rows = np.flatnonzero(self.queues.is_chance.take(game.pending))
        if not rows.size:
            return
        boards, pending, seat = game.boards.take(rows, axis=0), game.pending.take(rows), game.seat.take(rows)
        game.roll()
        turned = game.seat.take(rows) != seat
        luck = luck_of_chance(self.judge, boards, pending, game.pending.take(rows), turned, self.rules)
        kind = self.kinds.take(pending)
        kind = np.where((kind == KIND_OF["roll"]) & self.goes_on.take(place.take(rows)), BONUS, kind)
        side = (seat != first_seat.take(rows)).astype(np.intp)
        at = place.take(rows), kind, side  # each game once
        self.sums[at] += np.where(side == 0, luck, -luck)
        self.events[at] += 1

    def step(self, after: Afterstates, choice: npt.NDArray[np.int64], place: Rows) -> None:
        """Note which games' turns go on."""
        self.goes_on[place] = ~after.passed.take(choice) & ~self.queues.is_choice.take(after.decided)

    def luck(self) -> Luck:
        """That of N games as that of N / 2 pairs: first all games of the one seat, then all of the other."""
        shape = (2, len(self.sums) // 2, len(KINDS), 2)
        return Luck(self.judge.spec, self.sums.reshape(shape), self.events.reshape(shape))


def coefficient(points: Values, luck: Values) -> float:
    """How many points a point of luck was worth: the slope of least squares; 1 where luck did not vary."""
    spread = luck - luck.mean() if luck.size else luck
    square = float(spread @ spread)
    return float(spread @ points) / square if square > 0 else 1.0


def fitted_elsewhere(points: Values, luck: Values) -> Values:
    """(pairs,) a coefficient for each pair, fitted on the other half of the pairs: even and odd ones.

    A pair's coefficient knows nothing of the pair, so luck times coefficient still has mean 0.
    """
    fitted = np.empty(points.size)
    for half in (0, 1):
        fitted[half::2] = coefficient(points[1 - half :: 2], luck[1 - half :: 2])
    return fitted


def fitted_before(points: Values, luck: Values, looks: Sequence[int]) -> Values:
    """(pairs,) a coefficient for each pair, fitted on those that were known when it was played; 1 in the first part.

    For who looks while the games go on: results minus luck times such coefficients stay fair at every look.

    Args:
        points: (pairs,) results.
        luck: (pairs,).
        looks: ends of the parts, rising, the last one is how many pairs there are.
    """
    fitted = np.ones(points.size)
    for begin, end in pairwise(looks):
        fitted[begin:end] = coefficient(points[:begin], luck[:begin])
    return fitted


@dataclass(frozen=True)
class Check:
    """A figure that has to lie within bounds."""

    what: str
    value: float
    error: float  # its standard error
    low: float
    high: float
    events: int = 0

    @property
    def holds(self) -> bool:
        """Does it?"""
        return self.low <= self.value <= self.high


def checks(luck: Luck, points: Values) -> list[Check]:
    """What has to hold if luck is measured right, with the figures of a duel between equals.

    The mean luck of each kind of event and side is 0; a point of luck is worth a point, as far as
    the evaluator knows; and taking luck off does not move the estimate. Standard errors are over pairs.

    Args:
        luck: of all games.
        points: (pairs,) the first agent's mean points.
    """
    found = []
    for kind, name in enumerate(KINDS):
        for side, of in enumerate(("A", "B")):
            events = luck.events[:, :, kind, side].sum(axis=0)
            if total := int(events.sum()):
                mean, error = mean_and_error(luck.sums[:, :, kind, side].sum(axis=0) * (events.size / total))
                far = ERRORS * error + ROUNDING
                found.append(Check(f"mean luck of {of}, {name}", mean, error, -far, far, total))
    fitted, mine = fitted_elsewhere(points, luck.points), luck.points
    slope = coefficient(points, mine)
    rest = (points - slope * mine).std()
    error = float(rest / (mine.std() * np.sqrt(points.size))) if mine.std() > 0 else 0.0
    found.append(Check("coefficient of luck", slope, error, *COEFFICIENTS))
    mean, error = mean_and_error(-fitted * mine)
    far = ERRORS * error
    return [*found, Check("adjusted less plain ppg", mean, error, -far, far)]


def mean_and_error(numbers: Values) -> tuple[float, float]:
    """The mean, and its standard error."""
    return float(numbers.mean()), float(numbers.std() / np.sqrt(numbers.size))
