"""Games and figures as people read them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from rich.console import Console, RenderableType

from agents.registry import make_agent
from agents.value import ValueAgent
from arena.duel import Duel, duel, interval_of
from arena.report import cross_table, duel_table, folded, short_name, short_names
from arena.show import shown_games
from engine import Ruleset, find_ruleset, parse_play
from engine.game import BatchGame, seeds_of
from tests.commands import refused, run
from tests.test_contract import ALL
from tests.test_lookahead import Scattered

HYPER = find_ruleset("hypergammon")
BACKGAMMON = find_ruleset("backgammon")
LONG = "td:runs/irish-x4/checkpoints/last.pt"


def printed(what: RenderableType, width: int = 80) -> str:
    """What a terminal of this width shows."""
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(what)
    return console.export_text()


def made_up(rules: Ruleset, a: str, b: str, seed: int = 0) -> Duel:
    outcome = np.random.default_rng(seed).integers(0, rules.payoffs.size, (2, 100)).astype(np.int8)
    return Duel(rules, a, b, seed, outcome, np.zeros((2, 100), np.int32))


# -- the interval ---------------------------------------------------------------------------------------------


def test_the_interval_covers_the_true_mean_in_95_of_100_duels() -> None:
    shares = np.array([0.05, 0.2, 0.35, 0.2, 0.15, 0.05])
    mean = shares @ HYPER.payoffs
    generator = np.random.default_rng(7)
    hits = 0
    for seed in range(300):
        outcome = generator.choice(6, p=shares, size=(2, 60)).astype(np.int8)
        low, high = Duel(HYPER, "a", "b", seed, outcome, np.zeros((2, 60), np.int32)).interval()
        hits += int(low <= mean <= high)
    assert 0.92 * 300 <= hits <= 0.98 * 300


def test_points_without_spread_have_an_interval_without_width() -> None:
    assert interval_of(np.ones(5), 0) == (1.0, 1.0)


# -- tables -----------------------------------------------------------------------------------------------------


def test_every_two_agents_play_with_the_same_dice() -> None:
    agents = [make_agent(spec, HYPER) for spec in ("pips", "random", "pips")]
    matches = [duel(HYPER, a, b, 100, seed=4) for a, b in combinations(agents, 2)]
    assert [(match.a, match.b) for match in matches] == [("pips", "random"), ("pips", "pips"), ("random", "pips")]
    assert matches[0].ppg == -matches[2].ppg
    assert matches[1].ppg == 0


def test_a_cross_table_shows_every_pair_both_ways_and_the_mean() -> None:
    specs = ["pips", "random", LONG]
    pairs = [made_up(HYPER, "one", "other", seed) for seed in (1, 2, 3)]
    text = printed(cross_table(pairs, specs, "Hyper"))
    for match in pairs:
        assert f"{match.ppg:+.3f}" in text
        assert f"{-match.ppg:+.3f}" in text
    assert f"{(pairs[0].ppg + pairs[1].ppg) / 2:+.3f}" in text
    assert LONG in text


@pytest.mark.parametrize("agents", [3, 6, 9])
def test_tables_fit_into_80_columns_and_lose_no_figure(agents: int) -> None:
    specs = [f"{LONG},ply={number}" for number in range(agents)]
    pairs = [made_up(HYPER, a, b, n) for n, (a, b) in enumerate((a, b) for a in specs for b in specs if a < b)]
    text = printed(cross_table(pairs, specs, "Hyper"))
    assert "…" not in text.replace("/…/", "")
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("±") == agents**2 + 1  # every pair twice, the means, and the line below


def test_the_table_of_one_duel_is_readable_with_long_specs_and_many_outcomes() -> None:
    text = printed(duel_table(made_up(BACKGAMMON, LONG + ",ply=1", LONG), "Backgammon, seed 0"))
    assert max(map(len, text.splitlines())) <= 80
    for part in ("td:runs/irish-x4/", "last.pt,ply=1", "95 % interval", "+3: ", "-3: "):
        assert part in text


def test_a_long_path_is_shortened_in_its_middle_and_folded_behind_a_slash() -> None:
    assert short_name(LONG, 36) == LONG
    assert short_name(LONG, 33) == "td:runs/irish-x4/…/last.pt"
    assert folded("td:runs/irish-x4/…/last.pt", 20) == "td:runs/irish-x4/…/\nlast.pt"
    assert short_names(["td:a/b/c/d", "td:a/b/x/d"], 9) == ["td:a/b/c/d", "td:a/b/x/d"]  # else they would look equal


# -- games ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ALL, ids=[f"{r.name}-{r.points}-{r.checkers}" for r in ALL])
def test_a_shown_game_can_be_replayed_from_its_text(rules: Ruleset) -> None:
    agents = make_agent("pips", rules), make_agent("random", rules)
    blocks = list(shown_games(rules, agents, 1, seed=3))
    game = BatchGame(rules, 1, seeds=seeds_of(3, 1))
    for block in blocks[1:-1]:
        after = game.afterstates()
        turn, name = re.match(r"(\d+)\. (\w+): ", block).groups()  # type: ignore[union-attr]
        assert (int(turn), name) == (game.plies[0] + 1, ["pips", "random"][game.seat[0]])
        text = re.search(r"^  (\S.*) \((?:of \d+|forced)\)$", block, re.MULTILINE).group(1)  # type: ignore[union-attr]
        row = parse_play(text, game.boards[0], int(game.pending[0]), rules)
        result = game.step(after, np.array([row]))
    assert game.is_over.all()
    points = int(rules.payoffs[result.outcome[0]])
    winner = ["pips", "random"][int(result.seat[0]) ^ (points < 0)]
    assert blocks[-1].startswith(f"{winner} wins {abs(points)} point")
    first = duel(rules, *agents, 2, seed=3)
    assert first.points.size == 1
    assert rules.payoffs[first.outcome[0, 0]] == (abs(points) if winner == "pips" else -abs(points))


def test_a_value_agent_tells_its_three_best_plays() -> None:
    agents = ValueAgent(Scattered(HYPER), HYPER, "scattered"), make_agent("pips", HYPER)
    decision = next(block for block in shown_games(HYPER, agents, 1, seed=3) if ". scattered: " in block)
    lines = decision.rstrip().split("\n")
    chosen = next(line for line in lines if "(of " in line).split(" (of ")[0].strip()
    best = [line.split(maxsplit=1) for line in lines[-3:]]
    assert best[0][1] == chosen
    assert float(best[0][0]) >= float(best[1][0]) >= float(best[2][0])
    pips = next(block for block in shown_games(HYPER, agents, 1, seed=3) if ". pips: " in block)
    assert pips.rstrip().split("\n")[-1].endswith(")")


def test_two_agents_of_one_spec_are_told_apart_and_a_cut_game_says_so() -> None:
    rules = replace(HYPER, ply_limit=3)
    blocks = list(shown_games(rules, (make_agent("pips", rules), make_agent("pips", rules)), 2, seed=1))
    assert blocks[0].startswith(
        "Game 1 of 2: Hypergammon, seed 1\n================================\npips (1) against pips (2)."
    )
    assert blocks[-1] == "Cut after 3 turns: no result.\n"


# -- the command --------------------------------------------------------------------------------------------------


def test_evaluate_plays_every_two_of_three_agents() -> None:
    words = ("evaluate.py", "hypergammon", "pips", "random", "pips", "rules.checkers=2", "--games", "40")
    record = json.loads(run(*words, "--json", "-").stdout)
    assert [(pair["a"], pair["b"]) for pair in record["pairs"]] == [
        ("pips", "random"),
        ("pips", "pips"),
        ("random", "pips"),
    ]
    assert record["rules"] == {"checkers": "2"}
    assert "mean" in run(*words).stdout


def test_evaluate_shows_games_before_the_table() -> None:
    done = run("evaluate.py", "hypergammon", "pips", "random", "--games", "20", "--show", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("Game 1 of 2") < done.stdout.index("Game 2 of 2") < done.stdout.index("agent, against")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--games", "4", "--show", "3"], ["--show 3", "2 pairs"]),
        (["--show", "1", "--json", "-"], ["cannot both print"]),
        (["rules.x"], ["must be rules.KEY=VALUE"]),
    ],
)
def test_evaluate_refuses_what_cannot_be_shown(words: list[str], parts: list[str]) -> None:
    refused(run("evaluate.py", "hypergammon", "pips", "random", *words), *parts)
