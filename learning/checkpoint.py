"""Checkpoints: tensors and plain types only, written so that no half file is ever seen."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from agents.encoding import ENCODING
from agents.network import FORMAT
from learning.config import Config
from learning.learner import Learner


def save(learner: Learner, config: Config, folder: Path) -> Path:
    """Write `checkpoints/last.pt` of a run: to a temporary file first, then renamed over the old one.

    The file describes itself: variant, house rules as text, net, encoding, config and counters.
    """
    rules = learner.rules
    contents = {
        "format": FORMAT,
        "encoding": ENCODING,
        "variant": rules.name,
        "rules": dict(rules.house),
        "outcomes": [float(payoff) for payoff in rules.payoffs],
        "config": config.model_dump(mode="json", by_alias=True),
        **learner.state(),
    }
    path = folder / "checkpoints" / "last.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        torch.save(contents, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    return path
