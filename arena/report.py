"""Figures of duels as lines and tables for people, readable in 80 columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from rich import box
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table

from arena.duel import Duel, Points, interval_of

WIDTH = 80
NAME_WIDTH = 28  # what the figures of one duel leave
LEAST_NAME_WIDTH = 14  # in a cross table
FIGURE_WIDTH = 9  # with the space between columns


def duel_line(duel: Duel) -> str:
    """One duel as a line; luck-adjusted where there is luck."""
    low, high = duel.adjusted_interval()
    return (
        f"{duel.a} v {duel.b}: {duel.adjusted.mean():+.3f} points a game ({low:+.3f} .. {high:+.3f}), "
        f"wins {100 * duel.wins:.1f} % of {duel.games:,} games"
    )


def duel_table(duel: Duel, title: str) -> RenderableType:
    """One duel as a table: points a game with their interval, wins; below it outcomes, luck, and what is settled."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("agent, against")
    for name in ("games", "ppg", "95 % interval", "wins"):
        table.add_column(name, justify="right", no_wrap=True)
    a, b = short_names([duel.a, duel.b], 2 * NAME_WIDTH - 4)
    low, high = duel.interval()
    wins = f"{100 * duel.wins:.1f} %"
    table.add_row(
        f"{folded(a, NAME_WIDTH)}\n{folded(f'v {b}', NAME_WIDTH)}",
        f"{duel.games:,}",
        f"{duel.ppg:+.4f}",
        f"{low:+.4f} .. {high:+.4f}",
        wins,
    )
    adjustment = duel.adjustment()
    if adjustment:
        low, high = adjustment["low"], adjustment["high"]
        table.add_row("luck-adjusted", "", f"{adjustment['ppg']:+.4f}", f"{low:+.4f} .. {high:+.4f}", "")
    shares = [f"{points:+d}: {100 * share:.1f} %" for points, share in duel.shares().items()]
    if duel.truncated:
        shares.append(f"cut: {100 * duel.truncated:.1f} %")
    lines: list[RenderableType] = ["Points of the first, and in how many games:", Columns(shares, padding=(0, 2))]
    lines += [luck_line(adjustment)] if adjustment else []
    lines += [settled_line(duel)] if duel.looks else []
    return Group(table, *lines)


def luck_line(adjustment: Mapping[str, Any]) -> str:
    """What looking at luck came to, as a sentence."""
    return (
        f"Luck by {adjustment['by']}, times {adjustment['coefficient']:.3f}: the standard deviation of a game is "
        f"{adjustment['deviation']:.3f} instead of {adjustment['plain_deviation']:.3f}, "
        f"as good as {adjustment['saved']:.1f} times as many games."
    )


def settled_line(duel: Duel) -> str:
    """Who is better, where the duel was watched."""
    told = "the intervals hold at every look."
    if not duel.settled:
        return f"Not settled who is better after {duel.games:,} games; {told}"
    better, worse = ("A", "B") if duel.settled > 0 else ("B", "A")
    return f"Settled after {duel.games:,} games: {better} > {worse}; {told}"


def cross_table(duels: Sequence[Duel], specs: Sequence[str], title: str) -> RenderableType:
    """Duels of every two agents as a table, first with second, first with third, and so on.

    A row's agent scores so many points a game against the agent of each column; below, behind `±`,
    stands half of the 95 % interval. The mean is over the other agents; its interval takes into
    account that all duels had the same dice. What is too wide goes on in a further table.
    """
    size, seed = len(specs), duels[0].seed
    points = np.zeros((size, size, duels[0].points.size))
    for (a, b), duel in zip(combinations(range(size), 2), duels, strict=True):
        points[a, b], points[b, a] = duel.adjusted, -duel.adjusted
    means = points.sum(axis=1) / (size - 1)
    width = max(WIDTH - 5 - (size + 1) * FIGURE_WIDTH, LEAST_NAME_WIDTH)
    names = [folded(f"{row + 1} {name}", width) for row, name in enumerate(short_names(specs, 2 * width - 4))]
    columns = [
        [figure(points[row, column], seed) if row != column else "" for row in range(size)] for column in range(size)
    ]
    columns.append([figure(mean, seed) for mean in means])
    heads = [*(f"v {column + 1}" for column in range(size)), "mean"]
    tables = []
    at_once = (WIDTH - 5 - width) // FIGURE_WIDTH
    for low in range(0, size + 1, at_once):
        table = Table(title=title if not low else "", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("points a game", width=width)
        for head in heads[low : low + at_once]:
            table.add_column(head, justify="right", no_wrap=True)
        for name, *cells in zip(names, *columns[low : low + at_once], strict=True):
            table.add_row(name, *cells)
        tables.append(table)
    cut = max(duel.truncated for duel in duels)
    told = f"{duels[0].games:,} games of every two, with the same dice; ± half of the 95 % interval"
    luck = duels[0].luck
    told += f"; luck-adjusted by {luck.spec}" if luck else ""
    return Group(*tables, told + (f"; up to {100 * cut:.1f} % cut" if cut else ""))


def figure(points: Points, seed: int) -> str:
    """The mean of (pairs,) points, and half of its interval, in two lines."""
    low, high = interval_of(points, seed)
    return f"{points.mean():+.3f}\n±{(high - low) / 2:.3f}"


def short_names(specs: Sequence[str], width: int) -> list[str]:
    """Specs with the middle of long paths left out, so that they fit a width; in full where two would look equal."""
    names = [short_name(spec, width) for spec in specs]
    return [spec if names.count(name) > specs.count(spec) else name for spec, name in zip(specs, names, strict=True)]


def short_name(spec: str, width: int) -> str:
    """A spec without the middle folders of its path, as many as it takes: `td:runs/irish-x4/…/last.pt`.

    The first two folders and the file's name stay; a table folds what is still too long.
    """
    head = spec.split("/")
    tail = [head.pop()]
    while len("/".join([*head, *tail])) > width and len(head) > 2:
        head = head[:-1]
        tail = ["…", tail[-1]]
    return "/".join([*head, *tail])


def folded(name: str, width: int) -> str:
    """A name in lines of a width, broken behind a slash or comma where there is one."""
    lines = [""]
    for part in re.findall(r"[^/,]*[/,]?", name):
        if len(lines[-1] + part) > width and lines[-1]:
            lines.append("")
        lines[-1] += part
        while len(lines[-1]) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return "\n".join(lines)
