"""For every first roll the best play, its equity, the runner-up, and how often it wins and wins a gammon."""

from __future__ import annotations

import argparse

from agents.base import AgentError, Appraiser
from agents.registry import make_agent
from arena.openings import Opening, openings
from arena.page import Findings, boards, grid, table
from cli import apart
from engine.variants import find_ruleset

COLUMNS = ("roll", "best play", "equity", "runner-up", "its equity", "wins", "gammons")
NOTE = (
    "Equity in points per game for the side that plays, cubeless, as the agent sees it after the play. Wins and "
    "gammons (wins of more than the least) are what the value function expects right after the turn, at 0-ply."
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("variant", help="a game that `python -m engine list` prints")
    parser.add_argument("agent", nargs="+", metavar="AGENT", help="td:PATH, policy:FILE, gnubg:ply=N or another that "
                        "tells equities; rules.KEY=VALUE behind it are house rules")  # fmt: skip


def find(args: argparse.Namespace) -> Findings:
    """Ask the agent about every first roll."""
    words, house = apart(args.agent)
    rules = find_ruleset(args.variant, house)
    if len(words) != 1:
        raise AgentError(f"one AGENT is required, found {len(words)}")
    agent = make_agent(words[0], rules)
    if not isinstance(agent, Appraiser):
        raise AgentError(f"agent {agent.spec!r}: tells no equities; td:PATH, policy:FILE and gnubg do")
    found = openings(agent, rules)
    rows = [row_of(one) for one in found]
    title = f"{rules.title}: first rolls as {agent.spec} plays them"
    record = {
        "variant": rules.name,
        "rules": dict(rules.house),
        "agent": agent.spec,
        "openings": [one.record() for one in found],
    }
    drawn = [(one.board, f"{one.roll}: {one.play}") for one in found]
    sections = [
        table("First rolls", COLUMNS, rows, NOTE),
        boards("Where the best plays lead", drawn, rules, sides=("has played", "opponent")),
    ]
    return Findings(title, record, [grid(title, COLUMNS, rows), NOTE], sections)


def row_of(one: Opening) -> list[str]:
    """One first roll."""
    return [
        one.roll,
        one.play,
        f"{one.equity:+.3f}",
        one.runner_up or "none near",
        "" if one.runner_up_equity is None else f"{one.runner_up_equity:+.3f}",
        "" if one.win is None else f"{100 * one.win:.1f} %",
        "" if one.gammon is None else f"{100 * one.gammon:.1f} %",
    ]
