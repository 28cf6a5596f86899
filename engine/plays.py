"""Growing the plays of a tier, one number at a time, for thousands of games at once.

A play is known by the step that led to it and by the row of the layer before; its board is made
only when somebody asks. Every layer is sorted by game.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from engine.queues import LARGER_LEFT, LEFTS, Queues, queues_of
from engine.reach import bears_off
from engine.ruleset import Began, Change, Ruleset, Sight
from engine.slots import (
    ALL_SLOTS,
    MINE,
    OFF,
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
    where,
)
from engine.tables import tables_of

CELLS = 2 * SLOTS


@dataclass(frozen=True, eq=False)
class Plays:
    """One layer of growing plays: M rows that have used the same number of steps, sorted by game."""

    began: Began  # the N decisions
    origin: Plays | None  # the layer before; None where no step has been made
    parent: Rows  # (M,) rows of `origin`, or games
    src: Slots  # (M,): the last step leaves this slot
    dst: Slots  # (M,): and ends here
    game: Rows  # (M,)
    left: npt.NDArray[np.int8]  # (M,): which numbers of the tier are unplayed
    outcome: Outcomes  # (M,)
    _holding: dict[int, Words] = field(default_factory=dict)  # what `holding` has worked out

    @cached_property
    def boards(self) -> Boards:
        """(M, 2, SLOTS), the chooser is MINE."""
        if self.origin is None:
            return self.began.boards.take(self.parent, axis=0)
        boards = self.origin.boards.take(self.parent, axis=0)
        flat = boards.reshape(-1)
        base = np.arange(0, flat.size, CELLS)
        flat[base + self.src] -= 1
        flat[base + self.dst] += 1
        for change in self.changes:
            flat[change.rows * CELLS + change.cells] += np.int8(change.delta)
        return boards

    def holding(self, least: int) -> Words:
        """(M,) words, kept: the slots that hold so many free checkers of mine, or more."""
        if least not in self._holding:
            self._holding[least] = self._with_the_step(least)
        return self._holding[least]

    def _with_the_step(self, least: int) -> Words:
        if self.origin is None:
            return (self.began.mine if least == 1 else self.began.holding(least)).take(self.parent)
        flat, base = self.origin.boards.reshape(-1), self.parent * CELLS
        lost = flat.take(base + self.src) == least
        gained = flat.take(base + self.dst) == least - 1 if least > 1 else np.ones(lost.size, np.bool_)
        words = self.origin.holding(least).take(self.parent)
        words &= ~(lost.astype(np.uint32) << self.src.astype(np.uint32))
        words |= gained.astype(np.uint32) << self.dst.astype(np.uint32)
        return words

    @cached_property
    def theirs_any(self) -> Words:
        """(M,) words in MY count: the points on which the opponent has a free checker."""
        rules = self.began.rules
        if self.origin is None or rules.contact.fate == "safe":
            return self.began.theirs_any.take(self.game)
        if rules.contact.fate == "pinned":  # a step may free one
            return rules.mirrored(self.boards[:, THEIRS] >= 1)
        return np.asarray(self.origin.theirs_any.take(self.parent) & ~(np.uint32(1) << self.dst.astype(np.uint32)))

    @cached_property
    def key(self) -> Keys:
        """(M,): sum of cell value x cell constant, relative to where the decision began."""
        if self.origin is None:
            return np.zeros(self.game.size, np.uint64)
        cells = tables_of(self.began.rules).cell_key
        key = self.origin.key.take(self.parent) + (cells.take(self.dst) - cells.take(self.src))
        for change in self.changes:
            key[change.rows] += cells.take(change.cells) * np.uint64(change.delta % (1 << 64))
        return key

    @cached_property
    def changes(self) -> list[Change]:
        """What the last step did to slots other than its own two."""
        assert self.origin is not None
        rules = self.began.rules
        return rules.contact.changes(self.origin.boards, self.parent, self.src, self.dst, rules)

    @cached_property
    def is_pair(self) -> Flags:
        """(M,) flags: are two different numbers being played?"""
        return self.began.is_pair.take(self.game)

    def unfinished(self) -> Plays:
        """The rows that have a number to play; only their boards are needed to go on."""
        going = where(self.left != 0)
        return self if going.size == self.left.size else self.take(going)

    def take(self, rows: Rows) -> Plays:
        """These rows, in rising order."""
        part = Plays(
            self.began,
            self.origin,
            self.parent.take(rows),
            self.src.take(rows),
            self.dst.take(rows),
            self.game.take(rows),
            self.left.take(rows),
            self.outcome.take(rows),
            {least: words.take(rows) for least, words in self._holding.items()},
        )
        for name in {"boards", "theirs_any", "key"} & self.__dict__.keys():  # what is worked out already
            part.__dict__[name] = self.__dict__[name].take(rows, axis=0)
        return part

    def see(self, row: Rows, die: Words) -> Sight:
        """What the parts may look at in these rows, when `die` is to be played."""
        return Sight(rules=self.began.rules, began=self.began, reached=self, row=row, die=die)


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
    """The members of M sets: (row, slot) of every bit that is on, in this order.

    Halves of words without a member are left out first: where few flags are on, `nonzero` searches
    for each of them, and that was most of the cost (a third less this way, measured).
    """
    halves = words.view(np.uint16)
    some = where(halves != 0)
    at = where(np.unpackbits(halves.take(some).view(np.uint8), bitorder="little").view(np.bool_))
    half = some.take(at >> 4)
    return half >> 1, ((half & 1) << 4) + (at & 15)


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
    return where(kept)


def options(plays: Plays, q: Queues) -> tuple[Rows, Words, npt.NDArray[np.int8]]:
    """Which row may play which die next: (row, die, what is left afterwards), the larger die first."""
    at = plays.began.pending.take(plays.game) * np.intp(LEFTS) + plays.left
    dice = q.step_die.reshape(-1, 2).take(at, axis=0).reshape(-1)
    left = q.step_left.reshape(-1, 2).take(at, axis=0).reshape(-1)
    place = where(dice != 0)
    return place >> 1, dice.take(place), left.take(place)


def step(plays: Plays, rules: Ruleset, *, ordered: bool = False) -> tuple[Plays, Rows, Words]:
    """The next layer: every legal step with every number still to be played, and what may leave.

    `ordered`: the steps of a double leave their slots in falling order, so that every multiset of
    steps comes once.

    Returns:
        The layer, in which nothing is over yet; the rows of `plays` that have a number to play, and
        for each of them the slots that it takes.
    """
    tables = tables_of(rules)
    row, die, left = options(plays, queues_of(rules))
    can = can_leave(plays.see(row, die))
    if ordered and plays.origin is not None:
        allowed = tables.falling.take(plays.src)
        allowed[plays.is_pair] = ALL_SLOTS
        can &= allowed.take(row)
    option, src = bits_of(can)
    parent = row.take(option)
    dst = tables.landing.take((die * np.intp(SLOTS)).take(option) + src)
    going = np.full(src.size, -1, np.int8)
    return Plays(plays.began, plays, parent, src, dst, plays.game.take(parent), left.take(option), going), row, can


def repeated(plays: Plays, doubts: Rows, rules: Ruleset) -> Rows:
    """Those of the `doubts` that are equal to a later one."""
    asked = plays.take(doubts)
    is_repeated = np.ones(doubts.size, np.bool_)
    is_repeated[distinct(asked.key + asked.game.astype(np.uint64) * tables_of(rules).game_key)] = False
    return doubts.compress(is_repeated)


def each_once(plays: Plays, row: Rows, can: Words, rules: Ruleset) -> Plays:
    """The plays of a second or later layer, every position once; `row` and `can` are what `step` returned.

    Doubles grow in order and meet no equals, unless order matters; then all are compared. The same
    two steps of a pair lead to the same position in either order, whatever they hit or pin: where
    both are legal, the one that plays the larger number first goes. Of what is left only few can be
    equal: a checker that goes on or steps into the other's place, bearing off, and bar and hand, from
    which one enters alike. The keys of all others need not be known.
    """
    first = plays.origin
    assert first is not None
    if first.is_pair.take(row).any():
        later = np.zeros(len(plays.began.boards) * SLOTS, np.uint32)  # smaller first: source -> the larger's sources
        smaller = where(((first.left == LARGER_LEFT) & first.is_pair).take(row))
        at = row.take(smaller)
        later[first.game.take(at) * SLOTS + first.src.take(at)] = can.take(smaller)
        source, landing = first.src.take(plays.parent), first.dst.take(plays.parent)
        twins = later.take(plays.game * SLOTS + plays.src) >> source.astype(np.uint32) & np.uint32(1)
        is_kept = (twins == 0) | ((first.left == LARGER_LEFT) | ~first.is_pair).take(plays.parent)
        alike = (plays.src == landing) | (plays.dst == source) | (plays.dst == OFF) | (landing == OFF)
        alike |= (source == rules.bar) & (plays.src == rules.hand)
        alike &= first.is_pair.take(plays.parent)
    else:
        is_kept, alike = np.ones(plays.game.size, np.bool_), np.zeros(plays.game.size, np.bool_)
    if rules.order_matters:
        alike |= ~first.is_pair.take(plays.parent)
    doubts = where(alike & is_kept)
    if doubts.size:
        is_kept[repeated(plays, doubts, rules)] = False
    return plays if is_kept.all() else plays.take(where(is_kept))


def end_games(plays: Plays, rules: Ruleset) -> None:
    """Note, in place, where the last step has ended the game; nothing is left to be played there."""
    assert plays.origin is not None
    near = rules.scoring.may_end(plays.origin.boards, plays.parent, plays.src, plays.dst, rules)
    if near.size:
        outcome = rules.scoring.outcome(plays.take(near).boards, rules)
        plays.outcome[near] = outcome
        plays.left[near[outcome >= 0]] = 0


# -- a tier -----------------------------------------------------------------------------------------------


def grow(boards: Boards, pending: Codes, rules: Ruleset) -> list[Plays]:
    """Every legal play of the first tier of what is pending.

    Args:
        boards: (N, 2, SLOTS) int8, MINE is to decide.
        pending: (N,) int8, codes of queues that begin with numbers.
        rules: of all games.

    Returns:
        Every distinct result once, by the number of its steps.
    """
    layer = unmoved(boards, pending, rules)
    layers = [layer]
    while layer.game.size and layer.left.any():
        layer, row, can = step(layer.unfinished(), rules, ordered=not rules.order_matters)
        if len(layers) > 1:
            layer = each_once(layer, row, can, rules)
        end_games(layer, rules)
        if rules.formation_scope == "each_step":
            layer = standing(layer, rules, hard=True)
        layers.append(layer)
    return worthiest(lawful(layers, rules), rules)


def lawful(layers: list[Plays], rules: Ruleset) -> list[Plays]:
    """The plays that break no hard formation; standing still may, in games where nothing else is legal."""
    if not any(formation.hard for formation in rules.formations):
        return layers
    moving = [standing(layer, rules, hard=True) for layer in layers[1:]]
    has_play = np.zeros(len(layers[0].began.boards), np.bool_)
    for layer in moving:
        has_play[layer.game] = True
    is_lawful = ~has_play
    is_lawful[standing(layers[0], rules, hard=True).game] = True
    return [layers[0].take(where(is_lawful)), *moving]


def unmoved(boards: Boards, pending: Codes, rules: Ruleset) -> Plays:
    """The plays that have made no step yet, one for each of N games."""
    q = queues_of(rules)
    is_pair = q.is_pair.take(pending)
    began = Began(rules=rules, boards=boards, pending=pending, is_pair=is_pair, numbers=q.numbers)
    games = np.arange(len(boards))
    nowhere = np.zeros(games.size, np.intp)
    going = np.full(games.size, -1, np.int8)
    return Plays(began, None, games, nowhere, nowhere, games, q.full.take(pending), going)


def standing(plays: Plays, rules: Ruleset, *, hard: bool) -> Plays:
    """The plays that no formation forbids; the end of the game is exempt."""
    bad = forbidden(plays, rules, hard=hard)
    return plays.take(where(~bad)) if bad.any() else plays


def forbidden(plays: Plays, rules: Ruleset, *, hard: bool) -> Flags:
    """(M,) flags: some hard, or some soft, formation forbids this play, and it does not end the game."""
    bad = np.zeros(plays.game.size, np.bool_)
    if bad.size:
        see = plays.see(np.arange(plays.game.size), np.zeros(plays.game.size, np.uint32))
        for formation in rules.formations:
            if formation.hard is hard:
                bad |= formation.bad(see)
        bad &= plays.outcome < 0
    return bad


def worthiest(layers: list[Plays], rules: Ruleset) -> list[Plays]:
    """The plays that use their numbers best, each result once; soft formations are avoided where possible."""
    size = len(layers[0].began.boards)
    if rules.must_play == "none":
        rest = [np.arange(layer.game.size) for layer in layers]
    else:
        is_done = np.zeros(size, np.bool_)  # in these games only complete plays count
        some_left = [layer.left != 0 for layer in layers]
        for layer, is_left in zip(layers, some_left, strict=True):
            is_done[layer.game[~is_left]] = True
        rest = [where(is_left & ~is_done.take(layer.game)) for layer, is_left in zip(layers, some_left, strict=True)]
    worths = [worth_of(layer, rows, rules) for layer, rows in zip(layers, rest, strict=True)]
    best = np.full(size, -128, np.int8)
    for layer, rows, worth in zip(layers, rest, worths, strict=True):
        np.maximum.at(best, layer.game.take(rows), worth)
    kept = []
    for layer, rows, worth in zip(layers, rest, worths, strict=True):
        is_kept = (layer.left == 0) & (rules.must_play != "none")
        is_kept[rows[worth == best.take(layer.game.take(rows))]] = True
        kept.append(layer if is_kept.all() else layer.take(where(is_kept)))
    if any(not formation.hard for formation in rules.formations):
        kept = avoiding(kept, rules)
    return once([layer for layer in kept if layer.game.size], rules)


def worth_of(plays: Plays, rows: Rows, rules: Ruleset) -> npt.NDArray[np.int8]:
    """(R,) int8: how well each of these plays meets the duty to play."""
    if rules.must_play == "none":  # only entering stays a duty: as many as possible
        return np.asarray(-plays.boards[rows, MINE, rules.bar])
    at = plays.began.pending.take(plays.game.take(rows)) * np.intp(LEFTS) + plays.left.take(rows)
    return queues_of(rules).worth.reshape(-1).take(at)


def avoiding(layers: list[Plays], rules: Ruleset) -> list[Plays]:
    """Only plays that avoid the soft formations, in games that have one."""
    bad = [forbidden(layer, rules, hard=False) for layer in layers]
    has_good = np.zeros(len(layers[0].began.boards), np.bool_)
    for layer, flags in zip(layers, bad, strict=True):
        has_good[layer.game[~flags]] = True
    return [
        layer.take(where(~flags | ~has_good.take(layer.game))) if flags.any() else layer
        for layer, flags in zip(layers, bad, strict=True)
    ]


def once(layers: list[Plays], rules: Ruleset) -> list[Plays]:
    """One row a result, also where plays of different length meet.

    Complete plays that do not end the game were merged as they grew and meet no others, unless
    stopping early is allowed; so only few rows are looked at.
    """
    q, tables = queues_of(rules), tables_of(rules)
    doubts = [where((layer.outcome >= 0) | (layer.left != 0) | (rules.must_play == "none")) for layer in layers]
    keys = []
    for layer, rows in zip(layers, doubts, strict=True):
        asked = layer.take(rows)
        at = asked.began.pending.take(asked.game).astype(np.intp) * LEFTS + asked.left
        follower = np.where(asked.outcome >= 0, -1, q.next.reshape(-1).take(at)).astype(np.uint64)
        keys.append(asked.key + asked.game.astype(np.uint64) * tables.game_key + follower * tables.cell_key[0])
    is_kept = np.zeros(sum(key.size for key in keys), np.bool_)
    is_kept[distinct(np.concatenate(keys))] = True
    found = []
    for layer, rows in zip(layers, doubts, strict=True):
        surplus = rows[~is_kept[: rows.size]]
        is_kept = is_kept[rows.size :]
        found.append(layer.take(np.delete(np.arange(layer.game.size), surplus)) if surplus.size else layer)
    return found


def declare_draws(layers: list[Plays], rules: Ruleset) -> None:
    """End forced passes as draws, in place, where no roll lets either side ever step again."""
    counts = sum(np.bincount(layer.game, minlength=len(layer.began.boards)) for layer in layers)
    for layer in layers:
        if layer.origin is None:
            rows = where((np.take(counts, layer.game) == 1) & (layer.left != 0))
            dead = rows[is_dead(layer.boards.take(rows, axis=0), rules)]
            layer.outcome[dead] = rules.payoffs.size // 2


def is_dead(boards: Boards, rules: Ruleset) -> Flags:
    """(M,) flags: neither side has a legal play with any roll."""
    q = queues_of(rules)
    roll = q.code(("roll",))
    codes = np.unique(q.chance_code[:, roll, : int(q.ways[roll])])
    codes = codes[np.argsort(-q.full.take(codes), kind="stable")].tolist()  # doubles first: they try every number
    dead = np.ones(len(boards), np.bool_)
    for view, code in product((-1, 1), codes):
        rows = where(dead)
        if not rows.size:
            break
        start, pending = boards[rows, ::view], np.full(rows.size, code, np.int8)
        if rules.formations:
            for plays in grow(start, pending, rules):
                dead[rows[plays.game[plays.left != q.full[code]]]] = False
        else:  # a single step is a play
            row, die, _ = options(first := unmoved(start, pending, rules), q)
            can = can_leave(first.see(row, die))
            dead[rows[row[can != 0]]] = False
    return dead
