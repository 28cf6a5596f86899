"""Bans on positions, judged where a play ends.

Walls are looked at as the opponent meets them, in his count: six in a row there may be broken by
the end of my own count, and the end of his count breaks a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from engine.reach import is_closed_out, leading_to
from engine.ruleset import Ruleset, Sight
from engine.slots import Flags, Words, bit, has_run, runs_of, span


@dataclass(frozen=True, kw_only=True)
class ClosedBoard:
    """No closed home board while the opponent has a checker on the bar."""

    hard: Literal[True] = True

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        return "No play may end with all home points held by two or more while the opponent is on the bar."

    def bad(self, see: Sight) -> Flags:
        """(M,) flags: the play ends with a closed board against the bar."""
        return is_closed_out(see.boards, see.rules)


# -- walls ------------------------------------------------------------------------------------------------


def is_stuck(his: Words, closed: Words, rules: Ruleset) -> Flags:
    """(M,) flags: no checker of his can step or bear off with any number.

    Args:
        his: (M,) words in his count, the slots from which he could step.
        closed: (M,) words in his count, the points on which he may not land.
    """
    opens = ~closed & rules.board_words
    can = np.zeros_like(his)
    for die in range(1, rules.faces + 1):
        can |= his & leading_to(opens, np.uint32(die), rules)
    return np.asarray((can == 0) & (his & rules.away_words != 0))


def is_blockade(mine: Words, closed: Words, his: Words, rules: Ruleset) -> Flags:
    """(M,) flags: a quarter's length of points in a row is held, and the opponent is stuck."""
    bad = has_run(mine, rules.quarter)
    some = np.flatnonzero(bad)
    if some.size:
        bad[some] = is_stuck(his.take(some), closed.take(some), rules)
    return bad


def blocks_now(see: Sight) -> Flags:
    """(M,) flags: such a blockade stands."""
    return is_blockade(see.rules.turned(see.mine), see.closed, see.his, see.rules)


@dataclass(frozen=True, kw_only=True)
class Wall:
    """No wall: a quarter's length of points in a row, one checker each being enough, unless the opponent has room.

    `room`: he has a checker `ahead` of every such row on his own way, or off; or one that `moves`,
    with some number.
    """

    room: Literal["ahead", "moves"] = "ahead"
    hard: ClassVar[bool] = True

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        room = "a checker ahead of them or off" if self.room == "ahead" else "a checker that can move with some number"
        return f"No play may leave {rules.quarter} points in a row held unless the opponent has {room}."

    def bad(self, see: Sight) -> Flags:
        """(M,) flags: a wall stands and gives him no room."""
        rules = see.rules
        if self.room == "moves":
            return blocks_now(see)
        walls = runs_of(rules.turned(see.mine), rules.quarter)
        ahead = (walls & (~walls + np.uint32(1))) - np.uint32(1)  # all slots below the lowest wall, off among them
        return np.asarray((walls != 0) & (see.his & ahead == 0))


@dataclass(frozen=True, kw_only=True)
class Unblock:
    """A blockade that stood as the turn began must be opened.

    It is a quarter's length of points in a row, and all opposing checkers on the one point directly
    behind it (`single_stack`), or anywhere, if only none can move with any number (`no_move`). Making
    one is allowed. `hard`: a play that keeps it is illegal; otherwise one that opens it is chosen where
    there is one among the plays that use most numbers.
    """

    trigger: Literal["single_stack", "no_move"] = "single_stack"
    hard: bool = False

    def tell(self, rules: Ruleset) -> str:
        """The duty as a sentence."""
        where = "all stand on the one point directly behind it"
        if self.trigger == "no_move":
            where = "none can move with any number"
        how = "must be opened" if self.hard else "must be opened if a play with as many numbers does so"
        return f"{rules.quarter} points in a row against opposing checkers of which {where} {how} in the next turn."

    def bad(self, see: Sight) -> Flags:
        """(M,) flags: the blockade stood as the turn began, and still stands."""
        rules, began = see.rules, see.began
        if self.trigger == "no_move":
            stood = is_blockade(rules.turned(began.mine), began.closed, began.his, rules)
        else:
            stood = self._is_behind(began.mine, began.his, rules)
        if not stood.any():
            return np.zeros(see.row.size, np.bool_)
        still = blocks_now(see) if self.trigger == "no_move" else self._is_behind(see.mine, see.his, rules)
        return still & stood.take(see.game)

    def _is_behind(self, mine: Words, his: Words, rules: Ruleset) -> Flags:
        walls = runs_of(rules.turned(mine), rules.quarter)
        is_single = his & (his - np.uint32(1)) == 0  # one slot only, so none is off
        behind = (his & rules.board_words) >> np.uint32(rules.quarter)
        return np.asarray(is_single & (walls & behind != 0))


# -- quarters -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class StartQuarterFull:
    """A side may not hold all points of its own start quarter; `both`: nor all of the third quarter of its way.

    On a board where the sides follow each other that is the opponent's start quarter.
    """

    both: bool = False
    hard: ClassVar[bool] = True

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        high, half = rules.points, rules.points // 2
        text = f"No play may leave all of a side's own {high}..{high - rules.quarter + 1}"
        return text + (f", or all of its {half}..{half - rules.quarter + 1}, held." if self.both else " held.")

    def bad(self, see: Sight) -> Flags:
        """(M,) flags: the quarter, or one of the two, is full."""
        rules = see.rules
        high, half = rules.points, rules.points // 2
        start = span(high - rules.quarter + 1, high)
        bad: Flags = see.mine & start == start
        if self.both:
            third = span(half - rules.quarter + 1, half)
            bad |= see.mine & third == third
        return bad


@dataclass(frozen=True, kw_only=True)
class ThirdQuarterLimit:
    """A side may hold at most `most` points of the third quarter of its way, the opponent's start quarter."""

    most: int = 4
    hard: ClassVar[bool] = True

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        half = rules.points // 2
        return (
            f"No play may leave more than {self.most} points of a side's own {half}..{half - rules.quarter + 1} held."
        )

    def bad(self, see: Sight) -> Flags:
        """(M,) flags: too many points are held there."""
        half = see.rules.points // 2
        return np.asarray(np.bitwise_count(see.mine & span(half - see.rules.quarter + 1, half)) > self.most)


@dataclass(frozen=True, kw_only=True)
class HeadBlocked:
    """A side may not hold all points right in front of the opponent's head while he has checkers there."""

    hard: ClassVar[bool] = True

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        return (
            f"No play may leave the {rules.quarter} points in front of the opponent's {rules.points} held "
            "while he has a checker there."
        )

    def bad(self, see: Sight) -> Flags:
        """(M,) flags: the points before his head are full, and he stands on it."""
        rules = see.rules
        front = span(rules.points - rules.quarter, rules.points - 1)
        return np.asarray((rules.turned(see.mine) & front == front) & (see.his & bit(rules.points) != 0))
