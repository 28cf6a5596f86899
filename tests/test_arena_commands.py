"""Commands of the arena that ask a policy about its plays, and those of policies in each other's games."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from agents.lookahead import LookaheadAgent
from agents.policy import shapes_of, write_policy
from agents.registry import make_agent
from agents.value import ValueAgent
from arena.cross import cross
from arena.errors import Errors, by_lookahead, by_rollout, near, sample
from arena.openings import openings
from engine import find_ruleset
from engine.decisions import afterstates
from engine.notation import decision
from engine.slots import MINE, THEIRS, Boards, Codes
from tests.commands import ROOT, refused, run
from tests.test_rollout import ByPips

BACKGAMMON, IRISH = find_ruleset("backgammon"), find_ruleset("irish")
BACKGAMMON_POLICY, IRISH_POLICY = (f"policy:{ROOT / 'checkpoints' / name}.npz" for name in ("backgammon", "irish"))


# -- lookahead ---------------------------------------------------------------------------------------------


def test_millipoints_count_unforced_decisions_and_pr_only_those_that_are_not_trivial() -> None:
    lost = np.array([0.1, 0.0, 0.0, 0.02])
    found = Errors(lost, np.zeros(4), np.zeros(4, np.int64), np.array([True, False, True, True])).record(a_game=40)
    assert found["millipoints_per_unforced_decision"] == pytest.approx(30)  # 1000 x 0.12 / 4
    assert found["pr"] == pytest.approx(20)  # 500 x 0.12 / 3
    assert found["points_per_game_and_side"] == pytest.approx(0.6)  # 20 decisions of each side


def test_rivals_are_the_best_plays_besides_the_choice_that_come_near() -> None:
    equity = np.array([0.10, 0.30, -np.inf, 0.25, 0.29])
    assert near(equity, 1).tolist() == [4, 3]
    assert near(equity, 0).tolist() == [1, 4]
    assert near(np.array([0.5, 0.1]), 0).tolist() == []


def test_the_positions_are_unforced_and_the_same_for_the_same_seed() -> None:
    rules = find_ruleset("hypergammon")
    agent = ValueAgent(ByPips(rules), rules, "test")
    one, other = sample(agent, 4, 5), sample(agent, 4, 5)
    assert one.after.counts.min() > 1
    assert (one.after.before == other.after.before).all()
    assert (one.after.before != sample(agent, 4, 6).after.before).any()


class Hoarder(ByPips):
    """Likes to keep its checkers a little; knows nothing else."""

    def values(self, boards: Boards, pending: Codes) -> npt.NDArray[np.float32]:
        kept = boards[:, :, 1:].sum(axis=2)
        win = 0.5 + 0.01 * (kept[:, MINE] - kept[:, THEIRS])
        values = np.zeros((len(pending), 6), np.float32)
        values[:, 2], values[:, 3] = win, 1 - win
        return values


def test_rollouts_find_what_the_policy_does_not_know() -> None:
    board, code = decision("6:1 2:1 off:13 / 1:3 off:12", "2-1", BACKGAMMON)
    after = afterstates(board[None], np.array([code], np.int8), BACKGAMMON)
    agent = ValueAgent(Hoarder(BACKGAMMON), BACKGAMMON, "test")
    _, equity = by_lookahead(agent, LookaheadAgent(agent.evaluator, BACKGAMMON, "test"), after)
    found = by_rollout(agent, after, equity, trials=1000, plies=4, seed=1)
    taken = int(agent.choose(after, np.zeros(1, np.uint64))[0])
    choice, better = (after.boards[row, THEIRS, 1:6].tolist() for row in (taken, int(found.better[0])))
    assert choice in ([1, 0, 0, 1, 0], [0, 1, 1, 0, 0])  # both checkers are kept, 4 and 1 or 3 and 2
    assert better == [0, 0, 0, 0, 1]  # 6/5 2/off: the last one comes off in 31 of 36 rolls
    wins = 29 if choice[0] else 25  # of 36, both from there, if the opponent has not rolled one of 6 doubles
    assert found.lost[0] == pytest.approx(2 * 30 / 36 * (31 - wins) / 36, abs=4 * float(found.sure[0]))


def test_lookahead_tells_both_measures_by_their_names() -> None:
    done = run("-m", "arena", "lookahead", "irish", IRISH_POLICY, "--positions", "6", "--trials", "4", "--json", "-")
    record = json.loads(done.stdout)
    assert record["command"].startswith("python -m arena lookahead irish")
    for judge in ("1-ply", "rollouts, 4 x 4 plies"):
        figures = record["judges"][judge]
        assert figures["decisions"] == 6
        assert {"millipoints_per_unforced_decision_se", "pr", "pr_se"} <= figures.keys()
    assert record["worst"][0].keys() >= {"position", "roll", "played", "better", "lost", "±"}


@pytest.mark.parametrize("spec", ["pips", f"{IRISH_POLICY},ply=1"])
def test_lookahead_needs_a_value_function_at_0_ply(spec: str) -> None:
    refused(run("-m", "arena", "lookahead", "irish", spec), f"agent '{spec}': must be a value function at 0-ply")


# -- openings ------------------------------------------------------------------------------------------------


def test_the_best_first_plays_of_backgammon_are_those_of_the_books() -> None:
    agent = make_agent(BACKGAMMON_POLICY, BACKGAMMON)
    assert isinstance(agent, ValueAgent)
    found = {one.roll: one for one in openings(agent, BACKGAMMON)}
    assert len(found) == 15  # no doubles: a tie is thrown again
    best = {"3-1": "8/5 6/5", "4-2": "8/4 6/4", "5-3": "8/3 6/3", "6-1": "13/7 8/7", "6-5": "24/13"}
    assert {roll: found[roll].play for roll in best} == best
    assert all(one.chance == pytest.approx(1 / 15) for one in found.values())
    one = found["3-1"]
    assert one.runner_up is not None
    assert one.runner_up_equity is not None
    assert one.equity > 0.1 > one.runner_up_equity
    assert one.win is not None
    assert one.gammon is not None
    assert 0.5 < one.win < 0.6
    assert 0.1 < one.gammon < one.win


def test_where_the_winner_of_the_throw_rolls_afresh_a_first_roll_may_be_a_double() -> None:
    agent = make_agent(IRISH_POLICY, IRISH)
    assert isinstance(agent, ValueAgent)
    found = openings(agent, IRISH)
    assert len(found) == 21
    assert [one.chance for one in found if one.roll == "6-6"] == pytest.approx([1 / 36])
    assert sum(one.chance for one in found) == pytest.approx(1)
    assert all(one.gammon is None for one in found)  # every win pays one


def test_a_turn_of_several_decisions_is_told_to_its_end() -> None:
    french = find_ruleset("french")  # the winner of the throw plays it or rolls afresh
    found = openings(ValueAgent(ByPips(french), french, "test"), french)
    assert len(found) == 15
    assert any(one.play.startswith("plays 6-5, then hand/") for one in found)


def test_openings_need_an_agent_that_tells_equities() -> None:
    refused(run("-m", "arena", "openings", "irish", "pips"), "agent 'pips': tells no equities")


def test_openings_draw_a_board_for_each_roll(tmp_path: Path) -> None:
    done = run("-m", "arena", "openings", "backgammon", BACKGAMMON_POLICY, "--report", str(tmp_path / "page"))
    page = (tmp_path / "page" / "index.html").read_text("utf-8")
    assert done.returncode == 0, done.stderr
    assert page.count("<img") == 15
    assert "http" not in page.replace("http-equiv", "")


# -- cross ---------------------------------------------------------------------------------------------------


def test_what_a_policy_cannot_read_is_left_out_and_named(tmp_path: Path) -> None:
    hyper = find_ruleset("hypergammon")
    arrays = {name: np.zeros(shape, np.float32) for name, shape in shapes_of(hyper, [4]).items()}
    write_policy(tmp_path / "hyper.npz", hyper, arrays, [4], {"config": {}, "counters": {}, "figures": {}})
    specs = [BACKGAMMON_POLICY, IRISH_POLICY, f"policy:{tmp_path / 'hyper.npz'}"]
    found = cross([BACKGAMMON, IRISH, hyper], specs, 20, seed=1)
    points = found.ppg()
    assert np.isnan(points).tolist() == [[False, False, True], [False, False, True], [True, True, False]]
    assert points.diagonal().tolist() == [0, 0, 0]
    assert "checkers is 15 there, 3 here" in found.reasons[0, 2]
    assert found.duels[0][1] is not None
    assert found.duels[0][1].a == f"foreign:{BACKGAMMON_POLICY}"


def test_cross_prints_the_matrix_as_json() -> None:
    words = [f"backgammon={BACKGAMMON_POLICY}", f"irish={IRISH_POLICY}", "--games", "20", "--json", "-"]
    record = json.loads(run("-m", "arena", "cross", *words).stdout)
    assert [(one["policy_of"], one["game"], one["games"]) for one in record["duels"]] == [
        ("backgammon", "irish", 20),
        ("irish", "backgammon", 20),
    ]
    assert record["left_out"] == []


def test_figures_go_into_a_file() -> None:
    refused(run("-m", "arena", "exact", "irish", "pips", "rules.checkers=1", "--json", "."), "--json", "is a folder")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["irish=pips", "backgammon=pips"], "must be VARIANT=td:PATH or VARIANT=policy:FILE"),
        ([f"irish={IRISH_POLICY}"], "two or more VARIANT=AGENT are required, found 1"),
        ([f"irish={IRISH_POLICY}"] * 2, "irish is given twice"),
    ],
)
def test_cross_refuses_what_is_no_matrix(words: list[str], reason: str) -> None:
    refused(run("-m", "arena", "cross", *words), reason)
