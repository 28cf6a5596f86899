"""When a game is over, and what it pays.

A draw, where there is one, is the 0 in the middle of the payoffs, so that a change of view is a
reversal of the outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from engine.ruleset import Began, Ruleset
from engine.slots import MINE, OFF, THEIRS, Boards, Flags, Outcomes, Rows, Slots, where

GOES_ON = np.int8(-1)


def balanced(wins: set[int], draw: bool) -> tuple[int, ...]:
    """Payoffs, best first: every win, a draw if there is one, every win as a loss."""
    best_first = tuple(sorted(wins, reverse=True))
    return best_first + (0,) * draw + tuple(-points for points in reversed(best_first))


def draw_sentence(deadlock: bool) -> str:
    """A dead position, where the rules declare it."""
    return " A position in which neither side can ever step again is a draw." if deadlock else ""


def last_off(boards: Boards, row: Rows, dst: Slots, rules: Ruleset) -> Rows:
    """The steps to `dst`, taken from boards[row], that bear off the last checker of MINE."""
    off = where(dst == OFF)
    return off.compress(boards[row.take(off), MINE, OFF] == rules.checkers - 1)


@dataclass(frozen=True, kw_only=True)
class Race:
    """The first to bear off all checkers wins, for `points` by how far the loser is behind.

    One value: every win counts so much. A second value pays a gammon: the loser has borne off
    none. A third pays more: moreover he has a checker on the bar or in his start quarter (`third`
    is `far`), or on the contrary has brought all his checkers home (`home`). `deadlock`: a position
    in which nobody can ever step again is a draw.
    """

    points: tuple[int, ...] = (1, 2, 3)
    third: Literal["far", "home"] = "far"
    deadlock: bool = False

    def tell(self, rules: Ruleset) -> str:
        """Winning and paying as sentences."""
        text = f"The first to bear off all checkers wins {self.points[0]}"
        if len(self.points) > 1:
            text += f", or {self.points[1]} (gammon) if the loser has borne off none"
        if len(self.points) > 2 and self.third == "far":
            text += f", or {self.points[2]} (backgammon) if he also has a checker on the bar or in his start quarter"
        elif len(self.points) > 2:
            text += f", or {self.points[2]} if he has all the same brought all of them home"
        return text + "." + draw_sentence(self.deadlock)

    def order_matters(self, began: Began) -> bool:
        """Never: whoever bears off the last checker has no more steps."""
        return False

    def payoffs(self, rules: Ruleset) -> tuple[int, ...]:
        """Best win first, heaviest loss last."""
        return balanced(set(self.points), self.deadlock)

    def possible(self, boards: Boards, rules: Ruleset) -> npt.NDArray[np.bool_]:
        """(M, K) flags: who has a checker off can lose a single game only."""
        payoffs = self.payoffs(rules)
        can_lose_more = boards[:, :, OFF] == 0
        flags = np.ones((len(boards), len(payoffs)), np.bool_, order="F")  # written column by column
        for column, points in enumerate(payoffs):
            if abs(points) > self.points[0]:
                flags[:, column] = can_lose_more[:, THEIRS if points > 0 else MINE]
        return flags

    def is_worst(self, boards: Boards, rules: Ruleset) -> Flags:
        """(M,) flags: what pays the third value, for losers THEIRS that have borne off none."""
        loser = boards[:, THEIRS]
        if self.third == "home":
            return np.asarray(loser[:, 1 : rules.quarter + 1].sum(axis=1) == rules.checkers)
        return np.asarray((loser[:, rules.points - rules.quarter + 1 : rules.bar + 1] > 0).any(axis=1))

    def may_end(self, boards: Boards, row: Rows, src: Slots, dst: Slots, rules: Ruleset) -> Rows:
        """Those that bear off the last checker."""
        return last_off(boards, row, dst, rules)

    def outcome(self, boards: Boards, rules: Ruleset) -> Outcomes:
        """(M,) int8: MINE has borne off everything; which win it is."""
        outcomes = np.full(len(boards), GOES_ON)
        over = where(boards[:, MINE, OFF] == rules.checkers)
        if over.size:
            final = boards.take(over, axis=0)
            margin = np.zeros(over.size, np.int8)
            if len(self.points) > 1:
                is_gammon = final[:, THEIRS, OFF] == 0
                margin += is_gammon
                if len(self.points) > 2:
                    margin += is_gammon & self.is_worst(final, rules)
            outcomes[over] = len(self.points) - 1 - margin
        return outcomes


@dataclass(frozen=True, kw_only=True)
class PerChecker:
    """The first to bear off all checkers wins a point for each checker the loser has not borne off."""

    deadlock: bool = False

    def tell(self, rules: Ruleset) -> str:
        """Winning and paying as sentences."""
        text = "The first to bear off all checkers wins a point for each checker that the loser has not borne off."
        return text + draw_sentence(self.deadlock)

    def order_matters(self, began: Began) -> bool:
        """Never: whoever bears off the last checker has no more steps."""
        return False

    def payoffs(self, rules: Ruleset) -> tuple[int, ...]:
        """All checkers first, minus all checkers last."""
        return balanced(set(range(1, rules.checkers + 1)), self.deadlock)

    def possible(self, boards: Boards, rules: Ruleset) -> npt.NDArray[np.bool_]:
        """(M, K) flags: nobody loses more than he still has to bear off."""
        payoffs = np.array(self.payoffs(rules))
        most = (rules.checkers - boards[:, :, OFF]).astype(np.int64)
        return (payoffs <= most[:, THEIRS, None]) & (-payoffs <= most[:, MINE, None])

    def may_end(self, boards: Boards, row: Rows, src: Slots, dst: Slots, rules: Ruleset) -> Rows:
        """Those that bear off the last checker."""
        return last_off(boards, row, dst, rules)

    def outcome(self, boards: Boards, rules: Ruleset) -> Outcomes:
        """(M,) int8: MINE has borne off everything; the loser's checkers off are the distance from the best win."""
        return np.where(boards[:, MINE, OFF] == rules.checkers, boards[:, THEIRS, OFF], GOES_ON)


