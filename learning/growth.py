"""Filling a larger net from a smaller one so that it computes the same function (Net2Net)."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from agents.base import AgentError
from agents.network import ValueNet, load_network
from agents.policy import Policy, load_policy
from agents.policy_file import SUFFIXES
from engine.ruleset import Ruleset


def starting_net(path: str, rules: Ruleset) -> ValueNet:
    """The net of a checkpoint, a run folder or an exported policy, for games under `rules`.

    Raises:
        AgentError: not readable, or trained under other rules.
    """
    if Path(path).suffix not in SUFFIXES:
        return load_network(path, rules)
    return net_of(load_policy(path, rules))


def net_of(policy: Policy) -> ValueNet:
    """The net that an exported policy was."""
    net = ValueNet(policy.rules, tuple(policy.card["hidden"]))
    net.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in policy.arrays.items()})
    return net


def fill(net: ValueNet, source: ValueNet, generator: np.random.Generator) -> None:
    """Give `net` the function of `source`, which has the same rules and is no wider and no deeper.

    A widened layer repeats units and splits their outgoing weights unevenly, so that the copies
    learn apart; an added layer starts as the identity, which ReLU leaves alone behind ReLU.

    Raises:
        AgentError: a layer of `net` is narrower, or there are fewer.

    Source: Chen, Goodfellow, Shlens (2016), "Net2Net".
    """
    widths = [*source.hidden, *[source.hidden[-1]] * (len(net.hidden) - len(source.hidden))]
    if len(widths) > len(net.hidden) or any(n < w for n, w in zip(net.hidden, widths, strict=True)):
        wanted, given = list(net.hidden), list(source.hidden)
        raise AgentError(
            f"train.init: {given} does not fit into net.hidden={wanted}; no layer may be narrower or missing"
        )
    *between, last = [(layer.weight, layer.bias) for layer in linear(source)]
    between += [(nn.Parameter(torch.eye(widths[-1])), nn.Parameter(torch.zeros(widths[-1])))] * (
        len(widths) - len(source.hidden)
    )
    with torch.no_grad():
        units = _units(widths[0], net.hidden[0], generator)
        net.board_weight.copy_(source.board_weight[:, :, units])
        net.queue_weight.copy_(source.queue_weight[:, units])
        net.bias.copy_(source.bias[units])
        *inner, top = linear(net)
        for index, (layer, (weight, bias)) in enumerate(zip(inner, between, strict=True), start=1):
            following = _units(widths[index], net.hidden[index], generator)
            layer.weight.copy_(_split(weight, units, generator)[following])
            layer.bias.copy_(bias[following])
            units = following
        top.weight.copy_(_split(last[0], units, generator))
        top.bias.copy_(last[1])


def linear(net: ValueNet) -> list[nn.Linear]:
    """The layers behind the first, in order."""
    return [cast(nn.Linear, layer) for layer in net.layers]


def _units(old: int, new: int, generator: np.random.Generator) -> Tensor:
    """(new,) which old unit each new one copies: every old one once, then some again."""
    extra = generator.integers(old, size=new - old)
    return torch.from_numpy(np.concatenate([np.arange(old), extra]))


def _split(weight: Tensor, units: Tensor, generator: np.random.Generator) -> Tensor:
    """(out, new) weights whose copies of an incoming unit add up to its (out, old) weight."""
    shares = torch.from_numpy(generator.uniform(0.5, 1.5, size=units.numel()).astype(np.float32))
    totals = torch.zeros(weight.shape[1]).index_add_(0, units, shares)
    return weight[:, units] * (shares / totals[units])
