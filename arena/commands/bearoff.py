"""A bear-off table: exact outcomes of every position with six checkers or fewer a side, all at home."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from agents.bearoff import save_bearoff
from arena.bearing_off import make_bearoff
from arena.page import Findings, text
from cli import apart
from engine.ruleset import InputError
from engine.variants import find_ruleset


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.epilog = "An agent plays by it with td:PATH,bearoff=FILE, a run learns from it with td.bearoff=FILE."
    parser.add_argument("variant", help="a game that `python -m engine list` prints")
    parser.add_argument("words", nargs="+", metavar="FILE", help="the .npz file to write; rules.KEY=VALUE beside it "
                        "are house rules")  # fmt: skip


def find(args: argparse.Namespace) -> Findings:
    """Make the table and write it.

    Raises:
        InputError: not one file that can be written, or rules without plain bearing off.
    """
    words, house = apart(args.words)
    if len(words) != 1 or not words[0].endswith(".npz"):
        raise InputError(f"python -m arena bearoff: give one FILE that ends with .npz, not {' '.join(words) or 'none'}")
    rules, path = find_ruleset(args.variant, house), Path(words[0])
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}")
    began = time.monotonic()
    table = make_bearoff(rules, progress=True)
    save_bearoff(path, table)
    pairs = (len(table.table) - 1) ** 2
    seconds = round(time.monotonic() - began, 1)
    line = f"{path}: {pairs:,} pairs of positions of {rules.title}, {seconds} s"
    record = {"variant": rules.name, "rules": dict(rules.house), "file": str(path), "pairs": pairs, "seconds": seconds}
    return Findings(f"Bear-off table of {rules.title}", record, [line], [text("The table", line)])
