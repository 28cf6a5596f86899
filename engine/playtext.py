"""Plays as text, both ways.

    play   = move { " " move } | "no play" | choice
    move   = slot hop { hop } [ "(" times ")" ]         one checker, or so many that go the same way
    hop    = "/" slot [ "*" ]                           slot: a point in the mover's count, `bar`, `hand`, `off`
    choice = "names 3-3" | "opens 5" | "opens their 5" | "plays 6-5" | "rolls afresh"

The steps of one checker are one move, and only landings that hit or pin are written on its way:
`24/13`, but `24/18*/13`. A star stands where the landing hits or pins. The larger start comes first.
Two results that differ in nothing but what is to be played next are told apart by it:
`3/off (then the other side: 5,roll)`.

All of it is for people: one decision at a time.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from engine.decisions import Afterstates, afterstates
from engine.notation import PositionError
from engine.plays import Plays, end_games, step, unmoved
from engine.queues import name_of, queues_of
from engine.ruleset import Item, Queue, Ruleset
from engine.slots import CELLS, MINE, OFF, THEIRS, Boards

NO_PLAY = "no play"
NEAREST = 3  # legal plays that a refusal names
WORDS = {
    "first": "the opening throw",
    "roll": "a roll",
    "own_roll": "the own roll",
    "toss": "a toss for opening a point",
    "name": "a double to name",
    "either": "the opening throw or a new roll",
    "open": "an own point to open",
    "open_theirs": "a point of the other side to open",
}
MOVE = re.compile(r"(?P<slots>\w+(?:/\w+\*?)+)(?:\((?P<times>\d+)\))?(?P<star>\*?)")


# -- every way through a decision -----------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Step:
    """One checker by one die: where it leaves, where it lands, and whether it hits or pins there."""

    source: int
    landing: int
    hits: bool


@dataclass(frozen=True, eq=False)
class Ways:
    """Every position that steps of one decision reach; number 0 is where it began.

    `steps` is one way to each: with the fewest hits, then the first found. `onward` holds every
    step from it, with the number of the position that it leads to.
    """

    boards: list[bytes]  # both sides' checkers, the mover's first
    steps: list[tuple[Step, ...]]
    onward: list[list[tuple[Step, int]]]

    def add(self, board: bytes, steps: tuple[Step, ...]) -> int:
        """The number of a position that was not known yet."""
        self.boards.append(board)
        self.steps.append(steps)
        self.onward.append([])
        return len(self.boards) - 1


def ways_of(board: Boards, code: int, rules: Ruleset) -> Ways:
    """Every way through the numbers of a decision, grown by the engine's own steps.

    Equal positions with equal numbers left are met once.

    Args:
        board: (2, SLOTS) int8, MINE is to decide.
        code: of a queue that begins with numbers.
        rules: of the game.
    """
    layer = unmoved(board[None], np.full(1, code, np.int8), rules)
    ways = Ways([], [], [])
    numbers = [ways.add(_checkers(board, rules), ())]
    while layer.game.size and layer.left.any():
        found = step(layer, rules)
        end_games(found, rules)
        known: dict[tuple[bytes, int], int] = {}
        rows = []
        for row, made in enumerate(_steps_of(layer, found, rules)):
            parent = numbers[found.parent[row]]
            key = found.boards[row].tobytes(), int(found.left[row])
            way = (*ways.steps[parent], made)
            if key not in known:
                known[key] = ways.add(_checkers(found.boards[row], rules), way)
                rows.append(row)
            elif _hits(way) < _hits(ways.steps[known[key]]):
                ways.steps[known[key]] = way
            ways.onward[parent].append((made, known[key]))
        layer = found.take(np.array(rows, np.intp))
        numbers = list(known.values())
    return ways


def _steps_of(layer: Plays, found: Plays, rules: Ruleset) -> list[Step]:
    """The last step of each row of `found`, which `layer` led to."""
    cells = found.parent * CELLS + rules.across.take(found.dst)
    theirs = np.arange(found.dst.size) * CELLS + rules.across.take(found.dst)
    hits = (layer.boards.reshape(-1).take(cells) == 1) & (found.boards.reshape(-1).take(theirs) != 1)
    return [Step(*made) for made in zip(found.src.tolist(), found.dst.tolist(), hits.tolist(), strict=True)]


def _hits(steps: Iterable[Step]) -> int:
    return sum(made.hits for made in steps)


def _checkers(board: Boards, rules: Ruleset) -> bytes:
    """A (2, SLOTS) board without what is remembered."""
    return board[:, : rules.hand + 1].tobytes()


# -- moves ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moves:
    """A play as it is written: moves of several checkers, in no order, and where they hit.

    A move is the slots that are written, each move once for every checker that makes it.
    """

    moves: tuple[tuple[int, ...], ...]
    stars: frozenset[int]

    @property
    def hops(self) -> tuple[tuple[int, int], ...]:
        """From slot to slot, sorted; each of one or more steps of one checker."""
        return tuple(sorted(hop for move in self.moves for hop in pairwise(move)))


def moves_of(steps: Iterable[Step]) -> Moves:
    """The steps of a play as moves: each step goes on with a checker that has just come there."""
    chains: list[list[Step]] = []
    for made in sorted(steps, key=lambda made: (-made.source, made.landing, not made.hits)):
        chain = next((chain for chain in chains if chain[-1].landing == made.source), None)
        if chain is None:
            chains.append([made])
        else:
            chain.append(made)
    written = [
        (chain[0].source, *(made.landing for made in chain[:-1] if made.hits), chain[-1].landing) for chain in chains
    ]
    stars = frozenset(made.landing for chain in chains for made in chain if made.hits)
    return Moves(tuple(sorted(written)), stars)


def write_moves(play: Moves, rules: Ruleset) -> str:
    """`24/18 13/11*`; the larger start first, the bar before the hand; a star once for each point that is hit."""
    names = {OFF: "off", rules.bar: "bar", rules.hand: "hand"}
    unhit = set(play.stars)
    parts = []
    moves = Counter(play.moves)
    for move in sorted(moves, key=lambda move: (move[0] != rules.bar, -move[0], -len(move), move[1:])):
        text = names.get(move[0], str(move[0]))
        for slot in move[1:]:
            text += f"/{names.get(slot, str(slot))}{'*' if slot in unhit else ''}"
            unhit.discard(slot)
        parts.append(text + (f"({moves[move]})" if moves[move] > 1 else ""))
    return " ".join(parts) or NO_PLAY


def read_moves(text: str, rules: Ruleset) -> Moves:
    """Moves from text, in any order, repeated or counted.

    Raises:
        PositionError: not moves; the message says of what form they are.
    """
    slots = {"off": OFF, "bar": rules.bar, "hand": rules.hand}
    slots |= {str(point): point for point in range(1, rules.points + 1)}
    moves: list[tuple[int, ...]] = []
    stars: set[int] = set()
    for word in text.replace(",", " ").split():
        match = MOVE.fullmatch(word)
        hops = match["slots"].split("/") if match else []
        if match is None or any(hop.rstrip("*") not in slots for hop in hops):
            raise PositionError(
                f"play {text!r}: {word!r} is no move; a move is 24/18, 13/11*/7, bar/21, 4/off or 8/4(2), "
                f"with points from 1 to {rules.points}"
            )
        move = tuple(slots[hop.rstrip("*")] for hop in hops)
        if list(move) != sorted(set(move), reverse=True) or rules.bar in move[1:]:
            raise PositionError(f"play {text!r}: {word!r} does not lead towards home, which is 1")
        times = int(match["times"] or 1)
        if not 1 <= times <= rules.checkers:
            raise PositionError(f"play {text!r}: {word!r} moves {times} checkers, {rules.name} has {rules.checkers}")
        moves += [move] * times
        stars |= {slot for slot, hop in zip(move, hops, strict=True) if hop.endswith("*")}
        stars |= {move[-1]} if match["star"] else set()
    return Moves(tuple(sorted(moves)), frozenset(stars))


def ends_of(play: Moves, ways: Ways) -> set[tuple[int, frozenset[int]]]:
    """Every position to which exactly these moves lead, in some order, with the points hit on the way."""
    ends: set[tuple[int, frozenset[int]]] = set()
    seen = set()
    waiting = [(0, play.hops, frozenset[int]())]
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        number, rest, hit = here
        if not rest:
            ends.add((number, hit))
        for made, following in ways.onward[number] if rest else []:
            for hop in set(rest):
                if hop[0] == made.source and hop[1] <= made.landing:
                    left = list(rest)
                    left.remove(hop)
                    left += [(made.landing, hop[1])] if made.landing != hop[1] else []
                    waiting.append((following, tuple(sorted(left)), hit | ({made.landing} if made.hits else set())))
    return ends


# -- what is played --------------------------------------------------------------------------------------


def write_numbers(item: Item, rules: Ruleset) -> str:
    """An item of a queue for people: `6-5`, `4-4` for a whole double, `5(3)` for what is left of one, or words."""
    if isinstance(item, str):
        return WORDS.get(item, item)
    if len(item) > 1 and len(set(item)) == 1:
        is_whole = item in (rules.turn.program((item[0], item[0]), early, rules)[0] for early in (False, True))
        return f"{item[0]}-{item[0]}" if is_whole else f"{item[0]}({len(item)})"
    return "-".join(map(str, item))


def write_queue(queue: Queue, rules: Ruleset) -> str:
    """What is to be played, for people: `6-5`, or `3-3, then 4-4, then a roll`."""
    return ", then ".join(write_numbers(item, rules) for item in queue)


# -- a decision --------------------------------------------------------------------------------------------


class Wording:
    """The plays of one decision and their texts, a text for every row of its afterstates.

    Args:
        board: (2, SLOTS) int8, MINE is to decide.
        code: what is pending, numbers or a choice.
        rules: of the game.
        after: the afterstates of this decision alone, where they are known already.
    """

    texts: tuple[str, ...]

    def __init__(self, board: Boards, code: int, rules: Ruleset, after: Afterstates | None = None) -> None:
        self.rules = rules
        self.head = queues_of(rules).items[code][0]
        self.after = afterstates(board[None], np.array([code], np.int8), rules) if after is None else after
        turned = np.where(self.after.passed[:, None, None], self.after.boards[:, ::-1], self.after.boards)
        self.plays: list[Moves] = []  # of each row
        self.ways: Ways | None = None
        if isinstance(self.head, str):
            texts = [self._choice(row, board, turned[row]) for row in range(len(turned))]
        else:
            self.ways = ways_of(board, code, rules)
            self.ends = [_checkers(sides, rules) for sides in turned]
            best: dict[bytes, tuple[Step, ...]] = {}
            for here, steps in zip(self.ways.boards, self.ways.steps, strict=True):
                if here not in best or _hits(steps) < _hits(best[here]):
                    best[here] = steps
            self.plays = [moves_of(best[end]) for end in self.ends]
            texts = [write_moves(play, rules) for play in self.plays]
        counts = Counter(texts)
        self.texts = tuple(text + self._then(row) * (counts[text] > 1) for row, text in enumerate(texts))

    def _choice(self, row: int, before: Boards, here: Boards) -> str:
        """The text of a row that plays no number."""
        queue = queues_of(self.rules).items[self.after.pending[row]]
        if self.head == "name":
            number = queue[0][0]
            return f"names {number}-{number}"
        if self.head == "either":
            is_fresh = queues_of(self.rules).is_chance[self.after.pending[row]]
            return "rolls afresh" if is_fresh else f"plays {write_numbers(queue[0], self.rules)}"
        side = MINE if self.head == "open" else THEIRS
        (points,) = np.nonzero((here != before)[side, : self.rules.points + 1])
        return f"opens {'their ' if side == THEIRS else ''}{points[0]}"

    def _then(self, row: int) -> str:
        """What follows a row, for telling it from others with the same board."""
        who = "the other side" if self.after.passed[row] else "the same side"
        return f" (then {who}: {name_of(queues_of(self.rules).items[self.after.pending[row]])})"

    def row(self, text: str) -> int:
        """The row that a text means.

        Every text in `texts` means its row. Otherwise steps may come in any order and be written
        one by one, `8/4 8/4` is `8/4(2)`, and stars may be missing where only one play fits.

        Raises:
            PositionError: no legal play, or more than one; names the nearest.
        """
        told = " ".join(text.lower().split())
        if told in self.texts:
            return self.texts.index(told)
        rows = self._chosen(told) if self.ways is None else self._played(told, self.ways)
        if len(rows) == 1:
            return rows[0]
        if rows:
            raise PositionError(f"play {text!r}: could be any of {listed([self.texts[row] for row in rows])}")
        near = difflib.get_close_matches(told, self.texts, n=NEAREST, cutoff=0.0)
        raise PositionError(f"play {text!r}: not legal here; the nearest of {len(self.texts)}: {listed(near)}")

    def _chosen(self, told: str) -> list[int]:
        """The rows of a choice that have the same numbers, and the same verb where there is one."""
        verb, numbers = re.findall(r"[a-z]+", told)[:1], re.findall(r"\d+", told)
        if not verb and not numbers:
            return []
        return [
            row
            for row, text in enumerate(self.texts)
            if set(re.findall(r"\d+", text)) == set(numbers) and (not verb or text.startswith(verb[0][:4]))
        ]

    def _played(self, told: str, ways: Ways) -> list[int]:
        """The rows that moves lead to: as written in full, else with all hits told, else with some."""
        play = Moves((), frozenset()) if told in (NO_PLAY, "pass", "-") else read_moves(told, self.rules)
        rows = [row for row, known in enumerate(self.plays) if known == play]
        if rows:
            return rows
        ends = ends_of(play, ways)
        exact = {ways.boards[number] for number, hit in ends if hit == play.stars}
        loose = {ways.boards[number] for number, hit in ends if hit >= play.stars}
        for boards in (exact, loose):
            if rows := [row for row, end in enumerate(self.ends) if end in boards]:
                return rows
        return []


def listed(texts: Sequence[str]) -> str:
    """Texts as a list for a message."""
    return ", ".join(f"'{text}'" for text in texts)


def format_play(board: Boards, code: int, row: int, rules: Ruleset) -> str:
    """How the mover reaches a row of the afterstates of one decision: `24/18 13/11*`.

    Args:
        board: (2, SLOTS) int8, MINE is to decide.
        code: what is pending, numbers or a choice.
        row: of `afterstates(board[None], [code], rules)`.
        rules: of the game.
    """
    return Wording(board, code, rules).texts[row]


def parse_play(text: str, board: Boards, code: int, rules: Ruleset) -> int:
    """The row of the afterstates of one decision that a text means; see `Wording.row`.

    Args:
        text: such as `24/18 13/11*`, `no play`, `names 3-3`.
        board: (2, SLOTS) int8, MINE is to decide.
        code: what is pending, numbers or a choice.
        rules: of the game.

    Raises:
        PositionError: no legal play, or more than one; names the nearest.
    """
    return Wording(board, code, rules).row(text)
