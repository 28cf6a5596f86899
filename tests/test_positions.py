"""Every worked position of the case file, as the project's own text."""

from __future__ import annotations

from typing import Any

import pytest

from engine import VARIANTS, find_ruleset
from tests.positions import after, board, cases, results

KNOWN = {rules.name for rules in VARIANTS}
HERE = [case for case in cases() if case["variant"] in KNOWN]


@pytest.mark.parametrize("case", HERE, ids=[case["id"] for case in HERE])
def test_a_worked_position_has_exactly_these_results(case: dict[str, Any]) -> None:
    rules = find_ruleset(case["variant"], case["rules"])
    found = results(after(rules, case["position"], case["roll"]), rules)
    assert len(found) == len(set(found)) == case["count"]
    for index, text in enumerate(case["must"]):
        points = case.get("outcome", [None] * len(case["must"]))[index]
        pending = case.get("pending", ["roll"] * len(case["must"]))[index]
        passed = case.get("passed", [True] * len(case["must"]))[index]
        wanted = (
            (board(rules, text), None, None, points)
            if points is not None
            else (board(rules, text), pending, passed, None)
        )
        assert wanted in found, f"{text} is missing, or something else follows it"
    for text in case.get("must_not", []):
        assert board(rules, text) not in [result[0] for result in found], f"{text} is illegal"
    if case.get("only"):
        assert len(case["must"]) == case["count"]


def test_the_21_opening_rolls_have_447_results() -> None:
    counts = [case["count"] for case in cases() if case["id"].startswith("BG-1-")]
    assert len(counts) == 21
    assert sum(counts) == 447
