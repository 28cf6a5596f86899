"""Positions to judge a generator by: from games of random play, and thrown so that each rule decides something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np

import engine
from engine import BatchGame, Ruleset
from engine.slots import SLOTS, Boards, Codes
from tests import rulebook as book
from tests import rulebook_board as board
from tests import rulebook_turns as turns
from tests.rulebook_board import OFF, PINNED, Position, Queue, Row

SEED = 20_240_607
LONGEST = 2_000  # decisions after which a random game is left alone

Sample = tuple[Boards, Codes]
Random = np.random.Generator


# -- positions from games ---------------------------------------------------------------------------------


def played_positions(rules: Ruleset, count: int, rng: Random) -> Sample:
    """Positions before a decision, from anywhere in whole games of random play; rare queues more often."""
    boards: list[Boards] = []
    pending: list[Codes] = []
    while sum(map(len, pending)) < count:
        game = BatchGame(rules, games=max(8, count // 40), seed=int(rng.integers(1 << 32)))
        for _ in range(LONGEST):
            game.roll()
            boards.append(game.boards.copy())
            pending.append(game.pending.copy())
            after = game.afterstates()
            game.step(after, rng.integers(after.start[:-1], after.start[1:]))
            if game.is_over.all():
                break
            game.keep(np.flatnonzero(~game.is_over))
    codes = np.concatenate(pending)
    share = 1 / np.sqrt(np.bincount(codes)[codes])
    picked = rng.choice(codes.size, count, replace=False, p=share / share.sum())
    return np.concatenate(boards)[picked], codes[picked]


# -- positions thrown at random ---------------------------------------------------------------------------

STYLES = (
    *("anywhere", "anywhere", "outside", "pairs", "stragglers"),
    *("mostly_home", "all_home", "mostly_off", "last_few", "left_behind", "closed", "on_bar", "in_hand"),
)
TIGHT = ["stragglers", "pairs"]  # often one number or the other can be played, not both
ENDING = ["last_few", "left_behind"]  # often one number ends the game, and the other hits before


def laid(rules: Ruleset, firm: list[int], others: list[int], rng: Random) -> Row:
    """A row with checkers on these slots first, and the others among some more; the last one is not off."""
    row = [0] * (board.hand(rules) + 1)
    for index in range(rules.checkers):
        row[int(firm[index] if index < len(firm) else rng.choice(others))] += 1
    if row[OFF] == rules.checkers:
        last = board.bar(rules) if board.kind(rules.contact) == "Hit" else int(rng.integers(1, rules.points + 1))
        return board.moved(tuple(row), OFF, last)
    return tuple(row)


def stocks_of(rules: Ruleset) -> list[int]:
    """Where checkers of a game may stand beside the points."""
    has_bar = board.kind(rules.contact) == "Hit"
    return [OFF, *[board.bar(rules)] * has_bar, *[board.hand(rules)] * (rules.setup == "hand")]


def thrown_row(rules: Ruleset, style: str, taken: set[int], rng: Random) -> Row:
    """One side's checkers, in one of the styles, on no point that is `taken`."""
    free = [point for point in range(1, rules.points + 1) if point not in taken]
    at_home = [point for point in free if point in board.home(rules)]
    low = [point for point in free if point <= rules.points // 2]
    stocks, head = stocks_of(rules), [point for point in free if point == rules.points]
    if style == "outside":
        stocks.remove(OFF)
        free = [point for point in free if point not in board.home(rules)]
    held = rng.permutation(free)[: rng.integers(1, rules.points // 2 + 1)].tolist()  # few stacks, or many blots
    some = [*held, *stocks] if rng.random() < 0.5 else held or stocks
    if not some:
        some = [OFF]
    one_or_two = int(rng.integers(1, 3))
    usual, share = {  # most checkers stand there, the others are among `some`
        "stragglers": (at_home[:2] or stocks[:1], 1.0),
        "mostly_home": (at_home, 0.9),
        "all_home": ([*at_home, OFF], 1.0),
        "mostly_off": ([OFF], 0.9),
        "last_few": ([OFF], 1.0),
        "left_behind": (free[: rules.points // 2][-1:], 1.0),
        "closed": (at_home, 0.3),
        "on_bar": ([slot for slot in stocks if slot == board.bar(rules)], 0.2),
        "in_hand": (stocks[-1:], 0.9),
        "unentered": (stocks[-1:], 1.0),
        "on_head": (head, 0.9),
        "runner": (head, 1.0),
        "half_head": (low, 0.8),
        "quarter_full": (head, 0.5),
    }.get(style, ([], 0.0))
    firm: list[int] = {  # these come first
        "pairs": 2 * held,
        "stragglers": held[:one_or_two],
        "closed": 2 * at_home,
        "last_few": rng.permutation(at_home).tolist()[:one_or_two],
        "left_behind": [point for point in held if point in board.start_quarter(rules)],
        "unentered": held[: one_or_two - 1],
        "runner": held[:one_or_two],
        "half_head": head * int(rng.integers(rules.checkers // 2, rules.checkers)),
        "quarter_full": quarter_but_one(rules, free, rng),
    }.get(style, [])
    return laid(rules, firm, usual if usual and rng.random() < share else some, rng)


def quarter_but_one(rules: Ruleset, free: list[int], rng: Random) -> list[int]:
    """The points of the first or the third quarter, one of them perhaps not held yet, and some near them."""
    full = [board.start_quarter(rules), board.third_quarter(rules)][int(rng.random() < 0.5)]
    points: list[int] = rng.permutation([point for point in full if point in free]).tolist()
    near = [point for point in free if full[-1] < point <= full[-1] + board.quarter(rules)]
    return points[: len(points) - int(rng.integers(0, 3))] + near[: int(rng.integers(0, 3))]


def side_by_side(rules: Ruleset, styles: list[str], rng: Random) -> Position:
    """Both sides' checkers; a closed board is laid first, so that it finds its points free."""
    first = int(styles[1] == "closed" or (rng.random() < 0.5 and styles[0] != "closed"))
    rows: list[Row] = [(), ()]
    rows[first] = thrown_row(rules, styles[first], set(), rng)
    taken = {board.facing(rules, point) for point in range(1, rules.points + 1) if rows[first][point]}
    rows[1 - first] = thrown_row(rules, styles[1 - first], taken, rng)
    return Position(rows[0], rows[1])


def walled(rules: Ruleset, rng: Random) -> Position:
    """I hold a wall, or all of one but a point that a single step reaches; he stands behind it, mostly."""
    length, last = board.quarter(rules), rules.points
    low = last - length if rng.random() < 0.4 else int(rng.integers(1, last - length + 1))
    wall = [board.facing(rules, number) for number in range(low, low + length)]
    behind, before = [*range(low + length, last + 1)], [*range(1, low)]
    his = [behind[:1], behind, behind + before[-1:]][int(rng.choice(3, p=[0.5, 0.35, 0.15]))]
    if rng.random() < 0.25:  # too many to move: every other point is his
        his = [number for number in behind if (number - low) % 2 == 0] or his
    theirs = laid(rules, his[:1], his, rng)
    if rng.random() < 0.6:
        gap = wall.pop(int(rng.integers(len(wall))))
        wall.append((gap + int(rng.integers(1, length + 1)) - 1) % last + 1)
    taken = {board.facing(rules, number) for number in range(1, last + 1) if theirs[number]}
    free = [point for point in range(1, last + 1) if point not in taken]
    firm = [point for point in wall if point not in taken]
    mine = laid(rules, firm, rng.permutation([*free, OFF]).tolist()[: int(rng.integers(1, 8))], rng)
    return Position(theirs, mine) if rng.random() < 0.2 else Position(mine, theirs)


def pinned_at(position: Position, rules: Ruleset, point: int) -> Position:
    """One of his checkers, from anywhere that is no pin of his, now lies under mine on this point of my count."""
    his, there = position.theirs, board.facing(rules, point)
    donors = [
        slot
        for slot, count in enumerate(his)
        if count > 0 and (not 1 <= slot <= rules.points or position.mine[board.facing(rules, slot)] == 0)
    ]
    if position.mine[point] < 1 or his[there] != 0 or not donors:
        return position
    return Position(position.mine, board.changed(board.moved(his, donors[0], there), there, PINNED))


def turned(position: Position) -> Position:
    """The other side's view."""
    return Position(position.theirs, position.mine)


def with_pins(rules: Ruleset, position: Position, rng: Random) -> Position:
    """Some checkers of both sides now lie under the other side's."""
    for _ in range(int(rng.integers(0, 5))):
        held = [point for point in range(1, rules.points + 1) if position.mine[point] > 0]
        position = turned(pinned_at(position, rules, int(rng.choice(held)))) if held else turned(position)
    return position


def mothers(rules: Ruleset, rng: Random) -> Position:
    """The last checkers on both start points, alone, pinned, or within reach; now and then both locked for ever."""
    reach = int(rng.integers(1, 4))
    near = [*range(1, board.quarter(rules) + 2)]
    rows = []
    for _ in range(2):
        start = [rules.points] * int(rng.integers(0, 3))
        rows.append(laid(rules, start, rng.permutation(near).tolist()[:reach] if rng.random() < 0.7 else near, rng))
    position = Position(rows[0], rows[1])
    for _ in range(2):  # own 1 is his start point
        on_one = position.mine[1]
        if position.theirs[rules.points] and on_one:  # moved away, onto 2
            position = Position(board.moved(position.mine, 1, 2, on_one), position.theirs)
        position = turned(position)
    if rng.random() < 0.2:
        most = laid(rules, [rules.points], [1], rng)
        spare = [(2, 3)[int(rng.random() < 0.5)]] * int(rng.random() < 0.5)
        mine = laid(rules, [rules.points, *spare], [1], rng)
        pinned = [board.changed(row, rules.points, PINNED) for row in (mine, most)]
        return Position(pinned[0], pinned[1])
    for _ in range(2):
        if position.theirs[rules.points] == 1 and rng.random() < 0.5:
            slots = [slot for slot in range(2, rules.points) if position.mine[slot] > 0]
            if slots:
                pinner = board.moved(position.mine, slots[0], 1)
                position = Position(pinner, board.changed(position.theirs, rules.points, PINNED))
        position = turned(position)
    return position


def is_possible(rules: Ruleset, position: Position) -> bool:
    """All checkers are there, a point has one owner or a single pinned checker, and the game goes on."""
    for row, other in ((position.mine, position.theirs), (position.theirs, position.mine)):
        if sum(map(abs, row)) != rules.checkers:
            return False
        for point in range(1, rules.points + 1):
            opposite = other[board.facing(rules, point)]
            if row[point] == PINNED and opposite < 1:
                return False
            if row[point] > 0 and opposite > 0:
                return False
    return not book.is_over(rules, position)


def specials(rules: Ruleset) -> list[Callable[[Random], Position]]:
    """Ways to throw positions in which the parts of this game decide."""
    names = Counter(board.kind(part) for part in board.parts_of(rules))
    pairs: list[list[str]] = []
    if names["BindTheTables"] or names["ClosedBoard"]:
        pairs += [["closed", "on_bar"], ["on_bar", "closed"]]
    if names["HeadLimit"]:
        pairs += [["on_head", "on_head"], ["on_head", "anywhere"]]
    if names["RunnerFirst"]:
        pairs += [["runner", "runner"], ["runner", "anywhere"]]
    if names["StartQuarterFull"] or names["ThirdQuarterLimit"]:
        pairs += [["quarter_full", "runner"], ["quarter_full", "stragglers"], ["quarter_full", "pairs"]]
    if names["StackLimit"] or names["LastPointLock"]:
        pairs += [["half_head", "on_head"], ["half_head", "anywhere"], ["half_head", "on_bar"]]
    if rules.setup == "hand":
        pairs += [["in_hand", "in_hand"], ["unentered", "anywhere"], ["in_hand", "pairs"]]
    if names["ExactBearing"] or names["HomeFrozen"] or names["HitterStays"] or names["PerChecker"]:
        pairs += [["all_home", "anywhere"], ["all_home", "outside"], ["mostly_home", "stragglers"]]
    found: list[Callable[[Random], Position]] = [
        lambda rng, pair=pair: side_by_side(rules, pair, rng)  # type: ignore[misc]
        for pair in pairs
    ]
    if names["Wall"] or names["Unblock"] or names["HeadBlocked"]:
        found += [lambda rng: walled(rules, rng)] * max(3, len(found))
    if names["Pin"]:
        found += [lambda rng: mothers(rules, rng)] * 2
        found += [lambda rng: side_by_side(rules, ["all_home", "mostly_home"], rng)]
    return found


def thrown_position(rules: Ruleset, index: int, rng: Random) -> Position:
    """A position that need not be reachable, with something to decide."""
    makers = specials(rules)
    while True:
        if index % 4 < 2:
            position = side_by_side(rules, (TIGHT, ENDING)[index % 4], rng)
        elif makers and (index % 4 == 2 or rng.random() < 0.3):
            position = makers[int(rng.integers(len(makers)))](rng)
        else:
            position = side_by_side(rules, [str(style) for style in rng.choice(STYLES, 2)], rng)
        if board.kind(rules.contact) == "Pin" and rng.random() < 0.6:
            position = with_pins(rules, position, rng)
        if is_possible(rules, position):
            return with_memory(rules, position, rng)


def with_memory(rules: Ruleset, position: Position, rng: Random) -> Position:
    """A latch earned where the board shows it, and elsewhere perhaps; some turns past; a head that was higher."""
    rows = []
    for row, decides in ((position.mine, True), (position.theirs, False)):
        on_head = row[rules.points]
        stood = on_head + int(rng.integers(0, 3)) if on_head > 0 else 0
        values = {
            "latch": int(rng.integers(0, 2)),
            "turns": int(rng.integers(0, board.turns_that_count(rules) + 1)),
            "head": min(stood, rules.checkers) if decides else 0,
        }
        rows.append(board.remembered(rules, (*row, *[values[name] for name in board.memory(rules)])))
    return Position(rows[0], rows[1])


def thrown_queue(rules: Ruleset, position: Position, rng: Random) -> Queue:
    """A roll, or any queue that the game can have pending; a board is opened only where it is closed."""
    if rules.binding is not None and rng.random() < 0.5:
        if book.is_closed_against_bar(rules, position):
            return ("open",)
        if book.is_closed_against_bar(rules, turned(position)):
            return ("open_theirs",)
    if rng.random() < 0.3:
        waiting = ("first", "roll", "toss", "open", "open_theirs")
        queues = [queue for queue in engine.queues_of(rules).items if queue[0] not in waiting]
        return queues[int(rng.integers(len(queues)))]
    a, b = rng.integers(1, board.quarter(rules) + 1, 2).tolist()
    return turns.program(rules, position.mine, position.theirs, a, b)


def thrown_positions(rules: Ruleset, count: int, rng: Random) -> Sample:
    """So many positions, each with a roll or what else may be pending."""
    boards = np.zeros((count, 2, SLOTS), np.int8)
    pending = np.zeros(count, np.int8)
    for index in range(count):
        position = thrown_position(rules, index, rng)
        boards[index, 0, : len(position.mine)] = position.mine
        boards[index, 1, : len(position.theirs)] = position.theirs
        pending[index] = engine.queues_of(rules).code(thrown_queue(rules, position, rng))
    return boards, pending


@cache
def sample(rules: Ruleset, count: int) -> Sample:
    """Half from games, half thrown at random; the same ones in every run."""
    rng = np.random.default_rng([SEED, count])
    played, thrown = played_positions(rules, count // 2, rng), thrown_positions(rules, count - count // 2, rng)
    return np.concatenate([played[0], thrown[0]]), np.concatenate([played[1], thrown[1]])
