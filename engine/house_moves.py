"""House rules, the table's part on entering, moving, and positions that may not be left standing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.formations import HeadBlocked, StartQuarterFull, ThirdQuarterLimit, Unblock, Wall
from engine.limits import (
    EntryTrigger,
    FirstRollEnters,
    HandFirst,
    HeadLimit,
    HomeFrozen,
    LastPointLock,
    NoCrossing,
    RunnerFirst,
    StackLimit,
)
from engine.options import Lens, Option, OptionError, at, fixed, inside, made, number, one_of, unless, words
from engine.ruleset import Ruleset

# -- entering and moving ------------------------------------------------------------------------------------


def _trigger(stock: str) -> tuple[Lens, dict[str, EntryTrigger | None]]:
    """Where the trigger for a stock stands, and what it may be."""
    lens = one_of("limits", EntryTrigger, like=lambda part: bool(part.stock == stock))
    whence: Any = stock
    return lens, {
        "none": None,
        "double_or_12": EntryTrigger(needs="double_or_12", stock=whence),
        "six": EntryTrigger(needs="six", stock=whence),
    }


RUNNER = one_of("limits", RunnerFirst)
GATE = Lens(
    lambda rules: None if RUNNER.get(rules) is None else RUNNER.get(rules).gate(rules),
    lambda rules, point: RUNNER.put(rules, None if point is None else RunnerFirst(ahead=rules.points // 2 - point)),
)
HEAD = one_of("limits", HeadLimit)


def _write_head_limit(rules: Ruleset, most: int | None) -> Ruleset:
    limit = replace(HEAD.get(rules) or HeadLimit(), per_turn=most or 1, across_tiers=rules.turn.is_long)
    return HEAD.put(rules, None if most is None else limit)


def _read_opening(rules: Ruleset) -> str:
    limit = HEAD.get(rules)
    if limit is None or not limit.opening:
        return "none"
    if limit.opening == "any_double":
        return "any_double"
    return ",".join(f"{n}{n}" for n in limit.doubles(rules))


def _write_opening(rules: Ruleset, text: str) -> Ruleset:
    limit = HEAD.get(rules)
    opening: Any = {"none": (), "any_double": "any_double"}.get(text)
    if opening is None:
        opening = tuple(sorted({int(double[0]) for double in text.split(",")}, reverse=True))
        if opening[0] > rules.faces or not opening[-1]:
            raise OptionError(f"rules.head_first_turn={text}: the dice have the faces 1 to {rules.faces}")
        if opening == HeadLimit(opening="onto_head").doubles(rules):
            opening = "onto_head"
    return HEAD.put(rules, replace(limit, opening=opening))


def _head_is_free(rules: Ruleset) -> str | None:
    limit = HEAD.get(rules)
    if limit is None:
        return "head_limit=none"
    return f"head_limit={limit.per_turn}" if limit.per_turn > 1 else None


HARD_OPTIONS = {"wall", "own_start_full", "opp_start_limit", "front_six", "unblock"}


def _nothing_hard(rules: Ruleset) -> str | None:
    if any(formation.hard for formation in rules.formations):
        return None
    names = {entry.partition("=")[0] for entry in rules.house_rules}
    bans = [option for option in MOVEMENT_OPTIONS if option.name in names & HARD_OPTIONS]
    return " and ".join(f"{option.name}={option.read(rules)}" for option in bans)


UNBLOCK = one_of("formations", Unblock)


def _write_unblock(rules: Ruleset, text: str) -> Ruleset:
    duty = replace(UNBLOCK.get(rules) or Unblock(), hard=text == "hard")
    return UNBLOCK.put(rules, None if text == "off" else duty)


UNBLOCK_OPTION = Option(
    name="unblock",
    values=("off", "soft", "hard"),
    meaning="a blockade that stood as the turn began stays, is opened where possible, or must be",
    read=lambda rules: {None: "off", False: "soft", True: "hard"}[inside(UNBLOCK, "hard").get(rules)],
    write=_write_unblock,
)
MOVEMENT_OPTIONS: tuple[Option, ...] = (
    words(
        "hand_policy",
        one_of("limits", HandFirst, NoCrossing),
        {"optional": None, "before_any_move": HandFirst(), "no_crossing": NoCrossing()},
        "enter when one likes, before any other step, or before any step into the second half of the way",
    ),
    words(
        "entry_first_roll",
        one_of("limits", FirstRollEnters),
        {"free": None, "enter_only": FirstRollEnters()},
        "a roll that begins with all checkers in the hand may run on, or only enters",
    ),
    words("entry_needs", at("contact.entry"), {"open": "open", "empty": "empty"}, "on which points one enters"),
    words("entry_trigger", *_trigger("hand"), "which roll brings the first checker in from the hand"),
    words("bar_trigger", *_trigger("bar"), "which roll brings a checker in from the bar"),
    number(
        "runner_gate",
        GATE,
        "the own point that the first checker must have reached before others move",
        lambda rules: rules.points - 1,
        zero="none",
    ),
    number(
        "head_limit",
        Lens(inside(HEAD, "per_turn").get, _write_head_limit),
        "checkers that may leave the head in a turn",
        lambda rules: rules.checkers,
        zero="none",
    ),
    Option(
        name="head_first_turn",
        values=("none", "any_double"),
        form=(r"([0-9])\1(,([0-9])\3)*", "doubles such as 66,44"),
        refused={
            "any_roll_if_blocked": "whether one checker alone could play the roll out is not known at its first step"
        },
        meaning="with which doubles two may leave the head on a side's first turn",
        read=_read_opening,
        write=_write_opening,
        pointless=_head_is_free,
    ),
    words(
        "wall",
        one_of("formations", Wall, Unblock),
        {
            "none": None,
            "needs_opp_ahead": Wall(room="ahead"),
            "not_all_15_trapped": Wall(room="moves"),
            "must_release": Unblock(trigger="no_move", hard=False),
        },
        "a wall as long as home needs an opposing checker ahead, or one that can move, or must be opened next turn",
    ),
    words(
        "own_start_full",
        one_of("formations", StartQuarterFull),
        {"allowed": None, "forbidden": StartQuarterFull(), "both_quarters": StartQuarterFull(both=True)},
        "whether one may hold all of one's own start quarter, or of the opponent's",
    ),
    number(
        "opp_start_limit",
        made(one_of("formations", ThirdQuarterLimit), ThirdQuarterLimit, "most"),
        "points of the opponent's start quarter that one may hold",
        lambda rules: rules.points,
        zero="none",
    ),
    words(
        "front_six",
        one_of("formations", HeadBlocked),
        {"allowed": None, "forbidden": HeadBlocked()},
        "whether one may hold all points before the opponent's head while he stands there",
    ),
    UNBLOCK_OPTION,
    words(
        "unblock_trigger",
        inside(UNBLOCK, "trigger"),
        {"single_stack": "single_stack", "no_move_any_roll": "no_move"},
        "what a blockade is: all opposing checkers right behind the row, or none of them able to move",
        pointless=unless(UNBLOCK_OPTION, "off"),
    ),
    words(
        "formation_scope",
        at("formation_scope"),
        {"end_of_turn": "end_of_turn", "each_step": "each_step"},
        "forbidden positions are judged where a play ends, or after each step",
        pointless=_nothing_hard,
    ),
    number(
        "stack_limit",
        made(one_of("limits", StackLimit), StackLimit, "most"),
        "own checkers on a point of the first half of the way, the start point excepted",
        lambda rules: rules.checkers,
        zero="none",
    ),
    number(
        "last_point_lock",
        made(one_of("limits", LastPointLock), LastPointLock, "left"),
        "checkers that must have left the start before own 1 opens, at most half of them",
        lambda rules: max(rules.checkers // 2, 1),
        zero="none",
    ),
    words(
        "home_frozen",
        one_of("limits", HomeFrozen),
        {"true": HomeFrozen(), "false": None},
        "no steps inside the home board",
    ),
    fixed(
        "sixfive_jump",
        "false",
        {"true": "a play is a list of steps by one number each, and a checker lifted out of the head makes none"},
        "6-5 carries a checker from the head into the third quarter",
    ),
)
