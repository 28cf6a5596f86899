"""Where the sides meet: who may land, and what happens to the checker that stood there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from engine.ruleset import Began, Change, Ruleset, Sight
from engine.slots import MINE, OFF, SLOTS, THEIRS, Boards, Flags, Rows, Slots, Words, span, where


@dataclass(frozen=True, kw_only=True)
class HomeGate:
    """No hitting until a checker is home.

    The side that is asked is the `hitter`, or the `victim` whose blot it is. `latched`: once a
    checker has been home, the gate stays open. `counts_off`: a checker borne off counts as one
    that is home. `midturn`: a checker brought home by one number opens the gate for the next;
    otherwise the gate is judged as the turn began.
    """

    latched: bool = False
    counts_off: bool = True
    midturn: bool = True
    side: Literal["hitter", "victim"] = "hitter"

    def tell(self, rules: Ruleset) -> str:
        """The gate as a sentence."""
        who = "it" if self.side == "hitter" else "the side to be hit"
        when = "has once had a checker" if self.latched else "has a checker"
        off = " or off" if self.counts_off and not self.latched else ""
        judged = "at each step" if self.midturn else "as the turn begins"
        return f"A side may not hit until {who} {when} home{off}, judged {judged}; till then a blot blocks it."

    def was_open(self, began: Began) -> Flags:
        """(N,) flags: might MINE hit as the decision began?"""
        is_open = self._is_home(began.mine if self.side == "hitter" else began.his, began.rules)
        return is_open | self._is_latched(began) if self.latched else is_open

    def is_open(self, see: Sight) -> Flags:
        """(M,) flags: may MINE hit in this position?"""
        if not self.midturn:
            return self.was_open(see.began).take(see.game)
        is_open = self._is_home(see.mine if self.side == "hitter" else see.his, see.rules)
        return is_open | self._is_latched(see.began).take(see.game) if self.latched else is_open

    def _is_home(self, held: Words, rules: Ruleset) -> Flags:
        return np.asarray(held & span(OFF if self.counts_off else OFF + 1, rules.quarter) != 0)

    def _is_latched(self, began: Began) -> Flags:  # no step changes it
        side = MINE if self.side == "hitter" else THEIRS
        return np.asarray(began.boards[:, side, began.rules.memory["latch"]] > 0)

    def order_matters(self, began: Began) -> Flags | bool:
        """A checker brought home opens the gate; one of his that is hit at home, or the last to go off, may shut it."""
        stays_open = self.side == "hitter" and (self.latched or self.counts_off)
        return self.midturn and (~self.was_open(began) if stays_open else True)


@dataclass(frozen=True, kw_only=True)
class Hit:
    """Two checkers close a point; a lone one that is landed on goes to the bar.

    `entry`: what a point must be for a checker to enter there. On an empty one nobody stands,
    friend or foe, so that entering never hits.
    """

    gate: HomeGate | None = None
    entry: Literal["open", "empty"] = "open"
    fate: Literal["bar"] = "bar"
    block_at: ClassVar[int] = 2

    @property
    def memory(self) -> tuple[str, ...]:
        """A latched gate is remembered, because the checker that earned it may be hit later."""
        return ("latch",) if self.gate and self.gate.latched else ()

    def order_matters(self, began: Began) -> Flags | bool:
        """A step that opens the gate comes before the hit; one that leaves a point, before entering there."""
        enters = self.entry == "empty" and began.mine & span(began.rules.bar, began.rules.hand) != 0
        return enters | (self.gate is not None and self.gate.order_matters(began))

    def tell(self, rules: Ruleset) -> str:
        """Block, hit and gate as sentences."""
        text = "Two checkers close a point; a lone one that is landed on goes to the bar and enters first."
        if self.entry == "empty":
            text += " A checker enters on an empty point only, so entering never hits."
        return text if self.gate is None else f"{text} {self.gate.tell(rules)}"

    def opens(self, see: Sight) -> Words:
        """(M,) words: points with at most a blot, where the gate is open; else empty points."""
        closed = see.then(see.began.theirs_made)  # a hit takes a blot, never one of two
        if self.gate is not None:
            closed = np.where(self.gate.is_open(see), closed, see.theirs_any)
        return ~closed & see.rules.board_words

    def enters(self, see: Sight, opens: Words) -> Words:
        """(M,) words: one enters wherever one may land, or on empty points only."""
        if self.entry == "open" or not (see.mine & span(see.rules.bar, see.rules.hand)).any():
            return opens
        return opens & ~see.mine & ~see.theirs_any

    def changes(self, boards: Boards, row: Rows, src: Slots, dst: Slots, rules: Ruleset) -> list[Change]:
        """A blot that is landed on moves to its owner's bar."""
        cells = rules.across.take(dst)
        hit = where(boards.reshape(-1).take(row * (2 * SLOTS) + cells) == 1)
        if not hit.size:
            return []
        bars = np.full(hit.size, THEIRS * SLOTS + rules.bar)
        return [Change(hit, cells[hit], -1), Change(hit, bars, +1)]

    def remember(self, boards: Boards, passed: Flags, rules: Ruleset) -> None:
        """Latch the gate for every side that has a checker home or off."""
        if self.memory:
            earned = (boards[:, :, OFF : rules.quarter + 1] > 0).any(axis=2)
            latch = boards[:, :, rules.memory["latch"]]
            np.maximum(latch, earned.astype(np.int8), out=latch)


