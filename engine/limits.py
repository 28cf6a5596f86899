"""Bans on single steps, asked at each step of a play."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.reach import leading_to
from engine.ruleset import Began, Ruleset, Sight
from engine.slots import ALL_SLOTS, MINE, THEIRS, Boards, Counts, Flags, Words, bit, span


class Ban:
    """What most bans have in common: they look at nothing but the position."""

    def order_matters(self, began: Began) -> Flags | bool:
        """The order in which the numbers are played changes nothing."""
        return False

    @property
    def memory(self) -> tuple[str, ...]:
        """Nothing to remember."""
        return ()

    @property
    def turns_told(self) -> int:
        """All turns are alike."""
        return 0

    def remember(self, boards: Boards, passed: Flags, rules: Ruleset) -> None:
        """Nothing to remember."""


# -- entering -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FirstRollEnters(Ban):
    """A roll that begins with all checkers in the hand only enters."""

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        return "A roll that begins with all checkers in the hand only enters."

    def allow(self, can: Words, see: Sight) -> Words:
        """(M,) words: only the hand, where the decision began with all checkers there."""
        hand = see.rules.hand
        return np.where(see.held_before(hand) == see.rules.checkers, can & bit(hand), can)


@dataclass(frozen=True, kw_only=True)
class HandFirst(Ban):
    """All checkers enter from the hand before any on the board may move."""

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        return "While a side has a checker in the hand, it only enters."

    def allow(self, can: Words, see: Sight) -> Words:
        """(M,) words: only the hand, while it holds a checker; the bar comes before it anyway."""
        stocks = span(see.rules.bar, see.rules.hand)
        return np.where(see.mine & bit(see.rules.hand) != 0, can & stocks, can)


@dataclass(frozen=True, kw_only=True)
class NoCrossing(Ban):
    """While a checker is in the hand, no step ends in the second half of the way."""

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        return f"While a side has a checker in the hand, no step ends on its {rules.points // 2} or lower."

    def allow(self, can: Words, see: Sight) -> Words:
        """(M,) words: without the slots from which the step ends too low, while the hand holds a checker."""
        low = leading_to(span(1, see.rules.points // 2), see.die, see.rules)
        return np.where(see.mine & bit(see.rules.hand) != 0, can & ~low, can)


@dataclass(frozen=True, kw_only=True)
class EntryTrigger(Ban):
    """Entering needs a certain roll: a double or 1-2, or one that holds the highest number.

    From the hand only the first entry does, while all checkers are there; from the bar every one.
    Of numbers that the other side left over, two or more equal ones count as a double.
    """

    needs: Literal["double_or_12", "six"]
    stock: Literal["hand", "bar"]

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        roll = "that is a double or 1-2" if self.needs == "double_or_12" else f"that holds a {rules.faces}"
        if self.stock == "bar":
            return f"A checker enters from the bar only with a roll {roll}."
        return f"While all checkers of a side are in the hand, it enters only with a roll {roll}."

    def allow(self, can: Words, see: Sight) -> Words:
        """(M,) words: without the stock, where this roll may not be used to enter from there."""
        rules, numbers = see.rules, see.began.numbers
        if self.needs == "six":
            is_good = (numbers == rules.faces).any(axis=1)
        else:
            is_good = (numbers[:, 0] == numbers[:, 1]) | ((numbers[:, 0] == 2) & (numbers[:, 1] == 1))
        is_shut = ~is_good.take(see.code)
        if self.stock == "hand":
            is_shut &= see.held(rules.hand) == rules.checkers
        return np.where(is_shut, can & ~bit(rules.hand if self.stock == "hand" else rules.bar), can)


# -- leaving the start ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RunnerFirst(Ban):
    """Only the first checker to leave the head may move until it has passed the opponent's head.

    It has passed `ahead` points beyond it; 0 is the head itself. As the board tells it: while none
    of my checkers has come so far, the head may be left only if all stand there.
    """

    ahead: int = 1

    def order_matters(self, began: Began) -> Flags | bool:
        """The runner's steps may free the others, until it has passed."""
        return np.asarray(began.mine & span(0, self.gate(began.rules)) == 0)

    def gate(self, rules: Ruleset) -> int:
        """The point that the runner must have reached, in its own count."""
        return rules.points // 2 - self.ahead

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        return (
            f"The first checker to leave {rules.points} moves alone until it has reached the side's own "
            f"{self.gate(rules)}; from then on all may move, in the same roll too."
        )

    def allow(self, can: Words, see: Sight) -> Words:
        """(M,) words: without the head, while a runner is under way."""
        head = bit(see.rules.points)
        is_free = (see.mine & span(0, self.gate(see.rules)) != 0) | (see.mine == head)
        return np.where(is_free, can, can & ~head)


