"""The batch generator against the scalar rulebook: the same set of results, each of them once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

import engine
from engine import Afterstates, OptionError, Ruleset
from engine.bearing import ExactBearing, StandardBearing
from engine.contact import Block, Hit
from engine.house_rules import options_of
from engine.notation import decision
from engine.scoring import Race
from engine.slots import SLOTS, Boards, Codes
from tests import rulebook_board as board_of
from tests import rulebook_turns as book
from tests.rulebook_board import Queue, Result, Row
from tests.rulesets import HOUSE_RULES, house_rulesets
from tests.samples import sample

FEW, MANY = 300, 20_000  # positions of a variant, by default and in full
FEW_OF_OLD = 1_000  # .. by default of the games that were first here; the others have less, to keep this short
OLD = ("backgammon", "irish", "irish_play65", "dutch", "nackgammon", "hypergammon")
FEW_OF_HOUSE, MANY_OF_HOUSE = 100, 2_000  # positions of a house-rule combination
WATCHED = 1_000  # positions in which it is counted how often a rule decides

VARIANTS = {rules.name: rules for rules in engine.VARIANTS}
HOUSE = house_rulesets()


# -- the comparison -----------------------------------------------------------------------------------------


def generated(after: Afterstates, game: int, rules: Ruleset) -> Counter[Result]:
    """What the generator lists for one game, as the chooser sees it, and how often."""
    names = engine.queues_of(rules).names
    found: Counter[Result] = Counter()
    for row in range(int(after.start[game]), int(after.start[game + 1])):
        passed, outcome = bool(after.passed[row]), int(after.outcome[row])
        sides = [board_of.as_row(rules, side) for side in after.boards[row]]
        mine, theirs = reversed(sides) if passed else sides
        pending = None if outcome >= 0 else names[after.pending[row]]
        points = int(rules.payoffs[outcome]) if outcome >= 0 else None
        found[Result(mine, theirs, pending, passed, points)] += 1
    return found


def judged(board: Boards, code: int, rules: Ruleset) -> set[Result]:
    """What the rulebook says of the same decision."""
    return book.results(rules, board[0], board[1], engine.queues_of(rules).items[code])


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
    known = board_of.hand(rules) + 1 + len(board_of.memory(rules))
    assert board_of.memory(rules) == rules.memory
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
    compare(*sample(VARIANTS[name], FEW_OF_OLD if name in OLD else FEW), VARIANTS[name])


@pytest.mark.parametrize("name", HOUSE)
def test_house_rules(name: str) -> None:
    compare(*sample(HOUSE[name], FEW_OF_HOUSE), HOUSE[name])


@pytest.mark.parametrize("name", VARIANTS | HOUSE)
def test_whatever_the_first_roll_of_a_game_brings(name: str) -> None:
    rules = (VARIANTS | HOUSE)[name]
    q = engine.queues_of(rules)
    waits = [q.code(("first",)), q.code(("roll",))]
    codes = np.unique(np.concatenate([q.chance_code[:, code, : int(q.ways[code])].ravel() for code in waits]))
    codes = codes[~q.is_chance.take(codes)]
    compare(np.broadcast_to(rules.start_row, (codes.size, 2, SLOTS)).copy(), codes.astype(np.int8), rules)


@pytest.mark.full
@pytest.mark.parametrize("name", VARIANTS)
def test_variant_in_full(name: str) -> None:
    compare(*sample(VARIANTS[name], MANY), VARIANTS[name])


@pytest.mark.full
@pytest.mark.parametrize("name", HOUSE)
def test_house_rules_in_full(name: str) -> None:
    compare(*sample(HOUSE[name], MANY_OF_HOUSE), HOUSE[name])


def rolls_of(rules: Ruleset) -> list[tuple[int, int]]:
    """Every roll, the larger number first."""
    return [(b, a) for a, b in combinations_with_replacement(range(1, board_of.quarter(rules) + 1), 2)]


@pytest.mark.parametrize("name", [*VARIANTS, *HOUSE])
def test_a_roll_gives_the_same_queue(name: str) -> None:
    rules = (VARIANTS | HOUSE)[name]
    count = FEW_OF_HOUSE if name in HOUSE else FEW
    for board in sample(rules, count)[0][:: count // 10]:
        text = engine.format_position(board, rules)
        for a, b in rolls_of(rules):
            code = decision(text, f"{a}-{b}", rules)[1]
            assert engine.queues_of(rules).items[code] == book.program(rules, board[0], board[1], a, b), (text, a, b)


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


# -- does each part decide anything in these positions? -----------------------------------------------------


def without_each_part(rules: Ruleset) -> Iterator[tuple[str, Ruleset]]:
    """The ruleset with one of its rules taken away, or turned around, by the name of the rule."""
    changes: dict[str, dict[str, Any]] = {}
    for slot in ("limits", "formations"):
        for part in getattr(rules, slot):
            changes[repr(part)] = {slot: tuple(other for other in getattr(rules, slot) if other != part)}
    contact, scoring = rules.contact, rules.scoring
    turn: Any = rules.turn
    bearing: Any = rules.bearing
    kinds = {board_of.kind(part) for part in board_of.parts_of(rules)}
    changes[board_of.kind(contact)] = {"contact": Hit() if "Block" in kinds else Block()}
    if isinstance(contact, Hit) and contact.gate is not None:
        changes[repr(contact.gate)] = {"contact": replace(contact, gate=None)}
    if isinstance(contact, Hit) and contact.entry != "open":
        changes["entry"] = {"contact": replace(contact, entry="open")}
    if board_of.kind(turn) == "PlainTurn":
        changes[repr(turn)] = {"turn": replace(turn, times=6 - turn.times)}
    else:
        for name, nothing in {
            "doubles": "x4",
            "ace_deuce": False,
            "bonus": (),
            "early": None,
            "left_overs": None,
        }.items():
            if getattr(turn, name) != nothing:
                changes[f"{name}={getattr(turn, name)}"] = {"turn": replace(turn, **{name: nothing})}
    other_bearing = ExactBearing if "StandardBearing" in kinds else StandardBearing
    changes[board_of.kind(bearing)] = {"bearing": other_bearing(while_pinned=bearing.while_pinned)}
    if "Pin" in kinds:
        changes[repr(bearing)] = {"bearing": replace(bearing, while_pinned=not bearing.while_pinned)}
    if rules.binding is not None:
        changes[repr(rules.binding)] = {"binding": None}
    if rules.must_play == "max_numbers":
        changes[f"higher_die={rules.higher_die}"] = {"higher_die": not rules.higher_die}
    else:
        changes["must_play=none"] = {"must_play": "max_numbers"}
    if rules.formation_scope == "each_step":
        changes["each_step"] = {"formation_scope": "end_of_turn"}
    changes |= {name: {"scoring": other} for name, other in other_scorings(scoring).items()}
    for name, change in changes.items():
        yield name, replace(rules, **change)


def other_scorings(scoring: Any) -> dict[str, Any]:
    """Scorings that lack something of this one."""
    if board_of.kind(scoring) == "Mother":
        return {
            "Mother": scoring.race,
            f"mother immediate={scoring.immediate}": replace(scoring, immediate=not scoring.immediate),
            f"mother {scoring.race}": replace(scoring, race=Race(points=(9,))),
        }
    others = {"scoring": Race(points=(9,), deadlock=scoring.deadlock)}
    if scoring.deadlock:
        others["deadlock"] = replace(scoring, deadlock=False)
    if board_of.kind(scoring) == "Race":
        for level in range(2, len(scoring.points) + 1):
            points = (*scoring.points[: level - 1], *[scoring.points[level - 2]] * (len(scoring.points) - level + 1))
            others[f"{level} of {scoring.points} {scoring.third}"] = replace(scoring, points=points)
    return others


def seen_by(rules: Ruleset, other: Ruleset, row: Row) -> Row:
    """A row of one ruleset as another has it: the same checkers, what it remembers too."""
    slots = board_of.memory(rules)
    remembered = [row[slots[name]] if name in slots else 0 for name in board_of.memory(other)]
    return (*row[: board_of.hand(rules) + 1], *remembered)


def judged_as(rules: Ruleset, other: Ruleset, board: Boards, queue: Queue, with_rolls: bool) -> set[tuple[object, ...]]:
    """The results under `other`, of a position of `rules`, without what is remembered; and what each roll gives."""
    mine, theirs = (seen_by(rules, other, board_of.as_row(rules, side)) for side in board)
    cut = board_of.hand(rules) + 1
    found: set[tuple[object, ...]] = set()
    if with_rolls:
        found = {(roll, book.program(other, mine, theirs, *roll)) for roll in rolls_of(rules)}
    try:
        results = book.results(other, mine, theirs, queue)
    except ValueError:  # the game is over by the other rules
        return {("over",)}
    return found | {(r.mine[:cut], r.theirs[:cut], r.pending, r.passed, r.points) for r in results}


class Watched:
    """Positions of a ruleset, and what the rulebook says of them; to be compared with other rules."""

    def __init__(self, rules: Ruleset, count: int) -> None:
        boards, codes = sample(rules, count)
        self.rules = rules
        self.decisions = [
            (board, engine.queues_of(rules).items[code]) for board, code in zip(boards, codes, strict=True)
        ]
        self.own: dict[tuple[int, bool], set[tuple[object, ...]]] = {}

    def deciding(self, other: Ruleset) -> Iterator[int]:
        """The positions in which the other rules lead to something else."""
        with_rolls = self.rules.turn != other.turn
        for game, (board, queue) in enumerate(self.decisions):
            if queue[0] in ("open", "open_theirs") and other.binding is None:
                continue
            if (game, with_rolls) not in self.own:
                self.own[game, with_rolls] = judged_as(self.rules, self.rules, board, queue, with_rolls)
            if self.own[game, with_rolls] != judged_as(self.rules, other, board, queue, with_rolls):
                yield game

    def is_decided(self, other: Ruleset) -> bool:
        """Is there such a position?"""
        return any(True for _ in self.deciding(other))


@pytest.mark.parametrize("name", VARIANTS)
def test_every_rule_of_a_game_decides_something(name: str) -> None:
    rules = VARIANTS[name]
    parts = dict(without_each_part(rules))
    for count in (FEW, FEW_OF_OLD):  # what is rare, such as the larger number, may need more positions
        watched = Watched(rules, count) if parts else None
        parts = {part: other for part, other in parts.items() if watched and not watched.is_decided(other)}
    assert list(parts) == []


@pytest.mark.full
def test_every_house_rule_decides_something_somewhere() -> None:
    decides: dict[str, bool] = {}
    for count in (FEW_OF_HOUSE, 5 * FEW_OF_HOUSE):
        for rules in HOUSE.values():
            wanted = [(part, other) for part, other in without_each_part(rules) if not decides.get(part)]
            watched = Watched(rules, count if wanted else FEW_OF_HOUSE)
            decides |= {part: watched.is_decided(other) for part, other in wanted}
    assert [part for part in decides if not decides[part]] == []


@pytest.mark.full
@pytest.mark.parametrize("name", VARIANTS | HOUSE)
def test_how_often_each_rule_decides(name: str, record_property: Any) -> None:
    """Counted rather than judged: `pytest -m full --junitxml=FILE` writes the shares down."""
    watched = Watched((VARIANTS | HOUSE)[name], WATCHED)
    for part, other in without_each_part(watched.rules):
        record_property(part, sum(1 for _ in watched.deciding(other)) / WATCHED)


def is_accepted(rules: Ruleset, name: str, value: str) -> bool:
    """Can this house rule be set alone?"""
    try:
        engine.find_ruleset(rules.name, {name: value})
    except OptionError:
        return False
    return True


def test_every_option_of_every_game_is_tried_with_every_value() -> None:
    general = {"points", "checkers", "setup", "ply_limit"}
    missing = []
    for rules in engine.VARIANTS:
        tried = {(variant, name, str(value).lower()) for variant, edits in HOUSE_RULES for name, value in edits.items()}
        for option in options_of(rules):
            if option.name in general or len(option.values) < 2:
                continue
            others = {value for value in option.values if is_accepted(rules, option.name, value)} - {option.read(rules)}
            missing += sorted({(rules.name, option.name, value) for value in others} - tried)
    assert missing == []
