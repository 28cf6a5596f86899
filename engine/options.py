"""House rules, the mechanism: text in, an edited ruleset or the reason for a refusal out.

An option looks at a ruleset through a lens: its value is read from the parts themselves and stored
nowhere else. The table of options is in `house_rules`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engine.notation import PositionError, parse_side
from engine.ruleset import InputError, RulesError, Ruleset
from engine.slots import OFF

SIZE = ("points", "checkers", "setup")  # written at once, before all others
Why = Callable[[Ruleset], str | None]  # why an option could do nothing, naming the other option; None where it can


class OptionError(InputError):
    """A house rule is unknown, of a wrong value, without effect or contradictory; the message names it."""


def never(rules: Ruleset) -> str | None:
    """The option always has an effect."""
    return None


def unchanged(rules: Ruleset, text: str) -> Ruleset:
    """The ruleset as it is: there is one value only, or it has been written already."""
    return rules


@dataclass(frozen=True, kw_only=True)
class Option:
    """One house rule. `pointless` says why it could do nothing in a ruleset, naming the other option."""

    name: str
    meaning: str
    read: Callable[[Ruleset], str]
    write: Callable[[Ruleset, str], Ruleset] = unchanged
    pointless: Why = never
    values: tuple[str, ...] = ()  # the words it may be; joined words may come in any order
    form: tuple[str, str] | None = None  # what else it may be: a pattern, and that in words
    refused: Mapping[str, str] = field(default_factory=dict)  # words that are known but cannot be had, and why
    general: bool = False  # a house rule of every game

    def word(self, text: str) -> str | None:
        """The value that a text stands for; None if it is none of this option."""
        for value in (*self.values, *self.refused):
            if sorted(value.split(",")) == sorted(text.split(",")):
                return value
        return text if self.form is not None and re.fullmatch(self.form[0], text) else None

    @property
    def hint(self) -> str:
        """What a value looks like."""
        words = [value for value in self.values if value not in self.refused]
        return ", ".join([*words, *([self.form[1]] if self.form else [])])


def unless(option: Option, *values: str) -> Why:
    """Without effect where another option has one of these values."""

    def why(rules: Ruleset) -> str | None:
        value = option.read(rules)
        return f"{option.name}={value}" if value in values else None

    return why


def both(*reasons: Why) -> Why:
    """Without effect where all of these reasons hold."""

    def why(rules: Ruleset) -> str | None:
        found = [reason for each in reasons if (reason := each(rules)) is not None]
        return " and ".join(found) if len(found) == len(reasons) else None

    return why


def either(*reasons: Why) -> Why:
    """Without effect where one of these reasons holds."""
    return lambda rules: next((reason for each in reasons if (reason := each(rules)) is not None), None)


# -- lenses: where in a ruleset a value stands -----------------------------------------------------------


@dataclass(frozen=True)
class Lens:
    """How to read something of a ruleset, and how to write it."""

    get: Callable[[Ruleset], Any]
    put: Callable[[Ruleset, Any], Ruleset]


def at(path: str) -> Lens:
    """A field, or a field of a part, or of a part's part such as `turn.early.shared`; None where there is none."""
    *parents, last = path.split(".")

    def chain(rules: Ruleset) -> list[Any]:
        found: list[Any] = [rules]
        for name in parents:
            found.append(getattr(found[-1], name, None))
        return found

    def put(rules: Ruleset, value: Any) -> Ruleset:
        for part, name in zip(reversed(chain(rules)), [last, *reversed(parents)], strict=True):
            value = replace(part, **{name: value})
        edited: Ruleset = value
        return edited

    return Lens(lambda rules: getattr(chain(rules)[-1], last, None), put)


def one_of(slot: str, *kinds: type, like: Callable[[Any], bool] = bool) -> Lens:
    """The part of one of these kinds among the `limits` or `formations`, or None."""

    def get(rules: Ruleset) -> Any:
        return next((part for part in getattr(rules, slot) if isinstance(part, kinds) and like(part)), None)

    def put(rules: Ruleset, value: Any) -> Ruleset:
        kept = tuple(part for part in getattr(rules, slot) if part != get(rules))
        edits: dict[str, Any] = {slot: kept if value is None else (*kept, value)}
        return replace(rules, **edits)

    return Lens(get, put)


def inside(part: Lens, name: str) -> Lens:
    """A field of the part that another lens finds; None where there is no such part."""
    return Lens(
        lambda rules: getattr(part.get(rules), name, None),
        lambda rules, value: part.put(rules, replace(part.get(rules), **{name: value})),
    )


def whether(lens: Lens, part: Any) -> Lens:
    """Whether a part is there, the given one if it has to be made."""

    def put(rules: Ruleset, value: bool) -> Ruleset:
        return lens.put(rules, (lens.get(rules) or part) if value else None)

    return Lens(lambda rules: lens.get(rules) is not None, put)


def made(lens: Lens, kind: type, name: str) -> Lens:
    """A number that is a field of a part of this kind; None where the part is missing, made where it has to be."""

    def put(rules: Ruleset, value: int | None) -> Ruleset:
        part = lens.get(rules) or kind()
        return lens.put(rules, None if value is None else replace(part, **{name: value}))

    return Lens(lambda rules: getattr(lens.get(rules), name, None), put)


