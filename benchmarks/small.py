"""Small games learned and measured exactly: `python benchmarks/small.py`, or `--show` for the last figures."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
from tqdm import tqdm

from cli import Parser, at_least, run
from engine.ruleset import InputError
from engine.variants import VARIANTS, find_ruleset, small_games

ROOT = Path(__file__).parent.parent
FIGURES = Path(__file__).parent / "small.json"
BAR, GOAL = 0.01, 0.001  # points a game that the best opponent may win
COLUMNS = ("game", "size", "positions", "games learned from", "value error, RMS", "regret", "exploitability", "reached")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = Parser(
        prog="benchmarks/small.py",
        description="Train two small games of every variant from configs/small.toml, solve them, print what a perfect "
        "opponent and the best answer win from the policy.",
    )
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help="games; all of them where none is named")
    parser.add_argument("--minutes", type=float, default=1.0, help="of training for each game (default %(default)s)")
    parser.add_argument("--at-once", type=at_least(1), default=2, help="games side by side, a core each")
    parser.add_argument("--show", action="store_true", help="print the figures of the last time, train nothing")
    return parser.parse_args()


def called(*words: str, folder: str) -> str:
    """What a command of ours printed, run in a folder of its own.

    Raises:
        InputError: it failed.
    """
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        raise InputError(f"{' '.join(words)}: ended with {done.returncode}: {done.stderr.strip()[-200:]}")
    return done.stdout


def learned(name: str, size: str, minutes: float) -> dict[str, Any]:
    """The figures of one small game: trained, solved, measured."""
    house = [f"rules.{key}={value}" for key, value in small_games(name)[size].house]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        quoted = [f'rules.{key}="{value}"' for key, value in small_games(name)[size].house]
        words = [f"variant={name}", *quoted, f"run.minutes={minutes}", "run.name=small", "--quiet"]
        told = called(str(ROOT / "train.py"), str(ROOT / "configs" / "small.toml"), *words, folder=folder)
        trained = time.monotonic()
        words = ["-m", "arena", "exact", name, "td:runs/small", *house, "--json", "-"]
        found: dict[str, Any] = json.loads(called(*words, folder=folder))
    games = int(told.split("trained on ")[1].split(" games")[0].replace(",", ""))
    del found["decided"], found["agent"], found["command"]
    return found | {
        "games": games,
        "minutes": minutes,
        "train_seconds": round(trained - began, 1),
        "solve_seconds": found.pop("seconds"),
        "cores": psutil.cpu_count(),
    }


def reached(exploitability: float) -> str:
    """Which of the two marks a policy has reached."""
    return "goal" if exploitability <= GOAL else "bar" if exploitability <= BAR else "neither"


def table(figures: dict[str, Any]) -> str:
    """The figures as a Markdown table."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for name, sizes in figures.items():
        for size, entry in sizes.items():
            lines.append(
                f"| {find_ruleset(name).title} | {size} | {entry['positions']:,} | {entry['games']:,} | "
                f"{entry['value_rms']:.4f} | {entry['regret']:.5f} | {entry['exploitability']:.5f} | "
                f"{reached(entry['exploitability'])} |"
            )
    return "\n".join(lines)


def main() -> int:
    """Train and measure, keep the figures in small.json, print the table."""
    args = arguments()
    names = [find_ruleset(name).name for name in args.variants] or [rules.name for rules in VARIANTS]
    figures: dict[str, Any] = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    if not args.show:
        tasks = [(name, size) for name in names for size in small_games(name)]
        with ThreadPoolExecutor(args.at_once) as pool, tqdm(total=len(tasks), unit=" games", disable=None) as bar:
            entries = pool.map(lambda task: learned(task[0], task[1], args.minutes), tasks)
            for (name, size), entry in zip(tasks, entries, strict=True):
                figures.setdefault(name, {})[size] = entry
                order = [rules.name for rules in VARIANTS if rules.name in figures]
                figures = {each: figures[each] for each in order}
                FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
                bar.update()
    print(table(figures))
    return 0


if __name__ == "__main__":
    run(main)
