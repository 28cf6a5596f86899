"""Paired games between two agents: every game is played twice with the same dice and the seats swapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats
from tqdm import tqdm

from agents.base import Agent, Choice
from arena.luck import Judge, Luck, Tally, fitted_before, fitted_elsewhere
from arena.sequential import interval_at_every_look, verdict
from engine.decisions import Afterstates
from engine.game import BatchGame, seeds_of
from engine.ruleset import Ruleset
from engine.slots import Flags, Keys, Rows

PAIRS_AT_ONCE = 4096
JUDGED_AT_ONCE = 128  # with luck, where every game is looked at after every roll
RESAMPLES = 2000
Points = npt.NDArray[np.float64]  # (pairs,): an agent's mean points in the two games of each pair


@dataclass(frozen=True, eq=False)
class Duel:
    """What the games of a duel came to, all from the first agent's view.

    `outcome` is (2, pairs) int8, an index into the ruleset's payoffs or -1 for a game that was cut
    at `ply_limit`; row 0 are the games in which the first agent had seat 0. A cut game scores 0.
    Where it was looked at while it was played, its intervals are ones that hold at every look.
    """

    rules: Ruleset
    a: str
    b: str
    seed: int
    outcome: npt.NDArray[np.int8]
    plies: npt.NDArray[np.int32]  # (2, pairs), the lengths of the games in turns
    luck: Luck | None = None
    looks: tuple[int, ...] = ()  # after how many pairs, the last after all of them; none: only at the end

    @property
    def games(self) -> int:
        """How many games were played, two a pair."""
        return self.outcome.size

    @property
    def points(self) -> Points:
        """(pairs,) the first agent's mean points in the two games of each pair."""
        payoffs = np.append(self.rules.payoffs, 0).astype(np.float64)  # -1, a cut game, finds the 0
        points: Points = payoffs[self.outcome].mean(axis=0)
        return points

    @property
    def ppg(self) -> float:
        """Points per game."""
        return float(self.points.mean())

    @property
    def wins(self) -> float:
        """The share of games that the first agent won."""
        return float((np.append(self.rules.payoffs, 0)[self.outcome] > 0).mean())

    @property
    def truncated(self) -> float:
        """The share of games that were cut."""
        return float((self.outcome < 0).mean())

    def shares(self) -> dict[int, float]:
        """The share of games of each payoff, best first."""
        counts = np.bincount(self.outcome[self.outcome >= 0], minlength=self.rules.payoffs.size)
        return {int(points): float(n / self.games) for points, n in zip(self.rules.payoffs, counts, strict=True)}

    def interval(self) -> tuple[float, float]:
        """A 95 % interval of ppg."""
        return self._interval(self.points)

    def _interval(self, points: Points) -> tuple[float, float]:
        return interval_at_every_look(points) if self.looks else interval_of(points, self.seed)

    @cached_property
    def coefficients(self) -> Points:
        """(pairs,) what a point of luck counts in each pair; 0 without luck."""
        if self.luck is None:
            return np.zeros(self.points.size)
        if self.looks:
            return fitted_before(self.points, self.luck.points, self.looks)
        return fitted_elsewhere(self.points, self.luck.points)

    @cached_property
    def adjusted(self) -> Points:
        """(pairs,) points less luck, the best estimate there is; the plain points without luck."""
        return self.points if self.luck is None else self.points - self.coefficients * self.luck.points

    def adjusted_interval(self) -> tuple[float, float]:
        """A 95 % interval of the mean of `adjusted`."""
        return self._interval(self.adjusted)

    @property
    def settled(self) -> int:
        """1 if the first agent is the better one, -1 if the second is, 0 if that is open; for who looks at any time."""
        return verdict(self.adjusted)

    @property
    def saved(self) -> float:
        """How many times as many games the plain estimate needs for the adjusted one's interval; at least 1 game."""
        before, after = float(self.points.var()), float(self.adjusted.var())
        return before / after if after > 0 else 1.0

    def adjustment(self) -> dict[str, Any] | None:
        """The luck-adjusted figures as plain values; None without luck.

        `deviation` is the standard deviation of one game: that of a pair's mean times the root of 2.
        """
        if self.luck is None:
            return None
        low, high = self.adjusted_interval()
        return {
            "by": self.luck.spec,
            "ppg": float(self.adjusted.mean()),
            "low": number(low),
            "high": number(high),
            "coefficient": float(self.coefficients.mean()),
            "plain_deviation": deviation(self.points),
            "deviation": deviation(self.adjusted),
            "saved": self.saved,
        }

    def record(self) -> dict[str, Any]:
        """All figures as plain values; points per game and wins are plain, `adjusted` holds what luck changes."""
        low, high = self.interval()
        return {
            "a": self.a,
            "b": self.b,
            "games": self.games,
            "ppg": self.ppg,
            "low": number(low),
            "high": number(high),
            "wins": self.wins,
            "outcomes": {str(points): share for points, share in self.shares().items()},
            "truncated": self.truncated,
            "plies": float(self.plies.mean()),
            "adjusted": self.adjustment(),
        }


