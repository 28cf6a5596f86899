"""Growing the plays of a tier, one number at a time, for thousands of games at once.

A play is known by the step that led to it and by the row of the layer before; its board is made
only when somebody asks. Every layer is sorted by game.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engine.queues import LARGER_LEFT, LEFTS, SMALLER_LEFT, Queues, queues_of
from engine.reach import bears_off
from engine.ruleset import Began, Change, Ruleset, Sight
from engine.slots import (
    ALL_SLOTS,
    CELLS,
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
    span,
    where,
)
from engine.tables import tables_of

ONE = np.int8(1)
BIT_VALUES = 2.0 ** np.arange(SLOTS)


@dataclass(frozen=True, eq=False)
class Plays:
    """One layer of growing plays: M rows that have used the same number of steps, sorted by game."""

    began: Began  # the N decisions
    steps: int  # how many were made
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
        np.add.at(flat, base + self.src, -ONE)
        np.add.at(flat, base + self.dst, ONE)
        for change in self.changes:
            np.add.at(flat, change.rows * CELLS + change.cells, np.int8(change.delta))
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
            np.add.at(key, change.rows, cells.take(change.cells) * np.uint64(change.delta % (1 << 64)))
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

    @cached_property
    def in_any_order(self) -> Flags:
        """(M,) flags: is this a double whose steps may lead elsewhere in another order?"""
        return (self.began.order_matters & ~self.began.is_pair).take(self.game)

    @cached_property
    def pairs(self) -> Pairs:
        """What is known of the orders of pairs before any step is made."""
        return pairs_of(self)

    def unfinished(self) -> Plays:
        """The rows that have a number to play, but for first steps of pairs that other plays make up for."""
        going = self.left != 0
        if self.steps == 1:
            assert self.origin is not None
            taken = self.origin.pairs.larger_first.take(self.game) >> self.src.astype(np.uint32)
            going &= (self.left != SMALLER_LEFT) | (taken & np.uint32(1) != 0)
        rows = where(going)
        return self if rows.size == going.size else self.take(rows)

    def take(self, rows: Rows) -> Plays:
        """These rows, in rising order."""
        part = Plays(
            self.began,
            self.steps,
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


@dataclass(frozen=True, eq=False)
class Pairs:
    """In which order the numbers of N pairs must be played so that no result is missed.

    Where order does not matter, two checkers get to the same points either way round, and one checker by either
    number first, unless a way is closed or it meets the opponent.
    """

    order_matters: Flags  # (N,), of doubles too; where it does, all orders are grown and compared
    larger_first: Words  # (N,): the slots from which the larger number is played first; all in doubles
    made_by_two: Words  # (N,): the slots from which one checker, the smaller number first, does what two also do


def pairs_of(unmoved: Plays) -> Pairs:
    """The orders that the pairs among N plays which have made no step need."""
    began, rules = unmoved.began, unmoved.began.rules
    opens = rules.contact.opens(unmoved.see(unmoved.game, np.zeros(unmoved.game.size, np.uint32)))
    larger, smaller = began.first_two
    mine, away, meets = began.mine, began.mine & rules.away_words, np.zeros_like(opens)
    matters = (mine & span(rules.bar, rules.hand) != 0) | (away & (away - np.uint32(1)) == 0)  # might bear off
    matters = began.order_matters | (matters & began.is_pair)
    goes_on, by_smaller, by_larger = mine & (opens << (larger + smaller)), opens << smaller, mine << larger
    if rules.contact.fate == "bar":  # what is pinned on the way is free again
        meets = began.theirs_any
    larger_first = goes_on & ~by_larger & (~by_smaller | (meets << smaller) | (meets << larger))
    larger_first[matters | ~began.is_pair] = ALL_SLOTS
    made_by_two = goes_on & by_larger & by_smaller & ~(meets << smaller)
    made_by_two[matters | ~began.is_pair] = 0
    return Pairs(matters, larger_first, made_by_two)


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

    Bytes without a member are left out first: where few flags are on, `nonzero` searches for each of
    them, and that was most of the cost (half of it this way where sides have three checkers, measured).
    """
    octets = words.view(np.uint8)
    some = where(octets != 0)
    at = where(np.unpackbits(octets.take(some), bitorder="little").view(np.bool_))
    octet = some.take(at >> 3)
    return octet >> 2, ((octet & 3) << 3) + (at & 7)


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
    most = 1 if plays.steps else 2  # numbers to choose from
    dice = q.step_die.reshape(-1, 2)[:, :most].take(at, axis=0).reshape(-1)
    left = q.step_left.reshape(-1, 2)[:, :most].take(at, axis=0).reshape(-1)
    place = where(dice != 0)
    return place // most, dice.take(place), left.take(place)


