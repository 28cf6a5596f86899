"""Policies in each other's games: what a separate policy for each variant is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure

from agents.base import Agent, AgentError
from agents.registry import FOREIGN, make_agent
from arena.duel import Duel, duel
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


def heat_map(found: Cross) -> Figure:
    """Points per game of each policy (row) in each game (column); grey where it cannot read the game.

    Colours are shares of the game's largest payoff, so that games that pay more do not drown the others.
    """
    points, names = found.ppg(), [rules.name for rules in found.games]
    size = 1.3 + 0.75 * len(names)
    figure = Figure(figsize=(size + 1.2, size), layout="constrained")
    axes = figure.subplots()
    shades = points / [float(rules.payoffs.max()) for rules in found.games]
    most = max(float(np.nanmax(np.abs(shades))), 1e-3)
    axes.set_facecolor("#ddd")
    drawn = axes.imshow(np.ma.masked_invalid(shades), cmap="RdBu", vmin=-most, vmax=most)
    for row, column in np.ndindex(points.shape):
        known = np.isfinite(points[row, column])
        text = "own" if row == column else f"{points[row, column]:+.2f}" if known else "–"
        is_dark = known and abs(shades[row, column]) > 0.6 * most
        axes.text(column, row, text, ha="center", va="center", fontsize=8, color="white" if is_dark else "black")
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set(xlabel="game", ylabel="policy trained for")
    figure.colorbar(drawn, ax=axes, label="share of the largest payoff", shrink=0.8)
    return figure
