"""Ratings of a field: what the numbers must be, by pencil, and what a command says of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from arena.duel import Duel
from arena.ratings import bradley_terry, least_squares, meetings, rate
from engine import find_ruleset
from learning.checkpoint import contents_of, write
from learning.config import Config, Net, Run
from learning.learner import Counters, Learner
from tests.commands import refused, run
from tests.test_page import Reader

HYPER = find_ruleset("hypergammon")
WON, LOST = 2, 3  # of its outcomes, those that pay +1 and -1
MANY = 1e9  # games, beside which the drawn one is nothing
TRIANGLE = [(0, 1), (0, 2), (1, 2)]


def duel_of(chance: float, pairs: int = 500, seed: int = 0) -> Duel:
    """A duel of made-up games, of which the first wins this share, but for luck."""
    outcome = np.where(np.random.default_rng(seed).random((2, pairs)) < chance, WON, LOST).astype(np.int8)
    return Duel(HYPER, "a", "b", 0, outcome, np.zeros((2, pairs), np.int32))


def test_three_wins_of_four_are_190_elo() -> None:  # 400 log10 3 = 190.85
    assert bradley_terry(np.array([0.75]), [(0, 1)], 2, MANY) == pytest.approx([95.42, -95.42], abs=0.01)


def test_odds_multiply_along_a_chain() -> None:  # 10:1 and 10:1 are 100:1
    wins = np.array([10 / 11, 100 / 101, 10 / 11])
    assert bradley_terry(wins, TRIANGLE, 3, MANY) == pytest.approx([400, 0, -400], abs=0.01)


def test_a_circle_of_wins_leaves_all_equal() -> None:
    assert bradley_terry(np.array([1.0, 0.0, 1.0]), TRIANGLE, 3, 1000) == pytest.approx([0, 0, 0], abs=0.01)


def test_who_wins_every_game_is_ahead_by_400_elo_for_every_tenfold_of_games() -> None:
    gaps = [np.ptp(bradley_terry(np.array([1.0]), [(0, 1)], 2, games)) for games in (1e3, 1e4)]
    assert gaps[0] == pytest.approx(400 * np.log10(2e3), rel=0.02)  # e^-d = 1 / 2N, where half a win weighs as much
    assert gaps[1] - gaps[0] == pytest.approx(400, rel=0.02)


def test_least_squares_of_all_pairs_is_the_mean_score_of_each() -> None:  # (0.3 + 0.7) / 3, (0.1 - 0.3) / 3, ...
    assert least_squares(np.array([0.3, 0.7, 0.1]), TRIANGLE, 3) == pytest.approx([1 / 3, -0.2 / 3, -0.8 / 3])


def test_what_one_number_each_leaves_is_the_misfit() -> None:  # 1 - 2/3, 0 - 2/3 ... : a circle, all ratings 0
    circle = rate([duel_of(1), duel_of(0), duel_of(1)], TRIANGLE, 3, seed=1)
    assert circle.misfit == pytest.approx(1)
    assert circle.ppg.value == pytest.approx([0, 0, 0])
    assert len(set(circle.groups)) == 1


def test_who_never_won_is_in_a_group_apart() -> None:
    groups = rate([duel_of(0.5), duel_of(1), duel_of(1)], TRIANGLE, 3, seed=1).groups
    assert groups[0] == groups[1] != groups[2]


def test_equal_agents_stay_equal_in_every_resampling_because_all_duels_had_the_same_dice() -> None:
    zero = Duel(HYPER, "a", "a", 0, np.array([[WON] * 500, [LOST] * 500], np.int8), np.zeros((2, 500), np.int32))
    found = rate([zero, duel_of(0.6), duel_of(0.6)], TRIANGLE, 3, seed=1)
    for scale in (found.elo, found.ppg):
        assert scale.value[0] == pytest.approx(scale.value[1], abs=1e-4)
    assert found.ppg.high[0] - found.ppg.high[1] == pytest.approx(0, abs=1e-9)
    samples_agree = np.abs([found.elo.low[0] - found.elo.low[1], found.elo.high[0] - found.elo.high[1]])
    assert samples_agree.max() < 1e-3


def test_the_interval_of_a_difference_is_that_of_the_duel() -> None:  # of two, each has half of it
    match = duel_of(0.55, pairs=4000)
    found, (low, high) = rate([match], [(0, 1)], 2, seed=3), match.interval()
    assert found.ppg.value[0] == pytest.approx(match.ppg / 2)
    assert (found.ppg.low[0], found.ppg.high[0]) == pytest.approx((low / 2, high / 2), abs=0.002)


def test_a_lead_of_one_standard_error_is_superiority_of_84_percent() -> None:  # Phi(1) = 0.841
    outcome = np.full((2, 1000), WON, np.int8)
    outcome[:, 1 : 2 * 484 : 2] = LOST  # 516 pairs won, 484 lost: 0.032 and a standard error of 0.0316
    match = Duel(HYPER, "a", "b", 0, outcome, np.zeros((2, 1000), np.int32))
    found = rate([match], [(0, 1)], 2, seed=3)
    for scale in (found.elo, found.ppg):
        assert scale.above[0, 1] == pytest.approx(0.844, abs=0.035)
        assert scale.above[0, 1] + scale.above[1, 0] == 1


def test_everybody_meets_everybody_but_earlier_snapshots_meet_anchors_and_the_next() -> None:
    assert meetings(["", "", ""]) == [(0, 1), (0, 2), (1, 2)]
    with_run = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4)]  # not 1-3
    assert meetings(["", "r", "r", "r", "r"]) == with_run


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three snapshots of small nets, its name one that a page must not obey."""
    folder = tmp_path_factory.mktemp("runs") / "<script>&[b]"
    for number, percent in enumerate((5, 50, 100)):
        config = Config(variant=HYPER.name, seed=number, run=Run(updates=1), net=Net(hidden=[4]))
        learner = Learner(HYPER, config)
        learner.counters = Counters(plies=900 * percent, games=20 * percent, seconds=1.5 * percent)
        write(contents_of(learner, {}), folder / "checkpoints" / f"{percent:03}.pt")
    return folder


