"""A scalar rulebook: every legal result of one decision, found step by step.

It judges the batch generator, so it shares nothing with it. It imports nothing from the engine,
reads the plain data of a ruleset (numbers, words, names of parts, fields of parts) and calls
nothing there. Rules are named as in the rules text: C1-C10 are the shared ones, V1-V4 the games,
7.3 the order in which they are applied, BG-7 and the like worked positions.

A row holds one side's checkers in its OWN count: row[0] off, row[1..P] the points, row[P + 1] the
bar, row[P + 2] the hand, then what the rules have to remember. `mine` is the side that decides.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

Row = tuple[int, ...]
Numbers = tuple[int, ...]
OFF = 0


@dataclass(frozen=True)
class Position:
    """Both sides' checkers, the chooser's first, each in its own count."""

    mine: Row
    theirs: Row


@dataclass(frozen=True)
class Result:
    """What one decision leads to, still as the chooser sees it.

    `pending` is what comes next ("roll", "toss"; None where the game is over), `passed` whether
    the other side acts on it, `points` what the chooser gets where the game has ended.
    """

    mine: Row
    theirs: Row
    pending: str | None
    passed: bool
    points: int | None


# -- which rules this book knows ----------------------------------------------------------------------

KNOWN_FIELDS = {
    "Ruleset": "name title sources aliases notes house_rules house points checkers setup track opening next_starter "
    "must_play higher_die ply_limit contact turn bearing scoring limits formations binding",
    "Hit": "gate fate",
    "HomeGate": "latched counts_off midturn side",
    "PlainTurn": "times memory",
    "FirstRollEnters": "order_matters",
    "ClosedBoard": "hard",
    "StandardBearing": "while_pinned",
    "FreeBearing": "while_pinned",
    "Race": "points order_matters",
    "BindTheTables": "strip toss",
}


class UnknownRule(ValueError):
    """The ruleset holds something that this book has no rule for."""


def kind(part: Any) -> str:
    """The name of a part's class."""
    return type(part).__name__


def check_all_known(rules: Any) -> None:
    """Refuse a part or a field that would otherwise be passed over in silence."""
    parts = [rules, rules.contact, rules.turn, rules.bearing, rules.scoring, *rules.limits, *rules.formations]
    gate = rules.contact.gate if kind(rules.contact) == "Hit" else None
    for part in [*parts, *(part for part in (gate, rules.binding) if part is not None)]:
        unknown = {field.name for field in fields(part)} - set(KNOWN_FIELDS.get(kind(part), "").split())
        if kind(part) not in KNOWN_FIELDS or unknown:
            raise UnknownRule(f"no rule for {kind(part)} with {sorted(unknown)}")


# -- 1.1 the board ------------------------------------------------------------------------------------


def quarter(rules: Any) -> int:
    """P/4: the home points are P/4..1, a die has P/4 faces."""
    return int(rules.points) // 4


def bar(rules: Any) -> int:
    """The slot of hit checkers."""
    return int(rules.points) + 1


def hand(rules: Any) -> int:
    """The slot of checkers that have never entered."""
    return int(rules.points) + 2


def memory(rules: Any) -> dict[str, int]:
    """Where the things that the contact and the turn remember stand: behind the hand, each once."""
    names = dict.fromkeys(rules.contact.memory + rules.turn.memory)
    return {name: hand(rules) + 1 + index for index, name in enumerate(names)}


def facing(rules: Any, point: int) -> int:
    """His number of my point; the other way round as well."""
    half = int(rules.points) // 2
    opposite, half_way_round = int(rules.points) + 1 - point, point - half if point > half else point + half
    return {"contrary": opposite, "parallel12": half_way_round, "parallel0": point}[rules.track]


def as_row(rules: Any, counts: Any) -> Row:
    """A row cut to the slots that the game has."""
    return tuple(int(count) for count in counts)[: hand(rules) + 1 + len(memory(rules))]


def moved(row: Row, source: int, target: int, count: int = 1) -> Row:
    """The row after `count` of its checkers went from one slot to another."""
    cells = list(row)
    cells[source] -= count
    cells[target] += count
    return tuple(cells)


def roll_numbers(rules: Any, a: int, b: int) -> Numbers:
    """The numbers that a roll of `a` and `b` gives: each once, a double twice or four times."""
    check_all_known(rules)
    if a == b:
        return (a,) * int(rules.turn.times)  # C8: four times; V2 `each_once`: each die once
    return (max(a, b), min(a, b))