@dataclass(frozen=True, kw_only=True)
class Mother:
    """As `race`, but who gets the last checker on the start point pinned, the mother, loses `value`.

    At once if `immediate`. Otherwise the game goes on while the pinning side still has a checker on
    its own start point: it wins when the last of them leaves, and if both mothers get pinned the
    game is a draw.
    """

    race: Race | PerChecker
    value: int = 2
    immediate: bool = False
    deadlock: ClassVar[bool] = False  # whoever cannot step has lost a mother

    def tell(self, rules: Ruleset) -> str:
        """Winning, the mother and the draw as sentences."""
        text = f"{self.race.tell(rules)} A side whose last checker on {rules.points} is pinned loses {self.value}"
        if self.immediate:
            return text + " at once."
        return (
            f"{text}, once the pinning side has no checker on its own {rules.points}; "
            "when both sides are pinned so, it is a draw."
        )

    def order_matters(self, began: Began) -> Flags | bool:
        """The step that ends the game ends the play; it may where his start point holds a lone or pinned checker."""
        mother = began.boards[:, THEIRS, began.rules.points]
        return np.asarray((mother == 1) | (mother < 0))

    def payoffs(self, rules: Ruleset) -> tuple[int, ...]:
        """Those of the race, the mother's value among them, and a draw if both can be pinned."""
        wins = {points for points in self.race.payoffs(rules) if points > 0}
        return balanced(wins | {self.value}, not self.immediate)

    def possible(self, boards: Boards, rules: Ruleset) -> npt.NDArray[np.bool_]:
        """(M, K) flags: what the race still allows, and a draw or the mother's value while a side has not moved out."""
        payoffs, raced = self.payoffs(rules), self.race.payoffs(rules)
        flags = np.zeros((len(boards), len(payoffs)), np.bool_)
        flags[:, [payoffs.index(points) for points in raced]] = self.race.possible(boards, rules)
        has_mother = boards[:, :, rules.points] != 0
        flags[:, payoffs.index(self.value)] |= has_mother[:, THEIRS]
        flags[:, payoffs.index(-self.value)] |= has_mother[:, MINE]
        if not self.immediate:
            flags[:, payoffs.index(0)] = has_mother.all(axis=1)
        return flags

    def may_end(self, boards: Boards, row: Rows, src: Slots, dst: Slots, rules: Ruleset) -> Rows:
        """Those that bear off the last checker, pin on his start point, or leave the own one while his is pinned."""
        is_near = dst == rules.opposing(rules.points)
        leaves = where(src == rules.points)
        is_near[leaves] |= boards[row.take(leaves), THEIRS, rules.points] < 0
        is_near[last_off(boards, row, dst, rules)] = True
        return where(is_near)

    def outcome(self, boards: Boards, rules: Ruleset) -> Outcomes:
        """(M,) int8: MINE has borne off everything, or a mother is pinned for good."""
        payoffs = self.payoffs(rules)
        place = np.array([payoffs.index(points) for points in self.race.payoffs(rules)] + [GOES_ON], np.int8)
        outcomes = place.take(self.race.outcome(boards, rules))
        pinned = where((boards[:, THEIRS, rules.points] < 0) & (outcomes < 0))
        if pinned.size:
            own = boards[pinned, MINE, rules.points]
            win, draw = payoffs.index(self.value), len(payoffs) // 2
            if self.immediate:
                outcomes[pinned] = win
            else:
                outcomes[pinned] = np.where(own == 0, win, np.where(own < 0, draw, GOES_ON))
        return outcomes
