"""Thousands of games at once: boards, what is pending, whose view, and each game's own dice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.plays import Afterstates, afterstates
from engine.queues import queues_of
from engine.ruleset import Ruleset
from engine.slots import Boards, Codes, Flags, Keys, Outcomes, Rows

ODD = np.uint64(0x9E3779B97F4A7C15)  # SplitMix64's increment
PER_GAME = ("boards", "pending", "seat", "seeds", "drawn", "decisions", "plies", "is_over", "_turned")
NOISE_ODD = np.uint64(0xD1B54A32D192ED03)


class IllegalPlay(ValueError):
    """A choice names no row of its game."""


def mix(numbers: Keys) -> Keys:
    """SplitMix64's finisher: 64 bits in, 64 well mixed bits out.

    Source: Steele, Lea, Flood (2014), "Fast splittable pseudorandom number generators".
    """
    z = numbers
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def below(draws: Keys, limits: Keys) -> npt.NDArray[np.intp]:
    """Draws scaled to 0..limit - 1; a limit far below 2 ** 32 makes the bias vanish."""
    return (((draws >> np.uint64(32)) * limits) >> np.uint64(32)).astype(np.intp)


def seeds_of(seed: int, games: int, first: int = 0) -> Keys:
    """(games,) uint64: the seeds of the games numbered first, first + 1, ... under one seed."""
    start = mix(np.array([seed % (1 << 64)], np.uint64))
    return mix(start + np.arange(first + 1, first + games + 1, dtype=np.uint64) * ODD)


@dataclass(frozen=True, eq=False)
class Result:
    """What one decision did in each of N games, compared with the position stored before it.

    A stored position may wait for dice; chance can turn its view (who begins, who opens a point)
    before anybody decides. `outcome` and `seat` speak for MINE of the stored position, and
    `passed` says whether MINE of the next stored position is the other side.
    """

    outcome: Outcomes  # (N,), -1 where the game goes on
    passed: Flags  # (N,)
    seat: npt.NDArray[np.int8]  # (N,): 0 or 1


class BatchGame:
    """N games of one ruleset, stepped together.

    A position is stored before its dice: `afterstates()` rolls where a game waits for dice and
    lists every legal result, `step()` takes one of them in each game. A finished game stays as it
    ended until `restart()` or `keep()`.

    Args:
        rules: the rules of all games.
        games: N, at most 65,536.
        seed: every game's dice follow from it and from the game's number.
        seeds: (N,) uint64, the games' own seeds instead; equal seeds give equal dice.

    Source of the dice: SplitMix64, draw k of a game is `mix(seed + k * odd)`.
    """

    def __init__(self, rules: Ruleset, games: int, seed: int = 0, seeds: Keys | None = None) -> None:
        if not 1 <= games <= 65_536:
            raise ValueError(f"games={games}: must be from 1 to 65,536")
        self.rules = rules
        self.queues = queues_of(rules)
        self.seed = seed
        self.started = games  # how many games were begun, for the seed of the next one
        self.seeds = seeds_of(seed, games) if seeds is None else seeds.copy()
        self.boards: Boards = np.zeros((games, 2, rules.start_row.size), np.int8)
        self.pending: Codes = np.zeros(games, np.int8)
        self.seat = np.zeros(games, np.int8)
        self.drawn = np.zeros(games, np.uint64)
        self.decisions = np.zeros(games, np.int32)
        self.plies = np.zeros(games, np.int32)
        self.is_over: Flags = np.zeros(games, np.bool_)
        self._turned: Flags = np.zeros(games, np.bool_)
        self._begin(np.arange(games))

    def __len__(self) -> int:
        return len(self.boards)

    def __repr__(self) -> str:
        return f"BatchGame({self.rules.name}, games={len(self)}, over={int(self.is_over.sum())})"

    def _begin(self, rows: Rows) -> None:
        self.boards[rows] = self.rules.start_row
        self.pending[rows] = self.queues.code(("first",))
        for array in (self.seat, self.drawn, self.decisions, self.plies):
            array[rows] = 0
        self.is_over[rows] = self._turned[rows] = False

    def roll(self) -> None:
        """Throw the dice of every game that waits for them, until all games ask for a decision."""
        waiting = np.flatnonzero(self.queues.is_chance.take(self.pending) & ~self.is_over)
        while waiting.size:
            pending = self.pending.take(waiting)
            way = self.draw(waiting, self.queues.ways.take(pending))
            early = self.rules.turn.is_early(self.boards.take(waiting, axis=0), self.rules).astype(np.intp)
            self.pending[waiting] = self.queues.chance_code[early, pending, way]
            self._turn(waiting[self.queues.chance_passes[early, pending, way]])
            waiting = waiting[self.queues.is_chance.take(self.pending.take(waiting))]

    def draw(self, rows: Rows, ways: Keys) -> npt.NDArray[np.intp]:
        """The next number, 0..ways - 1, of each of these games' own dice."""
        self.drawn[rows] += np.uint64(1)
        return below(mix(self.seeds.take(rows) + self.drawn.take(rows) * ODD), ways)

    def _turn(self, rows: Rows) -> None:
        """Let the other side act next in these games."""
        self.boards[rows] = self.boards[rows, ::-1]
        self.seat[rows] ^= 1
        self._turned[rows] ^= True

    def afterstates(self) -> Afterstates:
        """Every legal result of the decision each game asks for, after rolling where one waits for dice.

        Raises:
            ValueError: a game is over.
        """
        if self.is_over.any():
            raise ValueError(f"game {int(np.argmax(self.is_over))} is over: restart() or keep() first")
        self.roll()
        return afterstates(self.boards, self.pending, self.rules)

    @property
    def noise(self) -> Keys:
        """(N,) uint64: a random number for the side to decide, from the game's seed, decision and seat."""
        stir = self.decisions.astype(np.uint64) * np.uint64(2) + self.seat.astype(np.uint64)
        return mix(mix(self.seeds ^ NOISE_ODD) + stir * NOISE_ODD)

    def step(self, after: Afterstates, choice: npt.NDArray[np.int64]) -> Result:
        """Take one result in each game.

        Args:
            after: what `afterstates()` returned.
            choice: (N,) int64, a row of `after` for each game.

        Raises:
            IllegalPlay: a row belongs to another game or is none; nothing has changed then.
        """
        if choice.shape != (len(self),):
            raise IllegalPlay(f"choice has shape {choice.shape}, must be ({len(self)},)")
        outside = (choice < after.start[:-1]) | (choice >= after.start[1:])
        if outside.any():
            game = int(np.argmax(outside))
            low, high = after.start[game], after.start[game + 1] - 1
            raise IllegalPlay(f"game {game}: row {choice[game]} is not among its rows {low}..{high}")
        passed = after.passed.take(choice)
        outcome = after.outcome.take(choice)
        seat = self.seat ^ self._turned
        best = np.int8(self.rules.payoffs.size - 1)
        result = Result(
            np.where(self._turned & (outcome >= 0), best - outcome, outcome).astype(np.int8),
            passed ^ self._turned,
            seat.astype(np.int8),
        )
        self.boards = after.boards.take(choice, axis=0)
        self.pending = after.pending.take(choice)
        self.is_over = outcome >= 0
        self.seat = self.seat ^ passed
        self.decisions += 1
        self.plies += passed | self.is_over
        self._turned = np.zeros(len(self), np.bool_)
        return result

    def restart(self, rows: Rows) -> None:
        """Begin new games, with dice of their own, in these places."""
        self.seeds[rows] = seeds_of(self.seed, rows.size, self.started)
        self.started += rows.size
        self._begin(rows)

    def keep(self, rows: Rows) -> None:
        """Go on with these games only, in this order."""
        for name in PER_GAME:
            setattr(self, name, getattr(self, name)[rows])

    def state(self) -> dict[str, npt.NDArray[Any] | int]:
        """Everything that a later batch needs to go on exactly from here."""
        return {"seed": self.seed, "started": self.started} | {name: getattr(self, name) for name in PER_GAME}

    def restore(self, state: dict[str, npt.NDArray[Any] | int]) -> None:
        """Go on exactly where `state()` was taken."""
        for name, value in state.items():
            setattr(self, name, value.copy() if isinstance(value, np.ndarray) else value)
