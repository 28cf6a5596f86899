"""Agents by name. A spec is `NAME`, or `NAME:PATH` for a value function; modules are imported when used."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from importlib import import_module
from typing import cast

from agents.base import Agent, AgentError
from agents.value import Evaluator, ValueAgent
from engine.ruleset import Ruleset

AGENTS = {  # made from the ruleset
    "random": "agents.simple:Random",
    "pips": "agents.simple:Pips",
    "gnubg": "agents.referees.referee:gnubg",
    "pubeval": "agents.referees.referee:pubeval",
}
EVALUATORS = {  # read from a path, for a ruleset
    "td": "agents.network:load_network",
    "policy": "agents.policy:load_policy",
}


def make_agent(spec: str, rules: Ruleset) -> Agent:
    """The agent that a spec describes, for games under `rules`.

    Raises:
        AgentError: an unknown name, a missing or surplus path, or a file that cannot be used.
    """
    name, _, path = spec.partition(":")
    if name not in AGENTS and name not in EVALUATORS:
        near = difflib.get_close_matches(name, usages(), n=1, cutoff=0.0)[0]
        raise AgentError(f"agent {spec!r}: unknown; did you mean {near}? There are {', '.join(usages())}")
    if spec in AGENTS:
        return cast(Callable[[Ruleset], Agent], imported(AGENTS[name]))(rules)
    if name in AGENTS or not path:
        raise AgentError(f"agent {spec!r}: must be {name if name in AGENTS else f'{name}:PATH'}")
    evaluator = cast(Callable[[str, Ruleset], Evaluator], imported(EVALUATORS[name]))(path, rules)
    return ValueAgent(evaluator, rules, spec)


def usages() -> list[str]:
    """How the spec of each agent is written."""
    return [*AGENTS, *(f"{name}:PATH" for name in EVALUATORS)]


def imported(target: str) -> object:
    """What `module:name` stands for."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