def step(plays: Plays, rules: Ruleset, *, orders: bool = True) -> Plays:
    """The next layer: every legal step with every number still to be played; nothing is over yet.

    `orders`: also where other orders of the same steps lead to the same positions.
    """
    tables = tables_of(rules)
    row, die, left = options(plays, queues_of(rules))
    can = can_leave(plays.see(row, die))
    if not orders and plays.steps:
        in_one_order(can, plays, row, die, rules)
    option, src = bits_of(can)
    parent = row.take(option)
    dst = tables.landing.take((die * np.intp(SLOTS)).take(option) + src)
    going = np.full(src.size, -1, np.int8)
    game, left = plays.game.take(parent), left.take(option)
    return Plays(plays.began, plays.steps + 1, plays, parent, src, dst, game, left, going)


def in_one_order(can: Words, plays: Plays, row: Rows, die: Words, rules: Ruleset) -> None:
    """Take, in place, from what may leave the steps that make another order of the same play.

    The steps of a double leave their slots in falling order, unless order matters. Of the two orders of a pair the
    one that plays the smaller number first stays where both are legal: they lead to the same position, whatever they
    hit or pin.
    """
    later = tables_of(rules).falling.take(plays.src)
    later[plays.is_pair | plays.in_any_order] = ALL_SLOTS
    can &= later.take(row)
    if plays.steps > 1:
        return  # no pair gets so far
    assert plays.origin is not None
    pairs, game, left = plays.origin.pairs, plays.game.take(row), plays.left.take(row)
    source, is_pair = np.uint32(1) << plays.src.take(row).astype(np.uint32), plays.began.is_pair.take(game)
    can &= ~(pairs.made_by_two.take(game) & (source << die))
    matters = pairs.order_matters.take(game)
    goes_on = where(is_pair & ~matters & (left == SMALLER_LEFT))
    can[goes_on] &= np.uint32(1) << plays.dst.take(row.take(goes_on)).astype(np.uint32)
    smaller, larger = (where(is_pair & matters & (left == one)) for one in (LARGER_LEFT, SMALLER_LEFT))
    if larger.size:
        option, second = bits_of(can.take(smaller))
        place = game.take(smaller).take(option) * SLOTS + second  # of the larger number; sums of distinct bits are sets
        first = plays.src.take(row.take(smaller)).take(option)
        sources = np.bincount(place, BIT_VALUES.take(first), len(plays.began.boards) * SLOTS)
        here = plays.src.take(row.take(larger))
        can[larger] &= ~sources.take(game.take(larger) * SLOTS + here).astype(np.uint32)


def repeated(plays: Plays, doubts: Rows, rules: Ruleset) -> Rows:
    """Those of the `doubts` that are equal to a later one."""
    asked = plays.take(doubts)
    is_repeated = np.ones(doubts.size, np.bool_)
    is_repeated[distinct(asked.key + asked.game.astype(np.uint64) * tables_of(rules).game_key)] = False
    return doubts.compress(is_repeated)


def each_once(plays: Plays, rules: Ruleset) -> Plays:
    """The plays of a layer that has grown in one order of the steps, every position once.

    Only few of a pair can still be equal, and none where order does not matter: a checker that goes on or steps
    into the other's place, bearing off twice, and bar and hand, from which one enters alike. Doubles meet no equals,
    unless order matters; then all are compared. The keys of all others need not be known.
    """
    if plays.steps < 2:
        return plays
    doubts = alike(plays, rules) if plays.steps == 2 else where(plays.in_any_order)
    if not doubts.size:
        return plays
    is_kept = np.ones(plays.game.size, np.bool_)
    is_kept[repeated(plays, doubts, rules)] = False
    return plays.take(where(is_kept))


def alike(plays: Plays, rules: Ruleset) -> Rows:
    """The rows of second steps that may lead to the same as others."""
    first = plays.origin
    assert first is not None
    assert first.origin is not None
    rows = where(first.origin.pairs.order_matters.take(plays.game))
    parent, src, dst = plays.parent.take(rows), plays.src.take(rows), plays.dst.take(rows)
    source, landing = first.src.take(parent), first.dst.take(parent)
    some: Flags = (src == landing) | (dst == source) | ((dst == OFF) & (landing == OFF))
    some |= (source == rules.bar) & (src == rules.hand)
    some |= ~plays.is_pair.take(rows)
    return rows.compress(some)


def end_games(plays: Plays, rules: Ruleset) -> None:
    """Note, in place, where the last step has ended the game; nothing is left to be played there."""
    assert plays.origin is not None
    near = rules.scoring.may_end(plays.origin.boards, plays.parent, plays.src, plays.dst, rules)
    if near.size:
        outcome = rules.scoring.outcome(plays.take(near).boards, rules)
        plays.outcome[near] = outcome
        plays.left[near[outcome >= 0]] = 0


def unmoved(boards: Boards, pending: Codes, rules: Ruleset) -> Plays:
    """The plays that have made no step yet, one for each of N games."""
    q = queues_of(rules)
    is_pair = q.is_pair.take(pending)
    began = Began(rules=rules, boards=boards, pending=pending, is_pair=is_pair, numbers=q.numbers)
    games = np.arange(len(boards))
    nowhere = np.zeros(games.size, np.intp)
    going = np.full(games.size, -1, np.int8)
    return Plays(began, 0, None, games, nowhere, nowhere, games, q.full.take(pending), going)
