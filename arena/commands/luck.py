"""Is luck measured right? An agent plays itself, and three things have to hold; exit code 1 if one does not.

The mean luck of every kind of event and of each side is 0, a point of luck is worth about a point,
and taking luck off moves no estimate. Every game has dice of its own here: with shared ones an
agent against itself would always have equal luck.
"""

from __future__ import annotations

import argparse

from agents.base import AgentError
from agents.registry import make_agent
from arena.luck import NO_NET, Check, checks, judge_for
from arena.match import match
from arena.page import Findings, grid, table
from arena.report import luck_line
from cli import apart, at_least
from engine.variants import find_ruleset

COLUMNS = ("check", "events", "value", "error", "bounds", "holds")


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command asks for."""
    parser.add_argument("variant", help="a game that `python -m engine list` prints")
    parser.add_argument("agent", nargs="+", metavar="AGENT", help="and house rules, rules.KEY=VALUE")
    parser.add_argument("--games", type=at_least(200), default=20_000, help="how many (default %(default)s)")
    parser.add_argument("--luck", metavar="SPEC", help="the evaluator (default: the agent's own)")


def find(args: argparse.Namespace) -> Findings:
    """Play, and check.

    Raises:
        AgentError: not one agent, or no evaluator.
    """
    specs, settings = apart(args.agent)
    rules = find_ruleset(args.variant, settings)
    if len(specs) != 1:
        raise AgentError(f"python -m arena luck: must be one AGENT, found {len(specs)}")
    agent = make_agent(specs[0], rules)
    judge = judge_for((agent,), args.luck, rules)
    if judge is None:
        raise AgentError(f"--luck {args.luck}: must name an evaluator" if args.luck else f"{specs[0]}: {NO_NET}")
    duel = match(rules, (agent, agent), args.games, args.seed, judge, shared=False)
    adjustment = duel.adjustment()
    assert duel.luck is not None
    assert adjustment is not None
    found = checks(duel.luck, duel.points)
    title = f"{rules.title}, {duel.games:,} games of {specs[0]} against itself, seed {args.seed}"
    rows = [row_of(check) for check in found]
    record = {
        "variant": rules.name,
        "rules": dict(rules.house),
        "seed": args.seed,
        "games": duel.games,
        "agent": specs[0],
        "checks": [vars(check) | {"holds": check.holds} for check in found],
        "adjusted": adjustment,
    }
    failed = not all(check.holds for check in found)
    told = luck_line(adjustment)
    return Findings(title, record, [grid(title, COLUMNS, rows), told], [table("Checks", COLUMNS, rows, told)], failed)


def row_of(check: Check) -> list[str]:
    """A check as cells; errors are standard errors."""
    return [
        check.what,
        f"{check.events:,}" if check.events else "",
        f"{check.value:+.5f}",
        f"{check.error:.5f}",
        f"±{check.high:.4f}" if check.low == -check.high else f"{check.low} .. {check.high}",
        "yes" if check.holds else "NO",
    ]
