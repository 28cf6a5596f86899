"""What the scalar rulebook knows of boards: the data of a ruleset, rows of checkers, what is remembered.

It shares nothing with the generator it judges. It imports nothing from the engine, reads the plain
data of a ruleset (numbers, words, names of parts, fields of parts) and calls nothing there. Rules
are named as in the rules text: C1-C10 are the shared ones, V1-V21 the games, 7.3 the order in
which they are applied, BG-7 and the like worked positions.

A row holds one side's checkers in its OWN count: row[0] off, row[1..P] the points, row[P + 1] the
bar, row[P + 2] the hand, then what the rules have to remember. A checker that lies pinned under
an enemy counts -1 on its point. `mine` is the side that decides.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

Row = tuple[int, ...]
Numbers = tuple[int, ...]
Queue = tuple[Numbers | str, ...]  # the rest of a side's turn: numbers to be played, and words
OFF = 0
PINNED = -1


@dataclass(frozen=True)
class Position:
    """Both sides' checkers, the chooser's first, each in its own count."""

    mine: Row
    theirs: Row


@dataclass(frozen=True)
class Result:
    """What one decision leads to, still as the chooser sees it.

    `pending` is what comes next, as position texts write it ("roll", "6666,roll"; None where the
    game is over), `passed` whether the other side acts on it, `points` what the chooser gets where
    the game has ended.
    """

    mine: Row
    theirs: Row
    pending: str | None
    passed: bool
    points: int | None


# -- which rules this book knows ----------------------------------------------------------------------

KNOWN_FIELDS = {
    "Ruleset": "name title sources aliases notes house_rules house points checkers setup track opening next_starter "
    "must_play higher_die formation_scope ply_limit contact turn bearing scoring limits formations binding",
    "Hit": "gate entry fate",
    "HomeGate": "latched counts_off midturn side",
    "Pin": "",
    "Block": "",
    "PlainTurn": "times memory",
    "LongTurn": "doubles ace_deuce bonus early left_overs",
    "Grace": "turns shared",
    "Entering": "complement bonus at_tier_end",
    "LeftOvers": "doubles_only skip",
    "FirstRollEnters": "",
    "HandFirst": "",
    "NoCrossing": "",
    "EntryTrigger": "needs stock",
    "RunnerFirst": "ahead",
    "HeadLimit": "per_turn opening across_tiers",
    "StackLimit": "most",
    "LastPointLock": "left",
    "HomeFrozen": "",
    "HitterStays": "",
    "ClosedBoard": "hard",
    "Wall": "room",
    "Unblock": "trigger hard",
    "StartQuarterFull": "both",
    "ThirdQuarterLimit": "most",
    "HeadBlocked": "",
    "StandardBearing": "while_pinned",
    "FreeBearing": "while_pinned",
    "ExactBearing": "while_pinned",
    "Race": "points third deadlock",
    "PerChecker": "deadlock",
    "Mother": "race value immediate",
    "BindTheTables": "strip toss",
}
NESTED = {"Hit": ["gate"], "LongTurn": ["early", "left_overs"], "Mother": ["race"]}  # fields that hold a part


class UnknownRule(ValueError):
    """The ruleset holds something that this book has no rule for."""


def kind(part: Any) -> str:
    """The name of a part's class."""
    return type(part).__name__


def parts_of(rules: Any) -> list[Any]:
    """The ruleset, its parts, and the parts of these."""
    parts = [rules, rules.contact, rules.turn, rules.bearing, rules.scoring, *rules.limits, *rules.formations]
    if rules.binding is not None:
        parts.append(rules.binding)
    inner = [getattr(part, name) for part in parts for name in NESTED.get(kind(part), [])]
    return parts + [part for part in inner if part is not None]


