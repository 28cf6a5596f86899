"""Measure how fast afterstates are found: `python benchmarks/speed.py [--seconds S] [--batch N] [--json FILE]`.

All generators are timed in short rounds that take turns, so that another load on the machine hits all alike.
Other programs run in processes of their own; no package imports them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from cli import Parser, at_least, run
from engine import VARIANTS, Afterstates, BatchGame, InputError, Ruleset, afterstates, find_ruleset, queues_of
from engine.slots import MINE, THEIRS

ROUNDS = 7
WARM_UP = 60  # decisions; the games are then spread over all phases
POSITIONS = 20_000  # recorded for the comparison, rounded up to whole batches
SHORT_GAME = 40  # plies; the recorded games have 95 on average
CHUNK = 50  # positions a peer works through between two looks at the clock
REPLAYED = 2_000  # positions for OpenSpiel, whose states can only be made by replaying games
OPENSPIEL_BAR = 100
MODULES = {"gnubg-nn": "gnubg_nn", "open-spiel": "pyspiel"}  # of the peers' packages
NOTE = """Thousands of distinct afterstates a second, median (min to max) of {rounds} rounds, on one core of {cores}: \
{cpu}, Python {python}, numpy {numpy}. Peers: the same positions and rolls of whole random games for both, ours in \
batches of {batch:,}, theirs one a call from Python; gnubg-nn by moves(), open-spiel by legal_actions() and child(), a \
double's first halves merged where equal and distinct boards counted before the timing. agree: positions with as many \
results as ours, a forced pass being one."""

Arrays = dict[str, npt.NDArray[Any]]
Generate = Callable[[Sequence[Any]], int]  # finds the results of positions in a peer's own form and counts them


@dataclass
class Lap:
    """What one round of one generator came to."""

    seconds: float = 0.0
    generator_seconds: float = 0.0  # where more than the generator was timed
    afterstates: int = 0
    decisions: int = 0
    plies: int = 0
    largest: int = 0  # afterstates of one decision


Step = Callable[[Lap], None]  # does a piece of work and counts it


def lap_of(step: Step, seconds: float) -> Lap:
    """One round: the step repeated for that long."""
    lap, began = Lap(), perf_counter()
    while lap.seconds < seconds:
        step(lap)
        lap.seconds = perf_counter() - began
    return lap


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


def gnubg(record: Arrays) -> tuple[list[Any], list[int], Generate]:
    """gnubg-nn: two rows of 25, points 1..24 and the bar in their owner's count; row 1 is to play."""
    from gnubg_nn import moves

    boards = record["boards"][:, [THEIRS, MINE], 1:26].tolist()
    inputs = [(board, *roll) for board, roll in zip(boards, record["dice"].tolist(), strict=True)]
    counts = [max(len(moves(*position)), 1) for position in inputs]  # it lists no forced pass
    return inputs, counts, lambda chunk: sum([len(moves(board, large, small)) for board, large, small in chunk])


def openspiel_results(state: Any) -> list[Any]:
    """The states after a play; a double is two actions there."""
    children = [state.child(action) for action in state.legal_actions()]
    halves = {str(child): child for child in children if child.is_player_node()}
    results = [half.child(action) for half in halves.values() for action in half.legal_actions()]
    return results + [child for child in children if not child.is_player_node()]


def openspiel_board(state: Any, player: int) -> tuple[tuple[int, ...], ...]:
    """Slots 1..25 of both sides, `player` first; OpenSpiel's player 0 walks up from place 0 to 23, player 1 down."""
    places = [(*range(23, -1, -1), OPENSPIEL_BAR), (*range(24), OPENSPIEL_BAR)]
    return tuple(tuple(state.board(side, place) for place in places[side]) for side in (player, 1 - player))


