"""Checkpoints: tensors and plain types only, written so that no half file is ever seen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents.encoding import ENCODING
from agents.network import FORMAT, CheckpointMismatch
from engine.game import BatchGame
from learning.learner import Learner
from learning.ranks import Ranks


def contents_of(learner: Learner, figures: Mapping[str, Any]) -> dict[str, Any]:
    """What every checkpoint says of itself: rules as text, net, encoding, config, counters, figures, weights."""
    rules = learner.rules
    state = learner.state()
    return {
        "format": FORMAT,
        "encoding": ENCODING,
        "variant": rules.name,
        "rules": dict(rules.house),
        "outcomes": [float(payoff) for payoff in rules.payoffs],
        "hidden": list(learner.net.hidden),
        "config": learner.config.model_dump(mode="json", by_alias=True),
        "counters": state["counters"],
        "figures": dict(figures),
        "weights": state["weights"],
    }


def resumable(
    learner: Learner, games: list[Mapping[str, Any]], figures: Mapping[str, Any], log: Mapping[str, Any]
) -> dict[str, Any]:
    """The same, and all that a run needs to go on exactly: optimizer, every process's games, what the log holds."""
    states = [{name: to_tensor(value) for name, value in state.items()} for state in games]
    return contents_of(learner, figures) | {**learner.state(), "games": states, "log": dict(log)}


def restore(contents: dict[str, Any], learner: Learner, game: BatchGame, ranks: Ranks, place: Path) -> None:
    """Put a learner and this process's games where a checkpoint was made.

    Raises:
        CheckpointMismatch: the run was left by another number of processes.
    """
    if len(contents["games"]) != ranks.size:
        told = f"{place}: the run had {len(contents['games'])} processes, this is {ranks.size}"
        raise CheckpointMismatch(f"{told}; resume with run.workers={len(contents['games'])}")
    learner.restore(contents)
    like = game.state()
    game.restore({name: from_tensor(value, like[name]) for name, value in contents["games"][ranks.rank].items()})


def to_tensor(value: np.ndarray[Any, Any] | int) -> torch.Tensor | int:
    """An array as a tensor; unsigned 64-bit numbers as signed ones of the same bits, which every torch can save."""
    if isinstance(value, int):
        return value
    return torch.from_numpy(value.view(np.int64) if value.dtype == np.uint64 else value)


def from_tensor(value: torch.Tensor | int, like: np.ndarray[Any, Any] | int) -> np.ndarray[Any, Any] | int:
    """The other way round: an array of the dtype of `like`."""
    if isinstance(value, int) or isinstance(like, int):
        return int(value)
    array: np.ndarray[Any, Any] = value.numpy().view(like.dtype)
    return array


def write(contents: Mapping[str, Any], path: Path) -> None:
    """Write a checkpoint: to a temporary file beside it, onto the disk, then renamed over the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        torch.save(dict(contents), file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
