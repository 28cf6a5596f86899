"""Games solved exactly: against pencil, another program, games played out, and the scalar rulebook."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from math import comb
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from agents.base import Choice
from agents.lookahead import LookaheadAgent
from agents.network import ValueNet
from agents.registry import make_agent
from agents.value import ValueAgent
from arena.commands.exact import begun, kept, save
from arena.duel import duel
from arena.exact import Solution, approach, best_response, measure, mover, outcome_shares, policy_of, solve
from arena.parts import decided
from arena.solving import Graph, graph_of
from arena.whole import make_graph
from engine import VARIANTS, Afterstates, Ruleset, find_ruleset, parse_position, queues_of
from engine.slots import SLOTS, Boards, Codes, Keys
from engine.variants import small_games
from tests import rulebook_board as board_of
from tests import rulebook_turns as book
from tests.commands import refused, run

TINY = {"points": "8", "checkers": "2", "setup": "8:2"}  # some thousands of positions
NAMES = [rules.name for rules in VARIANTS]
SMALLEST = ("irish", "european_acey_deucey", "narde", "moultezim", "fevga", "gul_bara", "gioul")  # solved in seconds
MAKEHYPER = shutil.which("makehyper", path=os.environ["PATH"] + ":/usr/games")


@cache
def tiny(name: str) -> Solution:
    return solve(graph_of(find_ruleset(name, TINY)))


@dataclass(frozen=True)
class Table:
    """Takes the best reply, by what positions are worth where MINE is this side, and where it is the other."""

    graph: Graph
    own: npt.NDArray[np.float64]
    other: npt.NDArray[np.float64]
    spec: str = "table"

    def choose(self, after: Afterstates, noise: Keys) -> Choice:
        values = self.graph.rules.payoffs.take(after.outcome).astype(np.float64)
        going = np.flatnonzero(after.outcome < 0)
        found = self.graph.find(after.boards.take(going, axis=0), after.pending.take(going))
        values[going] = np.where(after.passed.take(going), -self.other.take(found), self.own.take(found))
        best = np.maximum.reduceat(values, after.start[:-1])
        rows = np.flatnonzero(values == best.take(after.game))
        return rows.take(np.searchsorted(rows, after.start[:-1]))


# -- values ------------------------------------------------------------------------------------------------


def test_a_last_checker_four_points_away_wins_with_the_higher_double_only() -> None:
    """Pencil: dice have faces 1 and 2. 2-2 takes 4 off; 1-1 and 2-1 do not, and the other side then always wins."""
    rules = find_ruleset("irish", {"points": "8", "checkers": "1", "setup": "8:1"})
    board, pending = parse_position("4:1 / 1:1", rules)[0], np.array([queues_of(rules).code(("roll",))], np.int8)
    solution = solve(graph_of(rules, roots=(board.reshape(1, 2, SLOTS), pending)))
    assert solution.values[0] == pytest.approx(1 / 4 - 3 / 4)


def test_the_solvers_own_policy_loses_nothing_to_anybody() -> None:
    solution = tiny("backgammon")
    found = measure(solution.policy, solution, solution.values)
    assert (found.value_rms, found.value_worst, found.regret, found.exploitability) == (0, 0, 0, 0)


@pytest.mark.parametrize("name", ["backgammon", "plakoto", "kotra", "irish"])
def test_a_game_is_worth_nothing_before_it_is_settled_who_begins(name: str) -> None:
    values = tiny(name).values
    assert values[0] == pytest.approx(0, abs=1e-9)
    assert np.abs(values).max() > 0.5


@pytest.mark.parametrize("name", ["backgammon", "plakoto", "european_acey_deucey", "irish"])
def test_nobody_is_exploited_for_less_than_perfect_play_wins(name: str) -> None:
    solution = tiny(name)
    for spec in ("random", "pips"):
        policy = policy_of(make_agent(spec, solution.graph.rules), solution.graph)
        found = measure(policy, solution)
        assert 0 <= found.regret <= found.exploitability
        answer, answered = best_response(mover(policy, solution.graph), solution.graph)
        assert found.exploitability == pytest.approx((answer[0] - answered[0]) / 2, abs=1e-9)  # wherever it began
    assert found.exploitability > 0


@pytest.mark.parametrize("spec", ["random", "pips"])
def test_games_played_out_show_the_same_regret_and_exploitability(spec: str) -> None:
    solution = tiny("backgammon")
    graph = solution.graph
    agent = make_agent(spec, graph.rules)
    policy = policy_of(agent, graph)
    found = measure(policy, solution)
    optimal = Table(graph, solution.values, solution.values)
    answer = Table(graph, *best_response(mover(policy, graph), graph))
    for other, points in ((optimal, found.regret), (answer, found.exploitability)):
        games = duel(graph.rules, other, agent, 20_000, seed=5)
        error = games.points.std() / np.sqrt(games.points.size)
        assert abs(games.ppg - points) < 4 * error


@pytest.mark.parametrize("name", ["backgammon", "plakoto", "european_acey_deucey"])
def test_the_policy_of_a_net_leads_where_its_choices_do(name: str) -> None:
    graph = tiny(name).graph
    for agent in (
        ValueAgent(ValueNet(graph.rules, (8,)), graph.rules, "net"),
        LookaheadAgent(ValueNet(graph.rules, (8,)), graph.rules, "net", keep=2),
    ):
        policy = policy_of(agent, graph)
        for results, replies, after in graph.decisions():
            rows = agent.choose(after, np.zeros(after.decided.size, np.uint64))
            reached, chosen = graph.target[policy[results]], graph.target[rows + replies.start]
            assert np.array_equal(reached, chosen)  # ends that pay the same are one target


# -- another program ---------------------------------------------------------------------------------------


def gnubg_index(side: Boards, checkers: int) -> int:
    """The number of one side's position in gnubg's files: its rank among all ways to place the checkers on 25 slots."""
    held = [int(side[point]) for point in range(1, 26)]
    place = sum(held) + 24
    bits: list[int] = []
    for count in [0, *held[:-1]]:
        place -= count + bool(bits)
        bits.append(place)
    return sum(comb(bit, 25 - order) for order, bit in enumerate(bits))


def all_positions(rules: Ruleset) -> tuple[Boards, Codes]:
    """Every position of a hit game in which both sides still have checkers, waiting for a roll."""
    sides = np.zeros((0, SLOTS), np.int8)
    for held in combinations_with_replacement(range(rules.bar + 1), rules.checkers):
        side = np.bincount(held, minlength=SLOTS).astype(np.int8)
        sides = np.concatenate([sides, side[None]])
    sides = sides[sides[:, 0] < rules.checkers]
    pairs = np.stack([sides.repeat(len(sides), axis=0), np.tile(sides, (len(sides), 1))], axis=1)
    points = slice(1, rules.points + 1)
    meets = ((pairs[:, 0, points] > 0) & (pairs[:, 1, points][:, ::-1] > 0)).any(axis=1)
    boards = pairs[~meets]
    return boards, np.full(len(boards), queues_of(rules).code(("roll",)), np.int8)


def is_of_equal_plays(shares: npt.NDArray[np.float64], number: int, solution: Solution) -> bool:
    """Do (S, K) shares of outcomes follow, for this position, from best plays, whichever of equal ones is taken?"""
    graph, listed = solution.graph, solution.graph.listed(solution.values)
    of_replies = np.concatenate([shares, shares[:, ::-1], np.eye(shares.shape[1])])
    low = high = np.zeros(shares.shape[1])
    for result in range(graph.results[number], graph.results[number + 1]):
        target = graph.target[graph.replies[result] : graph.replies[result + 1]]
        best = of_replies[target[listed[target] > listed[target].max() - 1e-5]]
        low, high = low + graph.weight[result] * best.min(axis=0), high + graph.weight[result] * best.max(axis=0)
    return bool(((low - 1e-4 < shares[number]) & (shares[number] < high + 1e-4)).all())


def against_makehyper(checkers: int, folder: Path) -> tuple[int, int]:
    """How many positions there are, and in how many a probability differs by 1e-4.

    No equity may, and what differs has to follow from other plays of the same equity.
    """
    assert MAKEHYPER is not None
    file = folder / "hyper.bd"
    subprocess.run([MAKEHYPER, "-n", "-c", str(checkers), "-f", str(file)], capture_output=True, check=True)
    content = np.fromfile(file, np.uint8)[40:].reshape(-1, 28)[:, :15].reshape(-1, 5, 3).astype(np.int64)
    theirs = (content @ [1, 1 << 8, 1 << 16]) / ((1 << 24) - 1)
    rules = find_ruleset("hypergammon", {"checkers": str(checkers)})
    boards, pending = all_positions(rules)
    solution = solve(graph_of(rules, roots=(boards, pending)))
    shares = outcome_shares(solution.policy, solution.graph)[solution.graph.find(boards, pending)]
    ours = np.cumsum(shares, axis=1)[:, [2, 1, 0]], np.cumsum(shares[:, ::-1], axis=1)[:, [1, 0]]
    index = np.array([[gnubg_index(side, checkers) for side in board] for board in boards])
    found = theirs[index[:, 0] * round(len(theirs) ** 0.5) + index[:, 1]]
    is_other = (np.abs(np.concatenate(ours, axis=1) - found) >= 1e-4).any(axis=1)
    equity = found @ [2, 1, 1, -1, -1] - 1
    number = solution.graph.find(boards, pending)
    assert np.abs(equity - solution.values[number]).max() < 1e-5
    win, gammon, backgammon, lost_gammon, lost_backgammon = found.T
    losses = [1 - win - lost_gammon, lost_gammon - lost_backgammon, lost_backgammon]
    theirs_by_number = np.zeros((solution.graph.size, 6))
    theirs_by_number[number] = np.stack([backgammon, gammon - backgammon, win - gammon, *losses], axis=1)
    assert all(is_of_equal_plays(theirs_by_number, at, solution) for at in number[is_other].tolist())
    return len(boards), int(is_other.sum())


@pytest.mark.skipif(MAKEHYPER is None, reason="gnubg's makehyper is not installed")
def test_every_position_with_one_checker_a_side_is_worth_what_another_program_says(tmp_path: Path) -> None:
    assert against_makehyper(1, tmp_path) == (601, 0)


@pytest.mark.full
@pytest.mark.skipif(MAKEHYPER is None, reason="gnubg's makehyper is not installed")
def test_every_position_with_two_checkers_a_side_is_worth_what_another_program_says(tmp_path: Path) -> None:
    positions, others = against_makehyper(2, tmp_path)
    assert positions == 106_552
    assert others < 0.02 * positions


# -- the rulebook ------------------------------------------------------------------------------------------


def expected_by_the_book(solution: Solution, number: int) -> float:
    """What a position that waits for a roll or for a choice is worth, by the scalar rulebook's replies."""
    graph, q = solution.graph, queues_of(solution.graph.rules)
    board, queue = graph.boards[number], q.items[graph.pending[number]]
    if queue[0] != "roll":
        return best_by_the_book(solution, board, queue)
    faces = range(1, graph.rules.faces + 1)
    programs = Counter(book.program(graph.rules, board[0], board[1], a, b) + queue[1:] for a in faces for b in faces)
    return sum(n * best_by_the_book(solution, board, each) for each, n in programs.items()) / programs.total()


