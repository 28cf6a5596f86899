"""Which rulesets a referee can judge: those whose play is that of the ruleset it was built for."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import numpy as np

from agents.base import AgentError
from engine.bearing import StandardBearing
from engine.contact import Hit
from engine.queues import queues_of
from engine.ruleset import Ruleset
from engine.scoring import Race
from engine.slots import Flags
from engine.turn import PlainTurn

PLAYED = Ruleset(  # by both referees; all that is not said here has the ruleset's default
    name="played",
    title="What referees play",
    sources=(),
    points=24,
    checkers=15,  # their nets and weights read a missing checker as one borne off
    contact=Hit(),
    turn=PlainTurn(times=4),
    bearing=StandardBearing(),
    scoring=Race(points=(1, 2, 3)),
)
FREE = {"name", "title", "sources", "aliases", "notes", "house_rules", "house"} | {  # labels, and
    "setup",  # how a game begins and when it is cut: a position is judged alike wherever it came from
    "opening",
    "next_starter",
    "ply_limit",
}


def refuse_unknown(agent: str, rules: Ruleset) -> None:
    """Accept a ruleset whose positions the referees judge rightly.

    Raises:
        AgentError: names the first field that differs, with both values.
    """
    for field in fields(Ruleset):
        theirs, ours = getattr(PLAYED, field.name), getattr(rules, field.name)
        if field.name not in FREE and theirs != ours:
            raise AgentError(f"agent {agent!r}: plays {field.name}={told(theirs)}, this game has {told(ours)}")


def refuse_unseen(agent: str, rules: Ruleset) -> None:
    """Accept a ruleset whose positions can be set up on a board of backgammon.

    Raises:
        AgentError: says what cannot be.
    """
    reason = None
    if rules.points != PLAYED.points:
        reason = f"has {rules.points} points"
    elif rules.track != "contrary":
        reason = "has both sides move the same way"
    elif rules.contact.fate == "pinned":
        reason = "has pinned checkers"
    elif rules.contact.fate == "safe":
        reason = "has no hits: a lone checker closes its point"
    if reason is not None:
        raise AgentError(
            f"agent {agent!r}: knows 24 points, sides that meet and lone checkers that are hit; this game {reason}"
        )


def other_side_follows(rules: Ruleset) -> Flags:
    """(C,) flags by queue: does a point have to be opened before the turn of the side that is THEIRS?"""
    return np.array([queue[0] in ("toss", "open") for queue in queues_of(rules).items])


def told(value: object) -> str:
    """A field's value, parts without what they lack."""
    if isinstance(value, tuple):
        return f"({', '.join(map(told, value))})" if value else "none"
    if value is None:
        return "none"
    if not is_dataclass(value):
        return repr(value)
    held = [(field.name, getattr(value, field.name)) for field in fields(value)]
    return (
        f"{type(value).__name__}({', '.join(f'{name}={told(part)}' for name, part in held if part not in ((), None))})"
    )
