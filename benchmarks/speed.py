"""Measure speed: `python benchmarks/speed.py`, in less than ten minutes; `--help` lists the options.

Generators, trainings and other programs are timed in short rounds that take turns, so that another load on the machine
hits all alike. Other programs run in processes of their own; no package imports them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import cost
import numpy as np
import numpy.typing as npt
from laps import Lap, Step, figures, lap_of, machine, text
from matplotlib.figure import Figure
from peers import GENERATORS, Arrays, ask, installed, process_of
from rich.console import Console
from rich.table import Table
from tqdm import tqdm
from trainings import QUIET, ROOT, train_in

from cli import Parser, at_least, check_file, run
from engine import VARIANTS, Afterstates, BatchGame, InputError, Ruleset, afterstates, find_ruleset, queues_of

WARM_UP = 60  # decisions; the games are then spread over all phases
POSITIONS = 20_000  # recorded for the comparison, rounded up to whole batches
SHORT_GAME = 40  # plies; the recorded games have 95 on average
SECTIONS = ("generator", "peers", "training")
ROUNDS = 21  # short ones: the machine changes its speed by the second
TRAININGS = 3  # rounds of trainings, which begin with a process
TRAINED = ("backgammon", "irish")
BATCH, MINIBATCH = 2_000, 500  # games at once and positions a step, of every rank
SPREAD = 4_000  # games of every rank before the first round: two to each place of its batch
NOTE = """Median (min to max) of {rounds} rounds, trainings of {trainings}, on {cores} cores: {cpu}, Python {python}, \
numpy {numpy}, torch {torch}. Generators: thousands of distinct afterstates a second on one core. Peers: the same \
positions and rolls of whole random games for both, ours in batches of {batch:,}, theirs one a call from Python; \
gnubg-nn by moves(), bgsage by possible_moves(), open-spiel by legal_actions() and child(), a double's first halves \
merged where equal and distinct boards counted before the timing. agree: positions with as many results as ours, a \
forced pass being one. pgx: random games, 1,024 at once, compiled by JAX for one core; it lists steps of one die, no \
afterstates, so turns a second are compared. Training: self-play with learning by train.py from the policy in \
checkpoints/, 128-128; every rank has one thread, 2,000 games and 500 positions of a step; start and evaluation are \
not counted. bgsage trainer: td_train(), its own \
C++, 120 hidden units, one thread, after 1,000 games."""


