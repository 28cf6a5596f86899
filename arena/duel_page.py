"""Duels as parts of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from arena.duel import Duel
from arena.page import Findings, Section, heat_map, shares, table, write_page


def write_duels(
    folder: Path, record: Mapping[str, Any], title: str, duels: Sequence[Duel], specs: Sequence[str]
) -> Path:
    """Write a page of duels of every two agents, with their record; where it is."""
    return write_page(folder, Findings(title, dict(record), [], sections_of(duels, specs)), record["command"])


def sections_of(duels: Sequence[Duel], specs: Sequence[str]) -> list[Section]:
    """Duels of every two agents, first with second, first with third, and so on, as parts of a page."""
    names = [f"{duel.a} v {duel.b}" for duel in duels]
    rows = []
    for name, duel in zip(names, duels, strict=True):
        low, high = duel.interval()
        wins, cut = f"{100 * duel.wins:.1f} %", f"{100 * duel.truncated:.1f} %"
        length = f"{duel.plies.mean():.1f}"
        adjusted = duel.adjustment()
        fair = "" if not adjusted else f"{adjusted['ppg']:+.4f} ({adjusted['low']:+.4f} .. {adjusted['high']:+.4f})"
        plain = f"{duel.ppg:+.4f} ({low:+.4f} .. {high:+.4f})"
        rows.append([name, f"{duel.games:,}", plain, fair, wins, length, cut])
    columns = ["duel", "games", "ppg", "without luck", "wins", "plies", "cut"]
    told = (
        "ppg: points a game of the first, with a 95 % interval; both games of a pair have the same dice with the seats "
        "swapped."
    )
    payoffs = list(duels[0].shares())
    every_share = np.array([list(duel.shares().values()) for duel in duels])
    matrix = [points_map(duels, specs, list(combinations(range(len(specs)), 2)))] if len(specs) > 2 else []
    return [
        table("Duels", columns, rows, told),
        *matrix,
        shares("Outcomes", names, payoffs, every_share, "Points of the first, and in which share of the games."),
    ]


def points_map(duels: Sequence[Duel], names: Sequence[str], pairing: Sequence[tuple[int, int]]) -> Section:
    """What each scores against each as a heat map; those who did not meet have empty cells."""
    values = np.full((len(names), len(names)), np.nan)
    small = [[""] * len(names) for _ in names]
    for (a, b), duel in zip(pairing, duels, strict=True):
        low, high = duel.interval()
        values[a, b], values[b, a] = duel.ppg, -duel.ppg
        small[a][b] = small[b][a] = f"±{(high - low) / 2:.3f}"
    told = "Points a game of the row against the column, ± half of the 95 % interval."
    return heat_map("Points a game", names, names, values, told, small=small)
