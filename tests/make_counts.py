"""Counts of legal results, made by the scalar rulebook alone: `python -m tests.make_counts [--write] [VARIANT ..]`.

Each game has a file in `tests/counts`: a position, a roll (`-` where the position says what is to be
played), the number of distinct results. First the opening position with every roll, then positions
of the middle and the end of games that the rulebook plays against itself, at random. Without
`--write` the files are only compared.
"""

from __future__ import annotations

import argparse
import random
import sys
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

from engine import VARIANTS
from tests import rulebook_board as board
from tests import rulebook_turns as turns
from tests.rulebook_board import OFF, PINNED, Position, Queue, Row

FOLDER = Path(__file__).parent / "counts"
SEED = 4_711
GAMES, EACH, ROLLS = 5, 4, 3  # games a variant, positions a game, rolls a position
LONGEST = 600  # decisions of a game


def start_row(rules: Any) -> Row:
    """One side's checkers as a game starts, no turn begun, nothing earned."""
    row = [0] * (board.hand(rules) + 1)
    words = {"hand": ((board.hand(rules), rules.checkers),), "head": ((rules.points, rules.checkers),)}
    for slot, count in words[rules.setup] if isinstance(rules.setup, str) else rules.setup:
        row[slot] = count
    return (*row, *[row[rules.points] if name == "head" else 0 for name in board.memory(rules)])


def side_text(rules: Any, row: Row) -> str:
    """One side as position texts write it."""
    slots = [("bar", board.bar(rules)), ("hand", board.hand(rules))]
    items = [f"{name}:{row[slot]}" for name, slot in slots if row[slot]]
    for point in range(rules.points, 0, -1):
        if row[point]:
            items.append(f"p{point}:1" if row[point] == PINNED else f"{point}:{row[point]}")
    return " ".join(items + [f"off:{row[OFF]}"] * bool(row[OFF]))


def position_text(rules: Any, now: Position, queue: Queue) -> str:
    """A position with what is remembered, and with its queue where no roll is thrown."""
    extra = [f"{name}:{now.mine[slot]},{now.theirs[slot]}" for name, slot in board.memory(rules).items()]
    if queue != ("roll",):
        extra.append(f"queue:{turns.text_of(queue)}")
    sides = f"{side_text(rules, now.mine)} / {side_text(rules, now.theirs)}"
    return " | ".join([sides, " ".join(extra)] if extra else [sides])


def queue_of(text: str) -> Queue:
    """The queue that a text means."""
    return tuple(tuple(map(int, item)) if item.isdigit() else item for item in text.split(","))


def rolls_of(rules: Any) -> list[tuple[int, int]]:
    """Every roll, the larger number first."""
    return [(b, a) for a, b in combinations_with_replacement(range(1, board.quarter(rules) + 1), 2)]


def thrown(rules: Any, chance: random.Random) -> tuple[int, int]:
    """Two dice."""
    return chance.randint(1, board.quarter(rules)), chance.randint(1, board.quarter(rules))


def played_game(rules: Any, chance: random.Random) -> list[tuple[Position, Queue]]:
    """What was pending before each decision of a game of random play, up to a certain length."""
    now, queue = Position(start_row(rules), start_row(rules)), queue_of("roll")
    seen: list[tuple[Position, Queue]] = []
    for _ in range(LONGEST):
        if queue == ("toss",):  # each side opens a point with the same chance
            queue = queue_of("open")
            if chance.random() < 0.5:
                now, queue = Position(now.theirs, now.mine), queue_of("open_theirs")
        seen.append((now, queue))
        if queue == ("roll",):
            queue = turns.program(rules, now.mine, now.theirs, *thrown(rules, chance))
        results = turns.results(rules, now.mine, now.theirs, queue)
        result = chance.choice(sorted(results, key=repr))
        if result.pending is None:
            break
        now, queue = Position(result.mine, result.theirs), queue_of(result.pending)
        if result.passed:
            now = Position(now.theirs, now.mine)
    return seen


def line(rules: Any, now: Position, queue: Queue, roll: tuple[int, int] | None) -> str:
    """Position, roll and count."""
    played = turns.program(rules, now.mine, now.theirs, *roll) if roll else queue
    count = len(turns.results(rules, now.mine, now.theirs, played))
    return f"{position_text(rules, now, queue)}\t{'-'.join(map(str, roll)) if roll else '-'}\t{count}"


def counts(rules: Any) -> str:
    """The whole file of a game."""
    chance = random.Random(SEED)
    start = Position(start_row(rules), start_row(rules))
    lines = [line(rules, start, ("roll",), roll) for roll in rolls_of(rules)]
    for _ in range(GAMES):
        game = played_game(rules, chance)
        for part in range(1, EACH + 1):  # from the middle to the last decision
            now, queue = game[max(len(game) * (EACH + part) // (2 * EACH) - 1, 0)]
            if queue == ("roll",):
                lines += [line(rules, now, queue, roll) for roll in chance.sample(rolls_of(rules), ROLLS)]
            else:
                lines.append(line(rules, now, queue, None))
    return "\n".join(dict.fromkeys(lines)) + "\n"


def main() -> int:
    """Write the files, or say which differ."""
    parser = argparse.ArgumentParser(description="Counts of legal results by the scalar rulebook.")
    parser.add_argument("variants", nargs="*", help="names of games; all of them if none is given")
    parser.add_argument("--write", action="store_true", help="write the files instead of comparing them")
    asked = parser.parse_args()
    differ = []
    for rules in VARIANTS:
        if asked.variants and rules.name not in asked.variants:
            continue
        path, text = FOLDER / f"{rules.name}.txt", counts(rules)
        if asked.write:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        elif not path.exists() or path.read_text("utf-8") != text:
            differ.append(rules.name)
    print("differ: " + ", ".join(differ) if differ else "as the rulebook counts")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