def test_rate_writes_the_same_figures_as_json_and_page(run_folder: Path, tmp_path: Path) -> None:
    words = ["pips", str(run_folder), "--games", "40", "--seed", "3", "--json", str(tmp_path / "figures.json")]
    done = run("-m", "arena", "rate", "hypergammon", *words, "--report", str(tmp_path / "report"))
    assert done.returncode == 0, done.stderr
    assert "<script>&[b]" in done.stdout
    record = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert json.loads((tmp_path / "report" / "findings.json").read_text("utf-8")) == record
    assert record["seed"] == 3
    assert record["ratings"][0]["agent"] == "pips"
    assert sum(rating["elo"]["value"] for rating in record["ratings"]) == pytest.approx(0, abs=1e-6)
    halfway = next(rating for rating in record["ratings"] if rating["name"].endswith("50 %"))
    assert halfway["counters"] == {"plies": 45_000, "games": 1000, "seconds": 75}
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    reader = Reader(page)
    assert "script" not in reader.tags
    for heading in ("Learning curve in Elo", "Likelihood of superiority in Elo", "Points a game", "Calibration of"):
        assert heading in reader.text
    assert "http" not in page


def test_rate_refuses_what_it_cannot_rate(run_folder: Path, tmp_path: Path) -> None:
    rate_words = ("-m", "arena", "rate", "hypergammon")
    refused(run(*rate_words, "pips"), "pips", "two or more")
    refused(run(*rate_words, "pips", "pips"), "two or more")
    refused(run(*rate_words, "pips", str(tmp_path)), "holds no snapshots")
    refused(run("-m", "arena", "rate", "backgammon", str(run_folder)), "trained for hypergammon")
    (tmp_path / "file").write_text("")
    refused(run(*rate_words, "pips", "random", "--report", str(tmp_path / "file" / "x")), "is a file; give a folder")


def test_evaluate_writes_the_same_figures_as_json_and_page(tmp_path: Path) -> None:
    words = ["hypergammon", "pips", "random", "pips", "--games", "40", "--json", "-", "--report", str(tmp_path / "new")]
    done = run("evaluate.py", *words)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "new" / "findings.json").read_text("utf-8")) == json.loads(done.stdout)
    reader = Reader((tmp_path / "new" / "index.html").read_text("utf-8"))
    for word in ("pips v random", "Points a game", "Outcomes", "Hypergammon, seed 0"):
        assert word in reader.text
