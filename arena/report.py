"""Figures of duels as lines and tables for people."""

from __future__ import annotations

from rich.table import Table

from arena.duel import Duel


def duel_line(duel: Duel) -> str:
    """One duel as a line."""
    low, high = duel.interval()
    return (
        f"{duel.a} v {duel.b}: {duel.ppg:+.3f} points a game ({low:+.3f} .. {high:+.3f}), "
        f"wins {100 * duel.wins:.1f} % of {duel.games:,} games"
    )


def duel_table(duels: list[Duel], title: str) -> Table:
    """Duels of one ruleset as a table: points a game with their interval, wins, the share of each outcome."""
    table = Table(title=title, title_justify="left")
    for name in ("agent", "against", "games", "ppg", "95 % interval", "wins"):
        table.add_column(name, justify="left" if name in ("agent", "against") else "right")
    for points in duels[0].shares():
        table.add_column(f"{points:+d}" if points else "0", justify="right")
    is_cut = any(duel.truncated for duel in duels)
    if is_cut:
        table.add_column("cut", justify="right")
    for duel in duels:
        low, high = duel.interval()
        cells = [duel.a, duel.b, f"{duel.games:,}", f"{duel.ppg:+.4f}", f"{low:+.4f} .. {high:+.4f}"]
        cells += [f"{100 * share:.1f} %" for share in (duel.wins, *duel.shares().values())]
        table.add_row(*cells, *([f"{100 * duel.truncated:.1f} %"] if is_cut else []))
    return table
