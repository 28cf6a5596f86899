"""How often each rule of a game decides something: where it changes which results are legal.

Each part is taken out, or replaced by what backgammon has in its place, and every position of a
solved game is asked again, with every roll.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np

from arena.solving import POSITIONS_AT_ONCE, Graph, keys_of
from engine.bearing import StandardBearing
from engine.decisions import afterstates
from engine.game import mix
from engine.queues import queues_of
from engine.ruleset import Limit, Ruleset, Sight
from engine.scoring import Mother
from engine.slots import Boards, Codes, Keys, Words
from engine.turn import LongTurn, PlainTurn


class Without:
    """A part that no longer rules: it answers one question differently and all others as before."""

    def __init__(self, part: Any, **answers: Callable[..., Any]) -> None:
        self._part = part
        self.__dict__.update(answers)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)


def name_of(part: Any) -> str:
    """A part by its kind, in words."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", type(part).__name__).lower()


def without_each(rules: Ruleset) -> Iterator[tuple[str, Ruleset]]:
    """Every rule of a game that backgammon has not, and hits, with the game as it is without it."""
    yield from _contacts(rules)
    yield from _turns(rules)
    for index, limit in enumerate(rules.limits):
        rest = list(rules.limits)
        rest[index] = cast(Limit, Without(limit, allow=lambda can, see: can))
        yield name_of(limit), replace(rules, limits=tuple(rest))
    for index, formation in enumerate(rules.formations):
        others = list(rules.formations)
        others[index] = cast(Any, Without(formation, bad=lambda see: np.zeros(see.row.size, np.bool_)))
        yield name_of(formation), replace(rules, formations=tuple(others))
    if not isinstance(rules.bearing, StandardBearing):
        yield name_of(rules.bearing), replace(rules, bearing=StandardBearing())
    if rules.binding is not None:
        never = Without(rules.binding, is_due=lambda boards, rules: np.zeros(len(boards), np.bool_))
        yield "binding", replace(rules, binding=cast(Any, never))
    if isinstance(rules.scoring, Mother):
        yield "mother", replace(rules, scoring=rules.scoring.race)
    if rules.scoring.deadlock:
        yield "deadlock", replace(rules, scoring=replace(cast(Any, rules.scoring), deadlock=False))


def _contacts(rules: Ruleset) -> Iterator[tuple[str, Ruleset]]:
    """Landing on a lone checker, or the ban on it; a gate on hitting; entering on empty points only."""
    contact = rules.contact

    def opens(see: Sight) -> Words:
        if contact.fate == "safe":
            return np.asarray(~see.then(see.began.theirs_made) & see.rules.board_words)
        return np.asarray(contact.opens(see) & ~see.theirs_any)

    meeting = Without(contact, opens=opens)
    yield {"bar": "hit", "pinned": "pin", "safe": "block"}[contact.fate], replace(rules, contact=cast(Any, meeting))
    if (gate := getattr(contact, "gate", None)) is not None:
        free = Without(gate, is_open=lambda see: np.ones(see.row.size, np.bool_))
        yield "gate", replace(rules, contact=replace(cast(Any, contact), gate=free))
    if getattr(contact, "entry", "open") != "open":
        yield "entry", replace(rules, contact=replace(cast(Any, contact), entry="open"))


def _turns(rules: Ruleset) -> Iterator[tuple[str, Ruleset]]:
    """What a turn has beyond one roll, and doubles that are played otherwise than four times."""
    turn = rules.turn
    if isinstance(turn, PlainTurn) and turn.times != 4:
        yield "doubles", replace(rules, turn=replace(turn, times=4))
    if not isinstance(turn, LongTurn):
        return
    plain: dict[str, Any] = {"doubles": "x4", "ace_deuce": False, "bonus": (), "early": None, "left_overs": None}
    for name, value in plain.items():
        if (has := getattr(turn, name)) != value:
            told = has if name == "doubles" else name_of(has) if name == "early" else name.replace("_", " ")
            yield told, replace(rules, turn=replace(turn, **{name: value}))


