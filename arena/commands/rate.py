"""Ratings of a field: Bradley-Terry on wins, least squares on points a game; the learning curve of runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text
from tqdm import tqdm

from agents.base import Agent
from agents.network import CheckpointMismatch, read_checkpoint
from agents.registry import make_agent, usages
from agents.value import ValueAgent
from arena.duel import duel
from arena.duel_page import points_map
from arena.page import Curve, Findings, Section, curves, heat_map, intervals, picture, table, text
from arena.ratings import DRAWN_GAMES, SAMPLES, Ratings, Scale, meetings, rate
from arena.report import folded
from cli import apart, at_least
from engine.ruleset import InputError, Ruleset
from engine.variants import find_ruleset
from learning.pictures import draw_calibration
from learning.watching import GAMES, calibration

AXES = ("plies", "games", "seconds")  # counters of a run that its learning curve is drawn against
NAME_WIDTH = 21  # what the figures of an entrant leave of 80 columns
COLUMNS = ("entrant", "Elo", "95 % interval", "next", "ppg", "95 % interval", "next")


@dataclass(frozen=True)
class Entrant:
    """Who is rated: an agent by its spec, or a snapshot of a run, with what the run had done by then (as AXES)."""

    name: str
    spec: str
    run: str = ""
    counters: tuple[float, ...] = ()


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.epilog = (
        f"agents: {', '.join(usages())}. A RUN is a folder such as runs/quick: each of its snapshots is rated, by "
        "duels with every AGENT, with the last snapshot of every RUN and with the snapshot that follows it."
    )
    parser.add_argument("variant", help="a game that `python -m engine list` prints")
    parser.add_argument("field", nargs="+", metavar="AGENT|RUN", help="rules.KEY=VALUE among them are house rules")
    parser.add_argument("--games", type=at_least(4), default=1000, help="of a duel, in pairs (default %(default)s)")


def find(args: argparse.Namespace) -> Findings:
    """Play the duels and rate the field, best first."""
    words, house = apart(args.field)
    rules = find_ruleset(args.variant, house)
    entrants = [entrant for word in dict.fromkeys(words) for entrant in entrants_of(word)]
    if len(entrants) < 2:
        raise InputError(f"rate: {', '.join(words) or 'nobody'}: two or more entrants are required")
    agents = [make_agent(entrant.spec, rules) for entrant in entrants]
    pairing = meetings([entrant.run for entrant in entrants])
    bar = tqdm(pairing, unit=" duels", disable=None)
    duels = [duel(rules, agents[a], agents[b], args.games, args.seed) for a, b in bar]
    found = rate(duels, pairing, len(entrants), args.seed)
    order = np.argsort(-found.elo.value, kind="stable")
    place = np.argsort(order)
    field, found = [entrants[at] for at in order], found.take(order)
    pairing = [(int(place[a]), int(place[b])) for a, b in pairing]
    record = record_of(field, found) | {"variant": rules.name, "rules": dict(rules.house), "games": duels[0].games}
    record["pairs"] = [match.record() for match in duels]
    told = remarks(field, found, len(duels), duels[0].games)
    title = f"{rules.title}: ratings of {len(field)}"
    met = points_map(duels, [entrant.name for entrant in field], pairing)
    sections = [*sections_of(field, found, told), met]
    if args.report is not None:
        sections += calibrations(entrants, agents, rules, args.seed)
    return Findings(title, record, [shown(field, found, title), *map(Text, told)], sections)


def entrants_of(word: str) -> list[Entrant]:
    """The agent that a word of the command line names, or the snapshots of the run.

    Raises:
        InputError: a folder without snapshots.
        CheckpointMismatch: a snapshot that cannot be read.
    """
    if not Path(word).is_dir():
        return [Entrant(word, word)]
    run = str(Path(word))
    files = sorted(Path(word).glob("checkpoints/[0-9][0-9][0-9].pt"))
    if not files:
        raise InputError(f"{word}: holds no snapshots, such as checkpoints/005.pt; a run's folder does")
    return [Entrant(f"{run} {int(file.stem)} %", f"td:{file}", run, counters_of(file)) for file in files]


def counters_of(file: Path) -> tuple[float, ...]:
    """What a run had done when it wrote a snapshot, as AXES."""
    counters = read_checkpoint(file).get("counters")
    try:
        return tuple(float(counters[axis]) for axis in AXES)  # type: ignore[index]
    except (KeyError, TypeError, ValueError):
        raise CheckpointMismatch(f"{file}: damaged checkpoint (counters of {', '.join(AXES)} are missing)") from None


def record_of(field: Sequence[Entrant], found: Ratings) -> dict[str, Any]:
    """The ratings as plain values, best first; the rows and columns of `superiority` are in the same order."""
    ratings = [
        {
            "name": entrant.name,
            "agent": entrant.spec,
            "run": entrant.run or None,
            "counters": dict(zip(AXES, entrant.counters, strict=False)) or None,
            "elo": plain(found.elo, at),
            "ppg": plain(found.ppg, at),
            "group": int(found.groups[at]),
        }
        for at, entrant in enumerate(field)
    ]
    superiority = {"elo": found.elo.above.tolist(), "ppg": found.ppg.above.tolist()}
    return {"ratings": ratings, "superiority": superiority, "misfit": found.misfit, "samples": SAMPLES}


def plain(scale: Scale, at: int) -> dict[str, float]:
    """One entrant's rating as plain values."""
    return {"value": float(scale.value[at]), "low": float(scale.low[at]), "high": float(scale.high[at])}


