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
MOST_GAMES = 65_536  # of a BatchGame
POSITIONS = 20_000  # recorded for the comparison, rounded up to whole batches
SHORT_GAME = 40  # plies; the recorded games have 95 on average
CHUNK = 50  # positions a peer works through between two looks at the clock
REPLAYED = 2_000  # positions for OpenSpiel, whose states can only be made by replaying games
OPENSPIEL_BAR = 100
MODULES = {"gnubg-nn": "gnubg_nn", "open-spiel": "pyspiel"}  # of the peers' packages
NOTE = """Rates are millions of distinct afterstates a second: median (min..max) over {rounds} rounds, one core each. \
Peers work on the same positions and rolls of whole random games: ours in batches of {batch:,}, theirs one a call from \
Python; gnubg-nn by moves(); open-spiel by legal_actions() and child(), a double's first halves merged where equal, \
distinct boards counted before the timing. agree: positions with as many afterstates as ours, a forced pass being one."""

Arrays = dict[str, npt.NDArray[Any]]
Generate = Callable[[Sequence[Any]], int]  # finds the results of positions in a peer's own form and counts them


@dataclass
class Lap:
    """What one round of one generator came to."""

    seconds: float = 0.0
    generator_seconds: float = 0.0  # where more than the generator was timed
    afterstates: int = 0
    plies: int = 0
    decisions: int = 0


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
        lap.decisions += batch

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
        dice = queues_of(rules).numbers[play.pending, :2]
        parts.append({"boards": play.boards, "pending": play.pending, "dice": dice, "counts": after.counts, "game": game})
        play.step(after, random_rows(after, rng))
        going = np.flatnonzero(~play.is_over)
        play.keep(going)
        game = game[going]
    record = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(record["game"], kind="stable")[:positions]
    return {name: array[order] for name, array in record.items()}


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

    def generate(chunk: Sequence[Any]) -> int:
        return sum([len(moves(board, larger, smaller)) for board, larger, smaller in chunk])

    return inputs, [max(generate([position]), 1) for position in inputs], generate  # it lists no forced pass


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
    inputs: list[Any] = []
    counts: list[int] = []
    for index, (rows, (larger, smaller)) in enumerate(zip(boards, record["dice"][:REPLAYED], strict=True)):
        if index == 0 or record["game"][index] != record["game"][index - 1]:
            state, player = start.new_initial_state(), 0
        else:
            state, player = results[tuple(map(tuple, rows[::-1]))], 1 - player
        rolls = {state.action_to_string(action): action for action in state.legal_actions()}
        state.apply_action(next(rolls[text] for text in rolls if text.endswith(f"(roll: {smaller}{larger})")))
        results = {openspiel_board(result, player): result for result in openspiel_results(state)}
        inputs.append(state)
        counts.append(len(results))
    return inputs, counts, lambda chunk: sum([len(openspiel_results(state)) for state in chunk])


def serve(package: str, positions: str, seconds: str) -> int:
    """Be a peer's process: work on the recorded positions for one round and print what came of it."""
    with np.load(positions) as file:
        record = dict(file)
    inputs, counts, generate = {"gnubg-nn": gnubg, "open-spiel": openspiel}[package](record)
    lows = range(0, len(inputs), CHUNK)
    chunks = cycle([(inputs[low : low + CHUNK], sum(counts[low : low + CHUNK])) for low in lows])

    def step(lap: Lap) -> None:
        chunk, distinct = next(chunks)
        generate(chunk)
        lap.afterstates += distinct
        lap.plies += len(chunk)

    agree = int((record["counts"][: len(counts)] == counts).sum())
    facts = {"version": version(package), "positions": len(inputs), "agree": agree}
    print(json.dumps([facts, asdict(lap_of(step, float(seconds)))]))
    return 0


def ask(package: str, positions: Path, seconds: float) -> tuple[dict[str, Any], Lap]:
    """One round of a peer in a new process on one thread: facts about it, and the lap."""
    command = [sys.executable, __file__, "--peer", package, str(positions), str(seconds)]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=env, check=False)
    if done.returncode:
        raise InputError(f"{package}: its process ended with {done.returncode}; uninstall it to go without")
    facts, lap = json.loads(done.stdout)
    return facts, Lap(**lap)


