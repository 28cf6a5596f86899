"""Checkpoints: tensors and plain types only, written so that no half file is ever seen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents.encoding import ENCODING
from agents.network import FORMAT
from engine.game import BatchGame
from learning.learner import Learner
from learning.players import Games, State, seed_of
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


def restore(contents: dict[str, Any], learner: Learner, games: Games, ranks: Ranks) -> None:
    """Put a learner and this process's games where a checkpoint was made.

    With as many processes as then the run goes on exactly; else the games are dealt out anew.
    """
    learner.restore(contents)
    like = BatchGame(learner.rules, 1).state()
    states = [{name: from_tensor(value, like[name]) for name, value in state.items()} for state in contents["games"]]
    batches = ranks.size * len(games)
    if len(states) != batches:
        states = dealt(states, batches)
        if ranks.is_first:
            print(f"its {len(contents['games'])} batches of games are {batches} from now on", flush=True)
    games.restore(states[ranks.rank * len(games) :][: len(games)])


def dealt(states: list[State], batches: int) -> list[State]:
    """The same games in another number of batches, whose next games have numbers that none of them has had."""
    started = sum(state["started"] for state in states)
    parts = {
        name: np.split(np.concatenate([state[name] for state in states]), batches)
        for name, value in states[0].items()
        if isinstance(value, np.ndarray)
    }
    return [
        {
            "seed": seed_of(states[0]["seed"], number),
            "started": started,
            **{name: parts[name][number] for name in parts},
        }
        for number in range(batches)
    ]


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
