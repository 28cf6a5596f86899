"""A turn as data: every queue that can be pending in a ruleset, and what follows it.

A queue is a tuple of items, the rest of a side's turn: tiers of numbers such as `(6, 5)` or
`(4, 4, 4, 4)`, and the words `first` (opening throw), `roll`, `own_roll` (that of the side's own turn,
behind left-over numbers, where a bonus roll could be meant), `name` (a double), `either` (play the
opening throw or roll afresh), `toss` (who opens a closed board), `open` and `open_theirs` (which
point). The queues of a ruleset are found by closure from `(first,)` and `(roll,)`; a code is an
index into that list. Nothing here is written by hand for a game.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from engine.ruleset import Item, Queue, RulesError, Ruleset

LEFTS = 5  # 0..4 numbers of a run; for a pair the bits 1 (larger unplayed) and 2 (smaller unplayed)
LARGER_LEFT, SMALLER_LEFT, BOTH_LEFT = 1, 2, 3
COMPLETE = 100  # worth of a play that uses all its numbers, or ends the game
CHANCE_ITEMS = ("first", "roll", "toss")
CHOICE_ITEMS = ("name", "either", "open", "open_theirs")


@dataclass(frozen=True, eq=False)
class Queues:
    """The queues of a ruleset (C of them) as tables.

    `chance` lists, for each queue that waits for dice, equally likely ways; the first axis is
    `Turn.is_early`. `step_die` and `step_left` hold the up to two steps open to a play with a
    certain rest of its first tier; a die of 0 is no step.
    """

    items: tuple[Queue, ...]
    names: tuple[str, ...]
    is_chance: npt.NDArray[np.bool_]  # (C,)
    is_choice: npt.NDArray[np.bool_]  # (C,)
    is_pair: npt.NDArray[np.bool_]  # (C,): is the first tier two different numbers
    numbers: npt.NDArray[np.int8]  # (C, 4): the first tier, zeros behind
    full: npt.NDArray[np.int8]  # (C,): `left` of a play that has not begun
    step_die: npt.NDArray[np.uint32]  # (C, LEFTS, 2)
    step_left: npt.NDArray[np.int8]  # (C, LEFTS, 2)
    worth: npt.NDArray[np.int8]  # (C, LEFTS)
    next: npt.NDArray[np.int8]  # (2, C, LEFTS): the code that follows; first axis as for `chance`
    passes: npt.NDArray[np.bool_]  # (2, C, LEFTS): does the turn pass
    bound: npt.NDArray[np.int8]  # (C,): the toss that comes before this queue of the other side, -1 where none
    ways: npt.NDArray[np.uint64]  # (C,): equally likely ways of a chance code, 0 for others
    chance_code: npt.NDArray[np.int8]  # (2, C, most ways)
    chance_passes: npt.NDArray[np.bool_]  # (2, C, most ways)
    choices: tuple[tuple[tuple[tuple[int, bool], ...], ...], ...]  # [early][code]: (code that follows, passes)
    inputs: npt.NDArray[np.float32]  # (C, faces + 5): what a net sees of a queue

    def code(self, queue: Queue) -> int:
        """The code of a queue.

        Raises:
            KeyError: this ruleset never has such a queue pending.
        """
        try:
            return self.items.index(queue)
        except ValueError:
            raise KeyError(f"no queue {name_of(queue)!r} here; there are {', '.join(self.names)}") from None


def name_of(queue: Queue) -> str:
    """A queue as position texts write it: `65`, `3333,roll`, `open_theirs`."""
    return ",".join(item if isinstance(item, str) else "".join(map(str, item)) for item in queue)


def is_pair(item: Item) -> bool:
    """Is this a tier of two different numbers?"""
    return isinstance(item, tuple) and len(item) == 2 and item[0] != item[1]


def unplayed(tier: tuple[int, ...], left: int) -> tuple[int, ...]:
    """The numbers of a tier that `left` stands for."""
    if is_pair(tier):
        return tuple(number for number, flag in zip(tier, (LARGER_LEFT, SMALLER_LEFT), strict=True) if left & flag)
    return tier[:left]


def lefts(tier: tuple[int, ...]) -> range:
    """Every `left` that a play of this tier can end with, 0 (all played) first."""
    return range(BOTH_LEFT + 1) if is_pair(tier) else range(len(tier) + 1)


def chance(queue: Queue, early: bool, rules: Ruleset) -> list[tuple[Queue, bool]]:
    """The equally likely ways of a queue that waits for dice: (queue, does the view turn)."""
    head, rest = queue[0], queue[1:]
    faces = range(1, rules.faces + 1)
    if head == "roll":
        rolls = [(max(a, b), min(a, b)) for a in faces for b in faces]
        return [(rules.turn.program(roll, early, rules) + rest, False) for roll in rolls]
    if head == "toss":  # the winner chooses; it is always the board of MINE that is opened
        return [(("open", *rest), False), (("open_theirs", *rest), True)]
    throws = [(a, b) for a in faces for b in faces if a != b]  # MINE throws a, THEIRS throws b
    lower_begins = rules.opening == "low_rerolls"
    ways: list[tuple[Queue, bool]] = []
    for a, b in throws:
        pair = (max(a, b), min(a, b))
        program = rules.turn.program(pair, early, rules)
        begun: dict[str, Queue] = {"high_uses": program, "high_chooses": ("either", *program)}
        ways.append((begun.get(rules.opening, ("roll",)), (a < b) != lower_begins))
    return ways


def chosen(queue: Queue, early: bool, rules: Ruleset) -> list[tuple[Queue, bool]]:
    """What follows each choice of a queue that asks for one: (queue, does the turn pass)."""
    head, rest = queue[0], queue[1:]
    if head == "name":
        return [(rules.turn.named(number, early, rules) + rest, False) for number in range(1, rules.faces + 1)]
    if head == "either":
        return [(rest, False), (("roll",), False)]
    return [(rest or ("roll",), head == "open")]  # for each home point; whoever chose, the other side's turn begins


def played(queue: Queue, left: int, early: bool, rules: Ruleset) -> tuple[Queue, bool]:
    """What follows when the first tier was played down to `left`: (queue, does the turn pass)."""
    tier = queue[0]
    assert isinstance(tier, tuple)
    return rules.turn.follows(queue, unplayed(tier, left), early)


def tossed(queue: Queue) -> Queue:
    """The toss for who opens a point, before the other side's turn `queue`; an ordinary one goes without saying."""
    return ("toss",) if queue == ("roll",) else ("toss", *queue)


