"""Play agents against each other: `python evaluate.py VARIANT AGENT AGENT [--games N] [--seed S] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console

from agents.base import AgentError
from agents.registry import make_agent, usages
from arena.duel import duel
from arena.report import duel_table
from cli import Parser, at_least, house_rules, run
from engine.variants import find_ruleset


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = Parser(
        prog="evaluate.py",
        description="Play two agents against each other. Every game is played twice, with the same dice and the seats "
        "swapped. Figures are from the first agent's view; the interval of points per game (ppg) covers 95 %.",
        epilog=f"agents: {', '.join(usages())}; PATH is a checkpoint, a run folder or an exported policy",
    )
    parser.add_argument("variant", help="a game that `python -m engine list` prints")
    parser.add_argument("agents", nargs=2, metavar="AGENT", help="such as pips or td:runs/quick")
    parser.add_argument("rules", nargs="*", metavar="rules.KEY=VALUE", help="house rules")
    parser.add_argument("--games", type=at_least(2), default=2000, help="in all, two a pair (default %(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of the dice (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too; - prints only them")
    return parser.parse_intermixed_args()


def main() -> int:
    """Play, print a table, write JSON where asked."""
    args = arguments()
    rules = find_ruleset(args.variant, house_rules(args.rules))
    first, second = (make_agent(spec, rules) for spec in args.agents)
    if args.json is not None and str(args.json) != "-" and not args.json.parent.is_dir():
        raise AgentError(f"--json {args.json}: there is no folder {args.json.parent}")
    match = duel(rules, first, second, args.games, args.seed, progress=True)
    record = {"variant": rules.name, "rules": dict(rules.house), "seed": args.seed, "pairs": [match.record()]}
    if str(args.json) == "-":
        print(json.dumps(record))
        return 0
    Console().print(duel_table([match], f"{rules.title}, seed {args.seed}"))
    if args.json is not None:
        args.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    run(main)