def figures(laps: Sequence[Lap], others: Sequence[Lap]) -> dict[str, dict[str, float]]:
    """Each rate, and its ratio to that of `others` in the same round: median, min, max."""
    found = {}
    for clock, work in (("", "afterstates"), ("generator_", "afterstates"), ("", "plies"), ("", "decisions")):
        if not getattr(laps[0], f"{clock}seconds") or not getattr(laps[0], work):
            continue
        here, there = ([getattr(lap, work) / getattr(lap, f"{clock}seconds") for lap in each] for each in (laps, others))
        ratios = [a / b for a, b in zip(here, there, strict=True)]
        for name, values in ((f"{clock}{work}_per_s", here), (f"{clock}{work}_ratio", ratios)):
            found[name] = {"median": median(values), "min": min(values), "max": max(values)}
    return found


def measure(seconds: int, batch: int, seed: int) -> dict[str, Any]:
    """All figures: `games` of random play, `peers` compared with ours on the same positions."""
    rules, share = find_ruleset("backgammon"), seconds / ROUNDS
    plays = {each.name: random_play(each, batch, seed) for each in tqdm(VARIANTS, desc="warm-up", disable=None)}
    record = record_games(rules, -(-POSITIONS // batch) * batch, seed)
    ours = batches(rules, record, batch)
    laps: dict[str, list[Lap]] = {name: [] for name in plays}
    pairs: dict[str, list[tuple[Lap, Lap]]] = {package: [] for package in MODULES if find_spec(MODULES[package])}
    facts = {}
    with TemporaryDirectory() as folder:
        positions = Path(folder) / "positions.npz"
        np.savez(positions, allow_pickle=False, **record)
        for _ in tqdm(range(ROUNDS), desc="rounds", disable=None):
            for name, play in plays.items():
                laps[name].append(lap_of(play, share))
            for package in pairs:
                here = lap_of(ours, share)
                facts[package], there = ask(package, positions, share)
                pairs[package].append((here, there))
    peers = {}
    for package in pairs:
        mine, theirs = zip(*pairs[package], strict=True)
        peers[package] = {**facts[package], "ours": figures(mine, theirs), "theirs": figures(theirs, mine)}
    return {"games": {name: figures(laps[name], laps[rules.name]) for name in plays}, "peers": peers}


def text(figure: Mapping[str, float], unit: float = 1.0) -> str:
    """The median and the range, in this unit."""
    return f"{figure['median'] / unit:.3g} ({figure['min'] / unit:.3g}..{figure['max'] / unit:.3g})"


def tables(found: Mapping[str, Any]) -> list[Table]:
    """The figures for people; a table without rows is left out."""
    rate, ratio, million = "afterstates_per_s", "afterstates_ratio", 1e6
    games = Table("random play", "whole loop", "v backgammon", "generator alone", "v backgammon", "plies/s")
    for name, game in found["games"].items():
        loop, alone = text(game[rate], million), text(game[f"generator_{rate}"], million)
        plies = f"{game['plies_per_s']['median']:,.0f}"
        games.add_row(name, loop, text(game[ratio]), alone, text(game[f"generator_{ratio}"]), plies)
    peers = Table("backgammon", "theirs", "ours", "ours / theirs", "agree")
    for name, peer in found["peers"].items():
        rates = [text(peer[side][rate], million) for side in ("theirs", "ours")]
        agree = f"{peer['agree']:,} of {peer['positions']:,}"
        peers.add_row(f"{name} {peer['version']}", *rates, text(peer["ours"][ratio]), agree)
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
    parser.add_argument("--peer", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer is not None:
        return serve(*args.peer)
    if args.batch > MOST_GAMES:
        raise InputError(f"--batch {args.batch}: must be from 1 to {MOST_GAMES:,}")
    if args.json is not None and not args.json.parent.is_dir():
        raise InputError(f"--json {args.json}: there is no folder {args.json.parent}")
    found = measure(args.seconds, args.batch, args.seed)
    command = f"python benchmarks/speed.py --seconds {args.seconds} --batch {args.batch} --seed {args.seed}"
    record = {"command": command, "seed": args.seed, "rounds": ROUNDS, "machine": machine(), **found}
    console = Console()
    console.print(", ".join(f"{name} {value}" for name, value in machine().items()), command, sep="\n")
    console.print(*tables(found), NOTE.format(rounds=ROUNDS, batch=args.batch), sep="\n")
    if args.json is not None:
        args.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    run(main)