def best_by_the_book(solution: Solution, board: Boards, queue: board_of.Queue) -> float:
    graph, names = solution.graph, queues_of(solution.graph.rules).names
    values = []
    for result in book.results(graph.rules, board[0], board[1], queue):
        if result.points is not None:
            values.append(float(result.points))
            continue
        rows = np.zeros((1, 2, SLOTS), np.int8)
        rows[0, int(result.passed), : len(result.mine)] = result.mine
        rows[0, 1 - int(result.passed), : len(result.theirs)] = result.theirs
        value = solution.values[graph.find(rows, np.array([names.index(str(result.pending))], np.int8))[0]]
        values.append(float(-value if result.passed else value))
    return max(values)


def check_against_the_book(rules: Ruleset, positions: int) -> None:
    solution = solve(graph_of(rules))
    graph, q = solution.graph, queues_of(rules)
    waits = [code for code, queue in enumerate(q.items) if queue[0] not in ("first", "toss")]
    rows = np.flatnonzero(np.isin(graph.pending, waits))
    for number in np.random.default_rng(3).choice(rows, min(positions, rows.size), replace=False).tolist():
        assert abs(expected_by_the_book(solution, number) - solution.values[number]) < 1e-6


@pytest.mark.parametrize("name", ["irish", "plakoto", "gioul"])
def test_values_are_those_of_the_best_replies_in_the_rulebook(name: str) -> None:
    check_against_the_book(find_ruleset(name, TINY if name == "irish" else {"points": "8", "checkers": "2"}), 300)


