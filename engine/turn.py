"""Which queue of numbers a roll gives, and what follows each tier of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from engine.ruleset import Queue, Roll, Ruleset
from engine.slots import MINE, Boards, Flags

Tier = tuple[int, ...]
Bonus = Literal["after_double", "after_complement", "after_named"]
ROLL: Queue = ("roll",)


@dataclass(frozen=True, kw_only=True)
class PlainTurn:
    """One roll a turn. Two different numbers are played once each, a double `times` times."""

    times: Literal[2, 4] = 4
    memory: tuple[str, ...] = ()
    turns_told: ClassVar[int] = 0
    is_long: ClassVar[bool] = False
    judges_ends: ClassVar[bool] = False

    def tell(self, rules: Ruleset) -> str:
        """Doubles as a sentence."""
        how = "four times" if self.times == 4 else "twice, each die once"
        return f"Each number of a roll is one step; a double's number is played {how}."

    def program(self, roll: Roll, early: bool, rules: Ruleset) -> Queue:
        """The two numbers, the larger first, or the double's number so many times."""
        large, small = roll
        return ((large,) * self.times,) if large == small else ((large, small),)

    def named(self, number: int, early: bool, rules: Ruleset) -> Queue:
        """Nobody names a double here."""
        raise AssertionError("no queue of this turn holds `name`")

    def follows(self, queue: Queue, left: tuple[int, ...], early: bool) -> tuple[Queue, bool]:
        """Numbers that cannot be played are lost, and the turn passes."""
        return ROLL, True

    def is_early(self, boards: Boards, rules: Ruleset) -> Flags:
        """(M,) flags: no roll is different from the others."""
        return np.zeros(len(boards), np.bool_)


@dataclass(frozen=True, kw_only=True)
class Grace:
    """In the first `turns` turns, of each side or of both together, doubles are ordinary."""

    turns: int = 3
    shared: bool = False

    def tell(self, rules: Ruleset) -> str:
        """The grace as a sentence."""
        whose = "of the game" if self.shared else "of each side"
        return f"In the first {self.turns} turn{'s' * (self.turns > 1)} {whose} a double is just its number four times."

    def is_early(self, boards: Boards, rules: Ruleset) -> Flags:
        """(M,) flags: MINE is in a turn of grace."""
        begun = boards[:, :, rules.memory["turns"]]
        return np.asarray((begun.sum(axis=1) if self.shared else begun[:, MINE]) < self.turns)


@dataclass(frozen=True, kw_only=True)
class Entering:
    """While a side has checkers in the hand, its doubles, thrown or named, may bring less.

    `complement` and `bonus`: are they given nevertheless? Without the complement there is no bonus
    roll either. `at_tier_end`: judged at the end of each tier, not as the double comes about.
    """

    complement: bool = False
    bonus: bool = False
    at_tier_end: bool = False

    def tell(self, rules: Ruleset) -> str:
        """What a double brings while entering, as a sentence."""
        when = "at the end of each tier" if self.at_tier_end else "as the double is thrown or named"
        lost = "no bonus roll" if self.complement else "just its number four times"
        return f"While a side has checkers in the hand, judged {when}, a double brings {lost}."

    def is_early(self, boards: Boards, rules: Ruleset) -> Flags:
        """(M,) flags: MINE has a checker in the hand."""
        return np.asarray(boards[:, MINE, rules.hand] > 0)

    def granted(self, rest: Queue) -> Queue:
        """What of the rest of a double's queue a side that is still entering gets."""
        is_complement = any(isinstance(item, tuple) for item in rest)
        if is_complement and not self.complement:
            return ()
        return rest if self.bonus else tuple(item for item in rest if isinstance(item, tuple))

    def granted_next(self, rest: Queue) -> Queue:
        """The same where a side is still entering as a tier ends: only what comes next is judged then."""
        is_complement = any(isinstance(item, tuple) for item in rest)
        return rest if (self.complement if is_complement else self.bonus) else ()


@dataclass(frozen=True, kw_only=True)
class LeftOvers:
    """What a side cannot play of its numbers, the other side plays as far as it can; then it rolls.

    `doubles_only`: only a double leaves something. `skip`: numbers that cannot be played are passed
    over and the next tier is tried; otherwise the first of them ends it. Nothing comes back.
    """

    doubles_only: bool = False
    skip: bool = False

    def tell(self, rules: Ruleset) -> str:
        """The left-overs as sentences."""
        what = "of a double" if self.doubles_only else "of a roll"
        end = "is passed over" if self.skip else "ends it"
        return (
            f"What a side cannot play {what} the other side plays, as far as it can, before its own roll; "
            f"a tier of numbers that it cannot finish {end}, and nothing comes back."
        )


