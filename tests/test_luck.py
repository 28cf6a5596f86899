"""Luck: its mean is 0, a point of it is worth a point, and results without it keep their mean."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

import agents.lookahead
from agents.base import Scores
from agents.network import ValueNet
from agents.policy import write_policy
from agents.registry import make_agent
from agents.simple import pips
from arena.duel import Duel, duel, played
from arena.luck import (
    Judge,
    Luck,
    checks,
    coefficient,
    fitted_before,
    fitted_elsewhere,
    judge_for,
    luck_of_chance,
)
from engine import Ruleset, find_ruleset, parse_position
from engine.chances import Chances, outcomes_of_chance
from engine.decisions import Afterstates
from engine.queues import queues_of
from engine.slots import Boards, Codes
from tests.commands import ROOT, refused, run

BACKGAMMON = find_ruleset("backgammon")
RACE = find_ruleset("hypergammon", {"checkers": "1"})
SMALL = {"points": "8", "checkers": "4"}
BINDING = find_ruleset("irish", SMALL | {"setup": "8:2 3:2"})
BONUS = find_ruleset("acey_deucey", {"points": "8", "checkers": "2"})
POLICY = f"policy:{ROOT / 'checkpoints' / 'backgammon.npz'}"


class Racer:
    """Finds the side ahead that has fewer pips to go, the more the fewer."""

    def __init__(self, rules: Ruleset) -> None:
        self.rules = rules

    def equities(self, after: Afterstates) -> Scores:
        mine, theirs = (pips(after.boards[:, side], self.rules).astype(np.float64) for side in (0, 1))
        lead = np.where(after.passed, mine - theirs, theirs - mine)
        worth: Scores = np.where(after.outcome < 0, np.tanh(lead / 10), self.rules.payoffs.take(after.outcome))
        return worth


def judged(rules: Ruleset, games: int, seed: int = 0) -> Duel:
    """Unpaired games of a pip counter against itself, by the racer's judgement."""
    agent = make_agent("pips", rules)
    return played(rules, (agent, agent), seed, range(games // 2), Judge(Racer(rules), "racer"), shared=False)


def of(match: Duel) -> Luck:
    assert match.luck is not None
    return match.luck


@pytest.mark.parametrize(
    ("rules", "kinds"),
    [
        pytest.param(RACE, {"opening throw", "roll"}, id="one checker"),
        pytest.param(BINDING, {"opening throw", "roll", "toss"}, id="binding"),
        pytest.param(BONUS, {"opening throw", "roll", "bonus roll"}, id="bonus roll"),
    ],
)
def test_the_mean_luck_of_every_kind_of_event_and_side_is_0(rules: Ruleset, kinds: set[str]) -> None:
    match = judged(rules, 20_000)
    found = [check for check in checks(of(match), match.points) if check.events]
    assert {check.what for check in found} == {f"mean luck of {side}, {kind}" for side in "AB" for kind in kinds}
    assert all(check.holds for check in found), found


def test_a_mean_over_the_21_rolls_without_their_weights_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def unweighted(boards: Boards, pending: Codes, rules: Ruleset) -> Chances:
        right = outcomes_of_chance(boards, pending, rules)
        return replace(right, weight=1 / np.bincount(right.parent).take(right.parent))

    monkeypatch.setattr(agents.lookahead, "outcomes_of_chance", unweighted)
    match = judged(RACE, 20_000)
    wrong = {check.what for check in checks(of(match), match.points) if not check.holds}
    assert wrong >= {"mean luck of A, roll", "mean luck of B, roll"}


class Lost:
    """Who has not borne off everything has lost."""

    def equities(self, after: Afterstates) -> Scores:
        return np.where(after.outcome < 0, -1.0, 1.0)


def test_the_luck_of_a_last_roll_by_pencil() -> None:
    """A last checker on 6 leaves with 27 of 36 rolls: 0.75 - 0.25 on average, so off is 0.5 of luck."""
    before = np.stack([parse_position("6:1 off:14 / 1:1 off:14", BACKGAMMON)[0]] * 2)
    q = queues_of(BACKGAMMON)
    pending, came = (
        np.array([q.code(one) for one in two], np.int8) for two in (2 * [("roll",)], [((6, 1),), ((2, 1),)])
    )
    luck = luck_of_chance(Judge(Lost(), "pencil"), before, pending, came, np.zeros(2, np.bool_), BACKGAMMON)
    assert luck == pytest.approx([0.5, -1.5])


class Begins:
    """Whoever is to play wins."""

    def equities(self, after: Afterstates) -> Scores:
        return np.ones(after.game.size)


def test_the_luck_of_an_opening_throw_is_seen_by_the_side_it_belongs_to() -> None:
    """Either side begins in half of the throws: a point of luck for who does, one of bad luck for who does not."""
    start = np.stack([np.tile(BACKGAMMON.start_row, (2, 1))] * 2)
    q = queues_of(BACKGAMMON)
    pending, came = (np.full(2, q.code(queue), np.int8) for queue in (("first",), ((6, 1),)))
    luck = luck_of_chance(Judge(Begins(), "pencil"), start, pending, came, np.array([False, True]), BACKGAMMON)
    assert luck == pytest.approx([1, -1])


@pytest.fixture(scope="module")
def between_equals() -> Duel:
    agent = make_agent(POLICY, BACKGAMMON)
    return played(BACKGAMMON, (agent, agent), 1, range(60), judge_for((agent,), None, BACKGAMMON), shared=False)


def test_between_equals_a_point_of_luck_is_worth_a_point_and_nine_tenths_of_the_variance_is_luck(
    between_equals: Duel,
) -> None:
    assert all(check.holds for check in checks(of(between_equals), between_equals.points))
    assert between_equals.saved > 7
    assert of(between_equals).spec == POLICY


@pytest.mark.parametrize("sides", [(-1, -1), (1, -1)], ids=["wrong sign", "wrong view"])
def test_a_wrong_sign_or_view_is_found_out_by_the_coefficient(between_equals: Duel, sides: tuple[int, int]) -> None:
    wrong = replace(of(between_equals), sums=of(between_equals).sums * np.array(sides))
    assert "coefficient of luck" in {check.what for check in checks(wrong, between_equals.points) if not check.holds}


def test_luck_that_is_not_fair_is_found_out_by_the_estimate_it_moves(between_equals: Duel) -> None:
    wrong = replace(of(between_equals), sums=of(between_equals).sums + 1.0)
    assert "adjusted less plain ppg" in {
        check.what for check in checks(wrong, between_equals.points) if not check.holds
    }


def test_an_agent_against_itself_scores_exactly_0_without_luck_too() -> None:
    rules = find_ruleset("hypergammon")
    agent = make_agent("pips", rules)
    match = duel(rules, agent, agent, 200, seed=1, judge=Judge(Racer(rules), "racer"))
    assert (match.adjusted == 0).all()
    assert of(match).events.sum() > 2000


def test_looking_at_luck_changes_no_game() -> None:
    rules = find_ruleset("hypergammon")
    two = make_agent("pips", rules), make_agent("random", rules)
    plain, looked = (duel(rules, *two, 300, seed=1, judge=judge) for judge in (None, Judge(Racer(rules), "racer")))
    assert (plain.outcome == looked.outcome).all()
    assert (plain.plies == looked.plies).all()


Points = npt.NDArray[np.float64]
POINTS: Points = np.array([1.0, 2.0, 3.0, 6.0, 5.0, 10.0])
LUCK: Points = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 2.0])