def rows_of(field: Sequence[Entrant], found: Ratings) -> list[list[str]]:
    """The ratings as the cells of a table, under COLUMNS."""
    rows = []
    for at, entrant in enumerate(field):
        row = [entrant.name]
        for scale, form in ((found.elo, "+.0f"), (found.ppg, "+.3f")):
            following = f"{100 * scale.above[at, at + 1]:.1f} %" if at + 1 < len(field) else ""
            ends = f"{scale.low[at]:{form}} .. {scale.high[at]:{form}}"
            row += [format(scale.value[at], form), ends, following]
        rows.append(row)
    return rows


def shown(field: Sequence[Entrant], found: Ratings, title: str) -> Table:
    """The ratings as a table for a terminal, without the last column, to be readable in 80."""
    grid = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    grid.add_column(COLUMNS[0])
    for column in COLUMNS[1:-1]:
        grid.add_column(column, justify="right", no_wrap=True)
    for name, *cells, _ in rows_of(field, found):
        grid.add_row(Text(folded(name, NAME_WIDTH)), *cells)
    return grid


def remarks(field: Sequence[Entrant], found: Ratings, duels: int, games: int) -> list[str]:
    """What the figures mean, how they were found, and what they do not say."""
    told = [
        "Elo: by Bradley-Terry, the odds of a win are 10 ^ (difference / 400), a draw is half a win. ppg: points a "
        "game against the mean of the field, by least squares. Both have mean 0. next: likelihood of superiority over "
        "the next in the table, the share of resamplings in which it is ahead.",
        f"{duels:,} duels of {games:,} games, all with the same dice. 95 % intervals: {SAMPLES:,} resamplings of the "
        f"pairs of games, the same pairs in every duel. Everybody also has {DRAWN_GAMES:g} drawn game against an "
        "opponent in the middle of the field, so that no Elo is infinite.",
        f"One number for each leaves {found.misfit:.3f} points a game of a duel unexplained (root mean square). "
        "Points do not add up between beginners and masters: who loses every game cannot lose more. Elo fits better.",
    ]
    groups = [[field[at].name for at in places] for _, places in groupby(range(len(field)), found.groups.__getitem__)]
    if len(groups) > 1:
        parted = "; ".join(", ".join(group) for group in groups[1:])
        told.append(f"Won no game against anybody above: {parted}. That gap in Elo is a lower bound.")
    return told


def sections_of(field: Sequence[Entrant], found: Ratings, told: Sequence[str]) -> list[Section]:
    """The parts of the page."""
    names = [entrant.name for entrant in field]
    parts = [table("Ratings", COLUMNS, rows_of(field, found)), text("What the figures say", *told)]
    for scale, label in ((found.elo, "Elo"), (found.ppg, "points a game")):
        ends = np.stack([scale.value, scale.low, scale.high], axis=1)
        parts.append(intervals(f"Ratings in {label}", names, ends, label, "Bars are 95 % intervals."))
    runs = list(dict.fromkeys(entrant.run for entrant in field if entrant.run))
    for scale, label in ((found.elo, "Elo"), (found.ppg, "points a game")) if runs else ():
        panels = {axis: [curve(field, scale, run, number) for run in runs] for number, axis in enumerate(AXES)}
        levels = {entrant.name: float(scale.value[at]) for at, entrant in enumerate(field) if not entrant.run}
        told_below = "Bands are 95 % intervals; broken lines are the agents that do not learn."
        parts.append(curves(f"Learning curve in {label}", panels, label, told_below, levels))
    for scale, label in ((found.elo, "Elo"), (found.ppg, "points a game")):
        values = np.where(np.eye(len(names), dtype=bool), np.nan, 100 * scale.above)
        note = "Percent of the resamplings in which the row is above the column."
        parts.append(
            heat_map(f"Likelihood of superiority in {label}", names, names, values, note, form=".0f", middle=50)
        )
    return parts


def curve(field: Sequence[Entrant], scale: Scale, run: str, axis: int) -> Curve:
    """The ratings of a run's snapshots against one of AXES."""
    at = sorted((place for place, one in enumerate(field) if one.run == run), key=lambda place: field[place].counters)
    x = [field[place].counters[axis] for place in at]
    return Curve(run, x, scale.value[at].tolist(), scale.low[at].tolist(), scale.high[at].tolist())


def calibrations(entrants: Sequence[Entrant], agents: Sequence[Agent], rules: Ruleset, seed: int) -> list[Section]:
    """How well the last snapshot of every run knows its chances, over games against itself."""
    last = {entrant.run: agent for entrant, agent in zip(entrants, agents, strict=True) if entrant.run}
    note = f"Every position of {GAMES} games against itself."
    return [
        picture(f"Calibration of {run}", draw_calibration(*calibration(agent, rules, GAMES, seed)), note)
        for run, agent in last.items()
        if isinstance(agent, ValueAgent)
    ]
