"""A game as a graph: every position that can be stored, everything dice can bring there, and every reply.

The engine's own generator finds the positions by closure from the start and is asked once; what it
answers is kept as flat arrays. Values are looked up in one list: V of every position for MINE, -V
(the turn passed), then what finished games pay, so that a reply is one index into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from tqdm import tqdm

from engine.chances import Chances, outcomes_of_chance
from engine.decisions import Afterstates, afterstates
from engine.game import ODD, mix
from engine.queues import queues_of
from engine.ruleset import InputError, Ruleset
from engine.slots import SLOTS, Boards, Codes, Flags, Keys

Values = npt.NDArray[np.float64]  # (S,): points for MINE
Replies = npt.NDArray[np.int32]  # (M,): indices into a list of 2 S + K values
Starts = npt.NDArray[np.int64] | npt.NDArray[np.uint32]
POSITIONS_AT_ONCE = 2048  # a slice whose replies fit into the memory
HOPELESS = 50_000_000  # ways to place the checkers of both sides, of which most can come up
MOST = 4_000_000  # positions of a game that is kept whole
WORDS = np.arange(1, 2 * SLOTS // 8 + 1, dtype=np.uint64) * ODD


class TooLarge(InputError):
    """A game has more positions than can be kept; the message says how to make it smaller."""


@dataclass(frozen=True, eq=False)
class Graph:
    """S positions, R results of dice and M replies of a ruleset; position 0 is the start.

    The results of position s are `results[s]..results[s + 1] - 1`, the replies to result r
    `replies[r]..replies[r + 1] - 1`, both in the engine's order. `turned` says that the other side
    than MINE of the position replies.
    """

    rules: Ruleset
    boards: Boards  # (S, 2, SLOTS)
    pending: Codes  # (S,)
    results: Starts  # (S + 1,)
    weight: Values  # (R,): of each result, 1 in all for each position
    turned: Flags  # (R,)
    replies: Starts  # (R + 1,)
    target: Replies  # (M,): s, or S + s where the turn passed, or 2 S + outcome

    @property
    def size(self) -> int:
        """S, how many positions there are."""
        return self.pending.size

    @cached_property
    def _by_key(self) -> Found:
        """Every position by its key."""
        keys = keys_of(self.boards, self.pending)
        order = np.argsort(keys)
        return Found(keys[order], order.astype(np.int32))

    def find(self, boards: Boards, pending: Codes) -> npt.NDArray[np.int32]:
        """(M,) which positions these are; all of them must be of this game."""
        return self._by_key.find(keys_of(boards, pending))

    def listed(self, values: Values) -> Values:
        """(2 S + K,) what `target` points into: for the side that replies."""
        return np.concatenate([values, -values, self.rules.payoffs.astype(np.float64)])

    def chances(self, low: int, high: int) -> Chances:
        """Everything that dice can bring in the positions low..high - 1, as the engine has it."""
        return outcomes_of_chance(self.boards[low:high], self.pending[low:high], self.rules)

    def decisions(self) -> Iterator[tuple[slice, slice, Afterstates]]:
        """The decisions in slices, made anew: which results and which replies, and the engine's answer."""
        for low in range(0, self.size, POSITIONS_AT_ONCE):
            high = min(low + POSITIONS_AT_ONCE, self.size)
            chances = self.chances(low, high)
            results = slice(int(self.results[low]), int(self.results[high]))
            replies = slice(int(self.replies[results.start]), int(self.replies[results.stop]))
            yield results, replies, afterstates(chances.boards, chances.pending, self.rules)

    def dice(self, results: Starts, here: float, there: float) -> sparse.csr_array:
        """(N, R') weights of the `results` (N + 1,) of N positions, times `here` where MINE replies, else `there`."""
        part = slice(int(results[0]), int(results[-1]))
        turned, weight, starts = self.turned[part], self.weight[part], results - results[0]
        columns = np.arange(weight.size, dtype=np.int32)
        if here != 1.0 or turned.any():  # else the weights are those of the graph, not copied
            factor = np.where(turned, there, here)
            counted = factor != 0.0
            starts = np.append(0, np.cumsum(counted))[starts]
            weight, columns = (factor * weight)[counted], columns[counted]
        return sparse.csr_array((weight, columns, starts), shape=(results.size - 1, turned.size))


def keys_of(boards: Boards, pending: Codes) -> Keys:
    """(M,) 64 bits for every position; two different ones agree once in about 2 ** 64 pairs."""
    words = np.ascontiguousarray(boards).reshape(len(boards), 2 * SLOTS).view(np.uint64)
    keys = pending.astype(np.uint64)
    for column, constant in zip(words.T, WORDS, strict=True):
        keys += mix(column + constant)
    return mix(keys)


@dataclass(eq=False)
class Found:
    """The positions found so far, by key."""

    keys: Keys  # rising
    numbers: npt.NDArray[np.int32]  # of each key's position

    def add(self, keys: Keys) -> npt.NDArray[np.intp]:
        """Number the unknown ones of these rising keys; which of them they are."""
        at = np.searchsorted(self.keys, keys)
        unknown = np.flatnonzero(self.keys.take(at, mode="clip") != keys)
        numbers = np.arange(self.keys.size, self.keys.size + unknown.size, dtype=np.int32)
        self.numbers = np.insert(self.numbers, at.take(unknown), numbers)
        self.keys = np.insert(self.keys, at.take(unknown), keys.take(unknown))
        return unknown

    def knows(self, keys: Keys) -> bool:
        """Are all of these positions known?"""
        at = np.searchsorted(self.keys, keys)
        return bool((self.keys.take(at, mode="clip") == keys).all())

    def find(self, keys: Keys) -> npt.NDArray[np.int32]:
        """The numbers of known positions."""
        return self.numbers.take(np.searchsorted(self.keys, keys))


