"""The folder of a run: who may use it, what it holds, when something is due."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
import torch
from filelock import FileLock, Timeout

from agents.network import CheckpointMismatch, read_checkpoint
from engine.ruleset import InputError
from learning.checkpoint import contents_of, resumable, write
from learning.config import BUDGETS, Config, ConfigError, Run, dump_config, load_config
from learning.learner import Learner

RUNS = Path("runs")
SNAPSHOTS = 20  # weights-only files over the budget
NEEDED = ("games", "optimizer", "counters", "generator", "log")  # to go on from a checkpoint
Points = npt.NDArray[np.float64]  # (pairs,)
PACKAGES = ("tabula-rasa", "numpy", "torch", "tensorboard", "pydantic")


class RunFolder:
    """`runs/NAME`, held by one process at a time.

    It holds `config.toml` (resolved), `run.json` (command, versions, seed, machine), `metrics.jsonl`,
    event files, and in `checkpoints/` `last.pt` (the one to resume from), `best.pt` (evaluated,
    and beaten for certain by no later evaluation) and weights-only snapshots at every 5 % of the budget.

    Args:
        path: of the folder.
        writes: False in a process that leaves all this to another one.

    Raises:
        InputError: another process holds the run.
    """

    def __init__(self, path: Path, writes: bool = True) -> None:
        self.path, self.writes = path, writes
        self.figures: dict[str, Any] = {}  # of the newest evaluation, by opponent
        self.best: dict[str, torch.Tensor] = {}  # points of every pair in the evaluation of `best.pt`, by opponent
        self.saved_updates, self.saved_seconds = 0, 0.0
        self.before: Run | None = None  # what a resumed run's config said, where it says something else now
        if writes:
            self.lock = FileLock(path / "lock")
            try:
                self.lock.acquire(timeout=0)
            except Timeout:
                raise InputError(f"{path}: another process is at work on this run") from None

    @property
    def last(self) -> Path:
        """The checkpoint to resume from."""
        return self.path / "checkpoints" / "last.pt"

    def describe(self, config: Config) -> None:
        """Write the resolved config and who made this run with what."""
        (self.path / "config.toml").write_text(dump_config(config), encoding="utf-8")
        facts = {
            "command": sys.argv,
            "seed": config.seed,
            "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
            "machine": {
                "system": platform.platform(),
                "processor": processor(),
                "cores": psutil.cpu_count(),
                "memory_gib": round(psutil.virtual_memory().total / 2**30),
            },
            "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        }
        (self.path / "run.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")

    def extend(self, config: Config) -> None:
        """Note that a resumed run has other settings than before, and say so where it is the budget."""
        if self.before is not None and self.writes:
            if any(getattr(self.before, name) != getattr(config.run, name) for name in BUDGETS):
                print(f"{self.path}: another budget; its schedules now stretch over the new one", flush=True)
            (self.path / "config.toml").write_text(dump_config(config), encoding="utf-8")

    def save(self, learner: Learner, games: list[list[Any]], log: dict[str, Any]) -> None:
        """Write `last.pt`; `games` are, by process, the states of its batches."""
        self.saved_updates, self.saved_seconds = learner.counters.updates, learner.counters.seconds
        if self.writes:
            write(resumable(learner, [*chain.from_iterable(games)], self.figures, log) | {"best": self.best}, self.last)

    def is_save_due(self, learner: Learner) -> bool:
        """Is it time for the next `last.pt`?"""
        run = learner.config.run
        passed = learner.counters.updates - self.saved_updates
        if run.save_updates is not None and passed >= run.save_updates:
            return True
        return run.save_minutes is not None and learner.counters.seconds - self.saved_seconds >= 60 * run.save_minutes

    def snapshot(self, learner: Learner) -> None:
        """Write the weights at one of the SNAPSHOTS parts of the budget, as its percentage."""
        if not self.writes:
            return
        percent = 100 // SNAPSHOTS * int(learner.progress * SNAPSHOTS)
        write(contents_of(learner, self.figures), self.last.with_name(f"{percent:03}.pt"))

    def note(self, learner: Learner, figures: dict[str, Any], points: Mapping[str, Points], is_better: bool) -> None:
        """Keep the figures of an evaluation, and its weights as `best.pt` if it is better for certain than that one's.

        Args:
            learner: what was evaluated.
            figures: plain values, by opponent.
            points: (pairs,) points against each opponent.
            is_better: is it?
        """
        if not self.writes:
            return
        self.figures = figures
        if is_better:
            self.best = {spec: torch.from_numpy(pairs) for spec, pairs in points.items()}
            write(contents_of(learner, figures), self.last.with_name("best.pt"))

    @property
    def best_points(self) -> dict[str, Points]:
        """(pairs,) points in the evaluation of `best.pt`, by opponent; none before there is one."""
        return {spec: pairs.numpy() for spec, pairs in self.best.items()}


def processor() -> str:
    """What kind of processor this is."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def new_run(config: Config, writes: bool) -> RunFolder:
    """A folder in runs/ that did not exist yet: NAME, else NAME-2, NAME-3, ...; none where another process writes."""
    name, number = config.run.name, 1
    if not writes:
        return RunFolder(RUNS / name, writes=False)
    while True:
        path = RUNS / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            number += 1
            continue
        if number > 1:
            print(f"{RUNS / name} exists; this run is {path}", flush=True)
        folder = RunFolder(path)
        folder.describe(config)
        return folder


def resumed_run(path: Path, settings: list[str], writes: bool) -> tuple[RunFolder, Config, dict[str, Any]]:
    """An existing run, its config with settings on top, and its last checkpoint.

    Raises:
        InputError: no run, held by another process, a setting that would make it another run, or no
            place to go on from.
    """
    if path.is_file():
        raise CheckpointMismatch(f"--resume {path}: is a file; give the run's folder, which holds checkpoints/last.pt")
    if not (path / "config.toml").is_file():
        raise ConfigError(f"--resume {path}: no run there; it must be a folder in {RUNS}/ with config.toml in it")
    before, config = load_config(path / "config.toml"), load_config(path / "config.toml", settings)
    fixed = {"name", "threads"}
    changed = [
        name
        for name in Config.model_fields
        if name not in ("run", "evaluate") and getattr(before, name) != getattr(config, name)
    ]
    changed += [f"run.{name}" for name in fixed if getattr(before.run, name) != getattr(config.run, name)]
    if changed:
        hint = f"start a new run with train.init={path}"
        raise ConfigError(f"--resume {path}: {changed[0]} cannot change in a run; {hint}")
    folder = RunFolder(path, writes)
    contents = read_checkpoint(folder.last)
    if not set(NEEDED) <= set(contents):
        raise CheckpointMismatch(f"{folder.last}: holds weights only; resume needs what a run saves there")
    folder.before = before.run if config.run != before.run else None
    folder.figures, folder.best = contents.get("figures", {}), contents.get("best") or {}
    folder.saved_updates, folder.saved_seconds = contents["counters"]["updates"], contents["counters"]["seconds"]
    return folder, config, contents