def number(value: float) -> float | None:
    """A value for JSON, which knows no infinity."""
    return value if np.isfinite(value) else None


def deviation(points: Points) -> float:
    """The standard deviation of one game, as the (pairs,) means of two games each tell it."""
    return float(points.std() * np.sqrt(2))


def interval_of(points: Points, seed: int) -> tuple[float, float]:
    """A 95 % interval of the mean: bootstrap over pairs, percentiles.

    It covers the true mean in 95 of 100 duels from about 30 pairs on; of 10 pairs in 91 (simulated).

    Args:
        points: (pairs,) mean points of each pair.
        seed: of the resampling.
    """
    mean = float(points.mean())
    if points.size < 2 or np.ptp(points) == 0:
        return mean, mean
    found = stats.bootstrap(
        (points,), np.mean, n_resamples=RESAMPLES, batch=100, method="percentile", rng=np.random.default_rng(seed)
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def improved(now: Mapping[str, Points], before: Mapping[str, Points], seed: int) -> bool:
    """Is one evaluation better than another for certain, and not by a lucky point?

    Both had the same dice. It is, if the interval of the mean difference in the pairs that both
    have, over the opponents that both have, lies above 0; also where they have nothing in common.

    Args:
        now: (pairs,) points against each opponent, by its spec.
        before: the same of the other evaluation.
        seed: of the resampling.
    """
    common = [(now[spec], before[spec]) for spec in now if spec in before]
    if not common:
        return True
    pairs = min(min(new.size, old.size) for new, old in common)
    low, _ = interval_of(np.mean([new[:pairs] - old[:pairs] for new, old in common], axis=0), seed)
    return low > 0


def duel(
    rules: Ruleset,
    a: Agent,
    b: Agent,
    games: int,
    seed: int,
    progress: bool = False,
    share: tuple[int, int] = (0, 1),
    judge: Judge | None = None,
) -> Duel:
    """Play `games` games (rounded up to whole pairs) between two agents.

    Both games of a pair have the same dice and the same noise for agents that need chance, so an
    agent against itself scores exactly 0.

    Args:
        rules: of all games.
        a: the agent whose view the figures take.
        b: its opponent.
        games: how many, two a pair.
        seed: of the dice.
        progress: show a bar, on a terminal.
        share: (i, n) plays the i-th of n parts of the games; `joined` makes one duel of them.
        judge: the evaluator that says what was luck; None plays without.
    """
    part_number, parts = share
    whole = -(-games // 2)
    first, last = whole * part_number // parts, whole * (part_number + 1) // parts
    at_once = PAIRS_AT_ONCE if judge is None else JUDGED_AT_ONCE
    with tqdm(total=2 * (last - first), unit=" games", desc=told(a, b), disable=None if progress else True) as bar:
        return joined(
            [
                played(rules, (a, b), seed, range(low, min(low + at_once, last)), judge, bar=bar)
                for low in range(first, last, at_once)
            ]
            or [played(rules, (a, b), seed, range(0), judge)]
        )


def told(a: Agent, b: Agent) -> str:
    """Who plays whom, for a bar."""
    return f"{a.spec} v {b.spec}"


def joined(parts: Sequence[Duel], looks: tuple[int, ...] = ()) -> Duel:
    """The parts of a duel, in order, as one; `looks` says after how many pairs each of them ended, if that was seen."""
    one = parts[0]
    luck = None
    if one.luck is not None:
        sums, events = (
            np.concatenate([getattr(part.luck, name) for part in parts], axis=1) for name in ("sums", "events")
        )
        luck = Luck(one.luck.spec, sums, events)
    outcome, plies = (np.concatenate([getattr(part, name) for part in parts], axis=1) for name in ("outcome", "plies"))
    return Duel(one.rules, one.a, one.b, one.seed, outcome, plies, luck, looks)


def played(
    rules: Ruleset,
    agents: tuple[Agent, Agent],
    seed: int,
    pairs: range,
    judge: Judge | None = None,
    shared: bool = True,
    bar: tqdm[None] | None = None,
) -> Duel:
    """Play both games of some pairs to the end, all at once.

    Args:
        rules: of all games.
        agents: first and second.
        seed: of the dice.
        pairs: their numbers; a pair's dice depend on seed and number alone.
        judge: the evaluator that says what was luck.
        shared: have both games of a pair the same dice? Else they are independent.
        bar: is told of every finished game.
    """
    size, first, second = len(pairs), *agents
    seeds = np.tile(seeds_of(seed, size, pairs.start), 2) if shared else seeds_of(seed, 2 * size, 2 * pairs.start)
    place = np.arange(2 * size)  # which game each row still is
    first_seat = np.repeat([0, 1], size)  # the seat of the first agent
    outcome, plies = np.full(2 * size, -1, np.int8), np.zeros(2 * size, np.int32)
    best = rules.payoffs.size - 1
    tally = None if judge is None else Tally(judge, rules, 2 * size)
    game = BatchGame(rules, max(2 * size, 1), seeds=seeds)
    while place.size:
        if tally is not None:
            tally.roll(game, place, first_seat)
        after = game.afterstates()
        choice = chosen(agents, after, game, game.seat == first_seat)
        if tally is not None:
            tally.step(after, choice, place)
        result = game.step(after, choice)
        ended = game.is_over | (game.plies >= rules.ply_limit)
        if ended.any():
            at, seen = place[ended], result.outcome[ended].astype(np.int64)
            turned = np.where(result.seat[ended] == first_seat[ended], seen, best - seen)
            outcome[at] = np.where(seen >= 0, turned, -1)
            plies[at] = game.plies[ended]
            going = np.flatnonzero(~ended)
            game.keep(going)
            place, first_seat = place.take(going), first_seat.take(going)
            if bar is not None:
                bar.update(at.size)
    luck = None if tally is None else tally.luck()
    return Duel(rules, first.spec, second.spec, seed, outcome.reshape(2, size), plies.reshape(2, size), luck)


def chosen(agents: tuple[Agent, Agent], after: Afterstates, game: BatchGame, is_first: Flags) -> Choice:
    """(N,) the row that each game takes; the first agent decides where `is_first`."""
    choice = np.empty(is_first.size, np.int64)
    for agent, mask in zip(agents, (is_first, ~is_first), strict=True):
        rows = np.flatnonzero(mask)
        if rows.size:
            choice[rows] = choose(agent, after, game.noise, rows)
    return choice


def choose(agent: Agent, after: Afterstates, noise: Keys, games: Rows) -> Choice:
    """The rows of `after` that an agent takes in some of the games."""
    if games.size == after.start.size - 1:
        return agent.choose(after, noise)
    part, rows = after.of(games)
    return rows.take(agent.choose(part, noise.take(games)))
