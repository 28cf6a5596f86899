"""Small games learned and measured exactly: `python benchmarks/small.py`, or `--show` for the last figures."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from sweeps import ROOT, Figures, arguments, as_table, called, keep, read, swept

from cli import run
from engine.variants import find_ruleset, small_games

FIGURES = Path(__file__).parent / "small.json"
BAR, GOAL = 0.01, 0.001  # points a game that the best opponent may win
COLUMNS = ("game", "size", "positions", "games learned from", "value error, RMS", "regret", "exploitability", "reached")


def learned(name: str, size: str, minutes: float) -> dict[str, Any]:
    """The figures of one small game: trained, solved, measured."""
    house = [f"rules.{key}={value}" for key, value in small_games(name)[size].house]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
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
    }


def reached(exploitability: float) -> str:
    """Which of the two marks a policy has reached."""
    return "goal" if exploitability <= GOAL else "bar" if exploitability <= BAR else "neither"


def table(figures: Figures) -> str:
    """The figures as a Markdown table."""
    rows = []
    for name, sizes in figures.items():
        for size, entry in sizes.items():
            counts = [f"{entry['positions']:,}", f"{entry['games']:,}"]
            lost = [f"{entry['value_rms']:.4f}", f"{entry['regret']:.5f}", f"{entry['exploitability']:.5f}"]
            rows.append([find_ruleset(name).title, size, *counts, *lost, reached(entry["exploitability"])])
    return as_table(COLUMNS, rows)


def main() -> int:
    """Train and measure, keep the figures in small.json, print the table."""
    args = arguments(
        "benchmarks/small.py",
        "Train two small games of every variant from configs/small.toml, solve them, print what a perfect "
        "opponent and the best answer win from the policy.",
        minutes=1.0,
    )
    figures = read(FIGURES)
    if not args.show:
        tasks = [(name, size) for name in args.variants for size in small_games(name)]
        for (name, size), entry in swept(tasks, lambda task: learned(*task, args.minutes), args.at_once):
            figures.setdefault(name, {})[size] = entry
            keep(figures, FIGURES)
    print(table(figures))
    return 0


if __name__ == "__main__":
    run(main)
