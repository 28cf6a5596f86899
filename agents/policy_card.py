"""The card of an exported policy: what it was trained for, how, and how good it is; JSON text."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agents.base import told
from agents.encoding import ENCODING
from agents.policy_file import LARGEST, PolicyError
from engine.describe import sentences
from engine.ruleset import Ruleset
from engine.variants import find_ruleset

Card = dict[str, Any]

FORMAT = "tabula-rasa policy 1"
DEEPEST = 16  # hidden layers, and tables in tables
FIELDS: dict[str, type | tuple[type, ...]] = {  # of a card, in the order they are shown in
    "format": str,
    "variant": str,
    "rules": dict,
    "in_force": list,
    "encoding": int,
    "outcomes": list,
    "hidden": list,
    "weights": str,
    "config": dict,
    "counters": dict,
    "figures": (dict, list),
}


def card_text(path: Path, rules: Ruleset, hidden: list[int], weights: str, run: Card) -> str:
    """The card of a policy for `rules` as text.

    Args:
        path: of the policy, for messages.
        rules: of the games it was trained for.
        hidden: width of each hidden layer.
        weights: digest of the arrays.
        run: what is known of the run: `config`, `counters`, `figures`; plain values.

    Raises:
        PolicyError: something is not a plain value.
    """
    card = {
        "format": FORMAT,
        "variant": rules.name,
        "rules": dict(rules.house),
        "in_force": sentences(rules),
        "encoding": ENCODING,
        "outcomes": rules.payoffs.tolist(),
        "hidden": hidden,
        "weights": weights,
        **run,
    }
    try:
        text = json.dumps(card, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise PolicyError(f"{path}: config, counters and figures must be plain values ({error})") from None
    parse(path, text)
    return text


def parse(path: Path, text: str) -> Card:
    """A card as plain values: of this format and encoding, every field of its type.

    Raises:
        PolicyError: it is not; the message begins with `path`.
    """
    try:
        card = json.loads(text)
    except (ValueError, RecursionError):
        raise PolicyError(f"{path}: its card is not JSON") from None
    if not _is_shallow(card):
        raise PolicyError(f"{path}: damaged card: nested more than {DEEPEST} deep")
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        found = card.get("format") if isinstance(card, dict) else None
        raise PolicyError(f"{path}: format {found!r:.60}, this program reads {FORMAT!r}")
    if card.get("encoding") != ENCODING:
        raise PolicyError(f"{path}: encoding {card.get('encoding')!r:.60}, this program reads {ENCODING}")
    for name, kind in FIELDS.items():
        if not isinstance(card.get(name), kind):
            raise PolicyError(f"{path}: damaged card: {name!r} is missing or of a wrong type")
    hidden = card["hidden"]
    if not 0 < len(hidden) <= DEEPEST or not all(type(width) is int and 0 < width < LARGEST for width in hidden):
        raise PolicyError(f"{path}: damaged card: 'hidden' must be the widths of 1 to {DEEPEST} layers")
    return card


def rules_of(path: Path, card: Card) -> Ruleset:
    """The ruleset that a card names.

    Raises:
        PolicyError: this program does not have it, or not with the same outcomes.
    """
    try:
        rules = find_ruleset(card["variant"], card["rules"])
    except ValueError as error:  # InputError is one
        raise PolicyError(f"{path}: its rules are not known here: {error!s:.200}") from None
    if card["outcomes"] != rules.payoffs.tolist():
        raise PolicyError(
            f"{path}: its outcomes are {card['outcomes']!r:.60}, those of {told(rules)} are {rules.payoffs.tolist()}"
        )
    return rules


def lines_of(card: Card) -> Iterator[str]:
    """A card as lines for people."""
    for name, value in card.items():
        if name == "in_force":
            yield "rules in force"
            for rule in value:
                yield from textwrap.wrap(f"{rule}", 100, initial_indent="  - ", subsequent_indent="    ")
        elif isinstance(value, dict) or name == "figures":
            yield f"{name}{'' if value else ': none'}"
            yield from (f"  {key:24} {text}" for key, text in entries(value))
        else:
            yield f"{name}: {value if isinstance(value, str) else json.dumps(value)}"


def entries(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """The single values in nested tables, each with its dotted name."""
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        value = {str(number): entry for number, entry in enumerate(value, 1)}
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from entries(entry, f"{name}.{key}" if name else key)
    elif name:
        yield name, json.dumps(value)


def _is_shallow(value: object, depth: int = DEEPEST) -> bool:
    """Is a plain value nested so little that it can be printed?"""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_is_shallow(part, depth - 1) for part in inner)


def figures_of(files: list[Path], rules: Ruleset) -> dict[str, Any]:
    """What evaluations came to, by opponent: the pairs of JSON files that evaluate.py wrote, first agents' view.

    Raises:
        PolicyError: a file is none of evaluate.py's, or of another variant.
    """
    figures: dict[str, Any] = {}
    for file in files:
        try:
            record = json.loads(file.read_text("utf-8"))
            told_of = {"seed": record["seed"], "command": record["command"]}
            pairs, variant = {pair["b"]: dict(pair) for pair in record["pairs"]}, record["variant"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise PolicyError(f"{file}: no figures of evaluate.py --json ({type(error).__name__}: {error})") from None
        if variant != rules.name:
            raise PolicyError(f"{file}: figures of {variant}, the policy is for {rules.name}")
        for opponent, pair in pairs.items():
            figures[opponent] = {name: value for name, value in pair.items() if name not in ("a", "b")} | told_of
    return figures
