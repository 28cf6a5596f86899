"""Where the time of a training goes, and how fast each of its operations is alone: `python benchmarks/stages.py`."""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from laps import ROUNDS, machine, spread, text
from rich.console import Console
from rich.table import Table
from tqdm import tqdm
from trainings import ROOT

import agents.glance
from agents.encoding import Encoding
from agents.glance import Glance, GlancingAgent
from agents.network import ROWS_AT_ONCE, Judge
from cli import Parser, at_least, check_file, run
from engine import BatchGame, Ruleset, afterstates, find_ruleset
from learning.config import load_config
from learning.growth import fill, starting_net
from learning.learner import Learner
from learning.selfplay import collect

WARM_UP = 25  # updates; games are then spread over all phases
GENERATOR, FIRST, GLANCE, NET, LEARNING = "generator", "first layer", "glance", "other layers", "learning"
ENCODING, OTHER = "encoding", "gather, copies, Python"
UNITS = dict.fromkeys((GENERATOR, FIRST, GLANCE, NET, LEARNING, ENCODING), "positions") | {GENERATOR: "afterstates"}
NOTE = """Self-play with learning of {variant} from checkpoints/{variant}.npz, {games:,} games at once, one process, \
one thread: median (min to max) of {rounds} rounds of {seconds} s. encoding: which rows of the first layer are on. \
alone: the same operation on one batch of the same games, again and again. Rates in thousands a second. {cpu}, torch \
{torch}."""


class Clock:
    """Seconds and rows, by stage; what happens within another stage counts for itself alone."""

    def __init__(self) -> None:
        self.seconds, self.rows, self.within = defaultdict[str, float](float), Counter[str](), 0.0

    def timed(self, work: Callable[..., Any], stage: str, rows: Callable[..., int]) -> Callable[..., Any]:
        """The same function, timed; `rows` tells from its result and arguments how many it did."""

        @wraps(work)
        def watched(*arguments: Any) -> Any:
            before, self.within = self.within, 0.0
            began = perf_counter()
            found = work(*arguments)
            seconds = perf_counter() - began
            self.seconds[stage] += seconds - self.within
            self.within = before + seconds
            self.rows[stage] += rows(found, *arguments)
            return found

        return watched

    def restart(self) -> None:
        """Forget everything."""
        self.seconds.clear()
        self.rows.clear()


CLOCK = Clock()  # of this process's training


def watch() -> None:
    """Time the stages, wherever they are called from, for as long as this process lives."""
    watched: list[tuple[Any, str, str, Callable[..., int]]] = [
        (BatchGame, "afterstates", GENERATOR, lambda found, *_: found.game.size),
        (Encoding, "active", ENCODING, lambda found, *_: found[1].size),
        (Judge, "first", FIRST, lambda found, *_: len(found)),
        (Judge, "rest", NET, lambda found, *_: len(found)),
        (Glance, "promising", GLANCE, lambda found, glance, signal, *_: len(signal)),
        (agents.glance, "fitted", GLANCE, lambda *_: 0),
        (Learner, "update", LEARNING, lambda loss, learner, trajectory, *_: trajectory.outcome.size),
    ]
    for owner, name, stage, rows in watched:
        setattr(owner, name, CLOCK.timed(getattr(owner, name), stage, rows))


