"""Every distinct legal result of a decision, for thousands of games at once.

Plays grow one number at a time, layer by layer; the order of the rules is that of `afterstates()`.
All arrays are flat over the batch: M rows, each of them a position that belongs to some game.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.queues import COMPLETE, LEFTS, Queues, is_pair, queues_of
from engine.ruleset import Change, Ruleset, Sight, bears_off
from engine.slots import (
    ALL_SLOTS,
    MINE,
    SLOTS,
    THEIRS,
    Boards,
    Codes,
    Flags,
    Keys,
    Outcomes,
    Rows,
    Slots,
    Words,
    bit,
    pack,
)
from engine.tables import tables_of

CELLS = 2 * SLOTS
GAMES_AT_ONCE = 4096  # a slice whose rows stay near the cache; smaller ones pay more for calls
Games = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Afterstates:
    """All distinct legal results of N decisions, one flat list.

    The rows of game g are `start[g]:start[g + 1]`, at least one (a forced pass is a row), in an
    order that does not depend on the batch. In every row MINE is the side that acts next, and
    `passed` says whether that is the other side than the chooser; in a finished row MINE is the
    chooser.
    """

    boards: Boards  # (M, 2, SLOTS)
    pending: Codes  # (M,), meaningless where finished
    passed: Flags  # (M,)
    outcome: Outcomes  # (M,), for the chooser; -1 where the game goes on
    game: Games  # (M,)
    start: npt.NDArray[np.int64]  # (N + 1,)

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
        )
        return part, rows


@dataclass(frozen=True, eq=False)
class Plays:
    """One layer of growing plays: M rows that have used the same number of steps."""

    boards: Boards  # (M, 2, SLOTS), the chooser is MINE
    mine: Words  # (M,): the slots that hold a free checker of mine
    game: Games  # (M,)
    key: Keys  # (M,): sum of cell value x cell constant, relative to where the decision began
    left: npt.NDArray[np.int8]  # (M,): which numbers of the tier are unplayed
    allowed: Words  # (M,): the slots that the next step may leave, as far as order goes
    outcome: Outcomes  # (M,)

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """All columns, in the order of the constructor."""
        return self.boards, self.mine, self.game, self.key, self.left, self.allowed, self.outcome

    def take(self, rows: Rows) -> Plays:
        """These rows, in this order."""
        return Plays(*(array.take(rows, axis=0) for array in self.arrays()))

    def see(self, row: Rows, die: Words, start: Boards, pending: Codes, rules: Ruleset) -> Sight:
        """What the parts may look at in these rows, when `die` is to be played."""
        game = self.game.take(row)
        return Sight(
            rules=rules,
            reached=self.boards,
            row=row,
            mine=self.mine.take(row),
            start=start,
            game=game,
            code=pending.take(game),
            numbers=queues_of(rules).numbers,
            die=die,
        )


def joined(parts: list[Plays]) -> Plays:
    """Several layers as one list of rows."""
    if len(parts) == 1:
        return parts[0]
    return Plays(*(np.concatenate(column) for column in zip(*(part.arrays() for part in parts), strict=True)))


# -- one step -----------------------------------------------------------------------------------------


def can_leave(see: Sight) -> Words:
    """(M,) words: the slots a checker may leave with this die, one bit each."""
    rules = see.rules
    opens = rules.contact.opens(see)
    entry = (rules.contact.enters(see, opens) << see.die) & bit(rules.bar)
    reach = (opens << see.die) & rules.board_words
    can = see.mine & (reach | entry | (entry << np.uint32(1)) | bears_off(see))
    for limit in rules.limits:
        can = limit.allow(can, see)
    on_bar = see.mine & bit(rules.bar)
    leave: Words = np.where(on_bar != 0, can & on_bar, can)
    return leave


def bits_of(words: Words) -> tuple[Rows, Slots]:
    """The members of M sets: (row, slot) of every bit that is on, in this order."""
    flags = np.unpackbits(words.view(np.uint8), bitorder="little").view(np.bool_)
    at = np.flatnonzero(flags)
    return at >> 5, at & (SLOTS - 1)


def distinct(keys: Keys) -> Rows:
    """The rows to keep so that every key stays once, in rising order; of equal rows the last.

    A direct-address table instead of a sort: each row writes its number at its key, and whoever
    reads itself back stays. Rows beaten there by a different key try again. About five times as
    fast as `np.unique`. Keys of 64 bits: different positions collide once in about 2 ** 65 / M ** 2
    calls.
    """
    bits = max(int(keys.size * 4 - 1).bit_length(), 4)
    table = np.empty(1 << bits, np.int32)
    kept = np.zeros(keys.size, np.bool_)
    rows = np.arange(keys.size, dtype=np.int32)
    shift = np.uint64(64 - bits)
    while rows.size:
        mine = keys.take(rows)
        place = (mine >> shift).astype(np.intp)
        table[place] = rows
        winner = table.take(place)
        kept[winner] = True
        rows = rows.compress(keys.take(winner) != mine)
    return np.flatnonzero(kept)


def options(plays: Plays, pending: Codes, q: Queues) -> tuple[Rows, Words, npt.NDArray[np.int8]]:
    """Which row may play which die next: (row, die, what is left afterwards)."""
    at = pending.take(plays.game).astype(np.intp) * LEFTS + plays.left
    dice, lefts = q.step_die.reshape(-1, 2).take(at, axis=0), q.step_left.reshape(-1, 2).take(at, axis=0)
    first, second = np.flatnonzero(dice[:, 0]), np.flatnonzero(dice[:, 1])
    if not second.size:
        return first, dice[:, 0].take(first), lefts[:, 0].take(first)
    row = np.concatenate([first, second])
    return row, np.concatenate([dice[first, 0], dice[second, 1]]), np.concatenate([lefts[first, 0], lefts[second, 1]])


def step(plays: Plays, start: Boards, pending: Codes, rules: Ruleset, *, ordered: bool, merge: bool) -> Plays:
    """The next layer: every legal step with every number still to be played.

    `ordered`: the steps of a play leave their slots in falling order (doubles: every multiset of
    steps comes once). `merge`: drop rows that reach the same position; keys are compared before
    boards are copied.
    """
    q, tables = queues_of(rules), tables_of(rules)
    row, die, left = options(plays, pending, q)
    see = plays.see(row, die, start, pending, rules)
    can = can_leave(see)
    if ordered:
        can &= plays.allowed.take(row)
    option, src = bits_of(can)
    parent = row.take(option)
    at = die.take(option).astype(np.intp) * SLOTS + src
    key = plays.key.take(parent) + tables.step_key.take(at)
    changes = rules.contact.changes(plays.boards, parent, src, tables.landing.take(at), rules)
    for change in changes:
        key[change.rows] += tables.cell_key.take(change.cells) * np.uint64(change.delta % (1 << 64))
    game, left = see.game.take(option), left.take(option)
    if merge:
        rows = distinct(key + game.astype(np.uint64) * tables.game_key)
        changes = [kept for change in changes if (kept := among(change, rows, key.size)).rows.size]
        parent, src, at = parent.take(rows), src.take(rows), at.take(rows)
        key, game, left = key.take(rows), game.take(rows), left.take(rows)
    boards, mine = moved(plays, parent, src, tables.landing.take(at), changes)
    outcome = rules.scoring.outcome(boards, rules)
    left[outcome >= 0] = 0
    allowed = tables.falling.take(src) if ordered else np.full(src.size, ALL_SLOTS)
    layer = Plays(boards, mine, game, key, left, allowed, outcome)
    return standing(layer, start, pending, rules, hard=True) if rules.formation_scope == "each_step" else layer


def among(change: Change, rows: Rows, size: int) -> Change:
    """A change of some of `size` rows, renumbered for those that are kept."""
    place = np.full(size, -1, np.intp)
    place[rows] = np.arange(rows.size)
    to = place.take(change.rows)
    kept = np.flatnonzero(to >= 0)
    return Change(to[kept], change.cells[kept], change.delta)


def moved(plays: Plays, parent: Rows, src: Slots, dst: Slots, changes: list[Change]) -> tuple[Boards, Words]:
    """(M, 2, SLOTS) boards and (M,) words of my slots after one step src -> dst from each parent."""
    boards = plays.boards.take(parent, axis=0)
    flat = boards.reshape(-1)
    base = np.arange(0, boards.size, CELLS)
    at = base + src
    held = flat.take(at) - np.int8(1)
    flat[at] = held
    flat[base + dst] += 1
    for change in changes:
        flat[change.rows * CELLS + change.cells] += np.int8(change.delta)
    emptied = (held == 0).astype(np.uint32) << src.astype(np.uint32)
    return boards, (plays.mine.take(parent) & ~emptied) | (np.uint32(1) << dst.astype(np.uint32))


# -- a tier -----------------------------------------------------------------------------------------------


def grow(start: Boards, pending: Codes, rules: Ruleset, *, pairs: bool) -> Plays:
    """Every legal play of one tier, for N games that all play pairs, or all runs of equal numbers."""
    layer = unmoved(start, pending, rules)
    layers = [layer]
    ordered = not pairs and not rules.order_matters
    while layer.game.size and layer.left.any():
        layer = step(layer, start, pending, rules, ordered=ordered, merge=not ordered and len(layers) > 1)
        layers.append(layer)
    return worthiest(lawful(layers, start, pending, rules), start, pending, rules)


def lawful(layers: list[Plays], start: Boards, pending: Codes, rules: Ruleset) -> list[Plays]:
    """The plays that break no hard formation; standing still may, in games where nothing else is legal."""
    if not any(formation.hard for formation in rules.formations):
        return layers
    moving = [standing(layer, start, pending, rules, hard=True) for layer in layers[1:]]
    has_play = np.zeros(len(start), np.bool_)
    for layer in moving:
        has_play[layer.game] = True
    is_lawful = ~has_play
    is_lawful[standing(layers[0], start, pending, rules, hard=True).game] = True
    return [layers[0].take(np.flatnonzero(is_lawful)), *moving]


def unmoved(start: Boards, pending: Codes, rules: Ruleset) -> Plays:
    """The plays that have made no step yet, one for each of N games."""
    size = len(start)
    return Plays(
        start,
        pack(start > 0)[:, MINE],
        np.arange(size, dtype=np.int32),
        np.zeros(size, np.uint64),
        queues_of(rules).full.take(pending),
        np.full(size, ALL_SLOTS),
        np.full(size, -1, np.int8),
    )


def standing(plays: Plays, start: Boards, pending: Codes, rules: Ruleset, *, hard: bool) -> Plays:
    """The plays that no formation forbids; the end of the game is exempt."""
    formations = [formation for formation in rules.formations if formation.hard is hard]
    if not formations or not plays.game.size:
        return plays
    see = plays.see(np.arange(plays.game.size), np.zeros_like(plays.mine), start, pending, rules)
    bad = formations[0].bad(see)
    for formation in formations[1:]:
        bad = bad | formation.bad(see)
    bad = bad & (plays.outcome < 0)
    return plays.take(np.flatnonzero(~bad)) if bad.any() else plays


def worthiest(layers: list[Plays], start: Boards, pending: Codes, rules: Ruleset) -> Plays:
    """The plays that use their numbers best, each result once; soft formations are avoided where possible."""
    worths = [worth_of_rows(layer, start, pending, rules) for layer in layers]
    best = np.full(len(start), -128, np.int8)
    for layer, worth in zip(layers, worths, strict=True):
        np.maximum.at(best, layer.game, worth)
    kept = [np.flatnonzero(worth == best.take(layer.game)) for layer, worth in zip(layers, worths, strict=True)]
    if any(not formation.hard for formation in rules.formations):
        best_plays = joined([layer.take(rows) for layer, rows in zip(layers, kept, strict=True)])
        layers = [avoiding(best_plays, start, pending, rules)]
        kept = [np.arange(layers[0].game.size)]
    once(layers, kept, pending, rules)
    parts = [
        layer if rows.size == layer.game.size else layer.take(rows)
        for layer, rows in zip(layers, kept, strict=True)
        if rows.size
    ]
    return joined(parts)


def worth_of_rows(plays: Plays, start: Boards, pending: Codes, rules: Ruleset) -> npt.NDArray[np.int8]:
    """(M,) int8: how well each play meets the duty to play."""
    if rules.must_play == "none":  # only entering stays a duty: as many as possible
        return -plays.boards[:, MINE, rules.bar]
    at = pending.take(plays.game).astype(np.intp) * LEFTS + plays.left
    return queues_of(rules).worth.reshape(-1).take(at)


def avoiding(plays: Plays, start: Boards, pending: Codes, rules: Ruleset) -> Plays:
    """Only plays that avoid the soft formations, in games that have one."""
    good = standing(plays, start, pending, rules, hard=False)
    if good is plays or good.game.size == plays.game.size:
        return plays
    has_good = np.zeros(len(start), np.bool_)
    has_good[good.game] = True
    return joined([good, plays.take(np.flatnonzero(~has_good.take(plays.game)))])


def once(layers: list[Plays], kept: list[Rows], pending: Codes, rules: Ruleset) -> None:
    """Thin out the `kept` rows of each layer to one row a result, also where plays of different length meet.

    Complete plays that do not end the game were merged as they grew and meet no others, unless
    stopping early is allowed; so only few rows are looked at.
    """
    q, tables = queues_of(rules), tables_of(rules)
    doubts, keys = [], []
    for layer, rows in zip(layers, kept, strict=True):
        game, outcome = layer.game.take(rows), layer.outcome.take(rows)
        at = pending.take(game).astype(np.intp) * LEFTS + layer.left.take(rows)
        may_meet = (outcome >= 0) | (q.worth.reshape(-1).take(at) != COMPLETE) | (rules.must_play == "none")
        doubt = np.flatnonzero(may_meet)
        follower = np.where(outcome.take(doubt) >= 0, -1, q.next.reshape(-1).take(at.take(doubt))).astype(np.uint64)
        key = layer.key.take(rows.take(doubt)) + game.take(doubt).astype(np.uint64) * tables.game_key
        doubts.append(doubt)
        keys.append(key + follower * tables.cell_key[0])
    is_kept = np.zeros(sum(key.size for key in keys), np.bool_)
    is_kept[distinct(np.concatenate(keys))] = True
    for index, doubt in enumerate(doubts):
        surplus = doubt[~is_kept[: doubt.size]]
        is_kept = is_kept[doubt.size :]
        if surplus.size:
            kept[index] = np.delete(kept[index], surplus)


def declare_draws(plays: Plays, start: Boards, pending: Codes, rules: Ruleset) -> None:
    """End forced passes as draws, in place, where no roll lets either side ever step again."""
    still = plays.left == queues_of(rules).full.take(pending).take(plays.game)
    alone = np.bincount(plays.game, minlength=len(start)).take(plays.game) == 1
    rows = np.flatnonzero(still & alone & (plays.outcome < 0))
    if rows.size:
        dead = rows[is_dead(plays.boards.take(rows, axis=0), rules)]
        plays.outcome[dead] = rules.payoffs.size // 2


def is_dead(boards: Boards, rules: Ruleset) -> Flags:
    """(M,) flags: neither side has a legal play with any roll."""
    q = queues_of(rules)
    roll = q.code(("roll",))
    codes = np.unique(q.chance_code[:, roll, : int(q.ways[roll])])
    codes = codes[np.argsort(-q.full.take(codes), kind="stable")].tolist()  # doubles first: they try every number
    dead = np.ones(len(boards), np.bool_)
    for view, code in product((-1, 1), codes):
        rows = np.flatnonzero(dead)
        if not rows.size:
            break
        start, pending = boards[rows, ::view], np.full(rows.size, code, np.int8)
        if rules.formations:
            plays = grow(start, pending, rules, pairs=is_pair(q.items[code][0]))
            dead[rows[plays.game[plays.left != q.full[code]]]] = False
        else:  # a single step is a play
            row, die, _ = options(first := unmoved(start, pending, rules), pending, q)
            can = can_leave(first.see(row, die, start, pending, rules))
            dead[rows[row[can != 0]]] = False
    return dead


# -- a decision -------------------------------------------------------------------------------------------


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
    )


def _afterstates(boards: Boards, pending: Codes, rules: Ruleset) -> Afterstates:
    """One slice of `afterstates`."""
    q = queues_of(rules)
    found: list[tuple[Boards, Games, Codes, Flags, Outcomes]] = []
    pair = q.numbers[:, 0] != q.numbers[:, 1]
    kind = np.where(q.is_choice, 2, np.where(pair & (q.numbers[:, 1] > 0), 1, 0)).take(pending)
    for which in np.unique(kind).tolist():
        games = np.flatnonzero(kind == which).astype(np.int32)
        start, codes = boards.take(games, axis=0), pending.take(games)
        if which == 2:
            after, game, follower, passed = choices(start, codes, rules)
            found.append((after, games.take(game), follower, passed, np.full(game.size, -1, np.int8)))
            continue
        plays = grow(start, codes, rules, pairs=which == 1)
        if rules.scoring.deadlock:
            declare_draws(plays, start, codes, rules)
        at = codes.take(plays.game).astype(np.intp) * LEFTS + plays.left
        if rules.turn.judges_ends:
            at += rules.turn.is_early(plays.boards, rules) * np.intp(q.worth.size)
        follower, passed = q.next.reshape(-1).take(at), q.passes.reshape(-1).take(at)
        passed &= plays.outcome < 0
        if rules.binding is not None:
            is_bound = passed & rules.binding.is_due(plays.boards, rules)
            follower, passed = np.where(is_bound, q.bound.take(follower), follower), passed & ~is_bound
        found.append((plays.boards, games.take(plays.game), follower, passed, plays.outcome))
    return in_order(found, len(boards), rules)


def in_order(found: list[tuple[Boards, Games, Codes, Flags, Outcomes]], size: int, rules: Ruleset) -> Afterstates:
    """Rows sorted by game, each turned to the view of whoever acts next, memory written."""
    boards, game, pending, passed, outcome = (
        arrays[0] if len(arrays) == 1 else np.concatenate(arrays) for arrays in zip(*found, strict=True)
    )
    order = np.argsort(game.astype(np.uint16), kind="stable")  # a radix sort, on 16 bits only
    passed = passed.take(order)
    halves = (order * 2)[:, None] + np.stack([passed, ~passed], axis=1)
    boards = boards.reshape(-1, SLOTS).take(halves, axis=0)
    rules.remember(boards, passed)
    start = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(game, minlength=size), out=start[1:])
    return Afterstates(boards, pending.take(order), passed, outcome.take(order), game.take(order), start)
