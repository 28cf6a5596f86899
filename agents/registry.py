"""Agents by name. A spec is `NAME`, or `NAME:PATH[,KEY=VALUE...]` for a value function.

`ply=1` looks one roll ahead, at the best `keep=8` plays of a decision (see `agents.lookahead`); `ply=0`,
the default, takes what the value function likes best. `bearoff=FILE` looks up the end (see
`agents.bearoff`). Modules are imported when used.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import cast

from agents.base import Agent, AgentError
from agents.bearoff import WithBearoff, load_bearoff
from agents.lookahead import KEEP, LookaheadAgent
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
BEAROFF = "bearoff="  # the one option that is no number
OPTIONS = {"ply": (range(2), "0 or 1"), "keep": (range(1, 1001), "a number from 1 to 1000")}


def make_agent(spec: str, rules: Ruleset) -> Agent:
    """The agent that a spec describes, for games under `rules`.

    Raises:
        AgentError: an unknown name, a missing or surplus path, an option that there is not, or a
            file that cannot be used.
    """
    name, _, rest = spec.partition(":")
    if name not in AGENTS and name not in EVALUATORS:
        near = difflib.get_close_matches(name, usages(), n=1, cutoff=0.0)[0]
        raise AgentError(f"agent {spec!r}: unknown; did you mean {near}? There are {', '.join(usages())}")
    if spec in AGENTS:
        return cast(Callable[[Ruleset], Agent], imported(AGENTS[name]))(rules)
    path, *settings = rest.split(",")
    if name in AGENTS or not path:
        raise AgentError(f"agent {spec!r}: must be {name if name in AGENTS else f'{name}:PATH[,KEY=VALUE...]'}")
    tables = [setting.removeprefix(BEAROFF) for setting in settings if setting.startswith(BEAROFF)]
    if len(tables) > 1:
        raise AgentError(f"agent {spec!r}: bearoff is set twice")
    options = options_of([setting for setting in settings if not setting.startswith(BEAROFF)], spec)
    evaluator = cast(Callable[[str, Ruleset], Evaluator], imported(EVALUATORS[name]))(path, rules)
    if tables:
        evaluator = WithBearoff(evaluator, load_bearoff(tables[0], rules))
    if options.get("ply", 0) == 0:
        return ValueAgent(evaluator, rules, spec)
    return LookaheadAgent(evaluator, rules, spec, options.get("keep", KEEP))


def options_of(settings: Sequence[str], spec: str) -> dict[str, int]:
    """`KEY=VALUE` settings of a spec as option -> number.

    Raises:
        AgentError: of another form, unknown, set twice, not a number, out of range, or without effect.
    """
    options: dict[str, int] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if key not in OPTIONS or not equals:
            near = difflib.get_close_matches(key, OPTIONS, n=1, cutoff=0.0)
            raise AgentError(f"agent {spec!r}: option {setting!r}: unknown; did you mean {near[0]}=NUMBER?")
        allowed, said = OPTIONS[key]
        if not (value.isascii() and value.isdigit()) or int(value) not in allowed:
            raise AgentError(f"agent {spec!r}: {key} must be {said}, not {value!r}")
        if key in options:
            raise AgentError(f"agent {spec!r}: {key} is set twice")
        options[key] = int(value)
    if "keep" in options and options.get("ply", 0) == 0:
        raise AgentError(f"agent {spec!r}: keep is without effect unless ply=1")
    return options


def usages() -> list[str]:
    """How the spec of each agent is written."""
    return [*AGENTS, *(f"{name}:PATH" for name in EVALUATORS)]


def imported(target: str) -> object:
    """What `module:name` stands for."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
