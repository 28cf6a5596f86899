"""A scalar rulebook: every legal play of some numbers, found step by step, and when a game is over.

`rulebook_board` says what it reads and how it writes positions, `rulebook_turns` what a roll gives
and what follows a play.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tests.rulebook_board import (
    OFF,
    PINNED,
    Numbers,
    Position,
    Row,
    UnknownRule,
    bar,
    facing,
    hand,
    home,
    kind,
    memory,
    moved,
    quarter,
    start_quarter,
    third_quarter,
)


@dataclass(frozen=True)
class Task:
    """One decision: where it began, and the numbers to be played."""

    began: Position
    numbers: Numbers


# -- C2, C3 where one may land, and what happens to who stands there -----------------------------------------


def has_been_home(rules: Any, row: Row) -> bool:
    """V4 `hit_gate`: this side has a checker home, or borne off where that counts, or has earned it before."""
    gate = rules.contact.gate
    if any(row[point] > 0 for point in home(rules)):
        return True
    if gate.counts_off and row[OFF] > 0:
        return True
    return bool(gate.latched and row[memory(rules)["latch"]] > 0)


def may_hit(rules: Any, now: Position, began: Position) -> bool:
    """V4: no hit until home; `midturn=false` judges as the turn began, `side` says who has to be home."""
    gate = rules.contact.gate
    if gate is None:
        return True
    judged = now if gate.midturn else began
    return has_been_home(rules, {"hitter": judged.mine, "victim": judged.theirs}[gate.side])


def is_open(rules: Any, now: Position, task: Task, point: int) -> bool:
    """C2: two of his close a point, or one (`block 1`).

    V4: before I may hit, a lone one blocks as well. V13: so does a lone one on top of mine.
    """
    his = now.theirs[facing(rules, point)]
    if kind(rules.contact) == "Block":
        return his == 0
    if kind(rules.contact) == "Pin":
        return his <= 1 and now.mine[point] != PINNED
    return his == 0 or (his == 1 and may_hit(rules, now, task.began))


def may_enter(rules: Any, now: Position, task: Task, point: int) -> bool:
    """V18 `entry_needs=empty`: neither on own nor on opposing checkers; else one enters where one may land."""
    is_empty = now.mine[point] == 0 and now.theirs[facing(rules, point)] == 0
    return is_open(rules, now, task, point) and (getattr(rules.contact, "entry", "open") == "open" or is_empty)


def stepped(rules: Any, now: Position, source: int, target: int) -> Position:
    """One checker of mine goes to an open point, or off.

    C3: a lone checker of his that I land on goes to his bar. V13: it stays and is pinned, until
    the last of mine has left it.
    """
    mine, his = moved(now.mine, source, target), list(now.theirs)
    landing, leaving = facing(rules, target), facing(rules, source)
    if target != OFF and his[landing] == 1 and kind(rules.contact) == "Pin":
        his[landing] = PINNED
    elif target != OFF and his[landing] == 1:
        his[landing], his[bar(rules)] = 0, his[bar(rules)] + 1
    if source <= rules.points and his[leaving] == PINNED and mine[source] == 0:
        his[leaving] = 1
    return Position(mine, tuple(his))


# -- C6 bearing off -----------------------------------------------------------------------------------------


def may_bear_off(rules: Any, row: Row, point: int, die: int) -> bool:
    """May this die remove a checker from this home point? All must be home or off, and none pinned (V13)."""
    at_home = [row[slot] for slot in [OFF, *home(rules)]]
    if sum(map(abs, at_home)) != rules.checkers or (PINNED in at_home and not rules.bearing.while_pinned):
        return False
    # PL-5: a pinned checker does not count as the highest
    nothing_higher = all(row[higher] <= 0 for higher in home(rules) if higher > point)
    if kind(rules.bearing) == "StandardBearing":  # C6: from point d, or from the highest if all stand below d
        return point == die or (point < die and nothing_higher)
    if kind(rules.bearing) == "FreeBearing":  # V2: any checker on a point <= d
        return point <= die
    if kind(rules.bearing) == "ExactBearing":  # V6: from point d only
        return point == die
    raise UnknownRule(f"no rule for {kind(rules.bearing)}")


# -- section 2 bans on single steps -------------------------------------------------------------------------


def may_leave_head(rules: Any, limit: Any, now: Position, task: Task) -> bool:
    """V10: at most so many leave 24 a turn; two on the first turn with the doubles that are let off.

    Over several tiers (V15) the whole turn counts, so that what stood there as it began is remembered.
    """
    slots, double = memory(rules), task.numbers[0]
    is_double = len(task.numbers) > 1 and len(set(task.numbers)) == 1
    is_first_turn = "turns" in slots and task.began.mine[slots["turns"]] == 0
    if limit.opening == "any_double":
        is_let_off = True
    elif limit.opening == "onto_head":  # 1.1: n with 2n, 3n or 4n = P/2
        is_let_off = any(steps * double == rules.points // 2 for steps in (2, 3, 4))
    else:
        is_let_off = double in limit.opening
    most = max(limit.per_turn, 2) if is_first_turn and is_double and is_let_off else limit.per_turn
    stood = task.began.mine[slots["head"] if limit.across_tiers else rules.points]
    return bool(stood - now.mine[rules.points] < most)


def is_trigger(rules: Any, needs: str, numbers: Numbers) -> bool:
    """V5 `entry_trigger`, `bar_trigger`: a double or 1-2 (*12* is no sum), or a roll with the highest number."""
    is_double = len(numbers) > 1 and len(set(numbers)) == 1
    return {"double_or_12": is_double or set(numbers) == {1, 2}, "six": quarter(rules) in numbers}[needs]


def is_allowed(rules: Any, limit: Any, now: Position, task: Task, source: int, target: int) -> bool:
    """Does this limit let a checker go from here to there (off is 0)?"""
    began, mine, name = task.began, now.mine, kind(limit)
    head, in_hand = rules.points, mine[hand(rules)]
    if name == "FirstRollEnters":  # V4 `enter_only`: a roll that begins with all in hand only enters
        return began.mine[hand(rules)] != rules.checkers or source == hand(rules)
    if name == "HandFirst":  # V7: all must be entered before any on the board may move
        return in_hand == 0 or source in (hand(rules), bar(rules))
    if name == "NoCrossing":  # V5: no step to own 12 or lower while one is in hand
        return in_hand == 0 or target > rules.points // 2
    if name == "EntryTrigger":  # V5: the first entry from the hand, each from the bar
        asked = source == hand(rules) and in_hand == rules.checkers if limit.stock == "hand" else source == bar(rules)
        return not asked or is_trigger(rules, limit.needs, task.numbers)
    if name == "RunnerFirst":  # V11: while none is past the gate or off, 24 may be left only if all stand there
        gate = rules.points // 2 - limit.ahead
        is_free = any(mine[slot] != 0 for slot in range(OFF, gate + 1)) or mine[head] == rules.checkers
        return source != head or is_free
    if name == "HeadLimit":
        return source != head or may_leave_head(rules, limit, now, task)
    if name == "StackLimit":  # V18: so many own ones on a point of own 24..13, the start point excepted
        return not rules.points // 2 < target < head or mine[target] < limit.most
    if name == "LastPointLock":  # V18: own 1 opens when five have left the start; 1.1: or half of them
        at_start = mine[head] + mine[bar(rules)] + in_hand
        return target != 1 or at_start <= rules.checkers - min(limit.left, rules.checkers // 2)
    if name == "HomeFrozen":  # V5: no steps inside home
        return source not in home(rules) or target == OFF
    if name == "HitterStays":  # V21: where a lone checker of his has gone from my home, its hitter stays
        blots = [point for point in home(rules) if began.theirs[facing(rules, point)] == 1]
        hit_on = [point for point in blots if now.theirs[facing(rules, point)] == 0]
        return source not in hit_on or mine[source] > 1
    raise UnknownRule(f"no rule for {name}")


# -- C1-C6 one step -------------------------------------------------------------------------------------


def sources(rules: Any, row: Row) -> list[int]:
    """The slots a checker may leave. C4: while one is on the bar, only that. V4: the hand is optional."""
    if row[bar(rules)] > 0:
        return [bar(rules)]
    return [slot for slot in [*range(1, rules.points + 1), hand(rules)] if row[slot] > 0]


def one_step(rules: Any, now: Position, task: Task, die: int, limits: Iterable[Any]) -> list[Position]:
    """C1: every position that one step of one checker by `die` leads to."""
    after = []
    for source in sources(rules, now.mine):
        enters = source in (bar(rules), hand(rules))
        target = max(rules.points + 1 - die if enters else source - die, OFF)  # 1.1: entering lands on 25 - d
        if enters:
            is_possible = may_enter(rules, now, task, target)
        elif target == OFF:
            is_possible = may_bear_off(rules, now.mine, source, die)
        else:
            is_possible = is_open(rules, now, task, target)
        if is_possible and all(is_allowed(rules, limit, now, task, source, target) for limit in limits):
            after.append(stepped(rules, now, source, target))
    return after


# -- section 4 bans on positions ----------------------------------------------------------------------------


def is_closed_against_bar(rules: Any, position: Position) -> bool:
    """V2: all my home points hold two or more while he has a checker on the bar."""
    closed = all(position.mine[point] >= 2 for point in home(rules))
    return closed and position.theirs[bar(rules)] > 0


def walls(rules: Any, position: Position) -> list[int]:
    """The lowest number, in HIS count, of every six in a row that I hold. NA-5, NA-6: his end breaks a row."""
    held = {facing(rules, point) for point in range(1, rules.points + 1) if position.mine[point] > 0}
    length = quarter(rules)
    lows = range(1, rules.points - length + 2)
    return [low for low in lows if all(point in held for point in range(low, low + length))]


def is_stuck(rules: Any, position: Position) -> bool:
    """None of his checkers has an open landing or a bear-off with any number, his head and runner aside."""
    view = Position(position.theirs, position.mine)
    faces = range(1, quarter(rules) + 1)
    return not any(one_step(rules, view, Task(view, (die,)), die, limits=()) for die in faces)


def is_blockade(rules: Any, formation: Any, position: Position) -> bool:
    """V12 `unblock`: what has to be opened if it stood as the turn began."""
    his = position.theirs
    if formation.trigger == "no_move":
        return bool(walls(rules, position)) and is_stuck(rules, position)
    assert formation.trigger == "single_stack"  # all on one point q of his, and I hold q-1..q-6
    stacks = [point for point in range(1, rules.points + 1) if his[point] == rules.checkers]
    return any(stack - quarter(rules) == low for stack in stacks for low in walls(rules, position))


def is_bad(rules: Any, formation: Any, position: Position, began: Position) -> bool:
    """May this position not be left standing by who has just moved?"""
    mine, his, name = position.mine, position.theirs, kind(formation)
    if name == "ClosedBoard":
        return is_closed_against_bar(rules, position)
    if name == "Wall" and formation.room == "ahead":  # V10: he needs one ahead of every wall, or off
        return any(not any(his[slot] != 0 for slot in range(OFF, low)) for low in walls(rules, position))
    if name == "Wall" and formation.room == "moves":
        return bool(walls(rules, position)) and is_stuck(rules, position)
    if name == "Unblock":
        return is_blockade(rules, formation, began) and is_blockade(rules, formation, position)
    if name == "StartQuarterFull":
        is_full = all(mine[point] > 0 for point in start_quarter(rules))
        return is_full or (formation.both and all(mine[point] > 0 for point in third_quarter(rules)))
    if name == "ThirdQuarterLimit":
        return sum(mine[point] > 0 for point in third_quarter(rules)) > int(formation.most)
    if name == "HeadBlocked":  # own 11..6, right in front of his head while he stands there
        front = range(rules.points - quarter(rules), rules.points)
        return bool(his[rules.points] != 0 and all(mine[facing(rules, point)] > 0 for point in front))
    raise UnknownRule(f"no rule for {name}")


def is_forbidden(rules: Any, position: Position, began: Position, hard: bool) -> bool:
    """A hard, or a soft, formation: a position not to be left standing. A play that ends the game is exempt."""
    if is_over(rules, position):
        return False
    return any(is_bad(rules, part, position, began) for part in rules.formations if part.hard == hard)


# -- C9 the end of a game -----------------------------------------------------------------------------------


def win_points(rules: Any, race: Any, loser: Row) -> int:
    """C9: single; gammon, the loser has off = 0; backgammon, moreover one on the bar or in his start quarter.

    V5: one point for each checker the loser has not borne off. V10 `1/2/3_home`: three if all of his are home.
    """
    if kind(race) == "PerChecker":
        return int(rules.checkers - loser[OFF])
    gammon = loser[OFF] == 0
    is_far = any(loser[slot] != 0 for slot in [bar(rules), *start_quarter(rules)])
    is_home = sum(abs(loser[point]) for point in home(rules)) == rules.checkers
    level = int(gammon) + int(gammon and {"far": is_far, "home": is_home}[race.third])
    return int(race.points[min(level, len(race.points) - 1)])


def mother_points(rules: Any, position: Position) -> int | None:
    """V13: who has the last checker on own 24 pinned loses; deferred while the pinner has one on his own 24.

    If both get pinned, it is a draw.
    """
    scoring, start = rules.scoring, rules.points
    mine, his = position.mine[start], position.theirs[start]
    if mine == PINNED and his == PINNED:
        return 0
    if his == PINNED and (scoring.immediate or mine == 0):
        return int(scoring.value)
    if mine == PINNED and (scoring.immediate or his == 0):
        return -int(scoring.value)
    return None


def points_won(rules: Any, position: Position) -> int | None:
    """What the game is worth to me where it has ended, None where it goes on."""
    if kind(rules.scoring) == "Mother" and (points := mother_points(rules, position)) is not None:
        return points
    race = rules.scoring.race if kind(rules.scoring) == "Mother" else rules.scoring
    if position.mine[OFF] == rules.checkers:
        return win_points(rules, race, position.theirs)
    if position.theirs[OFF] == rules.checkers:
        return -win_points(rules, race, position.mine)
    return None


def is_over(rules: Any, position: Position) -> bool:
    """C9, V13: one side has borne off all its checkers, or a mother is lost."""
    return points_won(rules, position) is not None


# -- 7.3 the legal plays of a tier ----------------------------------------------------------------------


@dataclass(frozen=True)
class End:
    """Where a play may stop: the position, and the numbers it has not played."""

    position: Position
    left: Numbers


def all_ends(rules: Any, task: Task) -> set[End]:
    """7.3.1: everything reachable in any order of the numbers, standing still included.

    A play stops where it ends the game (C5); any other may stop, or go on with any number left.
    `formation_scope=each_step`: no step into a position in which it might not stop.
    """
    each_step = {"end_of_turn": False, "each_step": True}[rules.formation_scope]
    seen: set[End] = set()

    def go_on(end: End) -> None:
        if end in seen:
            return
        seen.add(end)
        if is_over(rules, end.position):
            return
        for die in set(end.left):
            rest = list(end.left)
            rest.remove(die)
            for position in one_step(rules, end.position, task, die, rules.limits):
                if not (each_step and is_forbidden(rules, position, task.began, hard=True)):
                    go_on(End(position, tuple(rest)))

    go_on(End(task.began, task.numbers))
    return seen


def played(rules: Any, end: End, numbers: Numbers) -> int:
    """How many numbers a play has used. C5, BG-7: one that ends the game has used them all."""
    return len(numbers) if is_over(rules, end.position) else len(numbers) - len(end.left)


def must_play_most(rules: Any, ends: list[End], numbers: Numbers) -> list[End]:
    """C5: as many numbers as possible, and the larger one if it is one of two."""
    most = max(played(rules, end, numbers) for end in ends)
    ends = [end for end in ends if played(rules, end, numbers) == most]
    with_larger = [end for end in ends if end.left == (min(numbers),)]
    is_one_of_two = most == 1 and len(numbers) == 2 and numbers[0] != numbers[1]
    return with_larger if is_one_of_two and rules.higher_die and with_larger else ends


def must_enter_most(rules: Any, ends: list[End], numbers: Numbers) -> list[End]:
    """V2 `must_play=none`: stop after any step, but enter as many from the bar as possible (C4)."""
    fewest = min(end.position.mine[bar(rules)] for end in ends)
    return [end for end in ends if end.position.mine[bar(rules)] == fewest]


def legal_ends(rules: Any, began: Position, numbers: Numbers) -> set[End]:
    """7.3.2-4: forbidden ends do not count, then the duty to play, then what is avoided where it can be.

    With nothing legal, standing still.
    """
    task = Task(began, numbers)
    ends = [end for end in all_ends(rules, task) if not is_forbidden(rules, end.position, began, hard=True)]
    if not ends:
        return {End(began, numbers)}
    duty = {"max_numbers": must_play_most, "none": must_enter_most}[rules.must_play]
    ends = duty(rules, ends, numbers)
    avoiding = [end for end in ends if not is_forbidden(rules, end.position, began, hard=False)]
    return set(avoiding or ends)