def random_rows(after: Afterstates, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """(N,) int64: a random result of each game."""
    return after.start[:-1] + (rng.random(after.start.size - 1) * after.counts).astype(np.int64)


def random_play(rules: Ruleset, batch: int, seed: int) -> Step:
    """One decision in every game of a warmed-up batch; finished games begin anew."""
    game, rng = BatchGame(rules, batch, seed), np.random.default_rng(seed)

    def step(lap: Lap) -> None:
        began = perf_counter()
        after = game.afterstates()
        lap.generator_seconds += perf_counter() - began
        plies = int(game.plies.sum())
        game.step(after, random_rows(after, rng))
        lap.plies += int(game.plies.sum()) - plies
        game.restart(np.flatnonzero(game.is_over))
        lap.afterstates += after.game.size
        lap.decisions += len(game)
        lap.largest = max(lap.largest, int(after.counts.max()))

    for _ in range(WARM_UP):
        step(Lap())
    return step


def record_games(rules: Ruleset, positions: int, seed: int) -> Arrays:
    """The first `positions` decisions of whole random games, game after game, and how many afterstates each has."""
    game = np.arange(positions // SHORT_GAME + 1)
    play, rng = BatchGame(rules, game.size, seed), np.random.default_rng(seed)
    parts = []
    while len(play):
        after = play.afterstates()
        parts.append({"boards": play.boards, "pending": play.pending, "counts": after.counts, "game": game})
        play.step(after, random_rows(after, rng))
        going = np.flatnonzero(~play.is_over)
        play.keep(going)
        game = game[going]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(whole["game"], kind="stable")[:positions]
    record = {name: array[order] for name, array in whole.items()}
    return {**record, "dice": queues_of(rules).numbers[record["pending"], :2]}


def batches(rules: Ruleset, record: Arrays, batch: int) -> Step:
    """Our generator on the next batch of recorded positions, round and round."""
    lows = cycle(range(0, len(record["boards"]), batch))

    def step(lap: Lap) -> None:
        low = next(lows)
        boards, pending = record["boards"][low : low + batch], record["pending"][low : low + batch]
        lap.afterstates += afterstates(boards, pending, rules).game.size
        lap.plies += len(boards)

    return step


def training(name: str, ranks: int, seconds: float, seed: int, folder: Path) -> Iterator[Lap]:
    """Rounds of one training of so many ranks, from the policy that ships, its games spread over all phases."""
    config, init = ROOT / "configs" / f"{name}-10.toml", ROOT / "checkpoints" / f"{name}.npz"
    begin = [f"train.init={init}", f"seed={seed}", f"run.workers={ranks}", f"run.games={SPREAD * ranks}"]
    sizes = [f"selfplay.batch={BATCH * ranks}", f"optimizer.minibatch={MINIBATCH * ranks}", "run.minutes=60.0"]
    before = train_in(folder, config, [*QUIET, *begin, *sizes])
    while True:
        minutes = (before.counters["seconds"] + seconds) / 60
        after = train_in(folder, config, [*QUIET, f"run.minutes={minutes}", "run.games=1_000_000_000"])
        yield after.since(before)
        before = after


def trainings(seconds: float, seed: int) -> dict[str, Any]:
    """Figures of training, one rank beside two; each against one rank of the same game, and bgsage's against ours."""
    kinds = [(name, ranks) for name in TRAINED for ranks in (1, 2)]
    with ExitStack() as stack:
        folders = [Path(stack.enter_context(TemporaryDirectory())) for _ in kinds]
        runs = [training(*kind, seconds, seed, folder) for kind, folder in zip(kinds, folders, strict=True)]
        theirs, rival = list[Lap](), "bgsage trainer"
        peer = stack.enter_context(process_of(rival, Path())) if rival in installed() else None
        version = ask(peer, 0)[0]["version"] if peer else ""
        ours = []
        for _ in tqdm(range(TRAININGS), desc="trainings", disable=None):
            ours.append([next(run) for run in runs])
            if peer:
                theirs.append(ask(peer, seconds)[1])
    laps = dict(zip(kinds, zip(*ours, strict=True), strict=True))
    found = {f"{name}, ranks: {ranks}": figures(laps[name, ranks], laps[name, 1]) for name, ranks in kinds}
    if theirs:
        found[f"{rival} {version}"] = figures(theirs, laps[kinds[0]])
    return found


def generators(seconds: float, batch: int, seed: int) -> dict[str, Any]:
    """Figures of random play in every game, against the first of them."""
    plays = {each.name: random_play(each, batch, seed) for each in tqdm(VARIANTS, desc="warm-up", disable=None)}
    laps = [[lap_of(play, seconds / ROUNDS) for play in plays.values()] for _ in rounds("generator")]
    of_games = dict(zip(plays, zip(*laps, strict=True), strict=True))
    first = of_games[TRAINED[0]]
    return {name: figures(of_games[name], first) | sizes(of_games[name]) for name in plays}


def peers(seconds: float, batch: int, seed: int) -> dict[str, Any]:
    """Figures of the peers that find plays, and ours in the same rounds: on the same positions, or in random play."""
    rules, share = find_ruleset(TRAINED[0]), seconds / ROUNDS
    record = record_games(rules, -(-POSITIONS // batch) * batch, seed)
    names = [name for name in installed() if name in (*GENERATORS, "pgx")]
    ours = {True: batches(rules, record, batch), False: random_play(rules, batch, seed)}
    pairs = []
    with TemporaryDirectory() as folder, ExitStack() as stack:
        np.savez(positions := Path(folder) / "positions.npz", allow_pickle=False, **record)
        processes = {name: stack.enter_context(process_of(name, positions)) for name in names}
        facts = {name: ask(process, 0)[0] for name, process in processes.items()}
        for _ in rounds("peers"):
            steps = [(ours[name in GENERATORS], process) for name, process in processes.items()]
            pairs.append([(lap_of(step, share), ask(process, share)[1]) for step, process in steps])
    found = {}
    for name, laps in zip(names, zip(*pairs, strict=True), strict=True):
        mine, theirs = zip(*laps, strict=True)
        found[name] = {**facts[name], "ours": figures(mine, theirs), "theirs": figures(theirs, mine)}
    return found


def rounds(what: str) -> tqdm[int]:
    """The rounds of a section, with a bar."""
    return tqdm(range(ROUNDS), desc=what, disable=None)


def sizes(laps: Sequence[Lap]) -> dict[str, Any]:
    """The largest set of afterstates that a decision had, in how many plies, and the time a decision took."""
    return {
        "largest": max(lap.largest for lap in laps),
        "plies": sum(lap.plies for lap in laps),
        "microseconds_per_decision": 1e6 * median(lap.seconds / lap.decisions for lap in laps),
    }


def tables(found: Mapping[str, Any]) -> list[Table]:
    """The figures for people; a section that was not measured is left out."""
    rate, thousands = "afterstates_per_second", (1e3, ",.0f")
    games = Table("random play", "whole loop", "v backgammon", "us a decision", "largest set", "in plies")
    for name, game in found.get("generator", {}).items():
        rates = [text(game[rate], *thousands), text(game[f"{rate}_ratio"])]
        met = [f"{game['microseconds_per_decision']:.1f}", f"{game['largest']:,}", f"{game['plies']:,}"]
        games.add_row(name, *rates, *met)
    others = Table("peers", "theirs", "ours", "ours / theirs", "agree")
    for name, peer in found.get("peers", {}).items():
        rate = "afterstates_per_second" if name in GENERATORS else "plies_per_second"
        rates = [text(peer[side][rate], *thousands) for side in ("theirs", "ours")]
        agree = f"{peer['agree']} of {peer['positions']}" if name in GENERATORS else "(thousands of turns/s)"
        others.add_row(f"{name} {peer['version']}", *rates, text(peer["ours"][f"{rate}_ratio"]), agree)
    learning = Table("training", "games/s", "games v 1 rank", "turns/s", "turns v 1 rank")
    for name, figure in found.get("training", {}).items():
        cells = []
        for rate in ("games_per_second", "plies_per_second"):
            cells.append(text(figure[rate], form=",.0f") if rate in figure else "")
            cells.append(text(figure[f"{rate}_ratio"]) if f"{rate}_ratio" in figure else "")
        learning.add_row(name, *cells)
    grown = [cost.table(found["cost"])] if "cost" in found else []
    return [table for table in (games, others, learning, *grown) if table.rows]


def bars(found: Mapping[str, Any]) -> list[tuple[str, dict[str, dict[str, float]]]]:
    """The ratios that are drawn: a title and bars by name, for each section that was measured."""
    sections = []
    if games := found.get("generator"):
        shown = {name: game["afterstates_per_second_ratio"] for name, game in games.items()}
        sections.append((f"afterstates/s, v {TRAINED[0]}", shown))
    if others := found.get("peers"):
        rates = {name: "afterstates_per_second" if name in GENERATORS else "plies_per_second" for name in others}
        shown = {name: others[name]["ours"][f"{rate}_ratio"] for name, rate in rates.items()}
        sections.append(("ours v theirs, times as fast", shown))
    if learning := found.get("training"):
        shown = {name: figure["games_per_second_ratio"] for name, figure in learning.items()}
        sections.append((f"games/s of training, v 1 rank (bgsage: v {TRAINED[0]}, 1 rank)", shown))
    return sections


def draw(found: Mapping[str, Any]) -> Figure:
    """Every ratio as a bar with its range; 1 is a line."""
    sections = bars(found)
    rows = [max(len(shown), 1) for _, shown in sections]
    figure = Figure(figsize=(8, 1.2 + 0.25 * sum(rows) + 0.8 * len(rows)), layout="constrained")
    panels = figure.subplots(len(sections), squeeze=False, gridspec_kw={"height_ratios": rows})[:, 0]
    for panel, (title, shown) in zip(panels, sections, strict=True):
        middle = np.array([each["median"] for each in shown.values()])
        ends = np.array([[each["min"], each["max"]] for each in shown.values()]).reshape(-1, 2).T
        panel.barh(list(shown), middle, xerr=np.abs(ends - middle), color="tab:blue", ecolor="black", capsize=2)
        panel.axvline(1, color="black", linewidth=0.8)
        panel.set_title(title, fontsize="medium")
        panel.invert_yaxis()
        if middle.max(initial=0) > 20:
            panel.set_xscale("log")
    return figure


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = Parser(prog="speed.py", description="Measure generator, peers that are installed, training and ranks.")
    parser.add_argument("--seconds", type=at_least(1), default=3, help="for each game and peer (default %(default)s)")
    parser.add_argument("--training", type=at_least(1), default=6, help="seconds of each (default %(default)s)")
    parser.add_argument("--batch", type=at_least(1), default=4096, help="games at once (default %(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of dice and choices (default %(default)s)")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="leave the other sections out")
    parser.add_argument("--full", action="store_true", help="also cost.py: as games at once and the net grow")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the ratios there, as PNG; the cost beside it")
    args = parser.parse_args()
    if args.batch > 65_536:
        raise InputError(f"--batch {args.batch}: must be from 1 to 65,536")
    check_file(args.json, "--json")
    check_file(args.plot, "--plot")
    return args


def main() -> int:
    """Measure, print tables, write JSON and a picture where asked."""
    args = arguments()
    found: dict[str, Any] = {}
    for name, section in (("generator", generators), ("peers", peers)):
        if name in args.only:
            found[name] = section(args.seconds, args.batch, args.seed)
    if "training" in args.only:
        found["training"] = trainings(args.training, args.seed)
    if args.full:
        found["cost"] = cost.measure(TRAINED[0], cost.SECONDS, args.seed)
    command = f"python benchmarks/speed.py --seconds {args.seconds} --training {args.training} --batch {args.batch}"
    command += f" --seed {args.seed} --only {' '.join(args.only)}" + args.full * " --full"
    facts = {"rounds": ROUNDS, "trainings": TRAININGS, "batch": args.batch, **machine()}
    Console(highlight=False).print(command, *tables(found), NOTE.format(**facts), sep="\n")
    if args.json is not None:
        record = {"command": command, "seed": args.seed, "machine": machine(), **facts, **found}
        args.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if args.plot is not None:
        draw(found).savefig(args.plot, dpi=120)
        if args.full:
            cost.draw(found["cost"]).savefig(args.plot.with_stem(f"{args.plot.stem}-cost"), dpi=120)
    return 0


if __name__ == "__main__":
    run(main)
