"""`python -m arena COMMAND ...`: how good an agent is."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console

from arena.page import write_page
from cli import Parser, at_least, check_file, check_folder, run
from engine.ruleset import InputError

COMMANDS = {  # name -> what it measures; the module is `arena.commands.NAME`
    "rate": "ratings of a field, and the learning curve of runs",
    "exact": "a small game solved: errors of values, regret, exploitability, what each rule decides",
    "lookahead": "what a policy's 0-ply choice loses against 1-ply and against rollouts",
    "cross": "every policy in every game it can read, against the game's own",
    "openings": "the best play of every first roll",
    "luck": "is luck measured right? three checks on an agent against itself",
    "bearoff": "makes a table of exact values for bearing off",
}


def main() -> int:
    """Run one command; print its tables, write its JSON and its page where asked."""
    told = "\n".join(f"  {name:10} {line}" for name, line in COMMANDS.items())
    name, words = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    if name in ("-h", "--help"):
        print(f"usage: python -m arena COMMAND ...\n\nHow good an agent is.\n\ncommands:\n{told}\n")
        print("python -m arena COMMAND --help tells more.")
        return 0
    if name not in COMMANDS:
        raise InputError(f"python -m arena: {name!r} is no command; there are {', '.join(COMMANDS)}")
    module = import_module(f"arena.commands.{name}")
    parser = Parser(prog=f"python -m arena {name}", description=module.__doc__)
    module.arguments(parser)
    parser.add_argument("--seed", type=at_least(0), default=0, help="of dice and samples (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there; - prints only them")
    parser.add_argument("--report", type=Path, metavar="DIR", help="write a page and the figures into this folder")
    args = parser.parse_intermixed_args(words)
    check_file(args.json, "--json")
    if args.report is not None:
        check_folder(args.report, "--report")
    findings = module.find(args)
    command = shlex.join(["python", "-m", "arena", *sys.argv[1:]])
    findings.record.update(command=command, seed=args.seed)
    if str(args.json) == "-":
        print(json.dumps(findings.record))
    else:
        for shown in findings.shown:
            Console(highlight=False).print(shown)
    if args.json is not None and str(args.json) != "-":
        args.json.write_text(json.dumps(findings.record, indent=1) + "\n", encoding="utf-8")
    if args.report is not None:
        page = write_page(args.report, findings, command)
        print(f"page: {page}", file=sys.stderr)
    return int(findings.failed)


if __name__ == "__main__":
    run(main)
