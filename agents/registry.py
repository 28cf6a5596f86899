"""Agents by name. A spec is `NAME`, `NAME:ply=N` for a referee that looks ahead, or `NAME:PATH[,KEY=VALUE...]`
for a value function.

`ply=1` looks one roll ahead, at the best `keep=8` plays of a decision (see `agents.lookahead`); `ply=0`,
the default, takes what the value function likes best. `bearoff=FILE` looks up the end (see
`agents.bearoff`). `foreign:` before such a spec reads a value function of other rules (see
`agents.foreign`). Modules are imported when used.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol, cast

from agents.base import Agent, AgentError
from agents.bearoff import WithBearoff, load_bearoff
from agents.foreign import ForeignEvaluator
from agents.lookahead import KEEP, LookaheadAgent
from agents.value import Evaluator, ValueAgent
from engine.ruleset import Ruleset

AGENTS = {  # made from the ruleset
    "random": "agents.simple:Random",
    "pips": "agents.simple:Pips",
    "gnubg": "agents.referees.referee:gnubg",
    "gnubg-judge": "agents.referees.referee:judge",
    "pubeval": "agents.referees.referee:pubeval",
    "sage": "agents.referees.referee:sage",
}
EVALUATORS = {  # read from a path, for a ruleset
    "td": "agents.network:load_network",
    "policy": "agents.policy:load_policy",
}
DEEP = {"gnubg": 2, "sage": 2}  # referees that look ahead, and how far
READERS = {  # read from a path, for whatever rules it names
    "td": "agents.network:read_network",
    "policy": "agents.policy:read_policy",
}
FOREIGN = "foreign"  # before the spec of a value function: its rules may be others
BEAROFF = "bearoff="  # the one option that is no number
OPTIONS = {"ply": (range(2), "0 or 1"), "keep": (range(1, 1001), "a number from 1 to 1000")}


class KnowsItsRules(Evaluator, Protocol):
    """A value function that knows the rules it was trained for."""

    rules: Ruleset


def make_agent(spec: str, rules: Ruleset) -> Agent:
    """The agent that a spec describes, for games under `rules`.

    Raises:
        AgentError: an unknown name, a missing or surplus path, an option that there is not, or a
            file that cannot be used.
    """
    name, _, rest = spec.partition(":")
    if name not in (*AGENTS, *EVALUATORS, FOREIGN):
        near = difflib.get_close_matches(name, usages(), n=1, cutoff=0.0)[0]
        raise AgentError(f"agent {spec!r}: unknown; did you mean {near}? There are {', '.join(usages())}")
    if spec in AGENTS:
        return cast(Callable[[Ruleset], Agent], imported(AGENTS[name]))(rules)
    if name in DEEP:
        return cast(Callable[[Ruleset, int, str], Agent], imported(AGENTS[name]))(rules, ply_of(spec), spec)
    is_foreign = name == FOREIGN
    if is_foreign:
        name, _, rest = rest.partition(":")
    path, *settings = rest.split(",")
    if name not in EVALUATORS or not path:
        wanted = f"{name}:PATH[,KEY=VALUE...]" if name in EVALUATORS else name
        raise AgentError(f"agent {spec!r}: must be {foreign_usage() if is_foreign else wanted}")
    tables = [setting.removeprefix(BEAROFF) for setting in settings if setting.startswith(BEAROFF)]
    if len(tables) > 1:
        raise AgentError(f"agent {spec!r}: bearoff is set twice")
    options = options_of([setting for setting in settings if not setting.startswith(BEAROFF)], spec)
    evaluator = foreign(name, path, rules) if is_foreign else loaded(name, path, rules)
    if tables:
        evaluator = WithBearoff(evaluator, load_bearoff(tables[0], rules))
    if options.get("ply", 0) == 0:
        return ValueAgent(evaluator, rules, spec)
    return LookaheadAgent(evaluator, rules, spec, options.get("keep", KEEP))


def loaded(name: str, path: str, rules: Ruleset) -> Evaluator:
    """The value function in a file, for games under the rules that it was trained for."""
    return cast(Callable[[str, Ruleset], Evaluator], imported(EVALUATORS[name]))(path, rules)


def foreign(name: str, path: str, rules: Ruleset) -> Evaluator:
    """The value function in a file, for games under other rules than it was trained for."""
    evaluator = cast(Callable[[str], KnowsItsRules], imported(READERS[name]))(path)
    return ForeignEvaluator(evaluator, evaluator.rules, rules, path)


def foreign_usage() -> str:
    """How the spec of a policy of other rules is written."""
    return " or ".join(f"{FOREIGN}:{name}:PATH[,KEY=VALUE...]" for name in READERS)


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


def ply_of(spec: str) -> int:
    """How far a referee looks ahead, of a spec `NAME:ply=N`.

    Raises:
        AgentError: of another form, or too far.
    """
    name, _, setting = spec.partition(":")
    for ply in range(DEEP[name] + 1):
        if setting == f"ply={ply}":
            return ply
    raise AgentError(f"agent {spec!r}: must be {name} or {name}:ply=N, N from 0 to {DEEP[name]}")


def usages() -> list[str]:
    """How the spec of each agent is written."""
    return [*AGENTS, *(f"{name}:PATH" for name in EVALUATORS), f"{FOREIGN}:AGENT"]


def imported(target: str) -> object:
    """What `module:name` stands for."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