@cache
def check_all_known(rules: Any) -> None:
    """Refuse a part or a field that would otherwise be passed over in silence."""
    for part in parts_of(rules):
        unknown = {field.name for field in fields(part)} - set(KNOWN_FIELDS.get(kind(part), "").split())
        if kind(part) not in KNOWN_FIELDS or unknown:
            raise UnknownRule(f"no rule for {kind(part)} with {sorted(unknown)}")
    if rules.binding is not None and kind(rules.turn) != "PlainTurn":
        raise UnknownRule("no rule for a board opened in a turn of several tiers")
    if kind(rules.contact) == "Pin" and rules.track != "contrary":
        raise UnknownRule("no rule for a mother where both move the same way")


# -- 1.1 the board ------------------------------------------------------------------------------------


def quarter(rules: Any) -> int:
    """P/4: the home points are P/4..1, a die has P/4 faces, a wall is so long."""
    return int(rules.points) // 4


def home(rules: Any) -> range:
    """My home points."""
    return range(1, quarter(rules) + 1)


def start_quarter(rules: Any) -> range:
    """Own 24..19."""
    return range(rules.points - quarter(rules) + 1, rules.points + 1)


def third_quarter(rules: Any) -> range:
    """Own 12..7: on `parallel12` the start quarter of the other side."""
    return range(quarter(rules) + 1, rules.points // 2 + 1)


def bar(rules: Any) -> int:
    """The slot of hit checkers."""
    return int(rules.points) + 1


def hand(rules: Any) -> int:
    """The slot of checkers that have never entered."""
    return int(rules.points) + 2


def facing(rules: Any, point: int) -> int:
    """His number of my point; the other way round as well."""
    half = int(rules.points) // 2
    opposite, half_way_round = int(rules.points) + 1 - point, point - half if point > half else point + half
    return {"contrary": opposite, "parallel12": half_way_round, "parallel0": point}[rules.track]


def moved(row: Row, source: int, target: int, count: int = 1) -> Row:
    """The row after `count` of its checkers went from one slot to another."""
    cells = list(row)
    cells[source] -= count
    cells[target] += count
    return tuple(cells)


def changed(row: Row, slot: int, value: int) -> Row:
    """The row with another value in one slot."""
    return (*row[:slot], value, *row[slot + 1 :])


# -- 7.1 what has to be remembered -------------------------------------------------------------------------


@cache
def memory(rules: Any) -> dict[str, int]:
    """Where the things that the parts remember stand: behind the hand, each once."""
    remembering = [rules.contact, rules.turn, *rules.limits]
    names = dict.fromkeys(name for part in remembering for name in part.memory)
    return {name: hand(rules) + 1 + index for index, name in enumerate(names)}


def as_row(rules: Any, counts: Any) -> Row:
    """A row cut to the slots that the game has."""
    return tuple(int(count) for count in counts)[: hand(rules) + 1 + len(memory(rules))]


def turns_that_count(rules: Any) -> int:
    """So many first turns differ from later ones: those of grace (V15), the first under a head rule (V10)."""
    grace = [part.turns for part in parts_of(rules) if kind(part) == "Grace"]
    first = [1 for part in parts_of(rules) if kind(part) == "HeadLimit" and part.opening != ()]
    return int(max([0, *grace, *first]))


def remembered(rules: Any, row: Row) -> Row:
    """V4 `home_latched`: whoever has a checker home or off as a decision ends keeps the gate for ever."""
    slot = memory(rules).get("latch")
    if slot is None or not any(row[place] > 0 for place in [OFF, *home(rules)]):
        return row
    return changed(row, slot, 1)


def waiting(rules: Any, row: Row) -> Row:
    """While I play, nobody asks how many stood on his head."""
    slot = memory(rules).get("head")
    return row if slot is None else changed(row, slot, 0)


def passed_on(rules: Any, position: Position) -> Position:
    """My turn is over and his begins: one more turn of mine is past, his head stands as he finds it."""
    slots = memory(rules)
    mine, theirs = position.mine, position.theirs
    if "turns" in slots:
        mine = changed(mine, slots["turns"], min(mine[slots["turns"]] + 1, turns_that_count(rules)))
    if "head" in slots:
        mine = changed(mine, slots["head"], 0)
        theirs = changed(theirs, slots["head"], theirs[rules.points])
    return Position(mine, theirs)
