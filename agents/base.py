"""What an agent is, how a row is picked by score, and whether a file's rules are those of a game."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from engine.decisions import Afterstates
from engine.house_rules import options_of
from engine.ruleset import InputError, Ruleset
from engine.slots import Keys, Rows

Choice = npt.NDArray[np.int64]  # (N,): the row each game takes
Scores = npt.NDArray[np.float64]  # (M,)


class AgentError(InputError):
    """An agent's spec is wrong, or its file cannot be used; the message says what would be right."""


class Agent(Protocol):
    """A player: afterstates in, one row per game out. It keeps nothing between calls."""

    @property
    def spec(self) -> str:
        """The text that makes this agent again."""

    def choose(self, after: Afterstates, noise: Keys) -> Choice:
        """The row that each game takes.

        Args:
            after: every legal result of N decisions.
            noise: (N,) uint64, a random number a game, from its seed, decision and seat; whoever
                needs chance takes it from here, so that paired games stay paired.

        Returns:
            (N,) int64, row of game g within `after.start[g]..after.start[g + 1] - 1`.
        """


@runtime_checkable
class Appraiser(Protocol):
    """What some agents can do besides: tell what they think of every play."""

    def equities(self, after: Afterstates) -> Scores:
        """(M,) points per game that the chooser expects after each row; -inf where the agent has not looked."""


@runtime_checkable
class Mixed(Protocol):
    """What an agent that plays by chance does besides: tell with which shares."""

    def shares(self, after: Afterstates) -> Scores:
        """(M,) probability of each row; those of a decision sum to 1."""


def least(scores: Scores, after: Afterstates) -> Choice:
    """The first row with the lowest score of each game; scores (M,) must be exact, not rounded floats."""
    best = np.minimum.reduceat(scores, after.start[:-1])
    rows = np.flatnonzero(scores == best.take(after.game))[::-1]
    choice = np.empty(after.start.size - 1, np.int64)
    choice[after.game.take(rows)] = rows  # reversed, so that the first of equals is written last
    return choice


def candidates(scores: Scores, after: Afterstates, keep: int, within: float) -> Rows:
    """The rows worth a closer look: all of a decision where they are no more than `keep`, else the best `keep`
    by these scores (M,), and of these only the ones no more than `within` below the best."""
    order = np.lexsort((-scores, after.game))
    rank = np.empty(order.size, np.intp)
    rank[order] = np.arange(order.size) - np.repeat(after.start[:-1], after.counts)
    top = np.maximum.reduceat(scores, after.start[:-1]).take(after.game)
    is_few = (after.counts <= keep).take(after.game)
    return np.flatnonzero(is_few | ((rank < keep) & (scores >= top - within)))


def difference(theirs: Ruleset, ours: Ruleset) -> str | None:
    """Why a file trained under `theirs` cannot play under `ours`, naming the first rule that differs; else None.

    House rules that only say what holds anyway make no difference.
    """
    if replace(theirs, house=()) == replace(ours, house=()):
        return None
    reason = f"trained for {told(theirs)}, this game is {told(ours)}"
    for option in options_of(theirs) if theirs.name == ours.name else ():
        there, here = (
            option.read(rules) if option.pointless(rules) is None else "without effect" for rules in (theirs, ours)
        )
        if there != here:
            return f"{reason} (rules.{option.name} is {there} there, {here} here)"
    return reason


def told(rules: Ruleset) -> str:
    """A ruleset in short: its name and the house rules that are set."""
    return " ".join([rules.name, *(f"rules.{name}={value}" for name, value in rules.house)])