@dataclass(frozen=True, kw_only=True)
class HeadLimit(Ban):
    """At most `per_turn` checkers may leave the head, the point where all began, in a turn.

    `opening`: doubles that let two leave on a side's first turn; `onto_head` means those that bring
    a checker from its head onto the opponent's in two, three or four steps. `across_tiers`: a turn
    may be more than one decision, so the head as the turn began is remembered.
    """

    per_turn: int = 1
    opening: tuple[int, ...] | Literal["onto_head", "any_double"] = ()
    across_tiers: bool = False

    @property
    def memory(self) -> tuple[str, ...]:
        """Whether this is a side's first turn; what stood on the head as the turn began."""
        return ("turns",) * bool(self.opening) + ("head",) * self.across_tiers

    @property
    def turns_told(self) -> int:
        """The first turn is told from the others."""
        return int(bool(self.opening))

    def doubles(self, rules: Ruleset) -> tuple[int, ...]:
        """The doubles that let two leave, highest first."""
        faces = range(rules.faces, 0, -1)
        if self.opening == "onto_head":
            return tuple(n for n in faces if rules.points // 2 in (2 * n, 3 * n, 4 * n))
        return tuple(faces) if self.opening == "any_double" else self.opening

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        text = f"At most {self.per_turn} checker{'s' * (self.per_turn > 1)} may leave {rules.points} in a turn"
        doubles = ", ".join(f"{n}-{n}" for n in self.doubles(rules))
        return f"{text}; on a side's first turn two with {doubles}." if doubles else f"{text}."

    def allow(self, can: Words, see: Sight) -> Words:
        """(M,) words: without the head, once as many have left it as may."""
        is_shut = see.held(see.rules.points) <= self.least_left(see.began).take(see.game)
        return np.where(is_shut, can & ~bit(see.rules.points), can)

    def least_left(self, began: Began) -> Counts:
        """(N,) int8: with so many checkers on the head no more may leave it."""
        rules, mine = began.rules, began.boards[:, MINE]
        least = mine[:, rules.memory["head"] if self.across_tiers else rules.points] - np.int8(self.per_turn)
        if self.opening and self.per_turn < 2:
            first, second = began.numbers[:, 0], began.numbers[:, 1]
            lets_off = (first == second) & (first[:, None] == self.doubles(rules)).any(axis=1)
            least -= lets_off.take(began.pending) & (mine[:, rules.memory["turns"]] == 0)
        return least

    def remember(self, boards: Boards, passed: Flags, rules: Ruleset) -> None:
        """Note what stands on the head as a turn begins; the side that does not play has no use for it."""
        if self.across_tiers:
            slot = rules.memory["head"]
            is_new = passed | (boards[:, MINE, slot] == 0)
            boards[:, MINE, slot] = np.where(is_new, boards[:, MINE, rules.points], boards[:, MINE, slot])
            boards[:, THEIRS, slot] = 0


# -- where a step may end ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class StackLimit(Ban):
    """At most `most` own checkers on a point of the first half of the way, the start point excepted."""

    most: int = 2

    def order_matters(self, began: Began) -> Flags | bool:
        """A point may have to be left before the next checker comes; a double may fill it first."""
        rules, (larger, smaller) = began.rules, began.first_two
        full = self._full(began.holding(self.most), rules)
        behind = leading_to(full, larger, rules) | leading_to(full, smaller, rules)
        return np.asarray(~began.is_pair | (began.mine & behind != 0))

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        return (
            f"No step ends on a point of a side's own {rules.points - 1}..{rules.points // 2 + 1} "
            f"that holds {self.most} of its checkers."
        )

    def allow(self, can: Words, see: Sight) -> Words:
        """(M,) words: without the slots from which the step ends on a full point."""
        return can & ~leading_to(self._full(see.holding(self.most), see.rules), see.die, see.rules)

    def _full(self, held: Words, rules: Ruleset) -> Words:
        return held & span(rules.points // 2 + 1, rules.points - 1)


@dataclass(frozen=True, kw_only=True)
class LastPointLock(Ban):
    """No step ends on the last point, own 1, until `left` checkers have left the start.

    The start is the start point with the bar and the hand. With few checkers it is at most half of them.
    """

    left: int = 5

    def order_matters(self, began: Began) -> Flags | bool:
        """Checkers may have to leave the start before one steps onto the last point."""
        start = [began.rules.points, began.rules.bar, began.rules.hand]
        return np.asarray(began.is_pair & (began.boards[:, MINE, start].sum(axis=1) > self.most(began.rules)))

    def most(self, rules: Ruleset) -> int:
        """So many may still be at the start."""
        return rules.checkers - min(self.left, rules.checkers // 2)

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        return (
            f"No step ends on a side's own 1 while more than {self.most(rules)} of its checkers "
            f"are on {rules.points}, on the bar or in the hand."
        )

    def allow(self, can: Words, see: Sight) -> Words:
        """(M,) words: without the slot from which the step ends on 1."""
        rules = see.rules
        at_start = see.held(rules.points) + see.held(rules.bar) + see.held(rules.hand)
        return np.where(at_start > self.most(rules), can & ~leading_to(bit(1), see.die, rules), can)


@dataclass(frozen=True, kw_only=True)
class HomeFrozen(Ban):
    """A checker that is home moves no more until it is borne off."""

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        return "No steps inside the home board; a checker that is home waits to be borne off."

    def allow(self, can: Words, see: Sight) -> Words:
        """(M,) words: without the home points from which this number would not bear off."""
        inside = see.rules.home_words & (ALL_SLOTS << (see.die + np.uint32(1)))
        return can & ~inside


@dataclass(frozen=True, kw_only=True)
class HitterStays(Ban):
    """A checker that has hit in its own home may not move on in the same turn.

    None of mine stood where it hit, so the last one there is, or stands for, the hitter.
    """

    def tell(self, rules: Ruleset) -> str:
        """The ban as a sentence."""
        return "A checker that hits in its own home board may not move on in the same turn."

    def allow(self, can: Words, see: Sight) -> Words:
        """(M,) words: without the home points where I have hit and stand alone."""
        hits = see.mine & see.rules.home_words & see.then(see.began.theirs_any)
        if not hits.any():
            return can
        return can & ~(hits & ~see.holding(2))
