"""Bear-off tables: against pencil, gnubg's own, and the engine; as the end of an agent and as targets."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from math import comb
from pathlib import Path

import numpy as np
import pytest

from agents.bearoff import Bearoff, BearoffError, WithBearoff, load_bearoff, places, save_bearoff
from agents.registry import make_agent
from agents.value import ValueAgent
from arena.bearing_off import NotPlain, make_bearoff
from engine import VARIANTS, Ruleset, find_ruleset, parse_position, queues_of
from engine.slots import SLOTS, Boards, Codes
from learning.targets import exact_targets, lambda_targets
from tests.commands import ROOT, refused, run

MAKEBEAROFF = shutil.which("makebearoff", path=os.environ["PATH"] + ":/usr/games")
FEW = {"checkers": "3"}  # so few that gammons come up, and quickly made
PLAIN = (
    "backgammon", "irish", "irish_play65", "dutch", "nackgammon", "hypergammon", "longgammon", "portes", "narde",
    "moultezim", "fevga", "plakoto", "tapa", "kotra",
)  # fmt: skip


@cache
def table_of(name: str, few: bool = True) -> Bearoff:
    return make_bearoff(find_ruleset(name, FEW if few else {}))


def rolls(rules: Ruleset, boards: Boards) -> Codes:
    return np.full(len(boards), queues_of(rules).code(("roll",)), np.int8)


def wins(table: Bearoff, position: str) -> float:
    """How often the side about to roll wins, gammon or not."""
    board = parse_position(position, table.rules)[0].reshape(1, 2, SLOTS)
    return float(table.values(board, rolls(table.rules, board))[0, table.rules.payoffs > 0].sum())


def test_a_last_checker_on_the_six_point_leaves_with_27_rolls_of_36() -> None:
    """Pencil: 6-x 11, 5-x 9 more, 4-2 and 4-3 4 more, 4-4, 3-3 and 2-2 3 more."""
    assert wins(table_of("backgammon"), "6:1 off:2 / 1:1 off:2") == pytest.approx(27 / 36, abs=1e-6)


def test_doubles_played_twice_cost_a_last_checker_one_of_these_rolls() -> None:
    """Pencil: 2-2 takes 8 pips where a double is played four times, 4 where each die is played once."""
    assert wins(table_of("irish"), "6:1 off:2 / 1:1 off:2") == pytest.approx(26 / 36, abs=1e-6)


@pytest.mark.parametrize("name", PLAIN)
def test_a_table_is_the_mean_over_all_rolls_of_its_own_best_replies(name: str) -> None:
    table = table_of(name)
    generator, sides = np.random.default_rng(4), places(table.rules)
    boards = sides[generator.integers(1, len(sides), (60, 2))]
    table.rules.recall(boards)
    pending = rolls(table.rules, boards)
    agent = ValueAgent(table, table.rules, "table")
    payoffs = table.rules.payoffs
    again = exact_targets(agent, boards, pending, table.rules) @ payoffs
    assert np.allclose(again, table.values(boards, pending) @ payoffs, atol=1e-5)


def test_games_without_plain_bearing_off_are_refused() -> None:
    for name in {rules.name for rules in VARIANTS} - set(PLAIN):
        with pytest.raises(NotPlain):
            make_bearoff(find_ruleset(name))


def gnubg_rank(side: Boards, checkers: int) -> int:
    """The number of one side's home board in gnubg's files: its rank among all ways to place the checkers."""
    held = [int(side[point]) for point in range(1, 7)]
    bits = [sum(held) + 5 - sum(held[:point]) - point for point in range(6)]
    rank, size, free = 0, checkers + 6, 6
    while size > free:
        size -= 1
        if size in bits:
            rank, free = rank + comb(size, free), free - 1
    return rank


def agrees_with_makebearoff(checkers: int, folder: Path) -> int:
    assert MAKEBEAROFF is not None
    file = folder / "two.bd"
    subprocess.run([MAKEBEAROFF, "-t", f"6x{checkers}", "-f", str(file)], capture_output=True, check=True)
    size = comb(checkers + 6, 6)
    equity = np.fromfile(file, np.uint8)[40:].view("<u2").reshape(size, size, -1)[..., 0] / 32767.5 - 1
    table = table_of("backgammon", few=False)
    sides = places(table.rules)
    rows = np.flatnonzero(sides[:, 1:7].sum(axis=1) <= checkers)[1:]
    ranks = np.array([gnubg_rank(side, checkers) for side in sides[rows]])
    ours = table.table[np.ix_(rows, rows)][..., 0]
    assert np.abs(ours - (equity[np.ix_(ranks, ranks)] + 1) / 2).max() < 1e-4
    return rows.size


@pytest.mark.skipif(MAKEBEAROFF is None, reason="gnubg's makebearoff is not installed")
def test_three_checkers_a_side_win_as_often_as_in_another_programs_table(tmp_path: Path) -> None:
    assert agrees_with_makebearoff(3, tmp_path) == 83


@pytest.mark.full
@pytest.mark.skipif(MAKEBEAROFF is None, reason="gnubg's makebearoff is not installed")
def test_six_checkers_a_side_win_as_often_as_in_another_programs_table(tmp_path: Path) -> None:
    assert agrees_with_makebearoff(6, tmp_path) == 923


# -- in use ------------------------------------------------------------------------------------------------


class Nothing:
    """An evaluator that thinks the first outcome certain."""

    def __init__(self, rules: Ruleset) -> None:
        self.rules = rules

    def values(self, boards: Boards, pending: Codes) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return np.eye(self.rules.payoffs.size, dtype=np.float32)[np.zeros(len(pending), np.intp)]


def test_positions_of_the_table_are_looked_up_and_the_others_asked_for() -> None:
    rules = find_ruleset("irish", FEW)
    evaluator = WithBearoff(Nothing(rules), table_of("irish"))
    texts = ("6:1 off:2 / 1:1 off:2", "7:1 off:2 / 1:1 off:2", "6:1 off:2 / bar:1 off:2")
    boards = np.stack([parse_position(text, rules)[0].reshape(2, SLOTS) for text in texts])
    assert evaluator.values(boards, rolls(rules, boards))[:, 0] == pytest.approx([26 / 36, 1, 1], abs=1e-6)


def test_a_known_value_ends_the_return() -> None:
    """By hand: the second position is known to be worth 0.7, so the game won later says nothing about the first two."""
    values = np.array([[[0.5, 0.5]], [[0.7, 0.3]], [[0.2, 0.8]]], np.float32)
    outcomes = np.array([[[0, 0]], [[1, 0]]], np.float32)
    passed, known = np.array([[True], [False]]), np.array([[False], [True], [False]])
    targets = lambda_targets(values, outcomes, passed, 1.0, known)
    assert targets[:, 0] == pytest.approx(np.array([[0.3, 0.7], [0.7, 0.3]]))


def test_an_agent_plays_by_a_table_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "irish.npz"
    assert run("-m", "arena", "bearoff", "irish", str(file)).returncode == 0
    rules = find_ruleset("irish")
    agent = make_agent(f"policy:{ROOT / 'checkpoints' / 'irish.npz'},bearoff={file}", rules)
    assert isinstance(agent, ValueAgent)
    board = parse_position("6:1 off:14 / 1:1 off:14", rules)[0].reshape(1, 2, SLOTS)
    assert agent.evaluator.values(board, rolls(rules, board))[0, 0] == pytest.approx(26 / 36, abs=1e-6)


def test_a_table_of_other_rules_and_other_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "table.npz"
    save_bearoff(file, table_of("irish"))
    with pytest.raises(BearoffError, match="checkers is 3 there"):
        load_bearoff(str(file), find_ruleset("irish"))
    (tmp_path / "text.npz").write_text("nothing")
    for name, part in (("text.npz", "not a bear-off table"), ("none.npz", "no such file")):
        with pytest.raises(BearoffError, match=part):
            load_bearoff(str(tmp_path / name), find_ruleset("irish"))
    with pytest.raises(BearoffError, match="not a bear-off table"):
        load_bearoff(str(ROOT / "checkpoints" / "irish.npz"), find_ruleset("irish"))
    refused(run("-m", "arena", "bearoff", "russian", str(tmp_path / "x.npz")), "same points")
    refused(run("-m", "arena", "bearoff", "irish", "table.txt"), ".npz")
    refused(run("-m", "arena", "bearoff", "irish", str(tmp_path / "no" / "x.npz")), "no folder")
