"""Does a long run grow in memory? `python benchmarks/soak.py [--minutes M]`; exit code 1 if it does."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any

from laps import machine
from matplotlib.figure import Figure
from trainings import ROOT, trained

from cli import Parser, check_file, run

MOST = 0.02  # growth after the second minute that is still none
SETTLED = 120.0  # seconds, by which all that is kept has been made
WINDOW = 60.0  # seconds whose median is the size at their end: evaluations come and go


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = Parser(prog="soak.py", description="Train for a long time and watch the memory of all its processes.")
    default = ROOT / "configs" / "backgammon.toml"
    parser.add_argument("--config", type=Path, default=default, help="a TOML file (default: of backgammon)")
    parser.add_argument("settings", nargs="*", metavar="section.key=value", help="settings on top of the file")
    parser.add_argument("--minutes", type=float, default=60.0, help="of training (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the memory there, as PNG")
    args = parser.parse_args()
    if args.minutes * 60 < SETTLED + 2 * WINDOW:
        parser.error(f"--minutes {args.minutes:g}: must be at least {(SETTLED + 2 * WINDOW) / 60:g}")
    check_file(args.json, "--json")
    check_file(args.plot, "--plot")
    return args


def growth(memory: list[tuple[float, float]]) -> float:
    """The size in the last minute over that in the minute after the second, less 1."""
    end = memory[-1][0]
    first = median(size for second, size in memory if SETTLED <= second < SETTLED + WINDOW)
    return median(size for second, size in memory if end - WINDOW <= second < end - 1) / first - 1


def draw(memory: list[tuple[float, float]], grown: float) -> Figure:
    """The memory by the minute."""
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    panel = figure.subplots()
    panel.plot([second / 60 for second, _ in memory], [size for _, size in memory])
    panel.axvline(SETTLED / 60, color="black", linewidth=0.8)
    panel.set(xlabel="minutes", ylabel="MiB, all processes", ylim=(0, None))
    panel.set_title(f"growth after the second minute: {grown:+.2%}", fontsize="medium")
    return figure


def main() -> int:
    """Train, print the growth, write and draw it where asked; 1 if it is too large."""
    args = arguments()
    each_minute = f"evaluate.times={args.minutes:.0f}"  # so that by the second one all kinds of work have been done
    settings = [f"run.minutes={args.minutes}", each_minute, "run.save_minutes=1.0", "--quiet", *args.settings]
    training = trained(args.config, settings, tick=1.0)
    grown, counters = growth(training.memory), training.counters
    print(
        f"{counters['updates']:,} updates, {counters['games']:,} games in {training.memory[-1][0] / 60:.1f} minutes; "
        f"{training.peak:,.0f} MiB at most, "
        f"{grown:+.2%} after the second minute (allowed {MOST:.0%})"
    )
    if args.json is not None:
        record: dict[str, Any] = {"config": str(args.config), "settings": args.settings, "minutes": args.minutes}
        record |= {"growth": grown, "machine": machine(), "counters": counters, "memory": training.memory}
        args.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if args.plot is not None:
        draw(training.memory, grown).savefig(args.plot, dpi=120)
    return int(grown > MOST)


if __name__ == "__main__":
    run(main)