def openspiel(record: Arrays) -> tuple[list[Any], list[int], Generate]:
    """OpenSpiel: the recorded games replayed, player 0 beginning all of them."""
    import pyspiel

    boards, start = record["boards"][:REPLAYED, :, 1:26].tolist(), pyspiel.load_game("backgammon")
    is_first = np.diff(record["game"], prepend=-1) != 0
    inputs, counts, player, results = [], [], 0, dict[Any, Any]()
    for rows, (larger, smaller), is_new in zip(boards, record["dice"][:REPLAYED], is_first[:REPLAYED], strict=True):
        player = 0 if is_new else 1 - player
        state = start.new_initial_state() if is_new else results[tuple(map(tuple, rows[::-1]))]
        rolls = {state.action_to_string(action): action for action in state.legal_actions()}
        state.apply_action(next(rolls[text] for text in rolls if text.endswith(f"(roll: {smaller}{larger})")))
        results = {openspiel_board(result, player): result for result in openspiel_results(state)}
        inputs.append(state)
        counts.append(len(results))
    return inputs, counts, lambda chunk: sum([len(openspiel_results(state)) for state in chunk])


def serve(package: str, positions: str) -> int:
    """Be a peer's process: for each line of seconds on stdin work on the recorded positions, and print the lap."""
    with np.load(positions) as file:
        record = dict(file)
    inputs, counts, generate = {"gnubg-nn": gnubg, "open-spiel": openspiel}[package](record)
    parts = [slice(low, low + CHUNK) for low in range(0, len(inputs), CHUNK)]
    chunks = cycle([(inputs[part], sum(counts[part])) for part in parts])

    def step(lap: Lap) -> None:
        chunk, distinct = next(chunks)
        generate(chunk)
        lap.afterstates += distinct
        lap.plies += len(chunk)

    agree = int((record["counts"][: len(counts)] == counts).sum())
    facts = {"version": version(package), "positions": len(counts), "agree": agree}
    for line in sys.stdin:
        print(json.dumps([facts, asdict(lap_of(step, float(line)))]), flush=True)
    return 0


def process_of(package: str, positions: Path) -> subprocess.Popen[str]:
    """A peer's process, on one thread."""
    command, env = [sys.executable, __file__, "--peer", package, str(positions)], {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)


def ask(process: subprocess.Popen[str], seconds: float) -> tuple[dict[str, Any], Lap]:
    """One round of a peer: facts about it, and the lap."""
    print(seconds, file=process.stdin, flush=True)
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise InputError("a peer's process ended early; what it said stands above")
    facts, lap = json.loads(line)
    return facts, Lap(**lap)


def figures(laps: Sequence[Lap], others: Sequence[Lap]) -> dict[str, dict[str, float]]:
    """Each rate, and its ratio to that of `others` in the same round: median, min, max."""
    found = {}
    for work, clock in (("afterstates", "seconds"), ("afterstates", "generator_seconds"), ("plies", "seconds")):
        if getattr(laps[0], clock):
            here, there = ([getattr(lap, work) / getattr(lap, clock) for lap in each] for each in (laps, others))
            ratios = [a / b for a, b in zip(here, there, strict=True)]
            for kind, values in (("", here), ("_ratio", ratios)):
                spread = {"median": median(values), "min": min(values), "max": max(values)}
                found[f"{work}_per_{clock[:-1]}{kind}"] = spread
    return found


