"""House rules: what is accepted, what is refused, and with which words."""

from __future__ import annotations

import numpy as np
import pytest

from engine import VARIANTS, OptionError, UnknownVariant, find_ruleset
from engine.options import OPTIONS, options_of


@pytest.mark.parametrize(
    ("variant", "rules", "message"),
    [
        (
            "irish",
            {"bind_tables": "off", "bind_toss": "one_die_each"},
            "bind_toss: without effect under bind_tables=off",
        ),
        (
            "irish",
            {"bind_tables": "illegal", "bind_effect": "strip_to_one"},
            "without effect under bind_tables=illegal",
        ),
        ("irish", {"must_play": "none", "higher_die": False}, "higher_die: without effect under must_play=none"),
        ("dutch", {"hit_gate": "none", "hit_gate_midturn": False}, "without effect under hit_gate=none"),
        (
            "dutch",
            {"hit_gate": "home_latched", "hit_gate_counts_off": False},
            "without effect under hit_gate=home_latched",
        ),
        (
            "dutch",
            {"hit_gate": "home_latched", "hit_gate_side": "victim", "hit_gate_midturn": False},
            "without effect under hit_gate=home_latched and hit_gate_side=victim",
        ),
        ("backgammon", {"jacoby": True}, "jacoby: without effect under cube=none"),
        ("backgammon", {"cube": "money"}, "cube=money: must be none"),
        ("backgammon", {"doubles": "each_once"}, "doubles: no house rule of backgammon; it has cube"),
        ("irish", {"doubels": "x4"}, "did you mean rules.doubles?"),
        ("irish", {"doubles": "x5"}, "doubles=x5: must be each_once, x4"),
        ("irish", {"higher_die": "no"}, "higher_die=no: must be true, false"),
        ("backgammon", {"points": 10}, "points=10: must be a multiple of four from 8 to 24"),
        ("backgammon", {"points": 28, "checkers": 3}, "points=28: must be a multiple of four"),
        ("backgammon", {"checkers": 16}, "checkers=16: must be from 1 to 15"),
        ("dutch", {"checkers": 16}, "checkers=16: must be from 1 to 15"),
        ("backgammon", {"checkers": 7}, "no start for this size; give rules.setup"),
        ("backgammon", {"setup": "24:2 13:5"}, "has 7 checkers, rules.checkers=15"),
        ("backgammon", {"setup": "24:15 1:1"}, "16 checkers, backgammon has 15"),
        ("backgammon", {"checkers": 2, "setup": "24:1 1:1"}, "24 is held by both sides, it is the opponent's 1"),
        ("backgammon", {"checkers": 2, "setup": "24:1 bar:1"}, "only points and the hand hold checkers"),
        ("backgammon", {"checkers": 2, "setup": "25:2"}, "must be SLOT:COUNT"),
        ("backgammon", {"ply_limit": 0}, "ply_limit=0: must be at least 1"),
    ],
)
def test_a_house_rule_that_cannot_be_is_refused(variant: str, rules: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError) as error:
        find_ruleset(variant, rules)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_the_order_in_which_house_rules_are_given_does_not_matter() -> None:
    one = find_ruleset("dutch", {"hit_gate_midturn": "false", "hit_gate": "home_latched"})
    assert one == find_ruleset("dutch", {"hit_gate": "home_latched", "hit_gate_midturn": "false"})


@pytest.mark.parametrize("rules", VARIANTS, ids=[rules.name for rules in VARIANTS])
def test_setting_every_option_to_its_value_changes_nothing(rules: object) -> None:
    from dataclasses import replace

    assert isinstance(rules, type(VARIANTS[0]))
    values = {o.name: o.read(rules) for o in options_of(rules) if o.pointless(rules) is None}
    assert replace(find_ruleset(rules.name, values), house=(), setup=rules.setup) == rules


def test_every_option_has_a_meaning_and_each_name_once() -> None:
    assert all(option.meaning for option in OPTIONS)
    assert len({option.name for option in OPTIONS}) == len(OPTIONS)


@pytest.mark.parametrize(
    ("variant", "rules", "start"),
    [
        ("backgammon", {"checkers": 2}, {24: 1, 23: 1}),
        ("hypergammon", {"checkers": 5}, {24: 1, 23: 1, 22: 1, 21: 1, 20: 1}),
        ("backgammon", {"points": 12, "checkers": 3}, {12: 1, 11: 1, 10: 1}),
        ("dutch", {"points": 12, "checkers": 3}, {14: 3}),
        ("irish", {"points": 8, "checkers": 4, "setup": "8:2 3:2"}, {8: 2, 3: 2}),
    ],
)
def test_another_size_has_the_start_its_kind_of_game_has(
    variant: str, rules: dict[str, object], start: dict[int, int]
) -> None:
    row = find_ruleset(variant, rules).start_row
    assert {int(slot): int(row[slot]) for slot in np.flatnonzero(row)} == start


@pytest.mark.parametrize("name", ["Irish", "irish-play65", "bg", "HYPER"])
def test_a_variant_is_found_by_alias_and_however_it_is_written(name: str) -> None:
    assert find_ruleset(name).name in {"irish", "irish_play65", "backgammon", "hypergammon"}


@pytest.mark.parametrize(
    ("name", "message"),
    [("irsh", "did you mean irish?"), ("tabard", "no page gives its rules"), ("sixey acey", "Sice-Ace")],
)
def test_an_unknown_variant_offers_the_nearest_and_an_undocumented_one_says_why(name: str, message: str) -> None:
    with pytest.raises(UnknownVariant, match=message):
        find_ruleset(name)


@pytest.mark.parametrize("rules", VARIANTS, ids=[rules.name for rules in VARIANTS])
def test_every_variant_has_a_title_and_sources_and_names_nobody_else_has(rules: object) -> None:
    assert isinstance(rules, type(VARIANTS[0]))
    assert rules.title
    assert rules.sources
    others = [name for other in VARIANTS if other is not rules for name in (other.name, *other.aliases)]
    assert not {rules.name, *rules.aliases} & set(others)