@dataclass(frozen=True, kw_only=True)
class Pin:
    """Two checkers close a point; a lone one that is landed on is pinned there.

    A pinned checker cannot move until all that stand on it have left. One checker on a pinned one
    closes the point like two, and cannot itself be pinned.
    """

    memory: ClassVar[tuple[str, ...]] = ()
    fate: ClassVar[Literal["pinned"]] = "pinned"
    block_at: ClassVar[int] = 2

    def tell(self, rules: Ruleset) -> str:
        """Block and pin as sentences."""
        return (
            "Two checkers close a point; a lone one that is landed on is pinned there until all on top of it have "
            "left. One checker on a pinned one closes the point as well."
        )

    def order_matters(self, began: Began) -> bool:
        """Never: a pinned checker stays, a free point stays free."""
        return False

    def opens(self, see: Sight) -> Words:
        """(M,) words: points with at most one checker of the opponent, and none that is on top of mine."""
        return ~(see.then(see.began.theirs_made) | see.then(see.began.pinned)) & see.rules.board_words

    def enters(self, see: Sight, opens: Words) -> Words:
        """(M,) words: one enters wherever one may land."""
        return opens

    def changes(self, boards: Boards, row: Rows, src: Slots, dst: Slots, rules: Ruleset) -> list[Change]:
        """A lone checker that is landed on becomes pinned; one that is left alone, free."""
        flat, base = boards.reshape(-1), row * (2 * SLOTS)
        under, there = rules.across.take(src), rules.across.take(dst)
        freed = where((flat.take(base + under) < 0) & (flat.take(base + src) == 1))
        caught = where(flat.take(base + there) == 1)
        found = [Change(freed, under[freed], +2), Change(caught, there[caught], -2)]
        return [change for change in found if change.rows.size]

    def remember(self, boards: Boards, passed: Flags, rules: Ruleset) -> None:
        """Nothing to remember."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """One checker closes a point; the sides never touch."""

    memory: ClassVar[tuple[str, ...]] = ()
    fate: ClassVar[Literal["safe"]] = "safe"
    block_at: ClassVar[int] = 1

    def tell(self, rules: Ruleset) -> str:
        """The block as a sentence."""
        return "One checker closes a point to the other side; nothing is hit or pinned."

    def order_matters(self, began: Began) -> bool:
        """Never: the sides never touch."""
        return False

    def opens(self, see: Sight) -> Words:
        """(M,) words: points without a checker of the opponent."""
        return ~see.then(see.began.theirs_any) & see.rules.board_words

    def enters(self, see: Sight, opens: Words) -> Words:
        """(M,) words: one enters wherever one may land."""
        return opens

    def changes(self, boards: Boards, row: Rows, src: Slots, dst: Slots, rules: Ruleset) -> list[Change]:
        """Nothing happens to the opponent's checkers."""
        return []

    def remember(self, boards: Boards, passed: Flags, rules: Ruleset) -> None:
        """Nothing to remember."""
