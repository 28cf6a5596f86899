"""Agents by name. A spec is `NAME` or `NAME:ARGUMENT`; the modules are imported when used."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import cast

from agents.base import Agent, AgentError
from engine.ruleset import Ruleset

AGENTS = {  # name -> (function of the ruleset and the spec's argument, what the argument is)
    "random": ("agents.registry:make_random", ""),
    "pips": ("agents.registry:make_pips", ""),
    "td": ("agents.registry:make_td", "PATH"),
}


def make_random(rules: Ruleset, argument: str) -> Agent:
    """Any legal play."""
    from agents.simple import Random

    return Random()


def make_pips(rules: Ruleset, argument: str) -> Agent:
    """A counter of pips."""
    from agents.simple import Pips

    return Pips(rules)


def make_td(rules: Ruleset, argument: str) -> Agent:
    """A trained net, from a checkpoint file or a run folder."""
    from agents.network import load_network
    from agents.value import ValueAgent

    return ValueAgent(load_network(argument, rules), rules, f"td:{argument}")


def make_agent(spec: str, rules: Ruleset) -> Agent:
    """The agent that a spec describes, for games under `rules`.

    Raises:
        AgentError: an unknown name, a missing or surplus argument, or a file that cannot be used.
    """
    name, colon, argument = spec.partition(":")
    if name not in AGENTS:
        near = difflib.get_close_matches(name, AGENTS, n=1, cutoff=0.0)[0]
        raise AgentError(f"agent {spec!r}: unknown; did you mean {usage(near)}?")
    target, wants = AGENTS[name]
    if bool(argument) != bool(wants) or (colon and not argument):
        raise AgentError(f"agent {spec!r}: must be {usage(name)}")
    module, _, function = target.partition(":")
    return cast(Agent, getattr(import_module(module), function)(rules, argument))


def usage(name: str) -> str:
    """How a spec of this name is written."""
    wants = AGENTS[name][1]
    return f"{name}:{wants}" if wants else name
