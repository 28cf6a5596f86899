"""Train a bot by self-play: `python train.py CONFIG [section.key=value ...]`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import tomli_w
import torch

from agents.registry import make_agent
from agents.value import ValueAgent
from arena.duel import duel
from arena.report import duel_line
from cli import Parser, run
from engine.game import BatchGame
from engine.variants import find_ruleset
from learning.checkpoint import save
from learning.config import Config, keys, load_config
from learning.learner import Learner
from learning.log import Log
from learning.selfplay import collect

RUNS = Path("runs")


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
        epilog="keys of a config:\n" + "\n".join(lines),
    )
    parser.add_argument("config", type=Path, help="a TOML file, such as configs/quick.toml")
    parser.add_argument("settings", nargs="*", metavar="section.key=value", help="settings on top of the file")
    return parser.parse_args()


def new_folder(name: str) -> Path:
    """A folder in runs/ that does not exist yet: NAME, else NAME-2, NAME-3, ..."""
    folder, number = RUNS / name, 1
    while True:
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            number += 1
            folder = RUNS / f"{name}-{number}"
        else:
            return folder


def evaluate(learner: Learner, config: Config, log: Log) -> None:
    """Play the config's opponents, print a line for each, and log points per game."""
    agent = ValueAgent(learner.net, learner.rules, "bot")
    scalars = {}
    for spec in config.evaluate.opponents:
        match = duel(
            learner.rules, agent, make_agent(spec, learner.rules), config.evaluate.games, config.seed, progress=True
        )
        scalars[f"ppg/{spec}"] = match.ppg
        print(duel_line(match), flush=True)
    log.write(learner.counters.plies, scalars)


def train(config: Config, folder: Path) -> None:
    """Play, target, update, log, save, until the budget is used up."""
    rules = find_ruleset(config.variant, config.rules)
    learner = Learner(rules, config)
    game = BatchGame(rules, config.selfplay.batch, config.seed)
    saved = learner.counters.updates, learner.counters.seconds
    evaluated = 0.0
    with Log(folder, rules) as log:
        while learner.progress < 1:
            trajectory = collect(game, learner.agent(), config.selfplay.plies)
            targets = learner.targets(trajectory)
            loss = learner.update(trajectory, targets)
            log.record(learner, loss, trajectory)
            counters = learner.counters
            if is_due(counters.updates - saved[0], config.run.save_updates) or is_due(
                (counters.seconds - saved[1]) / 60, config.run.save_minutes
            ):
                save(learner, config, folder)
                saved = counters.updates, counters.seconds
            if is_due((counters.seconds - evaluated) / 60, config.evaluate.minutes) and learner.progress < 1:
                evaluated = counters.seconds
                evaluate(learner, config, log)
        path = save(learner, config, folder)
        print(f"\ntrained on {learner.counters.games:,} games in {learner.counters.seconds / 60:.1f} minutes: {path}")
        evaluate(learner, config, log)
    print(f"\nplay it:    python evaluate.py {config.variant} td:{path} pips")
    print(f"its curves: tensorboard --logdir {RUNS}")


def is_due(passed: float, every: float | None) -> bool:
    """Has enough passed since the last time?"""
    return every is not None and passed >= every


def main() -> int:
    """Check everything that can be wrong before any work begins, then train."""
    args = arguments()
    config = load_config(args.config, args.settings)
    rules = find_ruleset(config.variant, config.rules)
    for spec in config.evaluate.opponents:
        make_agent(spec, rules)
    torch.set_num_threads(config.run.threads)
    folder = new_folder(config.run.name)
    (folder / "config.toml").write_text(tomli_w.dumps(config.model_dump(mode="json", by_alias=True, exclude_none=True)))
    (folder / "run.json").write_text(json.dumps({"command": sys.argv, "torch": torch.__version__}, indent=1))
    print(f"{rules.title}: {folder}", flush=True)
    train(config, folder)
    return 0


if __name__ == "__main__":
    run(main)
