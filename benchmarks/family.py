"""What a short training reaches in every game: `python benchmarks/family.py`, or `--show` for the last figures."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
from tqdm import tqdm

from agents.network import read_checkpoint
from cli import Parser, at_least, run
from engine.ruleset import InputError
from engine.variants import VARIANTS, find_ruleset
from learning.runs import processor

ROOT = Path(__file__).parent.parent
FIGURES = Path(__file__).parent / "family.json"
OPPONENTS = ("random", "pips")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = Parser(
        prog="benchmarks/family.py",
        description="Train every game from its config for a short time, play random and pips, print a table, "
        "and write into each config what its run reached.",
    )
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help="games; all of them where none is named")
    parser.add_argument("--minutes", type=float, default=2.0, help="of training for each game (default %(default)s)")
    parser.add_argument("--at-once", type=at_least(1), default=2, help="trainings side by side, a core each")
    parser.add_argument("--show", action="store_true", help="print the figures of the last time, train nothing")
    return parser.parse_args()


def trained(name: str, minutes: float) -> dict[str, Any]:
    """The figures of one short training, in a process of its own."""
    words = [str(ROOT / "configs" / f"{name}.toml"), f"run.minutes={minutes}", f"run.name=family-{name}", "--quiet"]
    done = subprocess.run([sys.executable, str(ROOT / "train.py"), *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"{name}: the training ended with {done.returncode}: {done.stderr.strip()[-200:]}")
    folder = done.stdout.strip().splitlines()[-3].rsplit(": ", 1)[1]
    contents = read_checkpoint(folder)
    return {
        "games": contents["counters"]["games"],
        "plies": contents["counters"]["plies"],
        "seconds": round(contents["counters"]["seconds"], 1),
        "hidden": contents["hidden"],
        "seed": contents["config"]["seed"],
        "figures": {spec: contents["figures"][spec] for spec in OPPONENTS},
    }


def told(entry: dict[str, Any]) -> str:
    """What a run reached, in how long, on what: the lines that open its config."""
    random, pips = (entry["figures"][spec] for spec in OPPONENTS)
    return (
        f"# In {entry['minutes']:g} minutes on one core ({entry['processor']}): {entry['games']:,} games, "
        f"{entry['plies']:,} turns. Then\n"
        f"# {random['ppg']:+.3f} points a game against random ({100 * random['wins']:.1f} % of the games won), "
        f"{pips['ppg']:+.3f} ({pips['low']:+.3f} .. {pips['high']:+.3f}) against pips.\n"
        "# `python benchmarks/family.py` runs it again.\n"
    )


def open_config(name: str, entry: dict[str, Any]) -> None:
    """Let the config of a game begin with what its run reached."""
    path = ROOT / "configs" / f"{name}.toml"
    settings = [line for line in path.read_text("utf-8").splitlines(keepends=True) if not line.startswith("#")]
    path.write_text(f"# {find_ruleset(name).title}.\n{told(entry)}{''.join(settings)}", encoding="utf-8")


def falls_short(entry: dict[str, Any]) -> str:
    """Which of the two bars a game misses: 75 % of the wins against random, above 0 against pips."""
    missed = []
    if entry["figures"]["random"]["wins"] < 0.75:
        missed.append("random")
    if entry["figures"]["pips"]["low"] <= 0:
        missed.append("pips")
    return ", ".join(missed)


def table(figures: dict[str, Any]) -> str:
    """The figures as a Markdown table."""
    lines = [
        "| game | games played | wins against random | ppg against random | ppg against pips | falls short of |",
        "|---|---|---|---|---|---|",
    ]
    for name, entry in figures["variants"].items():
        against = entry["figures"]
        ppg = {spec: f"{r['ppg']:+.3f} ({r['low']:+.3f} .. {r['high']:+.3f})" for spec, r in against.items()}
        lines.append(
            f"| {find_ruleset(name).title} | {entry['games']:,} | {100 * against['random']['wins']:.1f} % | "
            f"{ppg['random']} | {ppg['pips']} | {falls_short(entry) or '-'} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Train, keep the figures in family.json, print the table."""
    args = arguments()
    names = [find_ruleset(name).name for name in args.variants] or [rules.name for rules in VARIANTS]
    figures: dict[str, Any] = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {"variants": {}}
    if not args.show:
        with ThreadPoolExecutor(args.at_once) as pool, tqdm(total=len(names), unit=" games", disable=None) as bar:
            for name, entry in zip(names, pool.map(lambda name: trained(name, args.minutes), names), strict=True):
                entry |= {"minutes": args.minutes, "at_once": args.at_once}
                entry |= {"cores": psutil.cpu_count(), "processor": processor()}
                figures["variants"][name] = entry
                open_config(name, entry)
                order = [rules.name for rules in VARIANTS if rules.name in figures["variants"]]
                figures["variants"] = {each: figures["variants"][each] for each in order}
                FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
                bar.update()
    print(table(figures))
    return 0


if __name__ == "__main__":
    run(main)
