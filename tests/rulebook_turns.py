"""The scalar rulebook of turns: what a roll gives, what follows a play, and the choices between.

A queue is the rest of a side's turn: tiers of numbers such as (6, 5) or (4, 4, 4, 4), and words:
"roll", "name" (a double), "either" (play the opening throw or roll afresh), "toss", "open", and
"own_roll", a roll that cannot be lost, where there are bonus rolls that can.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

from tests.rulebook import End, Task, all_ends, is_closed_against_bar, is_forbidden, is_over, legal_ends, points_won
from tests.rulebook_board import (
    Numbers,
    Position,
    Queue,
    Result,
    Row,
    UnknownRule,
    as_row,
    bar,
    check_all_known,
    hand,
    home,
    kind,
    memory,
    moved,
    passed_on,
    quarter,
    remembered,
    waiting,
)


def text_of(queue: Queue) -> str:
    """A queue as position texts write it: `65`, `3333,roll`."""
    return ",".join(item if isinstance(item, str) else "".join(map(str, item)) for item in queue)


# -- C8, section 4 what a roll gives ------------------------------------------------------------------------


def is_in_grace(rules: Any, position: Position) -> bool:
    """V15 `cascade_grace`: my first turns, or the first turns of the game, have ordinary doubles."""
    grace, slot = rules.turn.early, memory(rules).get("turns")
    if slot is None:
        return False
    mine, theirs = position.mine[slot], position.theirs[slot]
    return bool((mine + theirs if grace.shared else mine) < grace.turns)


def tiers_of_double(rules: Any, number: int) -> tuple[Numbers, ...]:
    """C8: four times; V6: then the complement; V15: then every higher number as well."""
    faces = quarter(rules)
    tiers = {
        "x4": (number,),
        "complement": (number, faces + 1 - number),
        "cascade": tuple(range(number, faces + 1)),
    }[rules.turn.doubles]
    return tuple((tier,) * 4 for tier in tiers)


def still_given(rules: Any, position: Position, rest: Queue) -> Queue:
    """V6-V8: what of the rest of a double's queue is given while a checker is in the hand.

    The bonus roll follows the complement: without the one there is not the other.
    """
    entering = rules.turn.early
    if position.mine[hand(rules)] == 0 or (entering.complement and entering.bonus):
        return rest
    if not entering.complement:
        return ()
    return tuple(item for item in rest if item != "roll")


def double(rules: Any, position: Position, number: int, is_named: bool) -> Queue:
    """The queue of a double, rolled or named, and its bonus roll."""
    turn = rules.turn
    tiers: Queue = tiers_of_double(rules, number)
    if is_named:
        has_bonus = "after_named" in turn.bonus
    else:
        has_bonus = {"x4": "after_double", "complement": "after_complement", "cascade": None}[
            turn.doubles
        ] in turn.bonus
    queue: Queue = (*tiers, "roll") if has_bonus else tiers
    if kind(turn.early) == "Grace" and is_in_grace(rules, position):
        return tiers[:1]
    if kind(turn.early) == "Entering" and not turn.early.at_tier_end:
        return (queue[0], *still_given(rules, position, queue[1:]))
    return queue


def program(rules: Any, mine: Any, theirs: Any, a: int, b: int) -> Queue:
    """The queue that a roll gives."""
    check_all_known(rules)
    if a != b:
        pair = (max(a, b), min(a, b))
        names_double = kind(rules.turn) == "LongTurn" and rules.turn.ace_deuce and pair == (2, 1)  # V5
        return (pair, "name") if names_double else (pair,)
    if kind(rules.turn) == "PlainTurn":
        return ((a,) * int(rules.turn.times),)  # C8: four times; V2 `each_once`: each die once
    return double(rules, Position(as_row(rules, mine), as_row(rules, theirs)), a, is_named=False)


# -- C10, 7.3.6 what follows a play -------------------------------------------------------------------------


def are_left_overs(rules: Any, queue: Queue) -> bool:
    """V16: numbers that the other side has left me: my own roll stands behind them, which is never lost."""
    turn = rules.turn
    return kind(turn) == "LongTurn" and turn.left_overs is not None and queue[-1] == own_roll(rules)


def own_roll(rules: Any) -> str:
    """The roll after left-over numbers; where there are bonus rolls too, a word of its own."""
    return "own_roll" if rules.turn.bonus else "roll"


def only_roll(queue: Queue) -> Queue:
    """A roll that stands alone is a roll, whichever it was."""
    return ("roll",) if queue == ("own_roll",) else queue


def follows(rules: Any, queue: Queue, end: End) -> tuple[Queue, bool]:
    """What comes next, and whether it is the other side's.

    C10: a complete tier is followed by the next. After an incomplete one the rest is lost, or goes
    to the other side (V16), numbers only; what he cannot play of that does not come back, and his
    own roll follows.
    """
    turn, tier, rest = rules.turn, queue[0], queue[1:]
    assert not isinstance(tier, str)
    over: tuple[Queue, bool] = (("roll",), True)
    if kind(turn) == "PlainTurn":
        return over
    if are_left_overs(rules, queue):
        goes_on = not end.left or turn.left_overs.skip
        return only_roll(rest if goes_on else queue[-1:]), False
    is_double = len(set(tier)) == 1
    is_entering = end.position.mine[hand(rules)] > 0
    if rest and is_double and kind(turn.early) == "Entering" and turn.early.at_tier_end and is_entering:
        # judged as the tier ends: is what comes next given, the bonus roll or the complement?
        rest = rest if (turn.early.bonus if rest[0] == "roll" else turn.early.complement) else ()
    if not end.left:
        return (rest, False) if rest else over
    if turn.left_overs is None or (turn.left_overs.doubles_only and not is_double):
        return over
    return (end.left, *(item for item in rest if not isinstance(item, str)), own_roll(rules)), True


def can_ever_step(rules: Any, position: Position) -> bool:
    """Has this side a legal step with any roll?"""
    for a, b in combinations_with_replacement(range(1, quarter(rules) + 1), 2):
        numbers = program(rules, position.mine, position.theirs, a, b)[0]
        assert not isinstance(numbers, str)
        for end in all_ends(rules, Task(position, numbers)):
            if end.left != numbers and not is_forbidden(rules, end.position, position, hard=True):
                return True
    return False


def is_dead(rules: Any, position: Position) -> bool:
    """7.5, TA-1: neither side has a legal step with any roll."""
    other = Position(position.theirs, position.mine)
    return not can_ever_step(rules, position) and not can_ever_step(rules, other)


def result_of(rules: Any, queue: Queue, end: End, is_forced_pass: bool) -> Result:
    """7.3.6: a finished game has no more of its turn; else binding (V2); else what follows.

    7.5: after a forced pass, which in 7.3.5 is a tier with no legal play, a dead position is a draw.
    """
    mine, theirs = remembered(rules, end.position.mine), waiting(rules, remembered(rules, end.position.theirs))
    now = Position(mine, theirs)
    points = points_won(rules, now)
    if points is not None:
        return Result(mine, theirs, None, False, points)
    if rules.binding is not None and is_closed_against_bar(rules, now):
        return Result(mine, theirs, "toss", False, None)
    rest, passes = follows(rules, queue, end)
    if is_forced_pass and getattr(rules.scoring, "deadlock", False) and is_dead(rules, now):
        return Result(mine, theirs, None, False, 0)
    if passes:
        now = passed_on(rules, now)
    return Result(now.mine, now.theirs, text_of(rest), passes, None)


# -- the decisions ------------------------------------------------------------------------------------------


def openings(rules: Any, now: Position, event: str) -> set[Result]:
    """V2 binding: what the chooser may open of his own closed board (`open`) or of the other (`open_theirs`).

    `strip`: all but one of the checkers on the point go to their owner's bar, else a single one.
    Whoever chooses, the side that was not bound rolls next.
    """
    bound = now.mine if event == "open" else now.theirs
    found = set()
    for point in home(rules):
        opened = moved(bound, point, bar(rules), bound[point] - 1 if rules.binding.strip else 1)
        rows = (opened, now.theirs) if event == "open" else (now.mine, opened)
        found.add(Result(remembered(rules, rows[0]), remembered(rules, rows[1]), "roll", event == "open", None))
    return found


def results(rules: Any, mine: Any, theirs: Any, queue: Queue) -> set[Result]:
    """Every result of the first item of a queue: numbers to be played, or a choice."""
    check_all_known(rules)
    now, item = Position(as_row(rules, mine), as_row(rules, theirs)), queue[0]
    if is_over(rules, now):
        raise ValueError("the game is over")
    if not isinstance(item, str):
        ends = legal_ends(rules, now, item)
        return {result_of(rules, queue, end, is_forced_pass=ends == {End(now, item)}) for end in ends}
    if item in ("open", "open_theirs"):
        return openings(rules, now, item)
    if item == "name":  # V5: any double may be named
        choices = [double(rules, now, number, is_named=True) for number in range(1, quarter(rules) + 1)]
    elif item == "either":  # C7 `high_chooses`: the two numbers thrown, or both dice afresh
        choices = [queue[1:], ("roll",)]
    else:
        raise UnknownRule(f"no rule for the choice {item}")
    rows: tuple[Row, Row] = (remembered(rules, now.mine), remembered(rules, now.theirs))
    return {Result(*rows, text_of(choice), False, None) for choice in choices}
