"""Positions as text, both ways.

    position = side " / " side [ " | " extra ]        MINE, who acts, then THEIRS
    side     = item { " " item }                      each side in its own count: P..1 towards home
    item     = slot ":" count                         slot: a point, `bar`, `hand`, `off`, or `p10` (pinned there)
    extra    = field { " " field }                    what the board cannot tell
    field    = memory ":" n "," n | "queue:" what { "," what }

Checkers that are not listed are off. `queue` is the rest of MINE's turn: `6666,roll`, `65`, `open`.
What a rule remembers (`latch`, `turns`) may be left out where the board tells it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from engine.queues import name_of, queues_of
from engine.ruleset import InputError, Queue, Ruleset
from engine.slots import MINE, OFF, SLOTS, THEIRS, Boards, is_number

Row = npt.NDArray[np.int8]


class PositionError(InputError):
    """A position, roll or queue text is wrong; the message names the place and what would be right."""


def parse_position(text: str, rules: Ruleset) -> tuple[Boards, Queue | None]:
    """The (2, SLOTS) board of a position text, and its queue where one is given.

    Raises:
        PositionError: unreadable, a wrong number of checkers, or a point held by both sides.
    """
    body, bar, extra = text.partition("|")
    sides = body.split("/")
    if len(sides) != 2:
        raise PositionError(f"position {text.strip()!r}: must be 'MINE / THEIRS', found {len(sides)} side(s)")
    board = np.stack([parse_side(side, rules) for side in sides])
    for side, name in ((MINE, "mine"), (THEIRS, "theirs")):
        total = int(np.abs(board[side]).sum())
        if total > rules.checkers:
            raise PositionError(f"{name}: {total} checkers, {rules.name} has {rules.checkers} a side")
        board[side, OFF] += rules.checkers - total
    _refuse_shared_points(board, rules)
    rules.recall(board[None])
    queue = None
    for field in extra.split() if bar else []:
        key, _, value = field.partition(":")
        if key == "queue":
            queue = parse_queue(value, rules)
        elif key in rules.memory or key == "turns":  # turns may always be said; some rules do not count them
            _remember(board, key, value, rules)
        else:
            known = ", ".join(["queue", *dict.fromkeys(["turns", *rules.memory])])
            raise PositionError(f"extra {field!r}: {rules.name} knows {known} here")
    return board, queue


def parse_side(text: str, rules: Ruleset) -> Row:
    """One side's (SLOTS,) row, without the checkers that are off because nothing lists them."""
    row = np.zeros(SLOTS, np.int8)
    names = {"off": OFF, "bar": rules.bar, "hand": rules.hand}
    names |= {str(point): point for point in range(1, rules.points + 1)}
    for item in text.split():
        name, colon, count = item.partition(":")
        is_pinned = name[:1] == "p" and is_number(name[1:])
        slot = names.get(name[1:] if is_pinned else name)
        if slot is None or not colon:
            raise PositionError(f"item {item!r}: must be SLOT:COUNT, with bar, hand, off or a point 1..{rules.points}")
        if not is_number(count):
            raise PositionError(f"item {item!r}: {count!r} is not a number of checkers")
        if int(count) > rules.checkers:
            raise PositionError(f"item {item!r}: {rules.name} has {rules.checkers} checkers a side")
        if row[slot]:
            raise PositionError(f"item {item!r}: {name} is named twice")
        pins = rules.contact.fate == "pinned"
        if is_pinned and not (pins and count == "1"):
            why = "only one checker can be pinned on a point" if pins else "nothing is pinned in this game"
            raise PositionError(f"item {item!r}: {why}")
        row[slot] = -1 if is_pinned else int(count)
    total = int(np.abs(row).sum())
    if total > rules.checkers:
        raise PositionError(f"{text.strip()!r}: {total} checkers, {rules.name} has {rules.checkers} a side")
    return row


def _refuse_shared_points(board: Boards, rules: Ruleset) -> None:
    """A point belongs to one side, unless the other has a single checker pinned there."""
    for point in range(1, rules.points + 1):
        mine, theirs = int(board[MINE, point]), int(board[THEIRS, rules.opposing(point)])
        if mine > 0 and theirs > 0:
            raise PositionError(f"point {point}: both sides stand there, it is their {rules.opposing(point)}")
        if mine < 0 and theirs <= 0:
            raise PositionError(f"point {point}: pinned by nobody, their {rules.opposing(point)} is empty")
        if theirs < 0 and mine <= 0:
            raise PositionError(f"point {point}: their {rules.opposing(point)} is pinned by nobody")


def _remember(board: Boards, name: str, value: str, rules: Ruleset) -> None:
    """Write `name:mine,theirs` into the board."""
    counts = value.split(",")
    if len(counts) != 2 or not all(is_number(count) and int(count) < 100 for count in counts):
        raise PositionError(f"{name}:{value}: must be {name}:MINE,THEIRS, two small numbers")
    most = rules.turns_told if name == "turns" else rules.checkers
    if name in rules.memory:
        board[:, rules.memory[name]] = [min(int(count), most) for count in counts]


