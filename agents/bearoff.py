"""Bear-off tables: exact outcome probabilities of positions in which both sides only bear off.

A table holds every pair of positions with a few checkers a side at home. It is a file of plain
arrays; reading one executes nothing. `arena.bearing_off` makes them.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.base import AgentError, difference
from agents.value import Evaluator
from engine.queues import queues_of
from engine.ruleset import InputError, Ruleset
from engine.slots import MINE, OFF, SLOTS, THEIRS, Boards, Codes, Flags
from engine.variants import find_ruleset

FORMAT = "tabula-rasa bearoff 1"
CHECKERS = 6  # of each side, at most
Sides = npt.NDArray[np.int8]  # (M, SLOTS)
Probabilities = npt.NDArray[np.float32]


class BearoffError(AgentError):
    """A file is no bear-off table, or one of other rules."""


def places(rules: Ruleset) -> Sides:
    """(n, SLOTS) int8: every way one side can have at most `CHECKERS` at home and the rest off.

    In rising order of pips, so that the empty board comes first and every step leads down.
    """
    most, points = min(CHECKERS, rules.checkers), range(rules.quarter + 1)  # 0 stands for off
    found = sorted(combinations_with_replacement(points, most), key=lambda held: (sum(held), held))
    sides = np.zeros((len(found), SLOTS), np.int8)
    for side, held in zip(sides, found, strict=True):
        np.add.at(side, list(held), 1)
    sides[:, OFF] += rules.checkers - most
    return sides


@dataclass(frozen=True, eq=False)
class Bearoff:
    """Exact outcome probabilities for the side about to roll, for n x n pairs of positions.

    `table[i, j]` has them for a side in `places(rules)[i]` against one in `places(rules)[j]`, for the
    outcomes that can come; the other outcomes have none. Row and column 0 mean nothing.
    """

    rules: Ruleset
    outcomes: npt.NDArray[np.intp]  # (C,) indices of payoffs, best first
    table: Probabilities  # (n, n, C)

    def __post_init__(self) -> None:
        sides = places(self.rules)
        index = np.full(self._base**self.rules.quarter, -1, np.int32)
        index[self._codes(sides)] = np.arange(len(sides))
        object.__setattr__(self, "_index", index)

    @property
    def _base(self) -> int:
        return min(CHECKERS, self.rules.checkers) + 1

    def _codes(self, sides: Sides) -> npt.NDArray[np.int64]:
        """(M,) what stands on the home points, as one number."""
        weights = self._base ** np.arange(self.rules.quarter, dtype=np.int64)
        return np.asarray(sides[:, 1 : self.rules.quarter + 1] @ weights)

    def placed(self, sides: Sides) -> npt.NDArray[np.int32]:
        """(M,) which of the places one side, (M, SLOTS) int8, is in; -1 where in none."""
        home = sides[:, 1 : self.rules.quarter + 1]
        held = home.sum(axis=1)
        is_in = (held + sides[:, OFF] == self.rules.checkers) & (held < self._base) & (home >= 0).all(axis=1)
        index: npt.NDArray[np.int32] = self.__dict__["_index"]
        return np.where(is_in, index.take(np.where(is_in, self._codes(sides), 0)), -1)

    def known(self, boards: Boards, pending: Codes) -> Flags:
        """(M,) flags: is this a position of the table, waiting for the roll of MINE?"""
        waits = pending == queues_of(self.rules).code(("roll",))
        return np.asarray(waits & (self.placed(boards[:, MINE]) >= 0) & (self.placed(boards[:, THEIRS]) >= 0))

    def values(self, boards: Boards, pending: Codes) -> Probabilities:
        """(M, K) float32 exact outcome probabilities for MINE, of positions that are `known`."""
        found = self.table[self.placed(boards[:, MINE]), self.placed(boards[:, THEIRS])]
        values = np.zeros((len(found), self.rules.payoffs.size), np.float32)
        values[:, self.outcomes] = found
        return values


class WithBearoff:
    """An evaluator that looks positions of a bear-off table up there, and asks another one for the rest."""

    def __init__(self, evaluator: Evaluator, bearoff: Bearoff) -> None:
        self.evaluator, self.bearoff = evaluator, bearoff

    def values(self, boards: Boards, pending: Codes) -> Probabilities:
        """(M, K) float32 outcome probabilities for the side that acts next."""
        known = self.bearoff.known(boards, pending)
        if not known.any():
            return self.evaluator.values(boards, pending)
        values = np.empty((known.size, self.bearoff.rules.payoffs.size), np.float32)
        values[known] = self.bearoff.values(boards[known], pending[known])
        values[~known] = self.evaluator.values(boards[~known], pending[~known])
        return values


# -- files -------------------------------------------------------------------------------------------------


def save_bearoff(path: Path, bearoff: Bearoff) -> None:
    """Write a table, as `numpy.load` reads it."""
    card = {"format": FORMAT, "variant": bearoff.rules.name, "rules": dict(bearoff.rules.house)}
    text = np.frombuffer(json.dumps(card).encode(), np.uint8)
    with path.open("wb") as file:
        np.savez(file, card=text, outcomes=bearoff.outcomes, table=bearoff.table)


def load_bearoff(path: str, rules: Ruleset) -> Bearoff:
    """The table in a file, for games under `rules`; executes nothing.

    Raises:
        BearoffError: no such file, not one of ours, or of other rules.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays: dict[str, Any] = {name: file[name] for name in ("card", "outcomes", "table")}
        card = json.loads(arrays["card"].tobytes())
        made_for = find_ruleset(card["variant"], card["rules"])
        is_ours = card["format"] == FORMAT
    except FileNotFoundError:
        raise BearoffError(f"{path}: no such file; python -m arena bearoff makes one") from None
    except InputError as error:
        raise BearoffError(f"{path}: {error}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile):
        raise BearoffError(f"{path}: not a bear-off table of this program") from None
    if (reason := difference(made_for, rules)) is not None:
        raise BearoffError(f"{path}: {reason}")
    table, outcomes, size = arrays["table"], arrays["outcomes"], len(places(rules))
    fits = table.dtype == np.float32 and table.shape == (size, size, outcomes.size) and outcomes.dtype == np.intp
    if not is_ours or not fits or not np.isin(outcomes, np.arange(rules.payoffs.size)).all():
        raise BearoffError(f"{path}: not a bear-off table of this program")
    if not np.allclose(table[1:, 1:].sum(axis=2), 1, atol=1e-4):  # which no infinity and no nan passes
        raise BearoffError(f"{path}: its probabilities do not add up to 1")
    return Bearoff(rules, outcomes, table)
