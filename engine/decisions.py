"""A decision: every distinct legal result, for thousands of games at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.plays import ONE, Plays
from engine.queues import LEFTS, queues_of
from engine.ruleset import Ruleset
from engine.slots import CELLS, MINE, SLOTS, THEIRS, Boards, Codes, Flags, Outcomes, Rows, where
from engine.tiers import declare_draws, grow

GAMES_AT_ONCE = 4096  # a slice whose rows stay near the cache; smaller ones pay more for calls


@dataclass(frozen=True, eq=False)
class Afterstates:
    """All distinct legal results of N decisions, one flat list.

    The rows of game g are `start[g]:start[g + 1]`, at least one (a forced pass is a row), in an
    order that does not depend on the batch. In every row MINE is the side that acts next, and
    `passed` says whether that is the other side than the chooser; in a finished row MINE is the
    chooser. `before` and `decided` are what was asked, for whoever has to know or to say it.
    """

    boards: Boards  # (M, 2, SLOTS)
    pending: Codes  # (M,), meaningless where finished
    passed: Flags  # (M,)
    outcome: Outcomes  # (M,), for the chooser; -1 where the game goes on
    game: npt.NDArray[np.int32]  # (M,)
    start: npt.NDArray[np.int64]  # (N + 1,)
    before: Boards  # (N, 2, SLOTS): where the decisions began, the chooser is MINE
    decided: Codes  # (N,): what was pending there

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """(N,) int64: how many results each game has."""
        return np.diff(self.start)

    def of(self, games: Rows) -> tuple[Afterstates, Rows]:
        """The results of some of the games, in this order, and which rows of the whole they are."""
        counts = self.counts.take(games)
        start = np.concatenate([[0], np.cumsum(counts)])
        rows = np.arange(start[-1]) + np.repeat(self.start.take(games) - start[:-1], counts)
        part = Afterstates(
            self.boards.take(rows, axis=0),
            self.pending.take(rows),
            self.passed.take(rows),
            self.outcome.take(rows),
            np.repeat(np.arange(games.size, dtype=np.int32), counts),
            start,
            self.before.take(games, axis=0),
            self.decided.take(games),
        )
        return part, rows


@dataclass(frozen=True, eq=False)
class Named:
    """Results of decisions that play no number, sorted by game; the chooser is MINE."""

    boards: Boards  # (M, 2, SLOTS)
    game: Rows  # (M,)
    pending: Codes  # (M,): what follows
    passed: Flags  # (M,)


def choices(boards: Boards, pending: Codes, games: Rows, rules: Ruleset) -> Named:
    """The results of decisions that play no number; `games` are the numbers of the (A, 2, SLOTS) boards."""
    q = queues_of(rules)
    parts: list[tuple[Boards, Rows, Codes, Flags]] = []
    at = rules.turn.is_early(boards, rules) * q.is_choice.size + pending
    for early, code in (divmod(both, q.is_choice.size) for both in np.unique(at).tolist()):
        rows = where(at == early * q.is_choice.size + code)
        here = boards.take(rows, axis=0)
        head = q.items[code][0]
        for follower, passes in q.choices[early][code]:
            results = [(here, rows)]
            if head in ("open", "open_theirs"):
                results = opened(here, rows, MINE if head == "open" else THEIRS, rules)
            for after, row in results:
                parts.append((after, row, np.full(row.size, follower, np.int8), np.full(row.size, passes)))
    after, row, codes, passed = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(row, kind="stable")
    return Named(after.take(order, axis=0), games.take(row.take(order)), codes.take(order), passed.take(order))


def opened(boards: Boards, games: Rows, side: int, rules: Ruleset) -> list[tuple[Boards, Rows]]:
    """For each home point of `side`, low to high: the boards with that point opened."""
    assert rules.binding is not None
    results = []
    for point in range(1, rules.quarter + 1):
        rows = np.flatnonzero(boards[:, side, point] >= 2)
        after = boards.take(rows, axis=0)
        gone = rules.binding.stripped(after[:, side, point])
        after[:, side, point] -= gone
        after[:, side, rules.bar] += gone
        results.append((after, games.take(rows)))
    return results


def afterstates(boards: Boards, pending: Codes, rules: Ruleset) -> Afterstates:
    """Every distinct legal result of N decisions.

    1. Plays grow one number at a time; each step meets reach, bar, entry, bearing off and limits,
       and the end of the game is tested after it.
    2. Ends that break a hard formation are dropped; a shorter play may survive. Standing still is
       exempt where nothing else is legal.
    3. The plays that use their numbers best stay: all, then the most, then the larger.
    4. Where a soft formation can be avoided, it is.
    5. One row per distinct result.
    6. Then what follows: the next queue, binding, memory, the view of whoever acts next.

    Args:
        boards: (N, 2, SLOTS) int8, MINE is to decide.
        pending: (N,) int8, codes of numbers or of choices, none of chance.
        rules: the rules of every game in the batch.

    Raises:
        ValueError: a game waits for dice.
    """
    q = queues_of(rules)
    if q.is_chance.take(pending).any():
        raise ValueError("afterstates: a game waits for dice; roll first")
    parts = [
        _afterstates(boards[low : low + GAMES_AT_ONCE], pending[low : low + GAMES_AT_ONCE], rules)
        for low in range(0, len(boards), GAMES_AT_ONCE)
    ]
    if len(parts) == 1:
        return parts[0]
    offsets = np.cumsum([0] + [part.game.size for part in parts])
    return Afterstates(
        np.concatenate([p.boards for p in parts]),
        np.concatenate([p.pending for p in parts]),
        np.concatenate([p.passed for p in parts]),
        np.concatenate([p.outcome for p in parts]),
        np.concatenate([p.game + np.int32(index * GAMES_AT_ONCE) for index, p in enumerate(parts)]),
        np.concatenate([p.start[:-1] + offset for p, offset in zip(parts, offsets, strict=False)] + [offsets[-1:]]),
        boards,
        pending,
    )


def _afterstates(boards: Boards, pending: Codes, rules: Ruleset) -> Afterstates:
    """One slice of `afterstates`."""
    is_choice = queues_of(rules).is_choice.take(pending)
    games, asked, named = None, where(is_choice), None
    start, tiers = boards, pending
    if asked.size:
        named = choices(boards.take(asked, axis=0), pending.take(asked), asked, rules)
        games = where(~is_choice)
        start, tiers = boards.take(games, axis=0), pending.take(games)
    layers = grow(start, tiers, rules) if tiers.size else []
    if rules.scoring.deadlock and layers:
        declare_draws(layers, rules)
    return in_order(layers, games, named, boards, pending, rules)


def in_order(
    layers: list[Plays], games: Rows | None, named: Named | None, before: Boards, decided: Codes, rules: Ruleset
) -> Afterstates:
    """Rows sorted by game, each turned to the view of whoever acts next, memory written.

    `games` are the numbers of those that play numbers, where there are others: `named`.
    """
    q = queues_of(rules)
    owners = [layer.game if games is None else games.take(layer.game) for layer in layers]
    owners += [named.game] if named else []
    counts = [np.bincount(owner, minlength=len(before)) for owner in owners]
    total = np.sum(counts, axis=0)
    start = np.concatenate([[0], np.cumsum(total)])
    places, taken = [], start[:-1].copy()
    for owner, count in zip(owners, counts, strict=True):
        places.append((taken - np.cumsum(count) + count).take(owner) + np.arange(owner.size))
        taken += count
    left, outcome = np.zeros(start[-1], np.int8), np.full(start[-1], -1, np.int8)
    for layer, place in zip(layers, places, strict=False):
        some, over = where(layer.left != 0), where(layer.outcome >= 0)
        left[place.take(some)] = layer.left.take(some)
        outcome[place.take(over)] = layer.outcome.take(over)
    boards = turned(layers, places, named)
    at = np.repeat(decided * np.intp(LEFTS), total) + left
    if rules.turn.judges_ends:
        at += rules.turn.is_early(boards[:, ::-1], rules) * np.intp(q.worth.size)
    pending, passed = q.next.reshape(-1).take(at), q.passes.reshape(-1).take(at) & (outcome < 0)
    if rules.binding is not None:
        bind(boards, pending, passed, rules)
    if named:
        pending[places[-1]], passed[places[-1]] = named.pending, named.passed
    stays = where(~passed)
    boards[stays] = boards[stays, ::-1]
    rules.remember(boards, passed)
    game = np.repeat(np.arange(len(before), dtype=np.int32), total)
    return Afterstates(boards, pending, passed, outcome, game, start, before, decided)


def turned(layers: list[Plays], places: list[Rows], named: Named | None) -> Boards:
    """(M, 2, SLOTS): all results in their places, seen by the other side than the chooser."""
    origins = [layer.origin.boards if layer.origin else layer.began.boards for layer in layers]
    parents = [layer.parent for layer in layers]
    if named:
        origins.append(named.boards)
        parents.append(np.arange(named.game.size))
    sizes = [len(origin) for origin in origins]
    size = sum(place.size for place in places)
    halves = np.empty((size, 2), np.intp)
    for parent, place, offset in zip(parents, places, np.cumsum([0, *sizes]).tolist(), strict=False):
        halves[place, THEIRS] = (parent + offset) * 2
    np.add(halves[:, THEIRS], THEIRS, out=halves[:, MINE])
    boards = np.concatenate(origins).reshape(-1, SLOTS).take(halves, axis=0)
    flat = boards.reshape(-1)
    for layer, place in zip(layers, places, strict=False):
        if layer.origin is not None:
            chooser = place * CELLS + THEIRS * SLOTS
            np.add.at(flat, chooser + layer.src, -ONE)
            np.add.at(flat, chooser + layer.dst, ONE)
            for change in layer.changes:
                cells = np.where(change.cells < SLOTS, change.cells, change.cells - CELLS)
                np.add.at(flat, chooser.take(change.rows) + cells, np.int8(change.delta))
    return boards


def bind(boards: Boards, pending: Codes, passed: Flags, rules: Ruleset) -> None:
    """Keep the turn, in place, where who has just played (THEIRS) is bound: a toss comes before the other's turn."""
    assert rules.binding is not None
    bound = where(passed & rules.binding.is_due(boards[:, ::-1], rules))
    pending[bound] = queues_of(rules).bound.take(pending.take(bound))
    passed[bound] = False