def measure(seconds: int, batch: int, seed: int) -> dict[str, Any]:
    """All figures: `games` of random play, `peers` compared with ours on the same positions."""
    rules, share = find_ruleset("backgammon"), seconds / ROUNDS
    plays = {each.name: random_play(each, batch, seed) for each in tqdm(VARIANTS, desc="warm-up", disable=None)}
    record = record_games(rules, -(-POSITIONS // batch) * batch, seed)
    ours, games, pairs = batches(rules, record, batch), [], []
    with TemporaryDirectory() as folder, ExitStack() as stack:
        np.savez(positions := Path(folder) / "positions.npz", allow_pickle=False, **record)
        packages = [package for package, module in MODULES.items() if find_spec(module)]
        peers = [stack.enter_context(process_of(package, positions)) for package in packages]
        facts = [ask(peer, 0)[0] for peer in peers]
        for _ in tqdm(range(ROUNDS), desc="rounds", disable=None):
            games.append([lap_of(play, share) for play in plays.values()])
            pairs.append([(lap_of(ours, share), ask(peer, share)[1]) for peer in peers])
    of_games, of_peers = dict(zip(plays, zip(*games, strict=True), strict=True)), {}
    for package, known, laps in zip(packages, facts, zip(*pairs, strict=True), strict=True):
        mine, theirs = zip(*laps, strict=True)
        of_peers[package] = {**known, "ours": figures(mine, theirs), "theirs": figures(theirs, mine)}
    of_each = {name: figures(of_games[name], of_games[rules.name]) | sizes(of_games[name]) for name in plays}
    return {"games": of_each, "peers": of_peers}


def sizes(laps: Sequence[Lap]) -> dict[str, Any]:
    """The largest set of afterstates that a decision had, in how many plies, and the time a decision took."""
    return {
        "largest": max(lap.largest for lap in laps),
        "plies": sum(lap.plies for lap in laps),
        "microseconds_per_decision": 1e6 * median(lap.seconds / lap.decisions for lap in laps),
    }


def text(figure: Mapping[str, float], unit: float = 1.0, form: str = ".2f") -> str:
    """The median and the range, in this unit."""
    return "{} ({} to {})".format(*(format(figure[name] / unit, form) for name in ("median", "min", "max")))


def tables(found: Mapping[str, Any]) -> list[Table]:
    """The figures for people; a table without rows is left out."""
    rate, thousands = "afterstates_per_second", (1e3, ",.0f")
    games = Table("random play", "whole loop", "v backgammon", "us a decision", "largest set", "in plies")
    for name, game in found["games"].items():
        rates = [text(game[rate], *thousands), text(game[f"{rate}_ratio"])]
        met = [f"{game['microseconds_per_decision']:.1f}", f"{game['largest']:,}", f"{game['plies']:,}"]
        games.add_row(name, *rates, *met)
    peers = Table("backgammon", "theirs", "ours", "ours / theirs", "agree")
    for name, peer in found["peers"].items():
        rates = [text(peer[side][rate], *thousands) for side in ("theirs", "ours")]
        rates += [text(peer["ours"][f"{rate}_ratio"]), f"{peer['agree']} of {peer['positions']}"]
        peers.add_row(f"{name} {peer['version']}", *rates)
    return [table for table in (games, peers) if table.rows]


def machine() -> dict[str, Any]:
    """What the figures depend on besides the program."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cpu = models[0] if models else platform.processor()
    return {"cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version(), "numpy": np.__version__}


def main() -> int:
    """Measure, print tables, write JSON where asked."""
    parser = Parser(prog="speed.py", description="Measure how fast afterstates are found, also by other programs.")
    parser.add_argument("--seconds", type=at_least(1), default=5, help="for each game and peer (default %(default)s)")
    parser.add_argument("--batch", type=at_least(1), default=4096, help="games at once (default %(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of dice and choices (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--peer", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer is not None:
        return serve(*args.peer)
    if args.batch > 65_536:
        raise InputError(f"--batch {args.batch}: must be from 1 to 65,536")
    if args.json is not None and (args.json.is_dir() or not args.json.parent.is_dir()):
        raise InputError(f"--json {args.json}: must be a file in a folder that exists")
    found = measure(args.seconds, args.batch, args.seed)
    command = f"python benchmarks/speed.py --seconds {args.seconds} --batch {args.batch} --seed {args.seed}"
    record = {"command": command, "seed": args.seed, "rounds": ROUNDS, "machine": machine(), **found}
    Console().print(command, *tables(found), NOTE.format(rounds=ROUNDS, batch=args.batch, **machine()), sep="\n")
    if args.json is not None:
        args.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    run(main)
