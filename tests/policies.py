"""Policies to be exported, damaged and refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents.network import ValueNet
from agents.policy_file import read_file
from engine import Ruleset, find_ruleset
from learning.checkpoint import contents_of, write
from learning.config import Config, Net, Run
from learning.learner import Learner
from tests.commands import refused, run

IRISH = find_ruleset("irish")
BACKGAMMON = find_ruleset("backgammon")
Edit = Callable[[dict[str, Any], dict[str, Any]], object]  # of a card and of arrays


def checkpoint(folder: Path, rules: Ruleset, hidden: list[int]) -> tuple[Path, ValueNet]:
    """The checkpoint of a run that has not begun, with every weight in use, and its net."""
    config = Config(variant=rules.name, rules=dict(rules.house), seed=5, run=Run(updates=1), net=Net(hidden=hidden))
    learner = Learner(rules, config)
    with torch.no_grad():
        for number, weight in enumerate(learner.net.parameters()):
            weight.mul_(2).add_(0.01 * (number + 1))
    path = folder / "checkpoints" / "last.pt"
    write(contents_of(learner, {}), path)
    return path, learner.net


def edited(file: Path, to: Path, edit: Edit) -> Path:
    """A copy of a policy file with its card or its arrays changed, of the same format."""
    text, arrays = read_file(file)
    card = json.loads(text)
    changed: dict[str, Any] = dict(arrays)
    edit(card, changed)
    if to.suffix == ".npz":
        np.savez(to, card=np.frombuffer(json.dumps(card).encode(), np.uint8), **changed)
    else:
        from safetensors.numpy import save_file

        save_file(changed, to, {"card": json.dumps(card)})
    return to


def neither_plays_nor_shows(file: Path, *parts: str) -> None:
    """Both commands refuse it, in one line."""
    refused(run("evaluate.py", "irish", "random", f"policy:{file}"), str(file), *parts)
    refused(run("export.py", str(file)), str(file), *parts)
