"""The variants by name. This is the one module that knows a game's name.

Each is made from a relative and holds only what differs.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace

from engine.bearing import FreeBearing, StandardBearing
from engine.binding import BindTheTables
from engine.contact import Hit, HomeGate
from engine.options import apply
from engine.ruleset import InputError, Ruleset
from engine.scoring import Race
from engine.turn import PlainTurn


class UnknownVariant(InputError):
    """No documented game has this name; the message offers the nearest."""


CUBE_OPTIONS = ("cube", "beaver", "raccoon", "auto_double_limit", "jacoby", "match_length", "crawford", "holland")
IRISH_OPTIONS = ("doubles", "bind_tables", "bind_toss", "bind_effect", "must_play", "higher_die")
DUTCH_OPTIONS = ("hit_gate", "hit_gate_counts_off", "hit_gate_midturn", "hit_gate_side", "entry_first_roll")

BACKGAMMON = Ruleset(
    name="backgammon",
    title="Backgammon",
    aliases=("bg", "standard"),
    sources=("ToTheGames, Backgammon", "GNU Backgammon manual"),
    notes=("Cubeless: a gammon pays 2, a backgammon 3.",),
    house_rules=CUBE_OPTIONS,
    contact=Hit(),
    turn=PlainTurn(),
    bearing=StandardBearing(),
    scoring=Race(),
)

IRISH = replace(
    BACKGAMMON,
    name="irish",
    title="Irish",
    aliases=("irish_galore",),
    sources=("Backgammon Galore, Irish", "Guilde of St Ives, Irish", "Randle Holme, Academy of Armory"),
    notes=(
        "The duty to play and the larger number are not stated there; play65's text of the game states both.",
        "Ties in the throw for opening a point are thrown again, which no source says.",
    ),
    house_rules=IRISH_OPTIONS,
    opening="high_rerolls",
    turn=PlainTurn(times=2),
    bearing=FreeBearing(),
    scoring=Race(points=(1,)),
    binding=BindTheTables(),
)

IRISH_PLAY65 = replace(
    IRISH,
    name="irish_play65",
    title="Irish (play65)",
    aliases=(),
    sources=("Play65, Irish",),
    notes=(
        "Its first sentence on doubles gives four numbers, a later note says each once; the first is taken.",
        "Setup and opening are not given there; they are those of Irish.",
    ),
    turn=PlainTurn(times=4),
)

DUTCH = replace(
    BACKGAMMON,
    name="dutch",
    title="Dutch backgammon",
    aliases=("dutch_backgammon",),
    sources=("Backgammon Galore, Dutch Backgammon", "Play65, Dutch backgammon"),
    notes=("Before a side may hit, a lone opposing checker blocks it; no source says how else.",),
    house_rules=DUTCH_OPTIONS,
    setup="hand",
    opening="high_rerolls",
    contact=Hit(gate=HomeGate()),
    scoring=Race(points=(1, 2)),
)

NACKGAMMON = replace(
    BACKGAMMON,
    name="nackgammon",
    title="Nackgammon",
    aliases=("nack",),
    sources=("Backgammon Galore, Nackgammon",),
    notes=(),
    house_rules=(),
    setup=((24, 2), (23, 2), (13, 4), (8, 3), (6, 4)),
)

HYPERGAMMON = replace(
    BACKGAMMON,
    name="hypergammon",
    title="Hypergammon",
    aliases=("hyper", "hyper_backgammon"),
    sources=("NextGammon, Hyper-Backgammon", "GNU Backgammon manual"),
    notes=(),
    house_rules=(),
    checkers=3,
    setup=((24, 1), (23, 1), (22, 1)),
)

VARIANTS: tuple[Ruleset, ...] = (BACKGAMMON, IRISH, IRISH_PLAY65, DUTCH, NACKGAMMON, HYPERGAMMON)

UNDOCUMENTED = {
    "sixey_acey": "no page gives rules under this name; Sice-Ace, the nearest, has no decisions",
    "tabard": "no page gives its rules; the off-board starters such as dutch come closest",
    "tawula": "one of its rules cannot be made out in the texts that exist",
}


def find_ruleset(name: str, house_rules: Mapping[str, object] | None = None) -> Ruleset:
    """The rules of a variant, by name or alias, with house rules set.

    Args:
        name: as `python -m engine list` prints it; case, blanks and hyphens do not matter.
        house_rules: option -> value, as `python -m engine show VARIANT` lists them.

    Raises:
        UnknownVariant: no game of this name; the message offers the nearest.
        OptionError: a house rule is refused, and why.
    """
    wanted = name.strip().lower().replace("-", "_").replace(" ", "_")
    known = {alias: rules for rules in VARIANTS for alias in (rules.name, *rules.aliases)}
    if wanted in UNDOCUMENTED:
        raise UnknownVariant(f"variant {name!r}: {UNDOCUMENTED[wanted]}")
    if wanted not in known:
        near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.0)
        raise UnknownVariant(f"variant {name!r}: unknown; did you mean {known[near[0]].name}?")
    return apply(known[wanted], house_rules) if house_rules else known[wanted]
