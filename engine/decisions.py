"""A decision: every distinct legal result, for thousands of games at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.plays import CELLS, Games, Plays, declare_draws, grow
from engine.queues import LEFTS, queues_of
from engine.ruleset import Change, Ruleset
from engine.slots import MINE, SLOTS, THEIRS, Boards, Codes, Flags, Outcomes, Rows, Slots, where

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
    game: Games  # (M,)
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


def choices(boards: Boards, pending: Codes, rules: Ruleset) -> tuple[Boards, Games, Codes, Flags]:
    """Results of decisions that play no number: boards, game, code that follows, does the turn pass."""
    q = queues_of(rules)
    parts: list[tuple[Boards, Games, Codes, Flags]] = []
    at = rules.turn.is_early(boards, rules) * q.is_choice.size + pending
    for early, code in (divmod(both, q.is_choice.size) for both in np.unique(at).tolist()):
        games = np.flatnonzero(at == early * q.is_choice.size + code).astype(np.int32)
        here = boards.take(games, axis=0)
        head = q.items[code][0]
        for follower, passes in q.choices[early][code]:
            results = [(here, games)]
            if head in ("open", "open_theirs"):
                results = opened(here, games, MINE if head == "open" else THEIRS, rules)
            for after, game in results:
                parts.append((after, game, np.full(game.size, follower, np.int8), np.full(game.size, passes)))
    after, game, codes, passed = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return after, game, codes, passed


def opened(boards: Boards, games: Games, side: int, rules: Ruleset) -> list[tuple[Boards, Games]]:
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


@dataclass(frozen=True, eq=False)
class Found:
    """Results of some of the games, sorted by game: each a position and what a last step changes in it."""

    boards: Boards  # (R, 2, SLOTS), the chooser is MINE
    parent: Rows  # (M,), row of `boards`
    step: tuple[Slots, Slots] | None  # (M,) slots that a checker leaves and lands on
    changes: Sequence[Change]  # what that does to other slots of the M rows
    game: Games  # (M,)
    pending: Codes  # (M,)
    passed: Flags  # (M,)
    outcome: Outcomes  # (M,)


def _afterstates(boards: Boards, pending: Codes, rules: Ruleset) -> Afterstates:
    """One slice of `afterstates`."""
    q = queues_of(rules)
    found: list[Found] = []
    pair = q.numbers[:, 0] != q.numbers[:, 1]
    kind = np.where(q.is_choice, 2, np.where(pair & (q.numbers[:, 1] > 0), 1, 0)).take(pending)
    for which in np.unique(kind).tolist():
        games = np.flatnonzero(kind == which).astype(np.int32)
        start, codes = boards.take(games, axis=0), pending.take(games)
        if which == 2:
            found.append(chosen(start, codes, games, rules))
            continue
        layers = grow(start, codes, rules, pairs=which == 1)
        if rules.scoring.deadlock:
            declare_draws(layers, rules)
        found += [played(layer, games, rules) for layer in layers]
    return in_order(found, boards, pending, rules)


def chosen(start: Boards, codes: Codes, games: Games, rules: Ruleset) -> Found:
    """The results of decisions that play no number, in these games."""
    after, game, follower, passed = choices(start, codes, rules)
    order = np.argsort(game, kind="stable")
    going = np.full(game.size, -1, np.int8)
    return Found(after, order, None, (), games.take(game.take(order)), follower.take(order), passed.take(order), going)


def played(plays: Plays, games: Games, rules: Ruleset) -> Found:
    """The results of plays, with what follows them."""
    q = queues_of(rules)
    at = plays.began.pending.take(plays.game).astype(np.intp) * LEFTS + plays.left
    if rules.turn.judges_ends:
        at += rules.turn.is_early(plays.boards, rules) * np.intp(q.worth.size)
    follower, passed = q.next.reshape(-1).take(at), q.passes.reshape(-1).take(at) & (plays.outcome < 0)
    if plays.origin is None:
        boards, step, changes = plays.began.boards, None, []
    else:
        boards, step, changes = plays.origin.boards, (plays.src, plays.dst), plays.changes
    return Found(boards, plays.parent, step, changes, games.take(plays.game), follower, passed, plays.outcome)


def in_order(found: list[Found], before: Boards, decided: Codes, rules: Ruleset) -> Afterstates:
    """Rows sorted by game, each turned to the view of whoever acts next, memory written."""
    counts = [np.bincount(part.game, minlength=len(before)) for part in found]
    start = np.zeros(len(before) + 1, np.int64)
    np.cumsum(np.sum(counts, axis=0), out=start[1:])
    size = int(start[-1])
    position = np.empty(size, np.intp)
    pending, passed, outcome = np.empty(size, np.int8), np.empty(size, np.bool_), np.empty(size, np.int8)
    edited, taken, offset = [], start[:-1].copy(), 0
    for part, count in zip(found, counts, strict=True):
        place = (taken - np.cumsum(count) + count).take(part.game) + np.arange(part.game.size)
        position[place] = part.parent + offset
        pending[place], passed[place], outcome[place] = part.pending, part.passed, part.outcome
        edited.append((part, place * CELLS + THEIRS * SLOTS))
        taken += count
        offset += len(part.boards)
    halves = np.empty((size, 2), np.intp)  # all are turned here; who acts again is turned back
    np.multiply(position, 2, out=halves[:, THEIRS])
    np.add(halves[:, THEIRS], THEIRS, out=halves[:, MINE])
    boards = np.concatenate([part.boards for part in found]).reshape(-1, SLOTS).take(halves, axis=0)
    flat = boards.reshape(-1)
    for part, chooser in edited:
        if part.step is not None:
            flat[chooser + part.step[0]] -= 1
            flat[chooser + part.step[1]] += 1
        for change in part.changes:
            cells = np.where(change.cells < SLOTS, change.cells, change.cells - CELLS)
            flat[chooser.take(change.rows) + cells] += np.int8(change.delta)
    if rules.binding is not None:
        bind(boards, pending, passed, rules)
    stays = where(~passed)
    boards[stays] = boards[stays, ::-1]
    rules.remember(boards, passed)
    game = np.repeat(np.arange(len(before), dtype=np.int32), np.diff(start))
    return Afterstates(boards, pending, passed, outcome, game, start, before, decided)


def bind(boards: Boards, pending: Codes, passed: Flags, rules: Ruleset) -> None:
    """Keep the turn, in place, where who has just played (THEIRS) is bound: a toss comes before the other's turn."""
    assert rules.binding is not None
    bound = where(passed & rules.binding.is_due(boards[:, ::-1], rules))
    pending[bound] = queues_of(rules).bound.take(pending.take(bound))
    passed[bound] = False