def parse_queue(text: str, rules: Ruleset) -> Queue:
    """The queue that a text such as `6666,roll` or `56` names.

    Raises:
        PositionError: no such queue can be pending in these rules.
    """
    queue = tuple(tuple(sorted(map(int, item), reverse=True)) if is_number(item) else item for item in text.split(","))
    known = queues_of(rules)
    if queue not in known.items:
        raise PositionError(f"queue:{text}: {rules.name} never has this pending; it has {', '.join(known.names)}")
    return queue


def parse_roll(text: str, rules: Ruleset) -> tuple[int, int] | None:
    """The roll of a text such as `6-5`, the larger number first; None for `-`, no roll.

    Raises:
        PositionError: not two faces of a die.
    """
    if text == "-":
        return None
    faces = text.split("-")
    if len(faces) != 2 or not all(is_number(face) and 1 <= int(face) <= rules.faces for face in faces):
        raise PositionError(
            f"roll {text!r}: must be two numbers from 1 to {rules.faces}, such as {rules.faces}-1, or -"
        )
    a, b = int(faces[0]), int(faces[1])
    return max(a, b), min(a, b)


def decision(text: str, roll: str, rules: Ruleset) -> tuple[Boards, int]:
    """The (2, SLOTS) board and the pending code of a position text with a roll, or with a queue and `-`.

    Raises:
        PositionError: unreadable, impossible, both a roll and a queue, or neither.
    """
    board, queue = parse_position(text, rules)
    thrown = parse_roll(roll, rules)
    if thrown is not None and queue is not None:
        raise PositionError(f"roll {roll!r}: the position's queue says what is to be played; the roll must be -")
    if thrown is not None:
        early = bool(rules.turn.is_early(board[None], rules)[0])
        queue = rules.turn.program(thrown, early, rules)
    if queue is None:
        raise PositionError("roll '-': the position has no queue, so it needs a roll such as 6-5")
    code = queues_of(rules).code(queue)
    if queues_of(rules).is_chance[code]:
        raise PositionError(f"queue:{name_of(queue)}: waits for dice, nobody decides here; give a roll")
    if (rules.scoring.outcome(np.stack([board, board[::-1]]), rules) >= 0).any():
        raise PositionError(f"position {text.strip()!r}: the game is over, nobody has anything to play")
    return board, code


def format_side(row: Row, rules: Ruleset) -> str:
    """One side's text: bar, hand, points from high to low, off."""
    items = [("bar", row[rules.bar]), ("hand", row[rules.hand])]
    items += [(f"p{point}" if row[point] < 0 else str(point), abs(row[point])) for point in range(rules.points, 0, -1)]
    items.append(("off", row[OFF]))
    return " ".join(f"{name}:{count}" for name, count in items if count)


def format_position(board: Boards, rules: Ruleset, queue: Queue | None = None, *, memory: bool = True) -> str:
    """The text of a (2, SLOTS) board, with its memory and its queue where asked for."""
    text = f"{format_side(board[MINE], rules)} / {format_side(board[THEIRS], rules)}"
    extra = [f"{name}:{board[MINE, slot]},{board[THEIRS, slot]}" for name, slot in rules.memory.items() if memory]
    if queue is not None:
        extra.append(f"queue:{name_of(queue)}")
    return f"{text} | {' '.join(extra)}" if extra else text


def format_board(board: Boards, rules: Ruleset) -> str:
    """A diagram of a (2, SLOTS) board as MINE sees it: X mine, O theirs, x and o pinned.

    The lower row counts towards my home on the right, the upper one away from it.
    """
    half = rules.points // 2

    def cell(point: int) -> str:
        mine, theirs = int(board[MINE, point]), int(board[THEIRS, rules.opposing(point)])
        marks = [f"{abs(n)}{letter if n > 0 else letter.lower()}" for n, letter in ((mine, "X"), (theirs, "O")) if n]
        return f"{'/'.join(marks) or '.':>6}"

    def line(points: list[int], show: Callable[[int], str]) -> str:
        left, right = points[: half // 2], points[half // 2 :]
        return "".join(map(show, left)) + "  |" + "".join(map(show, right))

    upper, lower = list(range(half + 1, rules.points + 1)), list(range(half, 0, -1))
    number = "{:6}".format
    lines = [line(upper, number), line(upper, cell), line(lower, cell), line(lower, number)]
    for side, letter in ((THEIRS, "O"), (MINE, "X")):
        stocks = [("bar", rules.bar), ("hand", rules.hand), ("off", OFF)]
        held = [f"{name} {board[side, slot]}" for name, slot in stocks if board[side, slot]]
        lines.insert(0 if side == THEIRS else len(lines), f"  {letter}  {', '.join(held)}".rstrip())
    return "\n".join(lines)
