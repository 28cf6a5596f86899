"""Every policy in every game it can read, against the game's own: what a separate policy is worth."""

from __future__ import annotations

import argparse

from rich.console import RenderableType

from agents.base import AgentError
from arena.cross import LONGEST, Cross, cross, heat_map_of
from arena.page import Findings, grid, table
from cli import apart, at_least
from engine.variants import find_ruleset

COLUMNS = ("policy of", "in", "points a game", "95 % interval", "wins", "cut")
LEFT_OUT = ("policy of", "in", "why it cannot play")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("policies", nargs="+", metavar="VARIANT=AGENT", help="two or more games, each with the td:PATH "
                        "or policy:FILE that was trained for it; rules.KEY=VALUE behind are house rules of all "
                        "games")  # fmt: skip
    parser.add_argument("--games", type=at_least(2), default=1000, help="of each duel, in pairs (default %(default)s)")


def find(args: argparse.Namespace) -> Findings:
    """Play the matrix."""
    words, house = apart(args.policies)
    pairs = [pair_of(word) for word in words]
    if len(pairs) < 2:
        raise AgentError(f"two or more VARIANT=AGENT are required, found {len(pairs)}")
    games = [find_ruleset(name, house) for name, _ in pairs]
    twice = [rules.name for index, rules in enumerate(games) if rules in games[:index]]
    if twice:
        raise AgentError(f"{twice[0]} is given twice")
    found = cross(games, [spec for _, spec in pairs], args.games, args.seed)
    rows, left_out = rows_of(found), left_out_of(found)
    note = (
        f"Points a game of a policy against the one that was trained for the game, {args.games} games, seed "
        f"{args.seed}; below 0, the separate policy is worth so much. Games longer than {LONGEST:,} turns are cut and "
        "count 0."
    )
    title = "Policies in each other's games"
    sections = [heat_map_of(found, note), table("Duels", COLUMNS, rows)]
    tables: list[RenderableType] = [grid(title, COLUMNS, rows), note]
    if left_out:
        sections.append(table("Left out", LEFT_OUT, left_out))
        tables.append(grid("Left out", LEFT_OUT, left_out))
    return Findings(title, found.record() | {"seed": args.seed, "rules": house}, tables, sections)


def pair_of(word: str) -> tuple[str, str]:
    """VARIANT=AGENT as its two halves.

    Raises:
        AgentError: of another form, or an agent that is no value function.
    """
    name, equals, spec = word.partition("=")
    if not equals or not name or spec.partition(":")[0] not in ("td", "policy"):
        raise AgentError(f"{word!r}: must be VARIANT=td:PATH or VARIANT=policy:FILE")
    return name, spec


def rows_of(found: Cross) -> list[list[str]]:
    """A line for every duel, game by game, the best guest first."""
    names, rows = [rules.name for rules in found.games], []
    for column, game in enumerate(names):
        line = [(names[row], duels[column]) for row, duels in enumerate(found.duels)]
        played = [(name, one) for name, one in line if one is not None]
        for name, one in sorted(played, key=lambda pair: -pair[1].ppg):
            low, high = one.interval()
            interval = f"{low:+.3f} .. {high:+.3f}"
            rows.append(
                [name, game, f"{one.ppg:+.3f}", interval, f"{100 * one.wins:.1f} %", f"{100 * one.truncated:.1f} %"]
            )
    return rows


def left_out_of(found: Cross) -> list[list[str]]:
    """A line for everything that could not be read."""
    names = [rules.name for rules in found.games]
    return [[names[row], names[column], reason] for (row, column), reason in found.reasons.items()]
