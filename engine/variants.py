"""The variants by name. This is the one module that knows a game's name.

Each is made from a relative and holds only what differs.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace

from engine.bearing import ExactBearing, FreeBearing, StandardBearing
from engine.binding import BindTheTables
from engine.contact import Block, Hit, HomeGate, Pin
from engine.formations import StartQuarterFull, ThirdQuarterLimit, Unblock, Wall
from engine.house_rules import apply
from engine.limits import HandFirst, HeadLimit, LastPointLock, RunnerFirst, StackLimit
from engine.ruleset import InputError, Ruleset
from engine.scoring import Mother, PerChecker, Race
from engine.turn import Entering, Grace, LeftOvers, LongTurn, PlainTurn


class UnknownVariant(InputError):
    """No documented game has this name; the message offers the nearest."""


CUBE_OPTIONS = ("cube", "beaver", "raccoon", "auto_double_limit", "jacoby", "match_length", "crawford", "holland")
IRISH_OPTIONS = ("doubles=each_once|x4", "bind_tables", "bind_toss", "bind_effect", "must_play", "higher_die")
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
    notes=(
        "Before a side may hit, a lone opposing checker blocks it; no source says how else.",
        "The step that brings the first checker home is not one of a side that has one there, so it does not hit.",
    ),
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

LONGGAMMON = replace(
    BACKGAMMON,
    name="longgammon",
    title="Longgammon",
    aliases=("long", "long_backgammon"),
    sources=("Backgammon Galore, variants index",),
    notes=("Name and start are all that its source has; the rest is backgammon.",),
    house_rules=(),
    setup="head",
)

PORTES = replace(
    BACKGAMMON,
    name="portes",
    title="Portes",
    aliases=("tavli_portes",),
    sources=("kafenio.eu, Portes", "Ludii, Portes", "Wikipedia, Tavli"),
    notes=("A checker that has hit at home may move on, as in most texts; one text of the game forbids it.",),
    house_rules=("hit_and_run",),
    opening="high_rerolls",
    next_starter="previous_winner",
    scoring=Race(points=(1, 2)),
)

# -- all checkers in the hand -----------------------------------------------------------------------------

LEFT_OVER_OPTIONS = ("incomplete", "leftover_scope", "leftover_stop", "leftover_bounce")
ENTERING_OPTIONS = ("complement_while_entering", "bonus_while_entering", "entering_test")
LEFT_OVERS_NOTE = (
    "With incomplete=remainder_to_opponent only numbers pass to the other side, its own roll follows within the same "
    "turn, and a naming or a bonus roll still to come is lost; no source says more."
)

ACEY_DEUCEY = replace(
    BACKGAMMON,
    name="acey_deucey",
    title="American Acey-Deucey",
    aliases=("american_acey_deucey", "acey"),
    sources=("VOG Club, Acey-Deucey", "Backgammon Moments, American Acey Deucey", "bgmates, American Acey-Deucey"),
    notes=(
        LEFT_OVERS_NOTE,
        "entry_trigger and bar_trigger ask the numbers being played: a named double is a double.",
    ),
    house_rules=(
        "bonus_roll",
        "bearoff_die=standard|exact",
        "hand_policy",
        "entry_trigger",
        "bar_trigger",
        "home_frozen",
        *LEFT_OVER_OPTIONS,
        "score=per_checker|1|1/2",
    ),
    setup="hand",
    opening="high_rerolls",
    turn=LongTurn(ace_deuce=True, bonus=("after_named",)),
    scoring=PerChecker(),
)

EUROPEAN_ACEY_DEUCEY = replace(
    ACEY_DEUCEY,
    name="european_acey_deucey",
    title="European Acey-Deucey",
    aliases=("european_acey", "acey_european"),
    sources=("iTavli, Rules of Acey-Deucey", "backgammon-play.net, Acey Deucey European"),
    notes=(
        "No source gives its scoring; a point per checker is that of American Acey-Deucey.",
        "The rules on entering hold for rolled and named doubles alike; a named one is judged as it is named.",
    ),
    house_rules=("bearoff_die=standard|exact", "score=per_checker|1|1/2", *ENTERING_OPTIONS),
    turn=LongTurn(doubles="complement", ace_deuce=True, bonus=("after_complement", "after_named")),
    bearing=ExactBearing(),
)

FRENCH = replace(
    ACEY_DEUCEY,
    name="french",
    title="French backgammon",
    aliases=("french_backgammon",),
    sources=("Backgammon Galore, French Backgammon", "probassin, Types of Backgammon", "Wikipedia, Backgammon"),
    notes=(
        "The stored text ends before scoring: a single game and a gammon, as in Russian backgammon.",
        LEFT_OVERS_NOTE,
    ),
    house_rules=(*LEFT_OVER_OPTIONS, *ENTERING_OPTIONS, "score=1/2|1"),
    opening="high_chooses",
    turn=LongTurn(doubles="complement", bonus=("after_complement",)),
    limits=(HandFirst(),),
    scoring=Race(points=(1, 2)),
)

RUSSIAN = replace(
    FRENCH,
    name="russian",
    title="Russian backgammon",
    aliases=("russian_backgammon",),
    sources=("Backgammon Galore, Russian Backgammon", "GammonParty, Russian Backgammon", "iTavli forum"),
    notes=(
        "Whether a double that enters the last checkers is one of entering is not said; it is judged at the roll.",
        LEFT_OVERS_NOTE,
    ),
    house_rules=(*LEFT_OVER_OPTIONS, *ENTERING_OPTIONS, "score=1/2|1/2/3"),
    track="parallel0",
    turn=LongTurn(doubles="complement", bonus=("after_complement",), early=Entering()),
)

# -- all checkers on the head, one checker closes a point -------------------------------------------------

NARDE = replace(
    BACKGAMMON,
    name="narde",
    title="Narde (long nardy)",
    aliases=("long_narde", "nardy", "long_nardy"),
    sources=("SetupGroup, Narde", "Backgammon Masters, Narde Rules", "Russian Ministry of Sport, rules of nardy"),
    notes=(
        "A wall is judged as a play ends; no page says whether in between as well.",
        "With formation_scope=each_step a step may lead into no position in which a play might not end.",
    ),
    house_rules=(
        "opening=high_rerolls|high_uses",
        "head_limit",
        "head_first_turn",
        "wall",
        "formation_scope",
        "score=1/2|1/2/3_home",
        "draws",
        "cube=none|money",
        "sixfive_jump",
    ),
    setup="head",
    track="parallel12",
    opening="high_rerolls",
    next_starter="previous_winner",
    contact=Block(),
    limits=(HeadLimit(opening="onto_head"),),
    formations=(Wall(),),
    scoring=Race(points=(1, 2)),
)

MOULTEZIM = replace(
    NARDE,
    name="moultezim",
    title="Moultezim (Turkish backgammon)",
    aliases=("turkish", "turkish_backgammon"),
    sources=("Three Mountain Games, Moultezim", "gamerz.net, Moultezim", "FIBS The Board, Rules for Moultezim"),
    notes=("The text ends before scoring: a single game and a gammon, as in Fevga.",),
    house_rules=("runner_gate", "opp_start_limit", "own_start_full=allowed|forbidden"),
    next_starter="toss",
    limits=(RunnerFirst(),),
    formations=(ThirdQuarterLimit(),),
)

FEVGA = replace(
    MOULTEZIM,
    name="fevga",
    title="Fevga",
    aliases=("feuga",),
    sources=("BrainKing, Fevga", "iTavli, Fevga", "GammonParty, Fevga", "GitHub mvichosfm/fevga"),
    notes=(
        "The duty to open a blockade comes after those to play both numbers, or the larger, as one program has it.",
    ),
    house_rules=(
        "runner_gate",
        "own_start_full",
        "unblock",
        "unblock_trigger",
        "front_six",
        "formation_scope",
        "head_limit",
    ),
    next_starter="previous_winner",
    formations=(StartQuarterFull(), Unblock()),
)

GUL_BARA = replace(
    MOULTEZIM,
    name="gul_bara",
    title="Gul Bara (Rosespring)",
    aliases=("gulbara", "rosespring", "crazy_narde"),
    sources=("iTavli, Games", "Bulgarian Wikipedia, Gyulbara", "VOG Club, Crazy Narde", "Eighty Games, Gul Bara"),
    notes=(
        "The stored texts end before a gammon; it counts two, as in Fevga.",
        "With head_limit the whole turn is one, all its tiers together, as a cascade is one roll.",
    ),
    house_rules=(
        "cascade_grace",
        "cascade_grace_scope",
        *LEFT_OVER_OPTIONS,
        "head_limit",
        "wall=none|needs_opp_ahead",
        "bearoff_die=standard|exact",
        "home_frozen",
        "tier_must_play",
    ),
    turn=LongTurn(doubles="cascade", early=Grace()),
    limits=(),
    formations=(),
)

GIOUL = replace(
    GUL_BARA,
    name="gioul",
    title="Gioul",
    aliases=("gul",),
    sources=("Wikipedia, Gioul", "iTavli, Rules of Gioul"),
    notes=(
        "That a gammon counts two is only likeness to the other games of the family.",
        "As far as possible, of the left-over numbers, is read as up to the first that cannot be played.",
        "The left-over numbers and the roll after them are one turn of the other side.",
    ),
    house_rules=("leftover_scope", "leftover_stop", "leftover_bounce", "cascade_grace", "cascade_grace_scope"),
    track="contrary",
    next_starter="previous_winner",
    turn=LongTurn(doubles="cascade", left_overs=LeftOvers()),
)

# -- all checkers on the head, landing on one pins it ------------------------------------------------------

PLAKOTO = replace(
    NARDE,
    name="plakoto",
    title="Plakoto",
    aliases=("the_pin_game", "tavli_plakoto"),
    sources=("FIBS The Board, Rules for Plakoto", "backgammon-game.eu, The Pin game", "BrainKing, Plakoto"),
    notes=(
        "That the larger of two numbers must be played is stated on one page only.",
        "With mother=none both sides may be locked for ever: such a position is a draw, found after a forced pass.",
        LEFT_OVERS_NOTE,
    ),
    house_rules=(
        "mother",
        "mother_value",
        "bearoff_while_pinned",
        "higher_die",
        "score=1/2|per_checker",
        "doubles=x4|cascade_up",
        *LEFT_OVER_OPTIONS,
    ),
    track="contrary",
    contact=Pin(),
    limits=(),
    formations=(),
    scoring=Mother(race=Race(points=(1, 2))),
)

TAPA = replace(
    PLAKOTO,
    name="tapa",
    title="Tapa",
    aliases=(),
    sources=("NextGammon, Tapa", "Wikipedia, Tapa", "GitHub mcihael11111/tavli"),
    notes=(
        "Texts end before scoring and before any rule on the last start checker; one comparison says there is none.",
        "A position in which neither side can ever step again is a draw, found after a forced pass; no source says so.",
    ),
    house_rules=("mother=none|deferred", "mother_value", "bearoff_while_pinned", "higher_die"),
    scoring=Race(points=(1, 2), deadlock=True),
)

# -- all checkers on the head, hits ----------------------------------------------------------------------------

KOTRA = replace(
    NARDE,
    name="kotra",
    title="Kotra (Icelandic, historical)",
    aliases=("icelandic", "icelandic_backgammon"),
    sources=("Ludii, Kotra (after Fiske)", "Hugur og hond 1977", "German Wikipedia, Kotra"),
    notes=(
        "Every win counts two; the bonuses for jan and mar existed, but their rules were not found.",
        "Modern kotra is backgammon.",
    ),
    house_rules=("opening=low_rerolls|high_uses", "entry_needs", "stack_limit", "last_point_lock"),
    opening="low_rerolls",
    next_starter="toss",
    contact=Hit(entry="empty"),
    limits=(StackLimit(), LastPointLock()),
    formations=(),
    scoring=Race(points=(2,)),
)

VARIANTS: tuple[Ruleset, ...] = (
    BACKGAMMON,
    IRISH,
    IRISH_PLAY65,
    DUTCH,
    NACKGAMMON,
    HYPERGAMMON,
    LONGGAMMON,
    PORTES,
    ACEY_DEUCEY,
    EUROPEAN_ACEY_DEUCEY,
    FRENCH,
    RUSSIAN,
    NARDE,
    MOULTEZIM,
    FEVGA,
    PLAKOTO,
    TAPA,
    GUL_BARA,
    GIOUL,
    KOTRA,
)

# -- games small enough to be solved exactly: house rules of two sizes -------------------------------------------

TWO_CHECKERS = {"checkers": "2"}
SMALL_BOARD = {"points": "8", "checkers": "4"}  # home has two points: four checkers close it, two in a row are a wall
SMALL_SETUP = {"setup": "8:2 3:2"}  # for games that begin on several points
SMALL_EXTRA = {"moultezim": {"opp_start_limit": "1"}}  # the limit of the big board could not be reached


def small_games(name: str) -> dict[str, Ruleset]:
    """Two games of a variant that `python -m arena exact` solves in seconds.

    `two`: two checkers on its own board. `board`: four on a board of eight points, on which every
    rule of the variant comes up.

    Args:
        name: as in `find_ruleset`.
    """
    rules = find_ruleset(name)
    board = SMALL_BOARD | (SMALL_SETUP if isinstance(rules.setup, tuple) else {}) | SMALL_EXTRA.get(rules.name, {})
    return {"two": apply(rules, TWO_CHECKERS), "board": apply(rules, board)}


UNDOCUMENTED = {
    "sixey_acey": "no page gives rules under this name; the nearest by name, Sice-Ace, has no decisions, "
    "and of the documented games acey_deucey and european_acey_deucey come closest",
    "tabard": "no page gives its rules; it is only said to resemble "
    "dutch, acey_deucey and european_acey_deucey, which come closest",
    "tawula": "one of its rules cannot be made out in the texts that exist; "
    "of the documented games dutch and kotra come closest, and turkish backgammon is moultezim here",
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
