"""Whom engines we did not write will judge: their own game, whatever its start and name; no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.referees import referee
from agents.referees.rules import refuse_unknown
from agents.registry import make_agent
from engine import Ruleset, find_ruleset
from engine.bearing import FreeBearing
from engine.scoring import Race
from tests.test_referees import BACKGAMMON, told


@pytest.mark.parametrize(
    "rules",
    [
        BACKGAMMON,
        find_ruleset("nackgammon"),
        replace(BACKGAMMON, name="other", setup=((24, 3), (12, 12)), opening="high_rerolls", ply_limit=5),
    ],
)
def test_start_opening_and_names_make_no_difference_to_a_referee(rules: Ruleset) -> None:
    refuse_unknown("gnubg", rules)


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        (find_ruleset("irish"), "turn=PlainTurn(times=4), this game has PlainTurn(times=2)"),
        (find_ruleset("irish_play65"), "bearing=StandardBearing("),
        (find_ruleset("dutch"), "contact=Hit(entry='open', fate='bar'), this game has Hit(gate=HomeGate("),
        (find_ruleset("hypergammon"), "checkers=15, this game has 3"),
        (replace(BACKGAMMON, checkers=14, setup=((6, 14),)), "checkers=15, this game has 14"),
        (
            replace(BACKGAMMON, scoring=Race(points=(1, 2))),
            "scoring=Race(points=(1, 2, 3)",
        ),
        (replace(BACKGAMMON, points=20, setup=((20, 15),)), "points=24, this game has 20"),
        (replace(BACKGAMMON, track="parallel12", setup="head"), "track='contrary', this game has 'parallel12'"),
        (replace(BACKGAMMON, must_play="none"), "must_play='max_numbers', this game has 'none'"),
        (replace(BACKGAMMON, higher_die=False), "higher_die=True, this game has False"),
        (replace(BACKGAMMON, bearing=FreeBearing()), "bearing=StandardBearing("),
        (replace(BACKGAMMON, binding=find_ruleset("irish").binding), "binding=none, this game has BindTheTables("),
    ],
)
@pytest.mark.parametrize("name", ["gnubg", "pubeval"])
def test_other_rules_are_refused_by_the_first_field_that_differs(name: str, rules: Ruleset, field: str) -> None:
    assert told(lambda: make_agent(name, rules)).startswith(f"agent '{name}': plays {field}")


def test_a_missing_package_is_told_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referee, "find_spec", lambda name: None)
    assert told(lambda: make_agent("gnubg", BACKGAMMON)).endswith("needs the package gnubg-nn: pip install gnubg-nn")
