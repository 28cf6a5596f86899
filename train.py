"""Train a bot by self-play: `python train.py CONFIG [section.key=value ...]`, or `--resume RUN` to go on."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

from agents.registry import make_agent
from agents.value import ValueAgent
from arena.duel import Duel, duel, improved, joined
from arena.report import duel_line
from cli import Parser, Stopped, release_memory, run
from engine.ruleset import InputError
from engine.variants import find_ruleset
from learning.checkpoint import restore
from learning.config import keys, load_config
from learning.events import events_of
from learning.growth import fill, starting_net
from learning.learner import Counters, Learner, NotFiniteError
from learning.log import Log
from learning.players import Games, games_of
from learning.ranks import RankError, Ranks
from learning.runs import RUNS, SNAPSHOTS, RunFolder, new_run, resumed_run
from learning.stopping import StopSignal
from learning.watching import watch


def arguments() -> argparse.Namespace:
    """The command line; `--help` lists every key of a config."""
    width = max(len(name) for name, _ in keys())
    lines = [
        f"  {name:{width}}  {kind}, default {default}\n  {'':{width}}  {line}" for name, (kind, default, line) in keys()
    ]
    parser = Parser(
        prog="train.py",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Train a bot by self-play. The run goes to runs/NAME.",
        epilog="keys of a config; a schedule is a number or a list of [progress, value] pairs:\n" + "\n".join(lines),
    )
    parser.add_argument("config", nargs="?", metavar="CONFIG", help="a TOML file, such as configs/quick.toml")
    parser.add_argument("settings", nargs="*", metavar="section.key=value", help="settings on top of the file")
    parser.add_argument(
        "--resume", type=Path, metavar="RUN", help="go on with a run, such as runs/quick, from its last.pt"
    )
    parser.add_argument("--quiet", action="store_true", help="no bar and no lines until the end")
    args = parser.parse_intermixed_args()
    if args.resume is not None and args.config is not None:
        if "=" not in args.config:
            raise InputError(f"{args.config}: give either a config or --resume, which reads the run's own")
        args.settings.insert(0, args.config)
    elif args.resume is None and (args.config is None or "=" in args.config):
        raise InputError("train.py: give a config, such as configs/quick.toml, or --resume RUN; see train.py --help")
    return args


def evaluate(learner: Learner, folder: RunFolder, log: Log, stop: StopSignal, ranks: Ranks) -> None:
    """Play the config's opponents and look at the values; nothing here touches the run, so a signal may interrupt."""
    rules, config = learner.rules, learner.config
    agent = ValueAgent(learner.net, rules, "greedy bot")
    duels: dict[str, Duel] = {}
    with stop.interrupting(may=ranks.size == 1):
        for spec in config.evaluate.opponents:
            opponent, share = make_agent(spec, rules), (ranks.rank, ranks.size)
            part = duel(rules, agent, opponent, config.evaluate.games, config.seed, log.is_terminal, share)
            duels[spec] = joined(ranks.gather(part))
            log.say(duel_line(duels[spec]))
        if ranks.is_first:
            log.write(learner, {f"ppg/{spec}": match.ppg for spec, match in duels.items()} | watch(learner, agent, log))
            points = {spec: match.points for spec, match in duels.items()}
            is_better = improved(points, folder.best_points, config.seed)
            folder.note(learner, {spec: match.record() for spec, match in duels.items()}, points, is_better)


def train(learner: Learner, games: Games, folder: RunFolder, log: Log, stop: StopSignal, ranks: Ranks) -> None:
    """Play, target, update, log, save, until the budget is used up or a signal comes."""
    config = learner.config
    if not learner.counters.updates:
        folder.save(learner, ranks.gather(games.states()), log.state())
    ranks.remember(folder.path)
    while learner.progress < 1:
        before, began = learner.progress, time.monotonic()
        with log.timed("play"):
            trajectory = games.collect(learner.agent(), config.selfplay.plies)
        with log.timed("target"):
            targets = learner.targets(trajectory)
        with log.timed("update"):
            loss = learner.update(trajectory, targets, ranks)
        seconds = (time.monotonic() - began) / ranks.size
        told = {"loss": loss / ranks.size, "seconds": seconds, "stop": float(stop.number)}
        sums = ranks.total(events_of(trajectory, learner.rules) | told)
        stopping = round(sums.pop("stop"))  # all have heard of it; a signal that comes later waits for the next update
        learner.count(sums)
        log.record(learner, sums)
        if passes(before, learner.progress, config.evaluate.times) and not stopping:
            evaluate(learner, folder, log, stop, ranks)
            release_memory()
        if passes(before, learner.progress, SNAPSHOTS):
            folder.snapshot(learner)
        if folder.is_save_due(learner) or learner.progress >= 1 or stopping:
            folder.save(learner, ranks.gather(games.states()), log.state())
            release_memory()
        if stopping and learner.progress < 1:
            stop.number = stop.number or stopping
            raise Stopped(f"stopped; go on with: python train.py --resume {folder.path}", stop.code)


def passes(before: float, progress: float, parts: int) -> bool:
    """Did the run just finish one of so many equal parts of its budget?"""
    return int(progress * parts) > int(before * parts)


def main() -> int:
    """Check everything that can be wrong before any work begins, train, and end by showing what came of it."""
    args, ranks, contents = arguments(), Ranks(), None
    begun = ranks.begun()
    if begun or args.resume:
        settings = ranks.settings if begun else args.settings + ranks.settings
        folder, config, contents = resumed_run(begun or args.resume, settings, ranks.is_first)
    else:
        config = load_config(Path(args.config), args.settings + ranks.settings)
    rules = find_ruleset(config.variant, config.rules)
    for spec in config.evaluate.opponents:
        make_agent(spec, rules)
    torch.set_num_threads(config.run.threads)
    learner = Learner(rules, config, ranks.device(config.run.device))
    if contents is None:
        if config.train.init:
            fill(learner.net, starting_net(config.train.init, rules), learner.generator)
        folder = new_run(config, ranks.is_first)
    elif contents["counters"] and Counters(**contents["counters"]).progress(config.run) >= 1:
        print(f"{folder.path} has used up its budget; a larger one, such as run.minutes=60, extends it")
        return 0
    ranks.start(int(config.run.workers))
    share, players = config.selfplay.batch // ranks.size, int(config.run.players)
    with games_of(rules, share, players, config.seed, ranks.rank) as games:
        if contents is not None:
            restore(contents, learner, games, ranks)
            folder.extend(config)
        with Log(folder.path, args.quiet, ranks.is_first).open(learner, contents) as log:
            log.say(f"{rules.title}: {folder.path}")
            try:
                train(learner, games, folder, log, StopSignal().install(), ranks)
            except (NotFiniteError, RankError) as error:
                raise Stopped(f"{error}; the last good checkpoint is {folder.last}", 1) from error
            if ranks.is_first:
                log.hyperparameters(config, {f"ppg/{spec}": record["ppg"] for spec, record in folder.figures.items()})
    ranks.stop()
    minutes = learner.counters.seconds / 60
    print(f"\ntrained on {learner.counters.games:,} games in {minutes:.1f} minutes: {folder.last}")
    print(f"play it:    python evaluate.py {rules.name} td:{folder.path} pips")
    print(f"its curves: tensorboard --logdir {RUNS}")
    return 0


if __name__ == "__main__":
    run(main)
