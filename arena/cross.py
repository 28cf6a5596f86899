"""Policies in each other's games: what a separate policy for each variant is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from agents.base import Agent, AgentError
from agents.registry import FOREIGN, make_agent
from arena.duel import Duel, duel
from arena.page import Section, heat_map
from engine.ruleset import Ruleset

LONGEST = 2000  # turns after which a game is cut, for policies that never come home in a foreign game


@dataclass(frozen=True, eq=False)
class Cross:
    """Every policy in every game, against the policy that was trained for it.

    `duels[row][column]` is policy `row` in game `column`, from its view; None where it is at home or
    cannot read the game, and then `reasons` says why.
    """

    games: Sequence[Ruleset]
    specs: Sequence[str]  # of the policy of each game
    duels: Sequence[Sequence[Duel | None]]
    reasons: dict[tuple[int, int], str]

    def ppg(self) -> np.ndarray:
        """(G, G) points per game of each policy (row) in each game (column); nan where it cannot read it."""
        return np.array(
            [
                [found.ppg if found else (0.0 if row == column else np.nan) for column, found in enumerate(line)]
                for row, line in enumerate(self.duels)
            ]
        )

    def record(self) -> dict[str, object]:
        """All figures as plain values."""
        names = [rules.name for rules in self.games]
        found = [
            {"policy_of": names[row], "game": names[column], **one.record()}
            for row, line in enumerate(self.duels)
            for column, one in enumerate(line)
            if one
        ]
        left_out = [
            {"policy_of": names[row], "game": names[column], "reason": reason}
            for (row, column), reason in self.reasons.items()
        ]
        return {"policies": dict(zip(names, self.specs, strict=True)), "duels": found, "left_out": left_out}


def cross(games: Sequence[Ruleset], specs: Sequence[str], count: int, seed: int) -> Cross:
    """Let every policy play every game it can read against the game's own policy.

    Args:
        games: the rules of each game.
        specs: the agent that was trained for each, a value function.
        count: games a duel.
        seed: of the dice, the same in all duels.

    Raises:
        AgentError: a policy cannot be read at all, or not for its own game.
    """
    own = [make_agent(spec, rules) for spec, rules in zip(specs, games, strict=True)]
    duels: list[list[Duel | None]] = [[None] * len(games) for _ in games]
    reasons: dict[tuple[int, int], str] = {}
    for column, rules in enumerate(games):
        cut = replace(rules, ply_limit=min(rules.ply_limit, LONGEST))
        for row, spec in enumerate(specs):
            if row == column:
                continue
            guest = guest_of(spec, rules)
            if isinstance(guest, str):
                reasons[row, column] = guest
            else:
                duels[row][column] = duel(cut, guest, own[column], count, seed, progress=True)
    return Cross(games, specs, duels, reasons)


def guest_of(spec: str, rules: Ruleset) -> Agent | str:
    """The policy as a player of another game, or why it cannot be one."""
    try:
        return make_agent(f"{FOREIGN}:{spec}", rules)
    except AgentError as error:
        return str(error)


def heat_map_of(found: Cross, note: str) -> Section:
    """Points per game of each policy (row) in each game (column), coloured as shares of the game's largest payoff.

    So games that pay more do not drown the others.
    """
    points, names = found.ppg(), [rules.name for rules in found.games]
    shades = points / [float(rules.payoffs.max()) for rules in found.games]
    small = [[f"{value:+.2f} ppg" if np.isfinite(value) else "" for value in line] for line in points.tolist()]
    return heat_map("Share of the largest payoff, and points a game", names, names, shades, note, "+.0%", small)
