"""Where checkers get with a die: what several parts and the growing of plays ask."""

from __future__ import annotations

import numpy as np

from engine.ruleset import Ruleset, Sight
from engine.slots import MINE, THEIRS, Boards, Flags, Words, bit, span, where


def leading_to(points: Words | np.uint32, die: Words | np.uint32, rules: Ruleset) -> Words:
    """(M,) words: the slots, bar and hand among them, from which `die` leads to one of these points."""
    reach = (points << die) & span(1, rules.bar)
    return np.asarray(reach | (reach & bit(rules.bar)) << np.uint32(1))  # from the hand one enters like from the bar


def bears_off(see: Sight) -> Words:
    """(M,) words: the points I may bear off from with this die."""
    rules = see.rules
    away = see.mine & rules.away_words
    if rules.contact.fate == "pinned":
        away = away | (
            see.then(see.began.pinned)
            if not rules.bearing.while_pinned
            else see.then(see.began.pinned) & rules.away_words
        )
    words = np.zeros_like(see.mine)
    ready = where(away == 0)
    if ready.size:
        pattern = (see.mine[ready] & rules.home_words) >> np.uint32(1)
        words[ready] = rules.bearing_table[see.die[ready], pattern]
    return words


def is_closed_out(boards: Boards, rules: Ruleset) -> Flags:
    """(M,) flags: MINE holds every home point with two or more while THEIRS has a checker on the bar."""
    is_closed = np.asarray((boards[:, MINE, 1 : rules.quarter + 1] >= 2).all(axis=1))
    return is_closed & (boards[:, THEIRS, rules.bar] > 0)
