"""`python -m engine list | show | legal | dice`: the rules on a command line."""

from __future__ import annotations

import argparse
import json
import textwrap
from typing import Any

import numpy as np

from cli import Parser, at_least, house_rules, run
from engine.decisions import Afterstates, afterstates
from engine.describe import sentences
from engine.game import BatchGame
from engine.house_rules import options_of
from engine.notation import decision, format_board, format_position
from engine.playtext import Wording
from engine.queues import queues_of
from engine.ruleset import Ruleset
from engine.slots import Boards
from engine.variants import UNDOCUMENTED, VARIANTS, find_ruleset

SIGMAS = 5.0  # what counts as unfair dice
DICE_GAMES = 4096


def main() -> int:
    """Parse the command line and run one command."""
    parser = Parser(prog="python -m engine", description="The rules of every variant, and what they allow.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="the variants, a line each")
    show = commands.add_parser("show", help="the rules in force, the house rules and the sources of a variant")
    legal = commands.add_parser(
        "legal",
        help="every distinct legal result of a roll",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Every distinct legal result of a roll: a play that leads there, then the position, the mover's "
        "side first.",
        epilog="example: python -m engine legal irish '24:2 13:5 8:3 6:5 / 24:2 13:5 8:3 6:5' 6-5 rules.doubles=x4",
    )
    for command in (show, legal):
        command.add_argument("variant", help="a name that `list` prints")
    legal.add_argument("position", help="'MINE / THEIRS [| EXTRA]', each side in its own count: '24:2 13:5 / off:15'")
    legal.add_argument("roll", help="such as 6-5; - where EXTRA has a queue: to be played")
    legal.add_argument("--json", action="store_true", help="print one JSON object")
    for command in (show, legal):
        command.add_argument("rules", nargs="*", metavar="rules.KEY=VALUE", help="house rules, see `show`")
    dice = commands.add_parser("dice", help=f"count rolls by seat; exit code 1 if any count is {SIGMAS:.0f} sigma off")
    dice.add_argument("--rolls", type=at_least(36_000), default=3_600_000, help="how many (default %(default)s)")
    dice.add_argument("--seed", type=at_least(0), default=0, help="of the games' dice (default %(default)s)")
    args = parser.parse_args()
    if args.command == "list":
        return list_variants()
    if args.command == "dice":
        return count_dice(args.rolls, args.seed)
    rules = find_ruleset(args.variant, house_rules(args.rules))
    return show_rules(rules) if args.command == "show" else show_legal(rules, args.position, args.roll, args.json)


def list_variants() -> int:
    """Print a line for every variant, and for the names without rules."""
    for rules in VARIANTS:
        aliases = f"  (also {', '.join(rules.aliases)})" if rules.aliases else ""
        print(f"{rules.name:21} {rules.title}{aliases}")
    print("\nKnown by name only:")
    for name, why in UNDOCUMENTED.items():
        print(textwrap.fill(f"{name:21} {why}", 100, subsequent_indent=" " * 22))
    return 0


# -- show -----------------------------------------------------------------------------------------------


def show_rules(rules: Ruleset) -> int:
    """Print the rules in force, the options with their values, notes and sources."""
    print(f"{rules.title} ({rules.name})\n")
    for sentence in sentences(rules):
        print(textwrap.fill(sentence, 100, initial_indent="- ", subsequent_indent="  "))
    print("\nHouse rules (rules.NAME=VALUE), as set now:")
    for option in options_of(rules):
        reason = option.pointless(rules)
        value = option.read(rules) if reason is None else f"without effect under {reason}"
        print(f"  {option.name:25} {value}")
        print(
            textwrap.fill(f"{option.meaning} [{option.hint}]", 100, initial_indent=" " * 28, subsequent_indent=" " * 28)
        )
    if rules.notes:
        print("\nNotes:")
        for note in rules.notes:
            print(textwrap.fill(note, 100, initial_indent="- ", subsequent_indent="  "))
    print("\nSources: " + "; ".join(rules.sources))
    return 0


# -- legal ------------------------------------------------------------------------------------------------


def show_legal(rules: Ruleset, position: str, roll: str, as_json: bool) -> int:
    """Print every distinct legal result."""
    board, code = decision(position, roll, rules)
    after = afterstates(board[None], np.array([code], np.int8), rules)
    listing = described(after, rules) | {"plays": Wording(board, code, rules, after).texts}
    if as_json:
        print(json.dumps(listing))
        return 0
    queue = queues_of(rules).items[code]
    print(f"{rules.title}: {format_position(board, rules, queue)}\n")
    print(format_board(board, rules) + "\n")
    width = max(map(len, listing["plays"]))
    for row, text in enumerate(listing["afterstates"]):
        points = listing["outcome"][row]
        if points is not None:
            what = f"the game is over, {points:+d}" if points else "the game is a draw"
        else:
            what = f"then {'the other side' if listing['passed'][row] else 'the same side'}: {listing['pending'][row]}"
        print(f"{row + 1:4}  {listing['plays'][row]:{width}}   {text}   {what}")
    print(f"\n{listing['count']} distinct result{'s' if listing['count'] != 1 else ''}")
    return 0


def described(after: Afterstates, rules: Ruleset) -> dict[str, Any]:
    """The results of one decision as plain values, the mover's side first in every row."""
    over = after.outcome >= 0
    names = queues_of(rules).names
    sides: list[Boards] = [b[::-1] if p else b for b, p in zip(after.boards, after.passed, strict=True)]
    return {
        "count": len(sides),
        "afterstates": [format_position(board, rules, memory=False) for board in sides],
        "pending": [None if end else names[code] for end, code in zip(over, after.pending, strict=True)],
        "passed": [None if end else bool(passed) for end, passed in zip(over, after.passed, strict=True)],
        "outcome": [int(rules.payoffs[o]) if o >= 0 else None for o in after.outcome],
    }


# -- dice -------------------------------------------------------------------------------------------------


def count_dice(rolls: int, seed: int) -> int:
    """Throw the dice of 4,096 games, seats in turn, and compare every count with chance."""
    rules = find_ruleset(VARIANTS[0].name)
    game = BatchGame(rules, DICE_GAMES, seed=seed)
    rows = np.arange(DICE_GAMES)
    faces, ways = rules.faces, np.full(DICE_GAMES, rules.faces**2, np.uint64)
    turns = -(-rolls // DICE_GAMES)
    thrown = np.stack([game.draw(rows, ways) for _ in range(turns)])  # (turns, games)
    counts = np.stack([np.bincount(thrown[seat::2].ravel(), minlength=faces**2) for seat in (0, 1)])
    print("rolls of each seat, first die down, second die across\n")
    for seat in (0, 1):
        print(f"seat {seat}  " + "".join(f"{second:9}" for second in range(1, faces + 1)))
        for first in range(faces):
            print(f"{first + 1:6}  " + "".join(f"{n:9}" for n in counts[seat, first * faces : (first + 1) * faces]))
    pips = thrown // faces + thrown % faces
    spread = (pips - pips.mean()) / pips.std()
    is_double = thrown // faces == thrown % faces
    checks = {
        "farthest of the 72 counts": _farthest(counts, faces),
        "doubles, against 1/6": _sigmas(int(is_double.sum()), thrown.size, 1 / faces),
        "one roll with the next of the same game": float((spread[1:] * spread[:-1]).mean() * np.sqrt(spread[1:].size)),
        "doubles, seat 0 less seat 1": _difference(is_double),
    }
    print(f"\n{thrown.size:,} rolls of {DICE_GAMES:,} games, seed {seed}; deviations from chance in sigma:")
    for name, sigmas in checks.items():
        print(f"  {name:42}{sigmas:+7.2f}")
    is_fair = all(abs(sigmas) < SIGMAS for sigmas in checks.values())
    print("fair" if is_fair else f"NOT FAIR: a deviation of {SIGMAS:.0f} sigma or more")
    return 0 if is_fair else 1


def _sigmas(count: int, size: int, chance: float) -> float:
    """How many standard deviations a count is away from its mean."""
    return float((count - size * chance) / np.sqrt(size * chance * (1 - chance)))


def _farthest(counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]], faces: int) -> float:
    sigmas = [_sigmas(int(n), int(seat.sum()), 1 / faces**2) for seat in counts for n in seat]
    return max(sigmas, key=abs)


def _difference(flags: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    first, second = flags[0::2], flags[1::2]
    share = flags.mean()
    error = np.sqrt(share * (1 - share) * (1 / first.size + 1 / second.size))
    return float((first.mean() - second.mean()) / error)


if __name__ == "__main__":
    run(main)