def successors(queue: Queue, rules: Ruleset) -> Iterator[Queue]:
    """Every queue that can come after this one."""
    head = queue[0]
    if head in CHANCE_ITEMS:
        for early in (False, True):
            yield from (follower for follower, _ in chance(queue, early, rules))
    elif head in CHOICE_ITEMS:
        for early in (False, True):
            yield from (follower for follower, _ in chosen(queue, early, rules))
    else:
        assert isinstance(head, tuple)
        for left in lefts(head):
            for early in (False, True):
                follower, passes = played(queue, left, early, rules)
                yield follower
                if passes and rules.binding is not None:
                    yield tossed(follower)


def closure(rules: Ruleset) -> list[Queue]:
    """All queues of a ruleset, in an order that depends on the rules alone."""
    found: dict[Queue, None] = {("first",): None, ("roll",): None}
    waiting = list(found)
    while waiting:
        for follower in successors(waiting.pop(0), rules):
            if follower not in found:
                found[follower] = None
                waiting.append(follower)
    return list(found)


def worth_of(tier: tuple[int, ...], left: int, rules: Ruleset) -> int:
    """How well a play has used its numbers: all, then the count, then the larger of two."""
    if left == 0:
        return COMPLETE
    used = len(tier) - len(unplayed(tier, left))
    return 2 * used + int(rules.higher_die and is_pair(tier) and left == SMALLER_LEFT)