def decided(graph: Graph) -> dict[str, int]:
    """Rule -> in how many decisions of a game it changes the set of legal results.

    Decisions are all rolls in all positions that wait for one, and in the start; and all positions
    that wait for no dice, where the game has the same queue without the rule.
    """
    rules, q = graph.rules, queues_of(graph.rules)
    rows = np.flatnonzero(graph.pending == q.code(("roll",)))
    boards = np.concatenate([graph.boards[:1], graph.boards.take(rows, axis=0)])
    asked = np.flatnonzero(~q.is_chance.take(graph.pending))
    others = list(without_each(rules))
    counts = dict.fromkeys((name for name, _ in others), 0)
    for low in range(0, len(boards), POSITIONS_AT_ONCE):
        part = boards[low : low + POSITIONS_AT_ONCE]
        legal = rolled(part, rules, rules)
        for name, other in others:
            counts[name] += int((rolled(part, rules, other) != legal).sum())
    for name, other in others:
        code = {queue: code for code, queue in enumerate(queues_of(other).items)}
        codes = np.array([code.get(queue, -1) for queue in q.items], np.int8).take(graph.pending.take(asked))
        for low in range(0, asked.size, POSITIONS_AT_ONCE):
            known = np.flatnonzero(codes[low : low + POSITIONS_AT_ONCE] >= 0) + low
            if known.size:
                part = graph.boards.take(asked.take(known), axis=0)
                legal = results(part, graph.pending.take(asked.take(known)), rules)
                without = results(remembered(part, rules, other), codes.take(known), other)
                counts[name] += int((legal != without).sum())
    return counts


def rolled(boards: Boards, rules: Ruleset, other: Ruleset) -> Keys:
    """(N * rolls,) what `results` gives under `other`, in positions of `rules`, for every roll."""
    q, roll = queues_of(other), queues_of(other).code(("roll",))
    boards = remembered(boards, rules, other)
    early = other.turn.is_early(boards, other).astype(np.intp)
    ways = [way for way in range(other.faces**2) if way // other.faces >= way % other.faces]
    codes = q.chance_code[early][:, roll, ways]
    return results(boards.repeat(len(ways), axis=0), codes.reshape(-1), other)


def results(boards: Boards, pending: Codes, rules: Ruleset) -> Keys:
    """(N,) a key of the set of legal results of each decision: checkers, what follows, what is paid."""
    after = afterstates(boards, pending, rules)
    keys = keys_of(checkers(after.boards, rules), np.zeros(after.outcome.size, np.int8))
    paid = rules.payoffs.take(after.outcome, mode="clip").astype(np.int64).astype(np.uint64)
    follows = queue_keys(rules).take(after.pending) + after.passed.astype(np.uint64)
    keys = mix(keys + mix(np.where(after.outcome >= 0, paid, follows)))
    return np.asarray(np.add.reduceat(keys, after.start[:-1]))  # rows of a decision are distinct


def queue_keys(rules: Ruleset) -> Keys:
    """(C,) a key of every queue, which does not depend on the ruleset's order of them."""
    names = [int.from_bytes(name.encode()[:64], "little") % ((1 << 61) - 1) for name in queues_of(rules).names]
    return mix(np.array(names, np.uint64))


def remembered(boards: Boards, rules: Ruleset, other: Ruleset) -> Boards:
    """Positions of one ruleset with what they remember in the slots of another."""
    moved = checkers(boards, rules)
    for name, slot in other.memory.items():
        if name in rules.memory:
            moved[:, :, slot] = boards[:, :, rules.memory[name]]
    return moved


def checkers(boards: Boards, rules: Ruleset) -> Boards:
    """Positions without what they remember."""
    bare = boards.copy()
    bare[:, :, rules.hand + 1 :] = 0
    return bare
