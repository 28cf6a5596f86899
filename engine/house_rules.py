"""House rules, the table: what each is called, what it may be, and which part of a ruleset it edits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from engine.bearing import ExactBearing, FreeBearing, StandardBearing
from engine.binding import BindTheTables
from engine.contact import HomeGate
from engine.formations import ClosedBoard
from engine.house_moves import MOVEMENT_OPTIONS
from engine.limits import HitterStays
from engine.notation import format_side
from engine.options import (
    Lens,
    Option,
    at,
    available,
    both,
    edited,
    either,
    fixed,
    flag,
    made,
    number,
    one_of,
    unless,
    whether,
    words,
)
from engine.ruleset import Ruleset
from engine.scoring import Mother, PerChecker, Race
from engine.turn import Entering, Grace, LeftOvers, LongTurn, PlainTurn

# -- the turn ---------------------------------------------------------------------------------------------


def _read_doubles(rules: Ruleset) -> str:
    if isinstance(rules.turn, LongTurn):
        return {"x4": "x4", "complement": "x4_complement", "cascade": "cascade_up"}[rules.turn.doubles]
    return "each_once" if rules.turn == PlainTurn(times=2) else "x4"


DOUBLES: Mapping[str, PlainTurn | LongTurn] = {
    "each_once": PlainTurn(times=2),
    "x4": PlainTurn(times=4),
    "cascade_up": LongTurn(doubles="cascade"),
}


def _plain_turn(rules: Ruleset) -> str | None:
    return None if rules.turn.is_long else f"doubles={_read_doubles(rules)}"


LEFT_OVERS = whether(at("turn.left_overs"), LeftOvers())
ALL_GIVEN = Entering(complement=True, bonus=True)


def _entering(name: str) -> Lens:
    """A field of what a double brings while entering; a ruleset that says nothing gives everything."""

    def put(rules: Ruleset, value: bool) -> Ruleset:
        early = replace(at("turn.early").get(rules) or ALL_GIVEN, **{name: value})
        gives_all = early.complement and early.bonus
        return at("turn.early").put(rules, None if gives_all else early)

    return Lens(lambda rules: getattr(at("turn.early").get(rules) or ALL_GIVEN, name), put)


INCOMPLETE = words(
    "incomplete",
    LEFT_OVERS,
    {"end_turn": False, "remainder_to_opponent": True},
    "numbers that cannot be played are lost, or the other side plays them before its own roll",
    pointless=_plain_turn,
)
NO_LEFT_OVERS = unless(INCOMPLETE, "end_turn")
GRACE = number(
    "cascade_grace",
    made(at("turn.early"), Grace, "turns"),
    "so many first turns with ordinary doubles",
    lambda rules: 31,
    zero="0",
)
COMPLEMENT = flag(
    "complement_while_entering",
    _entering("complement"),
    "a double brings its complement too while a checker is in the hand",
)
BONUS = flag(
    "bonus_while_entering",
    _entering("bonus"),
    "a double brings the bonus roll too while a checker is in the hand",
    pointless=unless(COMPLEMENT, "false"),
)
MUST_PLAY = words(
    "must_play",
    at("must_play"),
    {"max_numbers": "max_numbers", "none": "none"},
    "as many numbers as possible, or stop after any step (entering from the bar stays a duty)",
)
TURN_OPTIONS: tuple[Option, ...] = (
    words(
        "opening",
        at("opening"),
        {word: word for word in ("high_uses", "high_rerolls", "high_chooses", "low_rerolls")},
        "who begins, and whether with the two numbers thrown or with a new roll",
    ),
    Option(
        name="doubles",
        values=tuple(DOUBLES),
        meaning="a double is two numbers, or its number four times, or all higher numbers four times as well",
        read=_read_doubles,
        write=lambda rules, text: replace(rules, turn=DOUBLES[text]),
    ),
    words(
        "bonus_roll",
        at("turn.bonus"),
        {"after_named": ("after_named",), "after_named,after_double": ("after_named", "after_double")},
        "after which doubles, played out, one rolls again",
    ),
    INCOMPLETE,
    words(
        "leftover_scope",
        at("turn.left_overs.doubles_only"),
        {"all_rolls": False, "doubles_only": True},
        "which rolls leave numbers to the other side",
        pointless=NO_LEFT_OVERS,
    ),
    words(
        "leftover_stop",
        at("turn.left_overs.skip"),
        {"stop_at_first_block": False, "skip_unplayable": True},
        "a left-over number that cannot be played ends them, or is passed over",
        pointless=NO_LEFT_OVERS,
    ),
    fixed(
        "leftover_bounce",
        "false",
        {"true": "left-over numbers are handed over once, else the same numbers could go back and forth without end"},
        "what the other side cannot play comes back",
        pointless=NO_LEFT_OVERS,
    ),
    GRACE,
    words(
        "cascade_grace_scope",
        at("turn.early.shared"),
        {"per_player": False, "global": True},
        "the turns of grace are counted for each side, or for both together",
        pointless=unless(GRACE, "0"),
    ),
    fixed(
        "tier_must_play",
        "per_tier",
        {"global": "each tier is a decision of its own, so the best use of all tiers together is never compared"},
        "the duty to play holds in each tier",
    ),
    COMPLEMENT,
    BONUS,
    words(
        "entering_test",
        _entering("at_tier_end"),
        {"at_roll_start": False, "at_tier_end": True},
        "when it is judged whether a side is still entering",
        pointless=both(unless(COMPLEMENT, "true"), unless(BONUS, "true")),
    ),
    MUST_PLAY,
    flag(
        "higher_die",
        at("higher_die"),
        "the larger number if either but not both can be played",
        pointless=unless(MUST_PLAY, "none"),
    ),
)

# -- where the sides meet -----------------------------------------------------------------------------------


def _binding_name(rules: Ruleset) -> str:
    if rules.binding is not None:
        return "penalty"
    return "illegal" if ClosedBoard() in rules.formations else "off"


def _write_binding(rules: Ruleset, text: str) -> Ruleset:
    rules = one_of("formations", ClosedBoard).put(rules, ClosedBoard() if text == "illegal" else None)
    return replace(rules, binding=(rules.binding or BindTheTables()) if text == "penalty" else None)


def _gate_name(rules: Ruleset) -> str:
    gate = at("contact.gate").get(rules)
    return "none" if gate is None else "home_latched" if gate.latched else "home_current"


def _write_gate(rules: Ruleset, text: str) -> Ruleset:
    return at("contact.gate").put(rules, None if text == "none" else HomeGate(latched=text == "home_latched"))


BIND_TABLES = Option(
    name="bind_tables",
    values=("penalty", "illegal", "off"),
    meaning="a closed board against the bar is opened, may not be made, or is no matter",
    read=_binding_name,
    write=_write_binding,
)
HIT_GATE = Option(
    name="hit_gate",
    values=("home_current", "home_latched", "none"),
    meaning="no hit without a checker home now, without one ever home, or free hits",
    read=_gate_name,
    write=_write_gate,
)
NO_PENALTY = unless(BIND_TABLES, "illegal", "off")
NO_GATE = unless(HIT_GATE, "none")
HIT_GATE_SIDE = words(
    "hit_gate_side",
    at("contact.gate.side"),
    {"hitter": "hitter", "victim": "victim"},
    "whose checker has to be home",
    pointless=NO_GATE,
)
CONTACT_OPTIONS: tuple[Option, ...] = (
    BIND_TABLES,
    words(
        "bind_toss",
        at("binding.toss"),
        {"one_die_each": "one_die_each", "two_dice_total": "two_dice_total"},
        "how the sides throw for who opens a point (equal chances)",
        pointless=NO_PENALTY,
    ),
    words(
        "bind_effect",
        at("binding.strip"),
        {"strip_to_one": True, "remove_one_checker": False},
        "all but one checker of the opened point go to the bar, or a single one",
        pointless=NO_PENALTY,
    ),
    HIT_GATE,
    HIT_GATE_SIDE,
    flag(
        "hit_gate_counts_off",
        at("contact.gate.counts_off"),
        "a checker borne off counts as one that is home",
        pointless=either(unless(HIT_GATE, "home_latched"), NO_GATE),
    ),
    flag(
        "hit_gate_midturn",
        at("contact.gate.midturn"),
        "a checker brought home by one number allows a hit with the next",
        # a victim's latch cannot change while the other side plays
        pointless=either(both(unless(HIT_GATE, "home_latched"), unless(HIT_GATE_SIDE, "victim")), NO_GATE),
    ),
    words(
        "hit_and_run",
        one_of("limits", HitterStays),
        {"allowed": None, "forbidden": HitterStays()},
        "whether a checker that hits in its own home may move on in the same turn",
    ),
)

# -- the end ----------------------------------------------------------------------------------------------------


def _race(rules: Ruleset) -> Race | PerChecker:
    race = rules.scoring.race if isinstance(rules.scoring, Mother) else rules.scoring
    assert isinstance(race, Race | PerChecker)
    return race


def _write_race(rules: Ruleset, race: Race | PerChecker) -> Ruleset:
    if isinstance(rules.scoring, Mother):
        return replace(rules, scoring=replace(rules.scoring, race=race))
    return replace(rules, scoring=replace(race, deadlock=rules.scoring.deadlock))


def _write_mother(rules: Ruleset, text: str) -> Ruleset:
    """Without the mother rule sides may lock for ever, so that such a position has to be a draw."""
    if text == "none":
        return replace(rules, scoring=replace(_race(rules), deadlock=True))
    mother = rules.scoring if isinstance(rules.scoring, Mother) else Mother(race=_race(rules))
    race = replace(_race(rules), deadlock=False)
    return replace(rules, scoring=replace(mother, race=race, immediate=text == "immediate"))


def _read_mother(rules: Ruleset) -> str:
    if not isinstance(rules.scoring, Mother):
        return "none"
    return "immediate" if rules.scoring.immediate else "deferred"


CUBELESS = "games are cubeless here, stakes are no part of a position"
CUBE = fixed("cube", "none", {"money": CUBELESS, "match": CUBELESS}, "the doubling cube; games are cubeless here")
CUBE_WORDS = {
    "beaver": "the taker of a double may double again at once",
    "raccoon": "a beaver may be answered by one more double",
    "auto_double_limit": "ties in the opening throw that double the stake",
    "jacoby": "gammons count once the cube was turned",
    "match_length": "points of a match",
    "crawford": "no cube in the game after a side comes one point short",
    "holland": "after that game, a cube only after two rolls of each side",
}


def _cube_option(name: str, meaning: str) -> Option:
    """An option of the doubling cube: games are cubeless, so it can do nothing."""
    counts = name in ("auto_double_limit", "match_length")
    return Option(
        name=name,
        values=() if counts else ("true", "false"),
        form=(r"[0-9]{1,6}", "a whole number") if counts else None,
        meaning=meaning,
        read=lambda rules: "-",
        pointless=unless(CUBE, "none"),
    )


MOTHER = Option(
    name="mother",
    values=("none", "immediate", "deferred"),
    meaning="the last checker on the start point, pinned, loses never, at once, or once the other side has moved out",
    read=_read_mother,
    write=_write_mother,
)
END_OPTIONS: tuple[Option, ...] = (
    words(
        "bearoff_die",
        Lens(
            lambda rules: type(rules.bearing),
            lambda rules, kind: replace(rules, bearing=kind(while_pinned=rules.bearing.while_pinned)),
        ),
        {"standard": StandardBearing, "free": FreeBearing, "exact": ExactBearing},
        "from which points a number bears off",
    ),
    words(
        "bearoff_while_pinned",
        at("bearing.while_pinned"),
        {"forbidden": False, "allowed": True},
        "whether a side bears off while a checker of its own is pinned",
    ),
    MOTHER,
    words(
        "mother_value",
        at("scoring.value"),
        {"2": 2, "3": 3},
        "points for a pinned mother",
        pointless=unless(MOTHER, "none"),
    ),
    words(
        "score",
        Lens(lambda rules: replace(_race(rules), deadlock=False), _write_race),
        {
            "1": Race(points=(1,)),
            "2": Race(points=(2,)),
            "1/2": Race(points=(1, 2)),
            "1/2/3": Race(points=(1, 2, 3)),
            "1/2/3_home": Race(points=(1, 2, 3), third="home"),
            "per_checker": PerChecker(),
        },
        "what a win pays: single, gammon, more; or a point for each checker of the loser",
    ),
    fixed(
        "draws",
        "none",
        {"last_roll": "a game ends with the step that bears off the last checker, nobody rolls after it"},
        "whether the other side gets a last roll to draw level",
    ),
    CUBE,
    *(_cube_option(name, meaning) for name, meaning in CUBE_WORDS.items()),
    Option(
        name="points",
        form=(r"[0-9]{1,6}", "a whole number"),
        meaning="points of the board, a multiple of four from 8 to 24; home, dice and primes follow",
        read=lambda rules: str(rules.points),
        general=True,
    ),
    Option(
        name="checkers",
        form=(r"[0-9]{1,6}", "a whole number"),
        meaning="checkers of a side, 1 to 15",
        read=lambda rules: str(rules.checkers),
        general=True,
    ),
    Option(
        name="setup",
        form=(r".*", "such as '24:2 13:5 8:3 6:5'"),
        meaning="the start of each side, in its own count",
        read=lambda rules: format_side(rules.start_row, rules),
        general=True,
    ),
    Option(
        name="ply_limit",
        form=(r"[0-9]{1,6}", "a whole number"),
        meaning="turns after which whoever plays the games cuts one, as truncated",
        read=lambda rules: str(rules.ply_limit),
        write=lambda rules, text: replace(rules, ply_limit=int(text)),
        general=True,
    ),
)

OPTIONS = TURN_OPTIONS + CONTACT_OPTIONS + MOVEMENT_OPTIONS + END_OPTIONS


def options_of(rules: Ruleset) -> list[Option]:
    """The house rules of a ruleset: those its sources leave open, then those of every game."""
    return available(rules, OPTIONS)


def apply(rules: Ruleset, edits: Mapping[str, object]) -> Ruleset:
    """The ruleset with house rules set; see `options.edited`.

    Raises:
        OptionError: an unknown option, a wrong value, one without effect, or a contradiction.
    """
    return edited(rules, edits, OPTIONS)