class Loop:
    """A training's loop in this process, in pieces that are timed.

    Args:
        name: a game with a policy in checkpoints/.
        games: at once.
        seed: of everything.
    """

    def __init__(self, name: str, games: int, seed: int) -> None:
        torch.set_num_threads(1)
        settings = [f"selfplay.batch={games}", f"seed={seed}", "optimizer.minibatch=500", "optimizer.rate=0.0001"]
        config = load_config(ROOT / "configs" / f"{name}-10.toml", [*settings, "run.workers=1", "td.lambda=0.9"])
        self.rules: Ruleset = find_ruleset(name)
        self.learner, self.plies = Learner(self.rules, config), config.selfplay.plies
        init = str(ROOT / "checkpoints" / f"{name}.npz")
        fill(self.learner.net, starting_net(init, self.rules), self.learner.generator)
        self.game = BatchGame(self.rules, games, seed)

    def update(self) -> int:
        """Play, target, learn; how many turns were played."""
        trajectory = collect(self.game, self.learner.agent(), self.plies)
        targets = self.learner.targets(trajectory)
        self.learner.update(trajectory, targets)
        return trajectory.turns

    def round(self, seconds: float) -> dict[str, Any]:
        """Turns a second, and for each stage its share and its rate."""
        CLOCK.restart()
        began, turns = perf_counter(), 0
        while perf_counter() - began < seconds:
            turns += self.update()
        total = perf_counter() - began
        shares = {stage: CLOCK.seconds[stage] / total for stage in UNITS}
        rates = {stage: CLOCK.rows[stage] / CLOCK.seconds[stage] for stage in UNITS}
        return {"turns": turns / total, "shares": shares | {OTHER: 1 - sum(shares.values())}, "rates": rates}

    def alone(self) -> dict[str, float]:
        """The rate of each operation on one batch of these games, the best of some repetitions."""
        trajectory = collect(self.game, self.learner.agent(), self.plies)
        targets, net = self.learner.targets(trajectory), self.learner.net
        learning = rate(lambda: self.learner.update(trajectory, targets), trajectory.outcome.size, 5)
        agent = self.learner.agent()
        collect(self.game, agent, 1)
        found = self.game.afterstates()
        boards, pending = found.boards[:ROWS_AT_ONCE], found.pending[:ROWS_AT_ONCE]
        rows, starts = (torch.from_numpy(each) for each in net.encoding.active(boards, pending))
        judge, possible = net.judge(), self.rules.scoring.possible(boards, self.rules)
        signal, plays = judge.first(boards, pending), found.start[:-1][found.start[:-1] < ROWS_AT_ONCE]
        sign = np.where(found.passed[:ROWS_AT_ONCE], -1, 1).astype(np.float32)
        assert isinstance(agent, GlancingAgent)
        glance = agent.glance
        assert glance is not None
        return {
            LEARNING: learning,
            GENERATOR: rate(lambda: afterstates(found.before, found.decided, self.rules), found.game.size),
            FIRST: rate(lambda: net.first(judge.table, rows, starts), pending.size),
            GLANCE: rate(lambda: glance.promising(signal, sign, plays), pending.size),
            NET: rate(lambda: judge.rest(signal, possible), pending.size),
            ENCODING: rate(lambda: net.encoding.active(boards, pending), pending.size),
        }


def rate(work: Callable[[], object], rows: int, times: int = 20) -> float:
    """Rows a second of the fastest of some repetitions."""
    seconds = []
    for _ in range(times):
        began = perf_counter()
        work()
        seconds.append(perf_counter() - began)
    return rows / min(seconds)


def measure(name: str, games: int, seconds: float, seed: int) -> dict[str, Any]:
    """Medians and ranges over the rounds, and the rates alone."""
    loop = Loop(name, games, seed)
    for _ in tqdm(range(WARM_UP), desc=f"{name}: warm-up", disable=None):
        loop.update()
    rounds = [loop.round(seconds / ROUNDS) for _ in tqdm(range(ROUNDS), desc=name, disable=None)]
    return {
        "turns_per_second": spread([each["turns"] for each in rounds]),
        "shares": {stage: spread([each["shares"][stage] for each in rounds]) for stage in (*UNITS, OTHER)},
        "rates": {stage: spread([each["rates"][stage] for each in rounds]) for stage in UNITS},
        "alone": loop.alone(),
    }


def table(found: dict[str, Any], name: str) -> Table:
    """The figures for people."""
    turns = f"{name}, {text(found['turns_per_second'], form=',.0f')} turns/s"
    shown = Table(turns, "% of the time", "rate", "alone", "of")
    for stage, share in found["shares"].items():
        cells = [text(share, 0.01, ".1f")]
        if stage in UNITS:
            cells.append(text(found["rates"][stage], 1e3, ",.0f"))
            cells += [f"{found['alone'][stage] / 1e3:,.0f}", UNITS[stage]]
        shown.add_row(stage, *cells)
    return shown


def main() -> int:
    """Measure, print the tables, write JSON where asked."""
    parser = Parser(prog="stages.py", description="Where a training's time goes, and each stage alone.")
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help="with a policy in checkpoints/ (default both)")
    parser.add_argument("--seconds", type=at_least(1), default=14, help="for each (default %(default)s)")
    parser.add_argument("--games", type=at_least(1000), default=2000, help="at once (default %(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of dice and minibatches (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    args: argparse.Namespace = parser.parse_args()
    check_file(args.json, "--json")
    found = {}
    watch()
    for name in [find_ruleset(variant).name for variant in args.variants or ("backgammon", "irish")]:
        found[name] = measure(name, args.games, args.seconds, args.seed)
        facts = {"games": args.games, "seconds": f"{args.seconds / ROUNDS:g}", "rounds": ROUNDS, **machine()}
        Console(highlight=False).print(table(found[name], name), NOTE.format(variant=name, **facts), sep="\n")
    if args.json is not None:
        record = {"seed": args.seed, **facts, "figures": found}
        args.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    run(main)