# -- kinds of options ---------------------------------------------------------------------------------------


def words(name: str, lens: Lens, values: Mapping[str, Any], meaning: str, **more: Any) -> Option:
    """An option whose words each stand for a value behind the lens."""
    return Option(
        name=name,
        meaning=meaning,
        values=tuple(values),
        read=lambda rules: next((text for text, value in values.items() if value == lens.get(rules)), "-"),
        write=lambda rules, text: lens.put(rules, values[text]),
        **more,
    )


def flag(name: str, lens: Lens, meaning: str, **more: Any) -> Option:
    """An option that is true or false."""
    return words(name, lens, {"true": True, "false": False}, meaning, **more)


def number(name: str, lens: Lens, meaning: str, most: Callable[[Ruleset], int], *, zero: str, **more: Any) -> Option:
    """An option that is a whole number up to `most`, or `zero`, which stands for None behind the lens."""

    def write(rules: Ruleset, text: str) -> Ruleset:
        if text == zero:
            return lens.put(rules, None)
        if not 1 <= int(text) <= most(rules):
            raise OptionError(f"rules.{name}={text}: must be {zero}, or from 1 to {most(rules)}")
        return lens.put(rules, int(text))

    return Option(
        name=name,
        meaning=meaning,
        values=() if zero.isdigit() else (zero,),
        form=(r"\d+", "a whole number"),
        read=lambda rules: zero if lens.get(rules) is None else str(lens.get(rules)),
        write=write,
        **more,
    )


def fixed(name: str, value: str, refused: Mapping[str, str], meaning: str, **more: Any) -> Option:
    """An option of which the engine holds one value only."""
    return Option(name=name, meaning=meaning, values=(value,), read=lambda rules: value, refused=refused, **more)


# -- setting them ---------------------------------------------------------------------------------------------


def available(rules: Ruleset, table: tuple[Option, ...]) -> list[Option]:
    """The house rules of a ruleset: those its sources leave open, then those of every game.

    `Ruleset.house_rules` names them; `name=one|other` leaves a choice of fewer values.
    """
    narrowed = dict(entry.partition("=")[::2] for entry in rules.house_rules)
    found = []
    for option in table:
        if choice := narrowed.get(option.name):
            option = replace(option, values=tuple(choice.split("|")))
        if option.general or option.name in narrowed:
            found.append(option)
    return found


def edited(rules: Ruleset, edits: Mapping[str, object], table: tuple[Option, ...]) -> Ruleset:
    """The ruleset with house rules set, in the order of the table, whatever their order in `edits`.

    Args:
        rules: a variant.
        edits: option name -> value, as text or as TOML gives it (true, 15).
        table: all options there are.

    Raises:
        OptionError: an unknown option, a wrong value, one without effect, or a contradiction.
    """
    known = {option.name: option for option in available(rules, table)}
    texts = {name: _checked(name, _text_of(value), rules, known, table) for name, value in edits.items()}
    result = _resized(rules, texts)
    for option in known.values():
        if option.name in texts:
            reason = option.pointless(result)
            if reason is not None:
                raise OptionError(f"rules.{option.name}: without effect under {reason}")
            try:
                result = option.write(result, texts[option.name])
            except RulesError as error:
                raise OptionError(f"rules.{error}") from error
    return replace(result, house=tuple(sorted(texts.items())))


def _text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _checked(name: str, text: str, rules: Ruleset, known: Mapping[str, Option], table: tuple[Option, ...]) -> str:
    """The value that a text stands for, if the option is one of this game's and the value one of the option's."""
    if name not in known:
        if any(option.name == name for option in table):
            raise OptionError(f"rules.{name}: no house rule of {rules.name}; it has {', '.join(known)}")
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
        raise OptionError(f"rules.{name}: unknown option; did you mean rules.{near[0]}?")
    option = known[name]
    value = option.word(text)
    if value is None:
        raise OptionError(f"rules.{name}={text}: must be {option.hint}")
    if value in option.refused:
        raise OptionError(f"rules.{name}={text}: not possible here, {option.refused[value]}")
    return value


def _resized(rules: Ruleset, texts: Mapping[str, str]) -> Ruleset:
    """The ruleset on a board of another size, or with other checkers, or another start."""
    if not any(name in texts for name in SIZE):
        return rules
    points, checkers = int(texts.get("points", rules.points)), int(texts.get("checkers", rules.checkers))
    try:
        blank = replace(rules, points=points, checkers=checkers, setup="hand")  # a size that can be at all
        if "setup" in texts:
            return _with_setup(blank, texts["setup"])
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


def _with_setup(rules: Ruleset, text: str) -> Ruleset:
    try:
        row = parse_side(text, rules)
    except PositionError as error:
        raise OptionError(f"rules.setup: {error}") from error
    if row[rules.bar] or row[OFF] or (row < 0).any():
        raise OptionError(f"rules.setup: {text!r}: only points and the hand hold checkers as a game starts")
    if row.sum() != rules.checkers:
        raise OptionError(f"rules.setup: {text!r} has {row.sum()} checkers, rules.checkers={rules.checkers}")
    return replace(rules, setup=tuple((int(slot), int(row[slot])) for slot in np.flatnonzero(row)))
