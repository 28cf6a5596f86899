"""Play agents against each other: `python evaluate.py VARIANT AGENT AGENT [AGENT ...] [--games N] [--show N]`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from itertools import combinations
from pathlib import Path

from rich.console import Console

from agents.registry import make_agent, usages
from arena.luck import NO_NET, judge_for
from arena.match import check_asked, match
from arena.report import cross_table, duel_table
from arena.show import shown_games
from cli import Parser, apart, at_least, check_file, check_folder, run
from engine.variants import find_ruleset


def arguments() -> argparse.Namespace:
    """The command line, with house rules apart from agents."""
    parser = Parser(
        prog="evaluate.py",
        description="Play agents against each other, every two of them. Every game is played twice, with the same "
        "dice and the seats swapped. Figures are from the first agent's view; the interval of points per game (ppg) "
        "covers 95 %.",
        epilog=f"agents: {', '.join(usages())}; PATH is a checkpoint, a run folder or an exported "
        "policy; PATH,ply=1 looks one roll ahead",
    )
    parser.add_argument("variant", help="a game that `python -m engine list` prints")
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="two or more, such as pips or td:runs/quick; "
                        "rules.KEY=VALUE between or behind them are house rules")  # fmt: skip
    parser.add_argument("--games", type=at_least(2), default=2000, help="of each two, in pairs (default %(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of the dice (default %(default)s)")
    parser.add_argument("--show", type=at_least(0), default=0, metavar="N", help="print the first games of the first "
                        "N pairs of the first two agents, turn by turn")  # fmt: skip
    parser.add_argument("--luck", metavar="SPEC", help="whose judgement takes luck off the results, or none "
                        "(default: the first agent's own net, else the next one's)")  # fmt: skip
    parser.add_argument("--until", metavar="'A>B'", help="stop as soon as it is settled which of two agents is better, "
                        "A (the first) or B; --games is then the most")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too; - prints only them")
    parser.add_argument("--report", type=Path, metavar="DIR", help="write a page and the figures into this folder")
    args = parser.parse_intermixed_args()
    args.agents, args.rules = apart(args.agents)
    if len(args.agents) < 2:
        parser.error(f"two or more AGENTs are required, found {len(args.agents)}")
    if 2 * args.show > args.games + 1:
        parser.error(f"--show {args.show}: there are {-(-args.games // 2)} pairs in --games {args.games}")
    if args.show and str(args.json) == "-":
        parser.error("--show and --json - cannot both print")
    if args.until is not None:
        check_asked(args.until, args.agents)
    return args


def main() -> int:
    """Play, print a table, write JSON where asked."""
    args = arguments()
    rules = find_ruleset(args.variant, args.rules)
    agents = [make_agent(spec, rules) for spec in args.agents]
    judge = judge_for(agents, args.luck, rules)
    check_file(args.json, "--json")
    if args.report is not None:
        check_folder(args.report, "--report")
    for block in shown_games(rules, (agents[0], agents[1]), args.show, args.seed):
        print(block, flush=True)
    until = args.until is not None
    matches = [match(rules, two, args.games, args.seed, judge, until) for two in combinations(agents, 2)]
    pairs = [found.record() for found in matches]
    command = shlex.join(["python", *sys.argv])
    luck = judge.spec if judge else "none" if args.luck else f"none: {NO_NET}"
    record = {"variant": rules.name, "rules": dict(rules.house), "seed": args.seed, "command": command, "luck": luck}
    record["pairs"] = pairs
    title = f"{rules.title}, seed {args.seed}"
    shown = duel_table(matches[0], title) if len(matches) == 1 else cross_table(matches, args.agents, title)
    if args.report is not None:
        from arena.duel_page import write_duels

        print(f"page: {write_duels(args.report, record, title, matches, args.agents)}", file=sys.stderr)
    if str(args.json) == "-":
        print(json.dumps(record))
        return 0
    Console(highlight=False).print(shown)
    if judge is None and args.luck is None:
        print(f"No luck adjustment: {NO_NET}.")
    if args.json is not None:
        args.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    run(main)