# -- C1-C6 one step -------------------------------------------------------------------------------------


def has_been_home(rules: Any, row: Row) -> bool:
    """V4 `hit_gate`: this side has a checker home, or borne off where that counts, or has earned it before."""
    gate = rules.contact.gate
    if any(row[point] > 0 for point in range(1, quarter(rules) + 1)):
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


def is_open(rules: Any, now: Position, began: Position, point: int) -> bool:
    """C2 block 2: two of his close a point. V4: before I may hit, a lone one blocks as well."""
    his = now.theirs[facing(rules, point)]
    return his == 0 or (his == 1 and may_hit(rules, now, began))


def landed(rules: Any, now: Position, source: int, point: int) -> Position:
    """One checker of mine goes to an open point. C3: a lone checker of his there goes to his bar."""
    theirs = now.theirs
    if theirs[facing(rules, point)] == 1:
        theirs = moved(theirs, facing(rules, point), bar(rules))
    return Position(moved(now.mine, source, point), theirs)


def may_bear_off(rules: Any, row: Row, point: int, die: int) -> bool:
    """May this die remove a checker from this home point? All must be home or off."""
    if sum(row[OFF : quarter(rules) + 1]) != rules.checkers:  # a pinned checker would count -1
        return False
    nothing_higher = all(row[higher] == 0 for higher in range(point + 1, quarter(rules) + 1))
    if kind(rules.bearing) == "StandardBearing":  # C6: from point d, or from the highest if all stand below d
        return point == die or (point < die and nothing_higher)
    if kind(rules.bearing) == "FreeBearing":  # V2: any checker on a point <= d
        return point <= die
    raise UnknownRule(f"no rule for {kind(rules.bearing)}")


def sources(rules: Any, row: Row) -> list[int]:
    """The slots a checker may leave. C4: while one is on the bar, only that. V4: the hand is optional."""
    if row[bar(rules)] > 0:
        return [bar(rules)]
    return [slot for slot in [*range(1, rules.points + 1), hand(rules)] if row[slot] > 0]


def is_allowed(rules: Any, limit: Any, began: Position, source: int) -> bool:
    """Does this limit let a step leave from here?"""
    assert kind(limit) == "FirstRollEnters"  # V4 `enter_only`: a roll that begins with all in hand only enters
    return began.mine[hand(rules)] != rules.checkers or source == hand(rules)


def one_step(rules: Any, now: Position, began: Position, die: int) -> list[Position]:
    """C1: every position that one step of one checker by `die` leads to."""
    after = []
    for source in sources(rules, now.mine):
        if not all(is_allowed(rules, limit, began, source) for limit in rules.limits):
            continue
        enters = source in (bar(rules), hand(rules))
        target = rules.points + 1 - die if enters else source - die  # 1.1: entering lands on 25 - d
        if target >= 1:
            if is_open(rules, now, began, target):
                after.append(landed(rules, now, source, target))
        elif may_bear_off(rules, now.mine, source, die):
            after.append(Position(moved(now.mine, source, OFF), now.theirs))
    return after


# -- 7.3 the legal plays of a tier ----------------------------------------------------------------------


@dataclass(frozen=True)
class End:
    """Where a play may stop: the position, and the numbers it has not played."""

    position: Position
    left: Numbers


def all_ends(rules: Any, began: Position, numbers: Numbers) -> set[End]:
    """7.3.1: everything reachable in any order of the numbers, standing still included.

    A play stops where it ends the game (C5); any other may stop, or go on with any number left.
    """
    seen: set[End] = set()

    def go_on(end: End) -> None:
        if end in seen:
            return
        seen.add(end)
        if is_over(rules, end.position.mine, end.position.theirs):
            return
        for die in set(end.left):
            rest = list(end.left)
            rest.remove(die)
            for position in one_step(rules, end.position, began, die):
                go_on(End(position, tuple(rest)))

    go_on(End(began, numbers))
    return seen


def is_closed_against_bar(rules: Any, position: Position) -> bool:
    """V2: all my home points hold two or more while he has a checker on the bar."""
    closed = all(position.mine[point] >= 2 for point in range(1, quarter(rules) + 1))
    return closed and position.theirs[bar(rules)] > 0


