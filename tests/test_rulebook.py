"""The batch generator against the scalar rulebook: the same set of results, each of them once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import engine
from engine import Afterstates, BatchGame, Ruleset
from engine.binding import BindTheTables
from engine.formations import ClosedBoard
from engine.slots import SLOTS, Boards, Codes
from tests import rulebook as book
from tests.rulebook import Position, Result, Row

SEED = 20_240_607
LONGEST = 2_000  # decisions after which a random game is left alone
FEW, MANY = 1_000, 20_000  # positions of a variant, by default and in full
FEW_OF_HOUSE, MANY_OF_HOUSE = 200, 2_000  # positions of a house-rule combination

Sample = tuple[Boards, Codes]

IRISH_SMALL = {"points": 8, "checkers": 4, "setup": "8:2 3:2"}
IRISH_TWELVE = {"points": 12, "setup": "12:2 7:5 4:3 3:5"}
HOUSE_RULES: list[tuple[str, dict[str, object]]] = [
    ("irish", {"doubles": "x4"}),
    ("irish", {"bind_toss": "two_dice_total"}),
    ("irish", {"bind_effect": "remove_one_checker"}),
    ("irish", {"bind_tables": "off"}),
    ("irish", {"bind_tables": "illegal"}),
    ("irish", {"bind_tables": "illegal", "doubles": "x4"}),
    ("irish", {"bind_tables": "illegal", "higher_die": False}),
    ("irish", {"bind_tables": "illegal", "must_play": "none"}),
    ("irish", {"bind_tables": "illegal", "must_play": "none", "doubles": "x4"}),
    ("irish", {"higher_die": False}),
    ("irish", {"must_play": "none"}),
    ("irish", {"must_play": "none", "doubles": "x4"}),
    ("irish", IRISH_SMALL),
    ("irish", {**IRISH_SMALL, "bind_tables": "illegal"}),
    ("irish", {**IRISH_SMALL, "bind_tables": "illegal", "must_play": "none", "doubles": "x4"}),
    ("irish", {**IRISH_SMALL, "bind_effect": "remove_one_checker", "must_play": "none"}),
    ("irish", IRISH_TWELVE),
    ("irish", {**IRISH_TWELVE, "bind_tables": "illegal", "doubles": "x4"}),
    ("irish", {"points": 12, "checkers": 6, "setup": "12:2 8:2 3:2", "higher_die": False}),
    ("irish_play65", {"doubles": "each_once", "bind_tables": "illegal"}),
    ("irish_play65", {"must_play": "none"}),
    ("irish_play65", {"higher_die": False, "bind_effect": "remove_one_checker"}),
    ("dutch", {"hit_gate": "none"}),
    ("dutch", {"hit_gate": "home_latched"}),
    ("dutch", {"hit_gate": "home_latched", "hit_gate_midturn": False}),
    ("dutch", {"hit_gate": "home_latched", "hit_gate_side": "victim"}),
    ("dutch", {"hit_gate_side": "victim"}),
    ("dutch", {"hit_gate_side": "victim", "hit_gate_midturn": False}),
    ("dutch", {"hit_gate_side": "victim", "hit_gate_counts_off": False}),
    ("dutch", {"hit_gate_side": "victim", "hit_gate_counts_off": False, "hit_gate_midturn": False}),
    ("dutch", {"hit_gate_midturn": False}),
    ("dutch", {"hit_gate_counts_off": False}),
    ("dutch", {"hit_gate_counts_off": False, "hit_gate_midturn": False}),
    ("dutch", {"entry_first_roll": "enter_only"}),
    ("dutch", {"entry_first_roll": "enter_only", "hit_gate": "home_latched"}),
    ("dutch", {"entry_first_roll": "enter_only", "hit_gate_midturn": False}),
    ("dutch", {"points": 8, "checkers": 3}),
    ("dutch", {"points": 8, "checkers": 3, "entry_first_roll": "enter_only", "hit_gate": "home_latched"}),
    ("dutch", {"points": 12, "checkers": 5, "hit_gate_midturn": False}),
    ("dutch", {"points": 16, "checkers": 8, "hit_gate_side": "victim"}),
    ("backgammon", {"checkers": 1}),
    ("backgammon", {"checkers": 2}),
    ("backgammon", {"points": 8, "checkers": 2}),
    ("backgammon", {"points": 16, "checkers": 8, "setup": "16:2 9:3 5:1 4:2"}),
    ("hypergammon", {"points": 20, "checkers": 5}),
    ("nackgammon", {"points": 12, "checkers": 3}),
]


def mixtures() -> list[Ruleset]:
    """Rules that no game combines, and other tracks: parts must not depend on the company they are in."""
    irish, dutch = engine.find_ruleset("irish"), engine.find_ruleset("dutch")
    latched = engine.find_ruleset("dutch", {"hit_gate": "home_latched"})
    small = replace(dutch, points=8, checkers=5)
    return [
        replace(dutch, must_play="none"),
        replace(dutch, higher_die=False, turn=irish.turn),
        replace(dutch, binding=BindTheTables(), bearing=irish.bearing),
        replace(dutch, formations=(ClosedBoard(),), must_play="none"),
        replace(latched, binding=BindTheTables(strip=False), track="parallel12"),
        replace(latched, formations=(ClosedBoard(),), bearing=irish.bearing, higher_die=False),
        replace(dutch, track="parallel0"),
        replace(dutch, track="parallel12", setup="head"),
        replace(small, binding=BindTheTables(), must_play="none"),
        replace(small, formations=(ClosedBoard(),), track="parallel12"),
    ]


def house_rulesets() -> dict[str, Ruleset]:
    """Every combination of house rules, and the mixtures, by a name for the report."""
    named = {
        " ".join([variant, *(f"{name}={value}" for name, value in edits.items())]): engine.find_ruleset(variant, edits)
        for variant, edits in HOUSE_RULES
    }
    return named | {f"mixture {number}": rules for number, rules in enumerate(mixtures())}


VARIANTS = {rules.name: rules for rules in engine.VARIANTS}
HOUSE = house_rulesets()


# -- positions from games ---------------------------------------------------------------------------------


def played_positions(rules: Ruleset, count: int, rng: np.random.Generator) -> Sample:
    """Positions before a decision, from anywhere in whole games of random play."""
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
    picked = rng.choice(sum(map(len, pending)), count, replace=False)
    return np.concatenate(boards)[picked], np.concatenate(pending)[picked]


# -- positions thrown at random ---------------------------------------------------------------------------

STYLES = (
    *("anywhere", "anywhere", "outside", "pairs", "stragglers"),
    *("mostly_home", "all_home", "mostly_off", "last_few", "left_behind", "closed", "on_bar", "in_hand"),
)
TIGHT = ["stragglers", "pairs"]  # often one number or the other can be played, not both
ENDING = ["last_few", "left_behind"]  # often one number ends the game, and the other hits before
CLOSED_OUT = ["closed", "on_bar"]


def thrown_row(rules: Ruleset, style: str, taken: set[int], rng: np.random.Generator) -> Row:
    """One side's checkers, in one of the styles, on no point that is `taken`."""
    home = book.quarter(rules)
    free = [point for point in range(1, rules.points + 1) if point not in taken]
    at_home = [point for point in free if point <= home]
    stocks = [book.OFF, book.bar(rules)] + [book.hand(rules)] * (rules.setup == "hand")
    if style == "outside":
        stocks.remove(book.OFF)
        free = [point for point in free if point > home]
    held = list(rng.permutation(free)[: rng.integers(1, rules.points // 2 + 1)])  # few stacks, or many blots
    some = [*held, *stocks] if rng.random() < 0.5 else held or stocks
    usual, share = {  # most checkers stand there, the others are among `some`
        "stragglers": (at_home[:2] or stocks[:1], 1.0),
        "mostly_home": (at_home, 0.9),
        "all_home": ([*at_home, book.OFF], 1.0),
        "mostly_off": ([book.OFF], 0.9),
        "last_few": ([book.OFF], 1.0),
        "left_behind": (free[: rules.points // 2][-1:], 1.0),
        "closed": (at_home, 0.3),
        "on_bar": ([book.bar(rules)], 0.2),
        "in_hand": (stocks[-1:], 0.9),
    }.get(style, ([], 0.0))
    firm = {  # these come first
        "pairs": 2 * held,
        "stragglers": held[: rng.integers(1, 3)],
        "closed": 2 * at_home,
        "last_few": at_home and rng.choice(at_home, rng.integers(1, 3)).tolist(),
        "left_behind": [point for point in held if point > rules.points - home],
    }
    row = [0] * (book.hand(rules) + 1)
    for index in range(rules.checkers):
        if index < len(firm.get(style, [])):
            slot = firm[style][index]
        else:
            slot = rng.choice(usual if usual and rng.random() < share else some)
        row[int(slot)] += 1
    if row[book.OFF] == rules.checkers:  # not finished: the last checker was hit
        return book.moved(tuple(row), book.OFF, book.bar(rules))
    return tuple(row)


def thrown_position(rules: Ruleset, styles: list[str], rng: np.random.Generator) -> Position:
    """Both sides' checkers; a closed board is laid first, so that it finds its points free."""
    first = int(styles[1] == "closed" or (rng.random() < 0.5 and styles[0] != "closed"))
    rows: list[Row] = [(), ()]
    rows[first] = thrown_row(rules, styles[first], set(), rng)
    taken = {book.facing(rules, point) for point in range(1, rules.points + 1) if rows[first][point]}
    rows[1 - first] = thrown_row(rules, styles[1 - first], taken, rng)
    names = len(book.memory(rules))  # a latch: earned where the board shows it, and elsewhere perhaps
    mine, theirs = (book.remembered(rules, (*row, *rng.integers(0, 2, names).tolist())) for row in rows)
    return Position(mine, theirs)


def thrown_queue(rules: Ruleset, position: Position, rng: np.random.Generator) -> tuple[str | tuple[int, ...]]:
    """A roll; or, where a closed board faces the bar, now and then the choice of the point to open."""
    if rules.binding is not None and rng.random() < 0.5:
        if book.is_closed_against_bar(rules, position):
            return ("open",)
        if book.is_closed_against_bar(rules, Position(position.theirs, position.mine)):
            return ("open_theirs",)
    a, b = rng.integers(1, book.quarter(rules) + 1, 2).tolist()
    return (book.roll_numbers(rules, a, b),)


def thrown_positions(rules: Ruleset, count: int, rng: np.random.Generator) -> Sample:
    """Positions that need not be reachable, with something to decide in each."""
    boards = np.zeros((count, 2, SLOTS), np.int8)
    pending = np.zeros(count, np.int8)
    for index in range(count):
        styles = [str(style) for style in rng.choice(STYLES, 2)]
        if index % 4 < 2:
            styles = (TIGHT, ENDING)[index % 4]
        elif index % 4 == 2 and (rules.binding or rules.formations):
            styles = rng.permutation(CLOSED_OUT).tolist()
        position = thrown_position(rules, styles, rng)
        boards[index, 0, : len(position.mine)] = position.mine
        boards[index, 1, : len(position.theirs)] = position.theirs
        pending[index] = engine.queues_of(rules).code(thrown_queue(rules, position, rng))
    return boards, pending


def sample(rules: Ruleset, count: int) -> Sample:
    """Half from games, half thrown at random; the same ones in every run."""
    rng = np.random.default_rng([SEED, count])
    played, thrown = played_positions(rules, count // 2, rng), thrown_positions(rules, count - count // 2, rng)
    return np.concatenate([played[0], thrown[0]]), np.concatenate([played[1], thrown[1]])


# -- the comparison -----------------------------------------------------------------------------------------


def generated(after: Afterstates, game: int, rules: Ruleset) -> Counter[Result]:
    """What the generator lists for one game, as the chooser sees it, and how often."""
    names = engine.queues_of(rules).names
    found: Counter[Result] = Counter()
    for row in range(int(after.start[game]), int(after.start[game + 1])):
        passed, outcome = bool(after.passed[row]), int(after.outcome[row])
        sides = [book.as_row(rules, side) for side in after.boards[row]]
        mine, theirs = reversed(sides) if passed else sides
        pending = None if outcome >= 0 else names[after.pending[row]]
        points = int(rules.payoffs[outcome]) if outcome >= 0 else None
        found[Result(mine, theirs, pending, passed, points)] += 1
    return found


def judged(board: Boards, code: int, rules: Ruleset) -> set[Result]:
    """What the rulebook says of the same decision."""
    (item,) = engine.queues_of(rules).items[code]
    if isinstance(item, str):
        return book.openings(rules, board[0], board[1], item)
    return book.results(rules, board[0], board[1], item)


def told(results: set[Result], rules: Ruleset) -> str:
    """Results as lines of text, for the report of a difference."""
    lines = []
    for result in results:
        board = np.zeros((2, SLOTS), np.int8)
        board[0, : len(result.mine)], board[1, : len(result.theirs)] = result.mine, result.theirs
        text = engine.format_position(board, rules)
        lines.append(f"    {text}; pending {result.pending}, passed {result.passed}, points {result.points}")
    return "\n".join(sorted(lines)) or "    nothing"


def compare(boards: Boards, pending: Codes, rules: Ruleset) -> None:
    """Fail on the first position where the two differ, with everything that is needed to reread the rule."""
    after = engine.afterstates(boards, pending, rules)
    known = book.hand(rules) + 1 + len(book.memory(rules))
    assert not after.boards[:, :, known:].any(), "slots that the game does not have are used"
    for game, (board, code) in enumerate(zip(boards, pending, strict=True)):
        found, right = generated(after, game, rules), judged(board, int(code), rules)
        if set(found) != right or max(found.values()) > 1:
            position = engine.format_position(board, rules, engine.queues_of(rules).items[code])
            pytest.fail(
                f"{rules.name} {dict(rules.house)}\n  {position}\n"
                f"  only in the rulebook:\n{told(right - set(found), rules)}\n"
                f"  only in the generator:\n{told(set(found) - right, rules)}\n"
                f"  more than once:\n{told({result for result, times in found.items() if times > 1}, rules)}"
            )


@pytest.mark.parametrize("name", VARIANTS)
def test_variant(name: str) -> None:
    compare(*sample(VARIANTS[name], FEW), VARIANTS[name])


@pytest.mark.parametrize("name", HOUSE)
def test_house_rules(name: str) -> None:
    compare(*sample(HOUSE[name], FEW_OF_HOUSE), HOUSE[name])


@pytest.mark.full
@pytest.mark.parametrize("name", VARIANTS)
def test_variant_in_full(name: str) -> None:
    compare(*sample(VARIANTS[name], MANY), VARIANTS[name])


@pytest.mark.full
@pytest.mark.parametrize("name", HOUSE)
def test_house_rules_in_full(name: str) -> None:
    compare(*sample(HOUSE[name], MANY_OF_HOUSE), HOUSE[name])


@pytest.mark.parametrize("name", [*VARIANTS, "dutch hit_gate=home_latched", "irish bind_tables=illegal"])
def test_one_at_a_time(name: str) -> None:
    """A position gives the same rows in the same order, alone or among others."""
    rules = (VARIANTS | HOUSE)[name]
    boards, pending = sample(rules, 100)
    batch = engine.afterstates(boards, pending, rules)
    for game in range(len(boards)):
        alone = engine.afterstates(boards[game : game + 1], pending[game : game + 1], rules)
        rows = slice(batch.start[game], batch.start[game + 1])
        for column in ("boards", "passed", "outcome"):
            assert np.array_equal(getattr(alone, column), getattr(batch, column)[rows]), (game, column)
        unfinished = alone.outcome < 0
        assert np.array_equal(alone.pending[unfinished], batch.pending[rows][unfinished]), game
        assert alone.start.tolist() == [0, rows.stop - rows.start]
        assert not alone.game.any()