def test_a_pairs_coefficient_is_fitted_on_the_other_half() -> None:
    assert coefficient(POINTS[::2], LUCK[::2]) == 2  # 1, 3, 5 over 0, 1, 2
    assert coefficient(POINTS[1::2], LUCK[1::2]) == 4  # 2, 6, 10 over 0, 1, 2
    assert fitted_elsewhere(POINTS, LUCK).tolist() == [4, 2, 4, 2, 4, 2]


def test_who_looks_on_the_way_fits_on_what_was_known_before() -> None:
    assert fitted_before(POINTS, LUCK, (2, 4, 6)).tolist() == [
        1,
        1,
        1,
        1,
        3,
        3,
    ]  # 2 pairs without luck; then +1.5, +4.5


def test_the_evaluator_is_the_first_agents_own_net_at_0_ply_else_the_next_ones() -> None:
    plain, net = make_agent("pips", BACKGAMMON), make_agent(f"{POLICY},ply=1", BACKGAMMON)
    found = judge_for((plain, net), None, BACKGAMMON)
    assert found is not None
    assert found.spec == POLICY
    assert judge_for((plain, plain), None, BACKGAMMON) is None
    assert judge_for((plain, net), "none", BACKGAMMON) is None


def test_evaluate_tells_evaluator_coefficient_both_estimates_and_what_was_saved() -> None:
    done = run("evaluate.py", "backgammon", "pips", "random", "--luck", POLICY, "--games", "20", "--json", "-")
    record = json.loads(done.stdout)
    pair = record["pairs"][0]
    assert record["luck"] == pair["adjusted"]["by"] == POLICY
    assert set(pair["adjusted"]) >= {"ppg", "low", "high", "coefficient", "deviation", "plain_deviation", "saved"}
    assert pair["ppg"] != pair["adjusted"]["ppg"]
    shown = run("evaluate.py", "hypergammon", "pips", "random", "--games", "20").stdout
    assert "No luck adjustment: none of these agents has a value function" in shown


def test_a_luck_evaluator_without_values_is_refused() -> None:
    refused(run("evaluate.py", "hypergammon", "pips", "random", "--luck", "pips"), "--luck pips", "td:PATH")
    refused(run("-m", "arena", "luck", "hypergammon", "pips"), "pips: none of these agents has a value function")
    refused(run("-m", "arena", "luck", "hypergammon", "pips", "random"), "must be one AGENT, found 2")


def test_the_command_ends_with_1_where_a_check_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = find_ruleset("hypergammon")
    torch.manual_seed(1)
    arrays = {name: array.numpy() for name, array in ValueNet(rules, (8,)).state_dict().items()}
    write_policy(tmp_path / "blank.npz", rules, arrays, [8], {"config": {}, "counters": {}, "figures": {}})
    command = f"-m arena luck hypergammon policy:{tmp_path / 'blank.npz'} --games 200 --json -".split()
    monkeypatch.setattr("arena.luck.COEFFICIENTS", (-1.0, 3.0))
    assert run(*command).returncode == 0
    monkeypatch.setattr("arena.luck.COEFFICIENTS", (3.0, 4.0))
    done = run(*command)
    found = {check["what"]: check["holds"] for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == 1, done.stderr
    assert not found["coefficient of luck"]
    assert found["mean luck of A, roll"]
    assert len(found) == 2 * len(("opening throw", "roll")) + 2