@dataclass(frozen=True, eq=False)
class Layer:
    """What the engine answered about one slice of positions; replies are still given by key."""

    results: Starts  # (S',): how many each position has
    weight: Values
    turned: Flags
    replies: Starts  # (R',): how many each result has
    outcome: npt.NDArray[np.int8]
    passed: Flags
    keys: Keys  # (U,): of the distinct positions that replies lead to
    which: npt.NDArray[np.int32]  # (M',): which of them, 0 where finished

    def target(self, found: Found, size: int) -> Replies:
        """(M',) the replies of this slice as indices."""
        number = found.find(self.keys).take(self.which) if self.keys.size else np.zeros(self.which.size, np.int32)
        number = number + self.passed * np.int32(size)
        return np.where(self.outcome >= 0, 2 * size + self.outcome.astype(np.int32), number).astype(np.int32)


def explored(boards: Boards, pending: Codes, rules: Ruleset) -> tuple[Layer, Boards, Codes]:
    """What can follow each of these positions, and the distinct positions among it."""
    chances = outcomes_of_chance(boards, pending, rules)
    after = afterstates(chances.boards, chances.pending, rules)
    going = np.flatnonzero(after.outcome < 0)
    keys = keys_of(after.boards.take(going, axis=0), after.pending.take(going))
    distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    which = np.zeros(after.outcome.size, np.int32)
    which[going] = inverse
    layer = Layer(
        np.bincount(chances.parent, minlength=pending.size),
        chances.weight,
        chances.turned,
        after.counts,
        after.outcome,
        after.passed,
        distinct,
        which,
    )
    rows = going.take(first)
    return layer, after.boards.take(rows, axis=0), after.pending.take(rows)


def graph_of(
    rules: Ruleset, roots: tuple[Boards, Codes] | None = None, progress: bool = False, most: int = MOST
) -> Graph:
    """Every position that can come up in a game of these rules; its limit of turns does not count.

    Args:
        rules: of the game.
        roots: where games begin, (N, 2, SLOTS) int8 and (N,) int8, all different; the start where None.
        progress: show a bar.
        most: positions that may be found.

    Raises:
        TooLarge: there are more than `most` positions.
    """
    slots = rules.points + 1 + rules.checkers
    if comb(slots, rules.checkers) ** 2 > HOPELESS:
        raise TooLarge(too_large(rules, HOPELESS))
    if roots is None:
        start = rules.start_row[None, None].repeat(2, axis=1)
        roots = start, np.array([queues_of(rules).code(("first",))], np.int8)
    keys = keys_of(*roots)
    order = np.argsort(keys)
    found = Found(keys[order], np.arange(order.size, dtype=np.int32))
    fronts = [(roots[0].take(order, axis=0), roots[1].take(order))]
    layers: list[Layer] = []
    with tqdm(desc="positions", unit="", disable=None if progress else True) as bar:
        while fronts[-1][1].size:
            fronts.append(beyond(*fronts[-1], layers, found, rules, bar))
            if found.keys.size > most:
                raise TooLarge(too_large(rules, most))
    boards, pending = (np.concatenate(arrays) for arrays in zip(*fronts, strict=True))
    return joined(layers, found, boards, pending, rules)


def too_large(rules: Ruleset, most: int) -> str:
    """What to say of a game with more positions than that."""
    return f"{rules.name}: more than {most:,} positions; rules.checkers=2, or fewer points, makes it small enough"


def beyond(
    boards: Boards, pending: Codes, layers: list[Layer], found: Found, rules: Ruleset, bar: tqdm[Any]
) -> tuple[Boards, Codes]:
    """What is new one decision beyond these positions; what the engine answered is appended to `layers`."""
    new = [(boards[:0], pending[:0])]
    for low in range(0, pending.size, POSITIONS_AT_ONCE):
        part = slice(low, low + POSITIONS_AT_ONCE)
        layer, after, codes = explored(boards[part], pending[part], rules)
        layers.append(layer)
        rows = found.add(layer.keys)
        new.append((after.take(rows, axis=0), codes.take(rows)))
        bar.update(pending[part].size)
    return np.concatenate([part[0] for part in new]), np.concatenate([part[1] for part in new])


def joined(layers: list[Layer], found: Found, boards: Boards, pending: Codes, rules: Ruleset) -> Graph:
    """All slices as one graph."""

    def starts(counts: list[Starts]) -> Starts:
        total = np.concatenate([np.zeros(1, np.int64), *counts])
        return np.asarray(np.cumsum(total), np.int64)

    return Graph(
        rules,
        boards,
        pending,
        starts([layer.results for layer in layers]),
        np.concatenate([layer.weight for layer in layers]),
        np.concatenate([layer.turned for layer in layers]),
        starts([layer.replies for layer in layers]),
        np.concatenate([layer.target(found, pending.size) for layer in layers]),
    )
