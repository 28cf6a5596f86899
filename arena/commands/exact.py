"""A game solved exactly, and how far an agent is from perfect play. Few checkers or points make a game small."""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
from tqdm import tqdm

from agents.registry import make_agent, usages
from agents.value import ValueAgent
from arena.exact import Exactness, NoConvergence, Solution, approach, measure, policy_of, solve, solved, state_values
from arena.page import Findings, grid, table, text
from arena.parts import decided
from arena.solving import Graph, Values, graph_of
from arena.whole import make_graph, open_graph
from cli import apart, check_folder
from engine.ruleset import InputError, Ruleset
from engine.variants import find_ruleset

OPTIMAL = "optimal"
MEANING = {
    "value_rms": "root mean square error of its values, over all positions",
    "value_worst": "largest error of its values",
    "regret": "lost a game against an optimal opponent",
    "exploitability": "lost a game against the best answer to it",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.epilog = f"agents: {OPTIMAL} (the solver's own policy), {', '.join(usages())}. All figures are in points."
    parser.add_argument("variant", help="a game that `python -m engine list` prints")
    parser.add_argument("agent", nargs="+", metavar="AGENT", help="one agent, and house rules such as "
                        "rules.checkers=2, or rules.points=8 rules.checkers=4")  # fmt: skip
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the game and its solution there, and go on "
                        "from what is there; also for games of millions of positions")  # fmt: skip
    parser.add_argument("--parts", action="store_true", help="count how often each rule of the game decides something")


def find(args: argparse.Namespace) -> Findings:
    """Solve the game, measure the agent.

    Raises:
        InputError: not one agent, a game with too many positions, or nothing can be kept where it should be.
    """
    words, house = apart(args.agent)
    if len(words) != 1:
        raise InputError(f"python -m arena exact: one AGENT is measured, found {len(words)}: {' '.join(words)}")
    rules = find_ruleset(args.variant, house)
    if args.keep is not None:
        check_folder(args.keep, "--keep")
    agent = None if words[0] == OPTIMAL else make_agent(words[0], rules)
    began = time.monotonic()
    solution = kept(rules, args.keep) if args.keep is not None else solve(graph_of(rules, progress=True))
    graph = solution.graph
    judged = state_values(agent, graph) if isinstance(agent, ValueAgent) else None
    policy = solution.policy if agent is None else policy_of(agent, graph, judged)
    found = measure(policy, solution, solution.values if agent is None else judged, progress=True)
    counts = decided(graph) if args.parts else None
    record = asdict(found) | {
        "variant": rules.name,
        "rules": dict(rules.house),
        "agent": words[0],
        "positions": graph.size,
        "decisions": graph.weight.size,
        "replies": graph.target.size,
        "seconds": round(time.monotonic() - began, 1),
        "decided": counts,
    }
    return told(record, found, solution, counts)


def kept(rules: Ruleset, folder: Path) -> Solution:
    """The solution in a folder, or a new one, kept there; one that was interrupted goes on.

    Raises:
        InputError: the folder holds another game, or the positions of this one cannot be listed.
    """
    is_there = (folder / "card.json").exists()
    graph = open_graph(folder, rules) if is_there else make_graph(rules, folder, os.cpu_count() or 1, progress=True)
    file, half_way = folder / "values.npy", folder / "half-way.npy"
    if is_there and file.exists():
        try:
            return solved(graph, np.load(file, allow_pickle=False))
        except (NoConvergence, OSError, ValueError, EOFError) as error:
            raise InputError(f"{file}: cannot be used ({error}); remove it to solve the game anew") from None
    with tqdm(desc="solving, rounds", unit="", disable=None) as bar:
        for solution, change in approach(graph, begun(half_way, graph)):
            bar.set_postfix_str(f"values change by {change:.0e}")
            bar.update()
            save(solution.values, half_way)
    half_way.replace(file)
    return solution


def begun(file: Path, graph: Graph) -> Values:
    """(S,) the values that an interrupted solution had come to, or zeros."""
    try:
        values = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return np.zeros(graph.size)
    is_usable = values.shape == (graph.size,) and values.dtype == np.float64 and np.isfinite(values).all()
    return np.asarray(values if is_usable else np.zeros(graph.size), np.float64)


def save(values: Values, file: Path) -> None:
    """Write an array in one step."""
    written = file.with_suffix(".part")
    with written.open("wb") as output:
        np.save(output, values)
    written.replace(file)


def told(record: dict[str, object], found: Exactness, solution: Solution, counts: dict[str, int] | None) -> Findings:
    """The figures for people."""
    graph = solution.graph
    title = f"{record['agent']} in {title_of(graph.rules)}"
    rows = [(name, figure(getattr(found, name)), meaning) for name, meaning in MEANING.items()]
    shown = grid(title, ("points a game", "", "meaning"), rows)
    size = (
        f"{graph.size:,} positions, {graph.weight.size:,} decisions, {graph.target.size:,} results; "
        f"{record['seconds']} s"
    )
    sections = [text("The game", size), table("Distance from perfect play", ("figure", "points", "meaning"), rows)]
    if counts is None:
        return Findings(title, record, [shown, size], sections)
    changed = "Rules, and the decisions they change", ("rule", "decisions"), [(k, f"{n:,}") for k, n in counts.items()]
    return Findings(title, record, [shown, grid(*changed), size], [*sections, table(*changed)])


def title_of(rules: Ruleset) -> str:
    """A game with its house rules."""
    return " ".join([rules.title, *(f"rules.{name}={value}" for name, value in rules.house)])


def figure(value: float | None) -> str:
    """Points, or a dash where there are none."""
    return "-" if value is None else f"{value:.6f}"