@pytest.mark.full
@pytest.mark.parametrize("size", ["two", "board"])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_best_replies_in_the_rulebook_in_full(name: str, size: str) -> None:
    check_against_the_book(small_games(name)[size], 2_000)


# -- what rules decide -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in SMALLEST else pytest.mark.full) for n in NAMES])
def test_every_rule_of_a_variant_decides_something_on_its_small_board(name: str) -> None:
    counts = decided(graph_of(small_games(name)["board"]))
    assert counts
    assert all(counts.values()), counts


# -- the command -------------------------------------------------------------------------------------------


def test_the_command_tells_regret_and_exploitability() -> None:
    done = run("-m", "arena", "exact", "narde", "pips", "rules.points=8", "rules.checkers=2", "--parts", "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["value_rms"] is None
    assert 0 < found["regret"] <= found["exploitability"]
    assert found["decided"]["block"] > 0


def test_a_game_that_is_too_large_is_refused_at_once() -> None:
    refused(run("-m", "arena", "exact", "irish", "pips"), "positions", "rules.checkers=2")


def test_only_one_agent_is_measured() -> None:
    refused(run("-m", "arena", "exact", "irish", "pips", "random", "rules.checkers=2"), "one AGENT")


def test_a_kept_game_is_the_same_game_and_another_one_is_refused(tmp_path: Path) -> None:
    words = ("-m", "arena", "exact", "backgammon", "pips", "rules.points=8", "rules.checkers=2", "--json", "-")
    direct = json.loads(run(*words).stdout)
    for _ in range(2):  # made, and found
        again = json.loads(run(*words, "--keep", str(tmp_path / "game")).stdout)
        assert again["exploitability"] == pytest.approx(direct["exploitability"], abs=1e-9)
        assert again["positions"] >= direct["positions"]
    other = [word.replace("checkers=2", "checkers=1") for word in words]
    refused(run(*other, "--keep", str(tmp_path / "game")), "holds no graph")
    values = tmp_path / "game" / "values.npy"
    np.save(values, np.zeros_like(np.load(values)))
    refused(run(*words, "--keep", str(tmp_path / "game")), "remove it")
    refused(run(*words, "--keep", str(values)), "--keep", "is a file; give a folder")


def test_a_solution_that_was_interrupted_goes_on_from_its_values(tmp_path: Path) -> None:
    rules = find_ruleset("backgammon", {"points": "8", "checkers": "1"})
    graph = make_graph(rules, tmp_path)
    whole = list(approach(graph, np.zeros(graph.size)))
    solution, _ = whole[1]
    save(solution.values, tmp_path / "half-way.npy")
    rest = list(approach(graph, begun(tmp_path / "half-way.npy", graph)))
    assert len(rest) < len(whole)
    assert kept(rules, tmp_path).values == pytest.approx(whole[-1][0].values, abs=1e-9)
    assert sorted(path.name for path in tmp_path.glob("*.npy")) == ["values.npy"]
    (tmp_path / "half-way.npy").write_bytes(b"cut off")
    assert not begun(tmp_path / "half-way.npy", graph).any()


def test_games_that_remember_more_than_the_board_cannot_be_kept(tmp_path: Path) -> None:
    done = run("-m", "arena", "exact", "gioul", "pips", "rules.checkers=1", "--keep", str(tmp_path / "game"))
    refused(done, "cannot be listed")