def inputs_of(queue: Queue, rules: Ruleset) -> list[float]:
    """What a net sees of a queue: how often each number is to be played, then which words occur.

    Numbers of later tiers count a third, so that the order of two tiers shows.
    """
    tiers = [(item, 4 if index == 0 else 12) for index, item in enumerate(queue) if isinstance(item, tuple)]
    counts = [sum(tier.count(number) / weight for tier, weight in tiers) for number in range(1, rules.faces + 1)]
    words = [
        queue[0] == "first",
        float("roll" in queue[1:]) - float("own_roll" in queue),
        queue[0] in ("name", "either"),
        queue[0] in ("toss", "open"),
        queue[0] == "open_theirs",
    ]
    return counts + [float(word) for word in words]


@lru_cache(maxsize=64)
def queues_of(rules: Ruleset) -> Queues:
    """The queues of a ruleset, tabulated (and kept: the same ruleset gives the same object)."""
    items = closure(rules)
    codes = {queue: code for code, queue in enumerate(items)}
    size = len(items)
    if size > np.iinfo(np.int8).max:
        raise RulesError(f"turn: {size} queues can be pending, more than {np.iinfo(np.int8).max}")
    most = rules.faces**2
    q = Queues(
        items=tuple(items),
        names=tuple(map(name_of, items)),
        is_chance=np.array([queue[0] in CHANCE_ITEMS for queue in items]),
        is_choice=np.array([queue[0] in CHOICE_ITEMS for queue in items]),
        is_pair=np.array([is_pair(queue[0]) for queue in items]),
        numbers=np.zeros((size, 4), np.int8),
        full=np.zeros(size, np.int8),
        step_die=np.zeros((size, LEFTS, 2), np.uint32),
        step_left=np.zeros((size, LEFTS, 2), np.int8),
        worth=np.zeros((size, LEFTS), np.int8),
        next=np.zeros((2, size, LEFTS), np.int8),
        passes=np.zeros((2, size, LEFTS), np.bool_),
        bound=np.array([codes.get(tossed(queue), -1) for queue in items], np.int8),
        ways=np.zeros(size, np.uint64),
        chance_code=np.zeros((2, size, most), np.int8),
        chance_passes=np.zeros((2, size, most), np.bool_),
        choices=tuple(
            tuple(
                tuple((codes[follower], passes) for follower, passes in chosen(queue, early, rules))
                if queue[0] in CHOICE_ITEMS
                else ()
                for queue in items
            )
            for early in (False, True)
        ),
        inputs=np.array([inputs_of(queue, rules) for queue in items], np.float32),
    )
    for code, queue in enumerate(items):
        if queue[0] in CHANCE_ITEMS:
            _tabulate_chance(q, code, queue, codes, rules)
        elif isinstance(queue[0], tuple):
            _tabulate_tier(q, code, queue, codes, rules)
    return q


def _tabulate_chance(q: Queues, code: int, queue: Queue, codes: dict[Queue, int], rules: Ruleset) -> None:
    """Fill in the rows of a queue that waits for dice."""
    for early in (0, 1):
        ways = chance(queue, bool(early), rules)
        q.ways[code] = len(ways)
        for way, (follower, passes) in enumerate(ways):
            q.chance_code[early, code, way] = codes[follower]
            q.chance_passes[early, code, way] = passes


def _tabulate_tier(q: Queues, code: int, queue: Queue, codes: dict[Queue, int], rules: Ruleset) -> None:
    """Fill in the rows of a queue that begins with numbers to be played."""
    tier = queue[0]
    assert isinstance(tier, tuple)
    q.numbers[code, : len(tier)] = tier
    q.full[code] = max(lefts(tier))
    for left in lefts(tier):
        for early in (0, 1):
            follower, q.passes[early, code, left] = played(queue, left, bool(early), rules)
            q.next[early, code, left] = codes[follower]
        q.worth[code, left] = worth_of(tier, left, rules)
        if is_pair(tier):
            steps = [(tier[0], left & ~LARGER_LEFT)] if left & LARGER_LEFT else []
            steps += [(tier[1], left & ~SMALLER_LEFT)] if left & SMALLER_LEFT else []
        else:
            steps = [(tier[0], left - 1)] if left else []
        for index, (die, remaining) in enumerate(steps):
            q.step_die[code, left, index] = die
            q.step_left[code, left, index] = remaining
