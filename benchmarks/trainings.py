"""Short trainings by train.py, each in processes of its own, for the other programs of this folder."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from laps import Lap

from agents.network import read_checkpoint
from engine import InputError

ROOT = Path(__file__).parent.parent
TICK = 0.25  # seconds between two looks at the memory
QUIET = ["--quiet", "evaluate.opponents=[]", "evaluate.times=1"]


@dataclass(frozen=True)
class Training:
    """What a training came to: the counters of its last checkpoint, and its memory."""

    counters: dict[str, Any]
    memory: list[tuple[float, float]]  # seconds since its start, MiB of all its processes

    @property
    def peak(self) -> float:
        """The largest memory, in MiB."""
        return max(size for _, size in self.memory)

    def since(self, before: Training | None = None) -> Lap:
        """Turns and games, and the seconds they took; start, evaluations and saving are not counted."""
        first = before.counters if before else dict.fromkeys(self.counters, 0)
        done = {name: value - first[name] for name, value in self.counters.items()}
        return Lap(seconds=done["seconds"], plies=done["plies"], games=done["games"])


def trained(config: Path, settings: Sequence[str], tick: float = TICK) -> Training:
    """Train in a folder that is thrown away."""
    with TemporaryDirectory() as folder:
        return train_in(Path(folder), config, settings, tick)


def train_in(folder: Path, config: Path, settings: Sequence[str], tick: float = TICK) -> Training:
    """Train there, or go on with what was trained there before.

    Raises:
        InputError: it failed; with its last words.
    """
    place = folder / "runs" / "timed"
    words = ["--resume", str(place)] if place.exists() else [str(config), "run.name=timed"]
    command, memory, began = [sys.executable, str(ROOT / "train.py"), *words, *settings], [], time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None:
        if size := resident(process.pid):
            memory.append((time.monotonic() - began, size))
        time.sleep(tick)
    if process.returncode:
        raise InputError(f"{config.name}: {process.communicate()[1].strip()[-300:]}")
    return Training(read_checkpoint(place)["counters"], memory)


def resident(pid: int) -> float:
    """MiB that a process and all below it hold; what two of them share counts twice."""
    size = 0
    try:
        process = psutil.Process(pid)
        for each in [process, *process.children(recursive=True)]:
            size += each.memory_info().rss
    except psutil.NoSuchProcess:  # it ended while we looked
        pass
    return size / 2**20