@dataclass(frozen=True, kw_only=True)
class LongTurn:
    """A turn of several tiers; each must be played out before the next is.

    `doubles`: the number four times (`x4`), then its complement four times (`complement`: the
    number on the other side of the die), or every higher number four times as well, in rising order
    (`cascade`). `ace_deuce`: who has played a 1-2 names a double and plays it like a rolled one.
    `bonus`: after which doubles, played out, one rolls again. `early`: which doubles bring less.
    `left_overs`: who plays what cannot be played; nobody, where it is None.
    """

    doubles: Literal["x4", "complement", "cascade"] = "x4"
    ace_deuce: bool = False
    bonus: tuple[Bonus, ...] = ()
    early: Grace | Entering | None = None
    left_overs: LeftOvers | None = None
    is_long: ClassVar[bool] = True

    @property
    def memory(self) -> tuple[str, ...]:
        """The turns begun, as long as grace counts them."""
        return ("turns",) if isinstance(self.early, Grace) else ()

    @property
    def turns_told(self) -> int:
        """The turns of grace are told apart."""
        return self.early.turns if isinstance(self.early, Grace) else 0

    @property
    def judges_ends(self) -> bool:
        """Is it judged at a tier's end whether a side is still entering?"""
        return isinstance(self.early, Entering) and self.early.at_tier_end

    @property
    def own_roll(self) -> str:
        """What stands behind left-over numbers: the roll of the side's own turn, which cannot be lost.

        A word of its own only where there is a bonus roll too, which is lost with its numbers.
        """
        return "own_roll" if self.bonus else "roll"

    def tell(self, rules: Ruleset) -> str:
        """Tiers, bonus rolls and left-overs as sentences."""
        double = {
            "x4": "four times",
            "complement": f"four times, then its complement to {rules.faces + 1} four times",
            "cascade": f"four times, then every higher number up to {rules.faces} four times each",
        }[self.doubles]
        lines = [f"Each number of a roll is one step; a double is its number {double}."]
        if self.ace_deuce:
            lines.append("A 1-2 that was played out lets the same side name any double and play it like a rolled one.")
        if self.bonus:
            kinds = {"after_double": "rolled", "after_complement": "rolled", "after_named": "named"}
            which = " or ".join(dict.fromkeys(kinds[bonus] for bonus in self.bonus))
            whole = " and its complement" if self.doubles == "complement" else ""
            lines.append(f"Who has played out a {which} double{whole} rolls again.")
        lines.append("A tier that cannot be played out ends the turn, and the rest is lost.")
        if self.left_overs is not None:
            lines[-1] = "A tier that cannot be played out ends the turn. " + self.left_overs.tell(rules)
        if self.early is not None:
            lines.append(self.early.tell(rules))
        return " ".join(lines)

    def tiers(self, number: int, rules: Ruleset) -> tuple[Tier, ...]:
        """The tiers of a double."""
        numbers = [number]
        if self.doubles == "complement":
            numbers.append(rules.faces + 1 - number)
        elif self.doubles == "cascade":
            numbers = list(range(number, rules.faces + 1))
        return tuple((each,) * 4 for each in numbers)

    def program(self, roll: Roll, early: bool, rules: Ruleset) -> Queue:
        """The pair, or the tiers of the double and what they earn."""
        if roll[0] != roll[1]:
            return (roll, "name") if self.ace_deuce and roll == (2, 1) else (roll,)
        earns = "after_double" in self.bonus or "after_complement" in self.bonus
        return self._double(roll[0], earns, early, rules)

    def named(self, number: int, early: bool, rules: Ruleset) -> Queue:
        """The tiers of a named double and what they earn."""
        return self._double(number, "after_named" in self.bonus, early, rules)

    def _double(self, number: int, earns: bool, early: bool, rules: Ruleset) -> Queue:
        tiers = self.tiers(number, rules)
        first, rest = tiers[0], (*tiers[1:], *(ROLL if earns else ()))
        if early and isinstance(self.early, Grace):
            return (first,)
        if early and isinstance(self.early, Entering) and not self.early.at_tier_end:
            return (first, *self.early.granted(rest))
        return (first, *rest)

    def follows(self, queue: Queue, left: tuple[int, ...], early: bool) -> tuple[Queue, bool]:
        """The next tier, a further roll, or the other side with what is left over."""
        tier, rest = queue[0], queue[1:]
        if self.left_overs is not None and rest[-1:] == (self.own_roll,):  # already the other side's numbers
            goes_on = not left or self.left_overs.skip
            return (rest if goes_on and len(rest) > 1 else ROLL), False
        is_double = isinstance(tier, tuple) and tier[0] == tier[-1]
        if early and is_double and isinstance(self.early, Entering) and self.early.at_tier_end:
            rest = self.early.granted_next(rest)
        if not left:
            return (rest, False) if rest else (ROLL, True)
        if self.left_overs is None or (self.left_overs.doubles_only and not is_double):
            return ROLL, True
        return (left, *(item for item in rest if isinstance(item, tuple)), self.own_roll), True

    def is_early(self, boards: Boards, rules: Ruleset) -> Flags:
        """(M,) flags: a turn of grace, or one that is still entering."""
        return np.zeros(len(boards), np.bool_) if self.early is None else self.early.is_early(boards, rules)
