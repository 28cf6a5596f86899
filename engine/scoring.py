"""When a game is over, and what it pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from engine.ruleset import Ruleset
from engine.slots import MINE, OFF, THEIRS, Boards, Outcomes


@dataclass(frozen=True, kw_only=True)
class Race:
    """The first to bear off all checkers wins, for `points` by how far the loser is behind.

    One value: every win counts so much. A second value pays a gammon: the loser has borne off
    none. A third pays a backgammon: moreover he has a checker on the bar or in his start quarter.
    """

    points: tuple[int, ...] = (1, 2, 3)
    order_matters: Literal[False] = False

    def tell(self, rules: Ruleset) -> str:
        """Winning and paying as sentences."""
        text = f"The first to bear off all checkers wins {self.points[0]}"
        if len(self.points) > 1:
            text += f", or {self.points[1]} (gammon) if the loser has borne off none"
        if len(self.points) > 2:
            text += f", or {self.points[2]} (backgammon) if he also has a checker on the bar or in his start quarter"
        return text + "."

    def payoffs(self, rules: Ruleset) -> tuple[int, ...]:
        """Best win first, heaviest loss last."""
        return tuple(reversed(self.points)) + tuple(-points for points in self.points)

    def possible(self, boards: Boards, rules: Ruleset) -> npt.NDArray[np.bool_]:
        """(M, K) flags: who has a checker off can lose a single game only."""
        kinds = np.arange(2 * len(self.points))
        is_single = (kinds == len(self.points) - 1) | (kinds == len(self.points))
        can_lose_more = boards[:, :, OFF] == 0
        can_win_more = kinds < len(self.points)
        more: npt.NDArray[np.bool_] = np.where(
            can_win_more, can_lose_more[:, THEIRS, None], can_lose_more[:, MINE, None]
        )
        return np.asarray(is_single | more)

    def outcome(self, boards: Boards, rules: Ruleset) -> Outcomes:
        """(M,) int8: MINE has borne off everything; which win it is."""
        outcomes = np.full(len(boards), -1, np.int8)
        over = np.flatnonzero(boards[:, MINE, OFF] == rules.checkers)
        if over.size:
            loser = boards[over, THEIRS]
            margin = np.zeros(over.size, np.int8)
            if len(self.points) > 1:
                is_gammon = loser[:, OFF] == 0
                margin += is_gammon
                if len(self.points) > 2:
                    is_far = (loser[:, rules.points - rules.quarter + 1 : rules.bar + 1] > 0).any(axis=1)
                    margin += is_gammon & is_far
            outcomes[over] = len(self.points) - 1 - margin
        return outcomes
