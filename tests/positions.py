"""Positions as tests write and read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from engine import Ruleset, afterstates, parse_position, queues_of
from engine.notation import decision
from engine.plays import Afterstates
from engine.slots import Boards

CASES = Path(__file__).parent / "cases" / "positions.jsonl"


def cases() -> list[dict[str, Any]]:
    """Every line of the position file."""
    return [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]


def after(rules: Ruleset, position: str, roll: str) -> Afterstates:
    """All legal results of one position and roll."""
    board, code = decision(position, roll, rules)
    return afterstates(board[None], np.array([code], np.int8), rules)


def checkers(board: Boards, rules: Ruleset) -> bytes:
    """The (2, SLOTS) board without what is remembered, for comparing."""
    return board[:, : rules.hand + 1].tobytes()


def board(rules: Ruleset, position: str) -> bytes:
    """A position text, for comparing."""
    return checkers(parse_position(position, rules)[0], rules)


def results(found: Afterstates, rules: Ruleset) -> list[tuple[bytes, str | None, bool | None, int | None]]:
    """Each result of one decision: checkers with the mover's first, what is pending, passed, points."""
    names = queues_of(rules).names
    listed: list[tuple[bytes, str | None, bool | None, int | None]] = []
    for row in range(found.game.size):
        sides = found.boards[row, ::-1] if found.passed[row] else found.boards[row]
        if found.outcome[row] >= 0:
            listed.append((checkers(sides, rules), None, None, int(rules.payoffs[found.outcome[row]])))
        else:
            listed.append((checkers(sides, rules), names[found.pending[row]], bool(found.passed[row]), None))
    return listed


def plays(rules: Ruleset, position: str, roll: str) -> list[bytes]:
    """The distinct boards after a roll, sorted."""
    return sorted(result[0] for result in results(after(rules, position, roll), rules))


def boards(rules: Ruleset, *positions: str) -> list[bytes]:
    """Several position texts, for comparing with `plays`."""
    return sorted(board(rules, position) for position in positions)
