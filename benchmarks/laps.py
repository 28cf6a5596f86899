"""What is timed in rounds that take turns, and how it is told; for the other programs of this folder."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch

from learning.runs import processor

ROUNDS = 7
RATES = (  # what is counted, and the clock that goes with it
    ("afterstates", "seconds"),
    ("afterstates", "generator_seconds"),
    ("plies", "seconds"),
    ("games", "seconds"),
)


@dataclass
class Lap:
    """What one round of one program came to."""

    seconds: float = 0.0
    generator_seconds: float = 0.0  # where more than the generator was timed
    afterstates: int = 0
    decisions: int = 0
    plies: int = 0
    games: int = 0
    largest: int = 0  # afterstates of one decision


Step = Callable[[Lap], None]  # does a piece of work and counts it


def lap_of(step: Step, seconds: float) -> Lap:
    """One round: the step repeated for that long."""
    lap, began = Lap(), perf_counter()
    while lap.seconds < seconds:
        step(lap)
        lap.seconds = perf_counter() - began
    return lap


def figures(laps: Sequence[Lap], others: Sequence[Lap]) -> dict[str, dict[str, float]]:
    """Each rate, and its ratio to that of `others` in the same round: median, min, max."""
    found = {}
    for work, clock in RATES:
        if getattr(laps[0], clock) and getattr(laps[0], work):
            here = [getattr(lap, work) / getattr(lap, clock) for lap in laps]
            found[f"{work}_per_{clock[:-1]}"] = spread(here)
            if all(getattr(lap, work) and getattr(lap, clock) for lap in others):
                there = [getattr(lap, work) / getattr(lap, clock) for lap in others]
                found[f"{work}_per_{clock[:-1]}_ratio"] = spread([a / b for a, b in zip(here, there, strict=True)])
    return found


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, min, max."""
    return {"median": median(values), "min": min(values), "max": max(values)}


def text(figure: Mapping[str, float], unit: float = 1.0, form: str = ".2f") -> str:
    """The median and the range, in this unit."""
    return "{} ({} to {})".format(*(format(figure[name] / unit, form) for name in ("median", "min", "max")))


def machine() -> dict[str, Any]:
    """What the figures depend on besides the program."""
    versions = {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__}
    return {"cpu": processor(), "cores": os.cpu_count(), **versions}
