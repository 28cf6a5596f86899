"""The parts of the whole family: turns of several tiers, left-overs, pins, walls, house rules."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from engine import VARIANTS, Afterstates, BatchGame, OptionError, Ruleset, afterstates, find_ruleset, queues_of
from engine.house_rules import options_of
from engine.notation import decision, format_position
from engine.ruleset import Began
from tests.rulesets import house_rulesets


def results(variant: str, position: str, roll: str, rules: Mapping[str, object] | None = None) -> list[str]:
    """Every result as `MINE / THEIRS then QUEUE`, the side that acts next first."""
    ruleset = find_ruleset(variant, rules)
    board, code = decision(position, roll, ruleset)
    after = afterstates(board[None], np.array([code], np.int8), ruleset)
    names = queues_of(ruleset).names
    return [
        f"{format_position(row, ruleset, memory=False)} {'passed' if passed else 'then'} {names[pending]}"
        if outcome < 0
        else f"over {ruleset.payoffs[outcome]:g}"
        for row, passed, pending, outcome in zip(after.boards, after.passed, after.pending, after.outcome, strict=True)
    ]


# -- turns of several tiers ---------------------------------------------------------------------------------


def test_left_over_numbers_end_with_the_own_roll_which_cannot_be_lost() -> None:
    rules = {"incomplete": "remainder_to_opponent"}
    stopped = results("acey_deucey", "20:1 1:14 / 13:2 2:13 | queue:2222,roll", "-", rules)
    assert stopped == ["13:2 2:13 / 14:1 1:14 passed 2,own_roll"]
    blocked = results("acey_deucey", "bar:1 3:14 / 2:2 1:13 | queue:2,own_roll", "-", rules)
    assert blocked == ["bar:1 3:14 / 2:2 1:13 then roll"]


def test_a_bonus_roll_is_lost_with_its_numbers() -> None:
    assert results("acey_deucey", "20:1 1:14 / 13:2 2:13 | queue:2222,roll", "-") == [
        "13:2 2:13 / 14:1 1:14 passed roll"
    ]


def test_a_naming_still_to_come_does_not_pass_over() -> None:
    rules = {"incomplete": "remainder_to_opponent"}
    after = results("acey_deucey", "hand:15 / 3:2 2:13", "2-1", rules)
    assert after == ["3:2 2:13 / hand:14 24:1 passed 2,own_roll"]


def test_the_head_limit_holds_for_all_tiers_of_a_turn() -> None:
    rules = {"head_limit": 1, "cascade_grace": 0}
    after = results("gul_bara", "24:14 20:1 / 24:15 | head:15,0 queue:5555,6666", "-", rules)
    assert after == ["24:15 / 24:14 5:1 passed roll"]


def test_a_further_tier_of_a_turn_counts_as_no_new_turn() -> None:
    rules = find_ruleset("gul_bara", {"cascade_grace": 1})
    turns = rules.memory["turns"]
    game = BatchGame(rules, 64, seed=1)
    for _ in range(12):
        after = game.afterstates()
        before = game.boards[:, :, turns].copy()
        choice = after.start[:-1].copy()
        game.step(after, choice)
        passed = after.passed[choice]
        assert (game.boards[~passed, :, turns] == before[~passed]).all()
        assert (game.boards[passed, 1, turns] == 1).all()


# -- pins -----------------------------------------------------------------------------------------------------


def test_whoever_leaves_a_pinned_checker_alone_frees_it() -> None:
    after = results("tapa", "10:1 4:14 / p15:1 24:14", "6-5")
    assert all("p15" not in text for text in after if "10:1" not in text.split("/")[1])


def test_a_dead_position_is_a_draw_with_the_first_forced_pass() -> None:
    dead = "p24:1 1:14 / p24:1 1:14"
    assert results("tapa", dead, "6-5") == ["over 0"]


def test_a_forced_pass_is_no_draw_while_the_other_side_can_step() -> None:
    after = results("tapa", "p24:1 2:14 / 24:1 7:13 1:1", "6-5")
    assert after == ["24:1 7:13 1:1 / p24:1 2:14 passed roll"]


# -- order ----------------------------------------------------------------------------------------------------


def rows_of(after: Afterstates) -> set[tuple[object, ...]]:
    boards = (board.tobytes() for board in after.boards)
    rest = (column.tolist() for column in (after.game, after.pending, after.passed, after.outcome))
    return set(zip(boards, *rest, strict=True))


HOUSE = house_rulesets()


@pytest.mark.parametrize("rules", [*VARIANTS, *HOUSE.values()], ids=[*(rules.name for rules in VARIANTS), *HOUSE])
def test_one_order_of_the_numbers_misses_nothing_that_another_finds(
    rules: Ruleset, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = BatchGame(rules, 100, seed=9)
    for _ in range(25):
        after = game.afterstates()
        found = rows_of(after)
        assert len(found) == len(after.game)
        with monkeypatch.context() as patch:  # grow in all orders
            patch.setattr(Began, "order_matters", property(lambda began: np.ones(len(began.boards), np.bool_)))
            assert rows_of(afterstates(game.boards, game.pending, rules)) == found
        game.step(after, after.start[:-1] + (game.noise % after.counts.astype(np.uint64)).astype(np.int64))
        over = np.flatnonzero(game.is_over)
        if over.size:
            game.restart(over)


def test_a_checker_goes_past_one_that_is_frozen_at_home() -> None:
    after = results("gul_bara", "24:1 10:1 5:13 / 24:15", "5-3", {"bearoff_die": "exact", "home_frozen": True})
    assert "24:15 / 24:1 5:13 2:1 passed roll" in after


# -- house rules ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", VARIANTS, ids=[rules.name for rules in VARIANTS])
def test_every_house_rule_reads_back_what_was_written(rules: Ruleset) -> None:
    for option in options_of(rules):
        for value in option.values:
            if value in option.refused or option.pointless(rules):
                continue
            edited = find_ruleset(rules.name, {option.name: value})
            assert option.read(edited) == value


@pytest.mark.parametrize(
    ("variant", "rules", "reason"),
    [
        ("gul_bara", {"tier_must_play": "global"}, "each tier is a decision of its own"),
        ("narde", {"sixfive_jump": True}, "a play is a list of steps"),
        ("gioul", {"leftover_bounce": True}, "handed over once"),
        ("narde", {"head_first_turn": "any_roll_if_blocked"}, "not known at its first step"),
        ("narde", {"draws": "last_roll"}, "nobody rolls after it"),
        ("narde", {"cube": "money"}, "games are cubeless"),
        ("narde", {"head_limit": "none", "head_first_turn": "66"}, "head_limit=none"),
        ("narde", {"wall": "none", "formation_scope": "each_step"}, "wall=none"),
        ("fevga", {"unblock": "off", "unblock_trigger": "single_stack"}, "unblock=off"),
        ("plakoto", {"incomplete": "remainder_to_opponent"}, "doubles=x4"),
        ("plakoto", {"mother": "none", "mother_value": 3}, "mother=none"),
        ("russian", {"bonus_while_entering": True}, "complement_while_entering=false"),
        ("french", {"entering_test": "at_tier_end"}, "complement_while_entering=true and bonus_while_entering=true"),
        ("gioul", {"cascade_grace_scope": "global"}, "cascade_grace=0"),
        ("acey_deucey", {"leftover_stop": "skip_unplayable"}, "incomplete=end_turn"),
        ("kotra", {"last_point_lock": 8}, "from 1 to 7"),
        ("tapa", {"mother": "immediate"}, "must be none, deferred"),
    ],
)
def test_what_is_impossible_or_without_effect_is_refused_with_the_reason(
    variant: str, rules: dict[str, object], reason: str
) -> None:
    with pytest.raises(OptionError, match=reason):
        find_ruleset(variant, rules)
