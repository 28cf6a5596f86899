"""Cost as work grows: turns a second and memory by games at once and by net; `python benchmarks/cost.py`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from laps import machine
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from tqdm import tqdm
from trainings import QUIET, ROOT, trained

from cli import Parser, at_least, check_file, run

BATCHES = (256, 1024, 4096, 16_384, 65_536)
NETS = ([80], [128, 128], [256, 128], [256, 256, 256], [512, 512, 256])
SECONDS = 20  # of each
BATCH, NET = 4096, [128, 128]  # what stays while the other grows
NOTE = """Self-play with learning of {variant} from nothing, on one core, one thread: turns a second over {seconds} s \
each (an update at least), start and evaluation not counted; the most memory its process held. Minibatches of 500, 8 \
decisions an update. A game more costs {kib:.1f} KiB, from the least batch to the largest. {cpu}, torch {torch}."""


def measure(variant: str, seconds: int, seed: int) -> list[dict[str, Any]]:
    """Turns a second and MiB for each number of games, then for each net."""
    found = []
    kinds = [(batch, NET) for batch in BATCHES] + [(BATCH, net) for net in NETS if net != NET]
    for batch, net in tqdm(kinds, disable=None):
        sizes = [f"selfplay.batch={batch}", f"net.hidden={net}", "run.workers=1", "optimizer.minibatch=500"]
        budget = [f"run.minutes={seconds / 60}", f"seed={seed}"]
        training = trained(ROOT / "configs" / f"{variant}.toml", [*sizes, *budget, *QUIET])
        lap = training.since()
        rate = lap.plies / lap.seconds
        found.append({"batch": batch, "net": net, "plies_per_second": rate, "mib": training.peak})
    return found


def kib_a_game(found: list[dict[str, Any]]) -> float:
    """KiB that a game more costs, from the least batch to the largest."""
    least, largest = (next(each for each in found if each["batch"] == BATCHES[end]) for end in (0, -1))
    return float(1024 * (largest["mib"] - least["mib"]) / (largest["batch"] - least["batch"]))


def table(found: list[dict[str, Any]]) -> Table:
    """The figures for people."""
    shown = Table("games at once", "net", "turns/s", "memory, MiB")
    for each in found:
        net = "-".join(map(str, each["net"]))
        shown.add_row(f"{each['batch']:,}", net, f"{each['plies_per_second']:,.0f}", f"{each['mib']:,.0f}")
    return shown


def draw(found: list[dict[str, Any]]) -> Figure:
    """Turns a second and memory by games at once, turns a second by net."""
    figure = Figure(figsize=(11, 3.5), layout="constrained")
    speed, memory, nets = figure.subplots(1, 3)
    by_batch = [each for each in found if each["net"] == NET]
    games = [each["batch"] for each in by_batch]
    speed.plot(games, [each["plies_per_second"] for each in by_batch], marker="o")
    memory.plot(games, [each["mib"] for each in by_batch], marker="o")
    for panel, label in ((speed, "turns/s"), (memory, "MiB")):
        panel.set(xscale="log", xlabel="games at once", ylabel=label, ylim=(0, None))
    by_net = {"-".join(map(str, each["net"])): each for each in found if each["batch"] == BATCH}
    order = ["-".join(map(str, net)) for net in NETS]
    nets.bar(order, [by_net[name]["plies_per_second"] for name in order])
    nets.set(ylabel="turns/s", xlabel="net")
    nets.tick_params(axis="x", rotation=30)
    return figure


def main() -> int:
    """Measure, print the table, write and draw it where asked."""
    parser = Parser(prog="cost.py", description="Measure the cost of a training as games and net grow.")
    parser.add_argument("variant", nargs="?", default="backgammon", help="a game with a config (default %(default)s)")
    parser.add_argument("--seconds", type=at_least(1), default=SECONDS, help="for each (default %(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of dice and weights (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw them there, as PNG")
    args: argparse.Namespace = parser.parse_args()
    check_file(args.json, "--json")
    check_file(args.plot, "--plot")
    found = measure(args.variant, args.seconds, args.seed)
    facts = {"variant": args.variant, "seconds": args.seconds, "seed": args.seed, "kib": kib_a_game(found), **machine()}
    Console(highlight=False).print(table(found), NOTE.format(**facts), sep="\n")
    if args.json is not None:
        args.json.write_text(json.dumps({**facts, "figures": found}, indent=1) + "\n", encoding="utf-8")
    if args.plot is not None:
        draw(found).savefig(args.plot, dpi=120)
    return 0


if __name__ == "__main__":
    run(main)
