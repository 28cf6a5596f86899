"""House rules: text in, an edited ruleset or the reason for a refusal out.

An option has one name everywhere (`rules.NAME=VALUE`), reads its default from the ruleset itself,
and knows which other option makes it pointless.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from engine.binding import BindTheTables
from engine.contact import Hit, HomeGate
from engine.formations import ClosedBoard
from engine.limits import FirstRollEnters
from engine.notation import PositionError, format_side, parse_side
from engine.ruleset import InputError, RulesError, Ruleset
from engine.slots import OFF
from engine.turn import PlainTurn


class OptionError(InputError):
    """A house rule is unknown, of a wrong value, without effect or contradictory; the message names it."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """One house rule. `pointless` says why it could do nothing in a ruleset, naming the other option."""

    name: str
    values: tuple[str, ...] | None  # None: a whole number
    meaning: str
    read: Callable[[Ruleset], str]
    write: Callable[[Ruleset, str], Ruleset]
    pointless: Callable[[Ruleset], str | None] = lambda rules: None
    general: bool = False  # a house rule of every game

    def accepts(self, text: str) -> bool:
        """Is this a value of the option?"""
        return text.isdigit() if self.values is None else text in self.values

    @property
    def hint(self) -> str:
        """What a value looks like."""
        return "a whole number" if self.values is None else ", ".join(self.values)


# -- reading and writing the parts ------------------------------------------------------------------


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _gate(rules: Ruleset) -> HomeGate | None:
    return rules.contact.gate if isinstance(rules.contact, Hit) else None


def _with_gate(rules: Ruleset, gate: HomeGate | None) -> Ruleset:
    return replace(rules, contact=Hit(gate=gate))


def _edit_gate(rules: Ruleset, **changes: object) -> Ruleset:
    gate = _gate(rules)
    assert gate is not None  # `pointless` has refused
    return _with_gate(rules, replace(gate, **changes))  # type: ignore[arg-type]


def _gate_name(rules: Ruleset) -> str:
    gate = _gate(rules)
    return "none" if gate is None else "home_latched" if gate.latched else "home_current"


def _write_gate(rules: Ruleset, text: str) -> Ruleset:
    return _with_gate(rules, None if text == "none" else HomeGate(latched=text == "home_latched"))


def _without_gate(rules: Ruleset) -> str | None:
    return "hit_gate=none" if _gate(rules) is None else None


def _counts_off_is_pointless(rules: Ruleset) -> str | None:
    gate = _gate(rules)
    return "hit_gate=home_latched" if gate is not None and gate.latched else _without_gate(rules)


def _midturn_is_pointless(rules: Ruleset) -> str | None:
    gate = _gate(rules)  # a victim's latch cannot change while the other side plays
    if gate is not None and gate.latched and gate.side == "victim":
        return "hit_gate=home_latched and hit_gate_side=victim"
    return _without_gate(rules)


def _binding_name(rules: Ruleset) -> str:
    if rules.binding is not None:
        return "penalty"
    return "illegal" if ClosedBoard() in rules.formations else "off"


def _write_binding(rules: Ruleset, text: str) -> Ruleset:
    formations = tuple(f for f in rules.formations if f != ClosedBoard())
    if text == "illegal":
        formations = (*formations, ClosedBoard())
    binding = (rules.binding or BindTheTables()) if text == "penalty" else None
    return replace(rules, formations=formations, binding=binding)


def _bind(rules: Ruleset) -> BindTheTables:
    return rules.binding if isinstance(rules.binding, BindTheTables) else BindTheTables()


def _without_penalty(rules: Ruleset) -> str | None:
    return None if rules.binding is not None else f"bind_tables={_binding_name(rules)}"


def _doubles_name(rules: Ruleset) -> str:
    assert isinstance(rules.turn, PlainTurn)
    return "x4" if rules.turn.times == 4 else "each_once"


def _write_first_roll(rules: Ruleset, text: str) -> Ruleset:
    limits = tuple(limit for limit in rules.limits if limit != FirstRollEnters())
    return replace(rules, limits=(*limits, FirstRollEnters()) if text == "enter_only" else limits)


def _setup_text(rules: Ruleset) -> str:
    return format_side(rules.start_row, rules)


def _write_setup(rules: Ruleset, text: str) -> Ruleset:
    try:
        row = parse_side(text, rules)
    except PositionError as error:
        raise OptionError(f"rules.setup: {error}") from error
    if row[rules.bar] or row[OFF] or (row < 0).any():
        raise OptionError(f"rules.setup: {text!r}: only points and the hand hold checkers as a game starts")
    if row.sum() != rules.checkers:
        raise OptionError(f"rules.setup: {text!r} has {row.sum()} checkers, rules.checkers={rules.checkers}")
    return replace(rules, setup=tuple((int(slot), int(row[slot])) for slot in np.flatnonzero(row)))


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
    return Option(
        name=name,
        values=None if name in ("auto_double_limit", "match_length") else ("true", "false"),
        meaning=meaning,
        read=lambda rules: "-",
        write=lambda rules, text: rules,
        pointless=lambda rules: "cube=none",
    )


OPTIONS: tuple[Option, ...] = (
    Option(
        name="doubles",
        values=("each_once", "x4"),
        meaning="a double is two numbers, or its number four times",
        read=_doubles_name,
        write=lambda rules, text: replace(rules, turn=PlainTurn(times=4 if text == "x4" else 2)),
    ),
    Option(
        name="must_play",
        values=("max_numbers", "none"),
        meaning="as many numbers as possible, or stop after any step (entering from the bar stays a duty)",
        read=lambda rules: rules.must_play,
        write=lambda rules, text: replace(rules, must_play="none" if text == "none" else "max_numbers"),
    ),
    Option(
        name="higher_die",
        values=("true", "false"),
        meaning="the larger number if either but not both can be played",
        read=lambda rules: _flag(rules.higher_die),
        write=lambda rules, text: replace(rules, higher_die=text == "true"),
        pointless=lambda rules: "must_play=none" if rules.must_play == "none" else None,
    ),
    Option(
        name="bind_tables",
        values=("penalty", "illegal", "off"),
        meaning="a closed board against the bar is opened, may not be made, or is no matter",
        read=_binding_name,
        write=_write_binding,
    ),
    Option(
        name="bind_toss",
        values=("one_die_each", "two_dice_total"),
        meaning="how the sides throw for who opens a point (equal chances)",
        read=lambda rules: _bind(rules).toss,
        write=lambda rules, text: replace(
            rules,
            binding=replace(_bind(rules), toss="two_dice_total" if text == "two_dice_total" else "one_die_each"),
        ),
        pointless=_without_penalty,
    ),
    Option(
        name="bind_effect",
        values=("strip_to_one", "remove_one_checker"),
        meaning="all but one checker of the opened point go to the bar, or a single one",
        read=lambda rules: "strip_to_one" if _bind(rules).strip else "remove_one_checker",
        write=lambda rules, text: replace(rules, binding=replace(_bind(rules), strip=text == "strip_to_one")),
        pointless=_without_penalty,
    ),
    Option(
        name="hit_gate",
        values=("home_current", "home_latched", "none"),
        meaning="no hit without a checker home now, without one ever home, or free hits",
        read=_gate_name,
        write=_write_gate,
    ),
    Option(
        name="hit_gate_side",
        values=("hitter", "victim"),
        meaning="whose checker has to be home",
        read=lambda rules: (_gate(rules) or HomeGate()).side,
        write=lambda rules, text: _edit_gate(rules, side=text),
        pointless=_without_gate,
    ),
    Option(
        name="hit_gate_counts_off",
        values=("true", "false"),
        meaning="a checker borne off counts as one that is home",
        read=lambda rules: _flag((_gate(rules) or HomeGate()).counts_off),
        write=lambda rules, text: _edit_gate(rules, counts_off=text == "true"),
        pointless=_counts_off_is_pointless,
    ),
    Option(
        name="hit_gate_midturn",
        values=("true", "false"),
        meaning="a checker brought home by one number allows a hit with the next",
        read=lambda rules: _flag((_gate(rules) or HomeGate()).midturn),
        write=lambda rules, text: _edit_gate(rules, midturn=text == "true"),
        pointless=_midturn_is_pointless,
    ),
    Option(
        name="entry_first_roll",
        values=("free", "enter_only"),
        meaning="a roll that begins with all checkers in the hand may run on, or only enters",
        read=lambda rules: "enter_only" if FirstRollEnters() in rules.limits else "free",
        write=_write_first_roll,
    ),
    Option(
        name="cube",
        values=("none",),
        meaning="the doubling cube; games are cubeless here",
        read=lambda rules: "none",
        write=lambda rules, text: rules,
    ),
    *(_cube_option(name, meaning) for name, meaning in CUBE_WORDS.items()),
    Option(
        name="points",
        values=None,
        meaning="points of the board, a multiple of four from 8 to 24; home, dice and primes follow",
        read=lambda rules: str(rules.points),
        write=lambda rules, text: rules,  # the size is written at once, by `_resized`
        general=True,
    ),
    Option(
        name="checkers",
        values=None,
        meaning="checkers of a side, 1 to 15",
        read=lambda rules: str(rules.checkers),
        write=lambda rules, text: rules,
        general=True,
    ),
    Option(
        name="setup",
        values=(),
        meaning="the start of each side, in its own count",
        read=_setup_text,
        write=lambda rules, text: rules,
        general=True,
    ),
    Option(
        name="ply_limit",
        values=None,
        meaning="turns after which whoever plays the games cuts one, as truncated",
        read=lambda rules: str(rules.ply_limit),
        write=lambda rules, text: replace(rules, ply_limit=int(text)),
        general=True,
    ),
)
BY_NAME = {option.name: option for option in OPTIONS}
SIZE = ("points", "checkers", "setup")


def options_of(rules: Ruleset) -> list[Option]:
    """The house rules of a ruleset: those its sources leave open, then those of every game."""
    return [option for option in OPTIONS if option.general or option.name in rules.house_rules]


def apply(rules: Ruleset, edits: Mapping[str, object]) -> Ruleset:
    """The ruleset with house rules set, in the order of the options, whatever their order in `edits`.

    Args:
        rules: a variant.
        edits: option name -> value, as text or as TOML gives it (true, 15).

    Raises:
        OptionError: an unknown option, a wrong value, one without effect, or a contradiction.
    """
    texts = {name: _text_of(value) for name, value in edits.items()}
    known = {option.name: option for option in options_of(rules)}
    for name, text in texts.items():
        _check(name, text, rules, known)
    edited = _resized(rules, texts)
    for option in known.values():
        if option.name in texts:
            reason = option.pointless(edited)
            if reason is not None:
                raise OptionError(f"rules.{option.name}: without effect under {reason}")
            try:
                edited = option.write(edited, texts[option.name])
            except RulesError as error:
                raise OptionError(f"rules.{error}") from error
    return replace(edited, house=tuple(sorted(texts.items())))


def _text_of(value: object) -> str:
    return _flag(value) if isinstance(value, bool) else str(value)


def _check(name: str, text: str, rules: Ruleset, known: Mapping[str, Option]) -> None:
    """Refuse an option that is not one of this game's, or a value that is not one of the option's."""
    if name not in known:
        if name in BY_NAME:
            raise OptionError(f"rules.{name}: no house rule of {rules.name}; it has {', '.join(known)}")
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
        raise OptionError(f"rules.{name}: unknown option; did you mean rules.{near[0]}?")
    option = known[name]
    if option.values != () and not option.accepts(text):
        raise OptionError(f"rules.{name}={text}: must be {option.hint}")


def _resized(rules: Ruleset, texts: Mapping[str, str]) -> Ruleset:
    """The ruleset on a board of another size, or with other checkers, or another start."""
    if not any(name in texts for name in SIZE):
        return rules
    points, checkers = int(texts.get("points", rules.points)), int(texts.get("checkers", rules.checkers))
    try:
        blank = replace(rules, points=points, checkers=checkers, setup="hand")  # a size that can be at all
        if "setup" in texts:
            return _write_setup(blank, texts["setup"])
        if not isinstance(rules.setup, tuple):
            return replace(blank, setup=rules.setup)
        if (points, checkers) == (rules.points, rules.checkers):
            return rules
        if checkers > points // 4:
            raise OptionError(
                f"rules.checkers={checkers} with rules.points={points}: {rules.name} has no start for this size; "
                f"give rules.setup, such as rules.setup='{points}:{checkers}'"
            )
        return replace(blank, setup=tuple((points - index, 1) for index in range(checkers)))
    except RulesError as error:
        raise OptionError(f"rules.{error}") from error