def is_forbidden(rules: Any, position: Position) -> bool:
    """A hard formation: may this position not be left standing? A play that ends the game is exempt."""
    kinds = [kind(formation) for formation in rules.formations]
    is_bad = "ClosedBoard" in kinds and is_closed_against_bar(rules, position)
    return is_bad and not is_over(rules, position.mine, position.theirs)


def played(rules: Any, end: End, numbers: Numbers) -> int:
    """How many numbers a play has used. C5, BG-7: one that ends the game has used them all."""
    over = is_over(rules, end.position.mine, end.position.theirs)
    return len(numbers) if over else len(numbers) - len(end.left)


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


def legal_ends(rules: Any, began: Position, numbers: Numbers) -> set[Position]:
    """7.3.2, 7.3.3: forbidden ends do not count, then the duty to play; with nothing legal, standing still."""
    ends = [end for end in all_ends(rules, began, numbers) if not is_forbidden(rules, end.position)]
    if not ends:
        return {began}
    duty = {"max_numbers": must_play_most, "none": must_enter_most}[rules.must_play]
    return {end.position for end in duty(rules, ends, numbers)}


def is_over(rules: Any, mine: Row, theirs: Row) -> bool:
    """C9: one side has borne off all its checkers."""
    return bool(mine[OFF] == rules.checkers or theirs[OFF] == rules.checkers)


def win_points(rules: Any, loser: Row) -> int:
    """C9: single; gammon, the loser has off = 0; backgammon, moreover one on the bar or in his start quarter."""
    start_quarter = range(rules.points - quarter(rules) + 1, rules.points + 1)
    gammon = loser[OFF] == 0
    backgammon = gammon and any(loser[slot] != 0 for slot in [bar(rules), *start_quarter])
    level = 2 if backgammon else 1 if gammon else 0
    return int(rules.scoring.points[min(level, len(rules.scoring.points) - 1)])


# -- after the play --------------------------------------------------------------------------------------


def remembered(rules: Any, row: Row) -> Row:
    """V4 `home_latched`: whoever has a checker home or off as a decision ends keeps the gate for ever."""
    slot = memory(rules).get("latch")
    if slot is None or not any(row[place] > 0 for place in range(OFF, quarter(rules) + 1)):
        return row
    return (*row[:slot], 1, *row[slot + 1 :])


def result_of(rules: Any, position: Position) -> Result:
    """7.3.6: a finished game has no more of its turn; else binding (V2); else the turn passes."""
    mine, theirs = remembered(rules, position.mine), remembered(rules, position.theirs)
    if is_over(rules, mine, theirs):
        return Result(mine, theirs, None, False, win_points(rules, theirs))
    if rules.binding is not None and is_closed_against_bar(rules, position):
        return Result(mine, theirs, "toss", False, None)
    return Result(mine, theirs, "roll", True, None)


def results(rules: Any, mine: Any, theirs: Any, numbers: Numbers) -> set[Result]:
    """Every result of playing these numbers: (6, 5), (4, 4, 4, 4), (6, 6)."""
    check_all_known(rules)
    began = Position(as_row(rules, mine), as_row(rules, theirs))
    if is_over(rules, began.mine, began.theirs):
        raise ValueError("the game is over")
    return {result_of(rules, position) for position in legal_ends(rules, began, numbers)}


def openings(rules: Any, mine: Any, theirs: Any, event: str) -> set[Result]:
    """V2 binding: what the chooser may open of his own closed board (`open`) or of the other (`open_theirs`).

    `strip`: all but one of the checkers on the point go to their owner's bar, else a single one.
    Whoever chooses, the side that was not bound rolls next.
    """
    check_all_known(rules)
    if event not in ("open", "open_theirs"):
        raise UnknownRule(f"no rule for the event {event}")
    now = Position(as_row(rules, mine), as_row(rules, theirs))
    bound = now.mine if event == "open" else now.theirs
    found = set()
    for point in range(1, quarter(rules) + 1):
        opened = moved(bound, point, bar(rules), bound[point] - 1 if rules.binding.strip else 1)
        rows = (opened, now.theirs) if event == "open" else (now.mine, opened)
        found.add(Result(remembered(rules, rows[0]), remembered(rules, rows[1]), "roll", event == "open", None))
    return found
