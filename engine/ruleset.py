"""A variant as data: the `Ruleset`, and what its parts look like from outside.

A rule that is one number or one of a closed set of words is a field. A rule with
behaviour is a part: a small frozen dataclass in one of the slots `contact`,
`turn`, `limits`, `formations`, `bearing`, `scoring`, `binding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from engine.board import Board
from engine.slots import (
    MINE,
    NOWHERE,
    SLOTS,
    THEIRS,
    Boards,
    Codes,
    Counts,
    Flags,
    Outcomes,
    Rows,
    Slots,
    Words,
    bit,
    pack,
)

Opening = Literal["high_uses", "high_rerolls", "high_chooses", "low_rerolls"]
Item = tuple[int, ...] | str  # a tier of numbers, or `roll`, `first`, `name`, `either`, `toss`, `open`, `open_theirs`
Queue = tuple[Item, ...]  # the rest of a turn
Roll = tuple[int, int]
Setup = Literal["hand", "head"] | tuple[tuple[int, int], ...]  # or (slot, checkers) pairs


class InputError(ValueError):
    """Something that a person gave is wrong; the message names the place and what would be right.

    Command lines print it as one line and exit with 2.
    """


class RulesError(InputError):
    """A ruleset contradicts itself; the message names the field and what would be right."""


@dataclass(frozen=True)
class Change:
    """What landing or leaving does to slots other than the two of the step itself.

    `rows` (M,) number the new positions, `cells` (M,) are 0..2 * SLOTS - 1 (`THEIRS * SLOTS + slot`
    for the opponent's slots), `delta` is added there.
    """

    rows: Rows
    cells: Slots
    delta: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Began:
    """N decisions as they begin, and what the parts ask of them; every answer is worked out once."""

    rules: Ruleset
    boards: Boards  # (N, 2, SLOTS), the chooser is MINE
    pending: Codes  # (N,), what is to be played
    is_pair: Flags  # (N,), are two different numbers to be played
    numbers: npt.NDArray[np.int8]  # (C, 4), the first tier of every queue, zeros behind

    def holding(self, least: int) -> Words:
        """(N,) words: the slots that hold so many free checkers of mine, or more."""
        return pack(self.boards[:, MINE] >= least)

    @cached_property
    def mine(self) -> Words:
        """(N,) words: the slots that hold a free checker of mine."""
        return self.holding(1)

    @cached_property
    def pinned(self) -> Words:
        """(N,) words: the points on which a checker of mine is pinned; no step of mine changes them."""
        return pack(self.boards[:, MINE] < 0)

    @cached_property
    def his(self) -> Words:
        """(N,) words in HIS count: the slots on which the opponent has a free checker."""
        return pack(self.boards[:, THEIRS] > 0)

    @cached_property
    def theirs_any(self) -> Words:
        """(N,) words in MY count: the points on which the opponent has a free checker."""
        return self.rules.mirrored(self.boards[:, THEIRS] >= 1)

    @cached_property
    def theirs_made(self) -> Words:
        """(N,) words in MY count: the points on which the opponent has two free checkers or more."""
        return self.rules.mirrored(self.boards[:, THEIRS] >= 2)

    @cached_property
    def closed(self) -> Words:
        """(N,) words in HIS count: points of mine on which he may not land."""
        return self.rules.turned(self.holding(self.rules.contact.block_at))

    @cached_property
    def first_two(self) -> tuple[Words, Words]:
        """(N,) and (N,): the first two numbers to be played, the larger one first."""
        larger, smaller = self.numbers[:, :2].astype(np.uint32).take(self.pending, axis=0).T
        return larger, smaller

    @cached_property
    def order_matters(self) -> Flags:
        """(N,) flags: may it matter in which order the numbers are played, as far as the parts know?"""
        rules = self.rules
        judged = rules.formation_scope == "each_step" and any(formation.hard for formation in rules.formations)
        flags = np.full(len(self.boards), judged)
        asked: list[Contact | Scoring | Limit] = [rules.contact, rules.scoring, *rules.limits]
        for part in asked:
            flags |= part.order_matters(self)
        return flags


class Reached(Protocol):
    """R positions that plays have reached, the chooser is MINE."""

    @property
    def boards(self) -> Boards:
        """(R, 2, SLOTS)."""

    def holding(self, least: int) -> Words:
        """(R,) words: the slots that hold so many free checkers of mine, or more."""

    @property
    def theirs_any(self) -> Words:
        """(R,) words in MY count: the points on which the opponent has a free checker."""

    @property
    def game(self) -> Rows:
        """(R,), which decision a position belongs to."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sight:
    """What a part may look at: M positions inside a decision, and where each decision began.

    Everything is worked out when first asked for, so a part that asks little costs little.
    """

    rules: Ruleset
    began: Began  # the decisions
    reached: Reached  # positions reached by plays
    row: Rows  # (M,), which of them each position is
    die: Words  # (M,), the number being played; zero where no step is asked for

    def then(self, words: Words) -> Words:
        """(M,) words: what the N decisions knew as they began, for each row; cheap, for what no step changes."""
        return words.take(self.game)

    @cached_property
    def mine(self) -> Words:
        """(M,) words: the slots that hold a checker of mine which may move, as far as pins go."""
        return self.holding(1)

    def holding(self, least: int) -> Words:
        """(M,) words: the slots that hold so many free checkers of mine, or more."""
        return self.reached.holding(least).take(self.row)

    @cached_property
    def game(self) -> Rows:
        """(M,), which decision a position belongs to."""
        return self.reached.game.take(self.row)

    @cached_property
    def code(self) -> Codes:
        """(M,), the queue being played."""
        return self.began.pending.take(self.game)

    @cached_property
    def boards(self) -> Boards:
        """(M, 2, SLOTS): the positions, the chooser is MINE."""
        return self.reached.boards.take(self.row, axis=0)

    @cached_property
    def his(self) -> Words:
        """(M,) words in HIS count: the slots on which the opponent has a free checker."""
        if self.rules.contact.fate == "safe":
            return self.then(self.began.his)
        return pack(self.boards[:, THEIRS] > 0)

    @cached_property
    def theirs_any(self) -> Words:
        """(M,) words in MY count: the points on which the opponent has a free checker."""
        return self.reached.theirs_any.take(self.row)

    def held(self, slot: int) -> Counts:
        """(M,) int8: my checkers on one slot; cheaper than `boards`."""
        return self.reached.boards.reshape(-1).take(self.row * (2 * SLOTS) + slot)

    def held_before(self, slot: int) -> Counts:
        """(M,) int8: the same as the decision began."""
        return self.began.boards[:, MINE, slot].take(self.game)

    @property
    def closed(self) -> Words:
        """(M,) words in HIS count: points of mine on which he may not land."""
        return self.rules.turned(self.holding(self.rules.contact.block_at))


class Part(Protocol):
    """A rule with behaviour; it can say itself as a rulebook would."""

    def tell(self, rules: Ruleset) -> str:
        """The rule in one or two sentences, with its numbers."""


class Contact(Part, Protocol):
    """What happens where the two sides meet on a point."""

    @property
    def memory(self) -> tuple[str, ...]:
        """Names of what has to be remembered beyond the checkers, one slot a side each."""

    def order_matters(self, began: Began) -> Flags | bool:
        """(N,) flags: can the order in which the numbers are played change what they lead to?"""

    @property
    def fate(self) -> Literal["bar", "pinned", "safe"]:
        """What happens to a lone checker that is landed on; safe where nobody may land."""

    @property
    def block_at(self) -> int:
        """So many checkers close a point to the other side."""

    def opens(self, see: Sight) -> Words:
        """(M,) words: points of my count where I may land."""

    def enters(self, see: Sight, opens: Words) -> Words:
        """(M,) words: points of my count where I may enter."""

    def changes(self, boards: Boards, row: Rows, src: Slots, dst: Slots, rules: Ruleset) -> list[Change]:
        """What the steps src -> dst, taken from boards[row], do to the opponent's checkers."""

    def remember(self, boards: Boards, passed: Flags, rules: Ruleset) -> None:
        """Update memory slots in place, after the view has turned where `passed`."""


class Turn(Part, Protocol):
    """Which queue of numbers a roll gives."""

    @property
    def memory(self) -> tuple[str, ...]:
        """Names of what has to be remembered beyond the checkers, one slot a side each."""

    @property
    def turns_told(self) -> int:
        """So many of a side's first turns are told apart; what `turns` remembers is clipped there."""

    @property
    def is_long(self) -> bool:
        """Can a turn be more than one decision?"""

    @property
    def judges_ends(self) -> bool:
        """Does what follows a tier depend on `is_early` where the tier ends?"""

    def program(self, roll: Roll, early: bool, rules: Ruleset) -> Queue:
        """The queue that a roll (larger number first) gives; `early` as `is_early` judged."""

    def named(self, number: int, early: bool, rules: Ruleset) -> Queue:
        """The queue of a named double; `early` as the double is named."""

    def follows(self, queue: Queue, left: tuple[int, ...], early: bool) -> tuple[Queue, bool]:
        """What follows when `left` of the first tier was not played, and whether the turn passes."""

    def is_early(self, boards: Boards, rules: Ruleset) -> Flags:
        """(M,) flags: is this an early roll, or an early tier, of MINE?"""


class Limit(Part, Protocol):
    """A ban on single steps."""

    def order_matters(self, began: Began) -> Flags | bool:
        """(N,) flags: can the order in which the numbers are played change what they lead to?"""

    @property
    def memory(self) -> tuple[str, ...]:
        """Names of what has to be remembered beyond the checkers, one slot a side each."""

    @property
    def turns_told(self) -> int:
        """So many of a side's first turns are told apart."""

    def allow(self, can: Words, see: Sight) -> Words:
        """(M,) words: what is left of the slots a checker may leave with `see.die`."""

    def remember(self, boards: Boards, passed: Flags, rules: Ruleset) -> None:
        """Update memory slots in place, after the view has turned where `passed`."""


class Formation(Part, Protocol):
    """A ban on positions, judged where a play ends."""

    @property
    def hard(self) -> bool:
        """Hard: such a play is illegal. Soft: it is avoided where that is possible."""

    def bad(self, see: Sight) -> Flags:
        """(M,) flags: `see.boards` may not be left standing."""


class Bearing(Part, Protocol):
    """How checkers are borne off."""

    @property
    def while_pinned(self) -> bool:
        """May a side bear off while one of its checkers is pinned?"""

    def may_leave(self, point: int, die: int, held: Sequence[int]) -> bool:
        """May `die` bear off from `point`, when my checkers at home stand on `held`?"""


class Scoring(Part, Protocol):
    """When a game is over, and what it pays."""

    @property
    def deadlock(self) -> bool:
        """Is a position in which nobody can ever step again a draw?"""

    def order_matters(self, began: Began) -> Flags | bool:
        """(N,) flags: can the order in which the numbers are played change what they lead to?"""

    def payoffs(self, rules: Ruleset) -> tuple[int, ...]:
        """Points of every outcome for the side that reads it, best first, antisymmetric."""

    def may_end(self, boards: Boards, row: Rows, src: Slots, dst: Slots, rules: Ruleset) -> Rows:
        """Which of the steps src -> dst, taken from boards[row], may have ended the game; the others have not."""

    def outcome(self, boards: Boards, rules: Ruleset) -> Outcomes:
        """(M,) int8: which outcome MINE has reached by the step just made; -1 where the game goes on."""

    def possible(self, boards: Boards, rules: Ruleset) -> npt.NDArray[np.bool_]:
        """(M, K) flags: outcomes that can still come, for MINE; a gammon cannot once the loser has one off."""


class Binding(Part, Protocol):
    """An event between two turns that opens a closed board."""

    def is_due(self, boards: Boards, rules: Ruleset) -> Flags:
        """(M,) flags: MINE, whose turn ends, has to open a point."""

    def stripped(self, held: Counts) -> Counts:
        """(M,) int8: how many of the `held` checkers of the opened point go to the bar."""


@dataclass(frozen=True, kw_only=True)
class Ruleset(Board):
    """The rules of one variant.

    `points` (P), `checkers` and what follows from P (a quarter: home, the faces of a die, "six in a
    row") are read from here by every kernel; nothing else knows such a number.

    Raises:
        RulesError: a field is out of range, or two fields contradict each other.
    """

    name: str
    title: str
    sources: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    house_rules: tuple[str, ...] = ()  # names of the options that its sources leave open
    house: tuple[tuple[str, str], ...] = ()  # those that were set, as text

    checkers: int = 15
    setup: Setup = ((24, 2), (13, 5), (8, 3), (6, 5))
    opening: Opening = "high_uses"
    next_starter: Literal["toss", "previous_winner"] = "toss"
    must_play: Literal["max_numbers", "none"] = "max_numbers"
    higher_die: bool = True
    formation_scope: Literal["end_of_turn", "each_step"] = "end_of_turn"  # when hard formations are judged
    ply_limit: int = 10_000

    contact: Contact
    turn: Turn
    bearing: Bearing
    scoring: Scoring
    limits: tuple[Limit, ...] = ()
    formations: tuple[Formation, ...] = ()
    binding: Binding | None = None

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, each.name) for each in fields(self)))

    def __hash__(self) -> int:  # asked for at every lookup of a table
        return self._hash

    def __getstate__(self) -> dict[str, object]:  # another process hashes words otherwise
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    def __post_init__(self) -> None:
        if self.points % 4 or not 8 <= self.points <= 24:
            raise RulesError(f"points={self.points}: must be a multiple of four from 8 to 24")
        if not 1 <= self.checkers <= 15:
            raise RulesError(f"checkers={self.checkers}: must be from 1 to 15")
        if self.ply_limit < 1:
            raise RulesError(f"ply_limit={self.ply_limit}: must be at least 1")
        total = int(self.start_row[: self.hand + 1].sum())
        if total != self.checkers:
            raise RulesError(f"setup has {total} checkers, checkers={self.checkers}")
        if self.hand + len(self.memory) >= NOWHERE:
            raise RulesError(
                f"the parts remember {len(self.memory)} things, there is room for {NOWHERE - self.hand - 1}"
            )
        if self.track == "contrary":
            self._refuse_shared_points()

    def _refuse_shared_points(self) -> None:
        held = np.flatnonzero(self.start_row[1 : self.points + 1]) + 1
        shared = set(held.tolist()) & set((self.points + 1 - held).tolist())
        if shared:
            point = max(shared)
            raise RulesError(f"setup: {point} is held by both sides, it is the opponent's {self.points + 1 - point}")

    # -- what the parts remember ---------------------------------------------------------------------

    @cached_property
    def memory(self) -> dict[str, int]:
        """The slot of each thing a part remembers."""
        names = self.contact.memory + self.turn.memory + sum((limit.memory for limit in self.limits), ())
        return {name: self.hand + 1 + index for index, name in enumerate(dict.fromkeys(names))}

    @cached_property
    def turns_told(self) -> int:
        """So many of a side's first turns are told apart by some part."""
        return max(self.turn.turns_told, *(limit.turns_told for limit in self.limits), 0)

    def remember(self, boards: Boards, passed: Flags) -> None:
        """Update what all parts remember, in place, after the view has turned where `passed`.

        A turn lasts until the view passes: a further tier, a bonus roll or left-over numbers before
        the own roll begin none.
        """
        self.contact.remember(boards, passed, self)
        for limit in self.limits:
            limit.remember(boards, passed, self)
        if self.turns_told:
            ended = boards[:, THEIRS, self.memory["turns"]]
            np.minimum(ended + passed, self.turns_told, out=ended, casting="unsafe")

    def recall(self, boards: Boards) -> None:
        """Write what is remembered as far as the board tells it, in place; all first turns are over."""
        if self.turns_told:
            boards[:, :, self.memory["turns"]] = self.turns_told
        self.remember(boards, np.zeros(len(boards), np.bool_))

    # -- the start -----------------------------------------------------------------------------------

    @cached_property
    def start_row(self) -> npt.NDArray[np.int8]:
        """(SLOTS,) int8: one side's checkers as a game starts; the same for both."""
        row = np.zeros(SLOTS, np.int8)
        if self.setup == "hand":
            row[self.hand] = self.checkers
        elif self.setup == "head":
            row[self.points] = self.checkers
        else:
            for slot, count in self.setup:
                row[slot] += count
        board = np.stack([row, row])[None]
        self.remember(board, np.zeros(1, np.bool_))
        row[:] = board[0, MINE]
        return row

    # -- questions to all parts ----------------------------------------------------------------------

    @cached_property
    def payoffs(self) -> npt.NDArray[np.float32]:
        """(K,) float32: points of each outcome for the side that reads it, best first."""
        return np.array(self.scoring.payoffs(self), np.float32)

    @cached_property
    def bearing_table(self) -> Words:
        """(faces + 1, 2 ** quarter) words: points that a die may bear off from, by the home points held."""
        size = 1 << self.quarter
        table = np.zeros((self.faces + 1, size), np.uint32)
        for pattern in range(size):
            held = [point for point in range(1, self.quarter + 1) if pattern >> (point - 1) & 1]
            for die in range(1, self.faces + 1):
                for point in held:
                    if self.bearing.may_leave(point, die, held):
                        table[die, pattern] |= bit(point)
        return table
