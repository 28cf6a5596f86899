"""Filling a larger net from a smaller one so that it computes the same function (Net2Net)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from agents.base import AgentError
from agents.network import ValueNet


def fill(net: ValueNet, source: ValueNet, generator: np.random.Generator) -> None:
    """Give `net` the function of `source`, which has the same rules and is no wider and no deeper.

    A widened layer repeats units and splits their outgoing weights unevenly, so that the copies
    learn apart; an added layer starts as the identity, which ReLU leaves alone behind ReLU.

    Raises:
        AgentError: a layer of `net` is narrower, or there are fewer.

    Source: Chen, Goodfellow, Shlens (2016), "Net2Net".
    """
    old = [*source.hidden, *[source.hidden[-1]] * (len(net.hidden) - len(source.hidden))]
    if len(old) > len(net.hidden) or any(n < o for n, o in zip(net.hidden, old, strict=True)):
        grown, given = list(net.hidden), list(source.hidden)
        raise AgentError(
            f"train.init: net.hidden={grown} cannot take over {given}: no layer may be narrower, none missing"
        )
    identity = torch.eye(old[-1]), torch.zeros(old[-1])
    between = [(layer.weight, layer.bias) for layer in source.layers[:-1]]
    between += [identity] * (len(old) - len(source.hidden))
    with torch.no_grad():
        units = _units(old[0], net.hidden[0], generator)
        net.board_weight.copy_(source.board_weight[:, :, units])
        net.queue_weight.copy_(source.queue_weight[:, units])
        net.bias.copy_(source.bias[units])
        for index, (weight, bias) in enumerate(between):
            following = _units(old[index + 1], net.hidden[index + 1], generator)
            net.layers[index].weight.copy_(_split(weight, units, generator)[following])
            net.layers[index].bias.copy_(bias[following])
            units = following
        net.layers[-1].weight.copy_(_split(source.layers[-1].weight, units, generator))
        net.layers[-1].bias.copy_(source.layers[-1].bias)


def _units(old: int, new: int, generator: np.random.Generator) -> Tensor:
    """(new,) which old unit each new one copies: every old one once, then some again."""
    extra = generator.integers(old, size=new - old)
    return torch.from_numpy(np.concatenate([np.arange(old), extra]))


def _split(weight: Tensor, units: Tensor, generator: np.random.Generator) -> Tensor:
    """(out, new) weights whose copies of an incoming unit add up to its (out, old) weight."""
    shares = torch.from_numpy(generator.uniform(0.5, 1.5, size=units.numel()).astype(np.float32))
    totals = torch.zeros(weight.shape[1]).index_add_(0, units, shares)
    return weight[:, units] * (shares / totals[units])
