"""Rulesets to judge a generator by: house rules, small boards, and mixtures that no game has."""

from __future__ import annotations

from dataclasses import replace

import engine
from engine import Ruleset
from engine.bearing import ExactBearing, FreeBearing
from engine.binding import BindTheTables
from engine.contact import Hit, HomeGate, Pin
from engine.formations import ClosedBoard, HeadBlocked, StartQuarterFull, ThirdQuarterLimit, Unblock, Wall
from engine.limits import (
    EntryTrigger,
    FirstRollEnters,
    HeadLimit,
    HitterStays,
    HomeFrozen,
    LastPointLock,
    NoCrossing,
    RunnerFirst,
    StackLimit,
)
from engine.scoring import Mother, PerChecker, Race
from engine.turn import Entering, Grace, LeftOvers, LongTurn

Edits = dict[str, object]

SMALL: Edits = {"points": 8, "checkers": 4}
TWELVE: Edits = {"points": 12, "checkers": 5}
IRISH_SMALL: Edits = {**SMALL, "setup": "8:2 3:2"}
IRISH_TWELVE: Edits = {"points": 12, "setup": "12:2 7:5 4:3 3:5"}
OVER: Edits = {"incomplete": "remainder_to_opponent"}
SKIP: Edits = {**OVER, "leftover_stop": "skip_unplayable"}

HOUSE_RULES: list[tuple[str, Edits]] = [
    ("irish", {"doubles": "x4"}),
    ("irish", {"bind_toss": "two_dice_total"}),
    ("irish", {"bind_effect": "remove_one_checker"}),
    ("irish", {"bind_tables": "off"}),
    ("irish", {"bind_tables": "illegal"}),
    ("irish", {"bind_tables": "illegal", "doubles": "x4"}),
    ("irish", {"bind_tables": "illegal", "higher_die": False}),
    ("irish", {"bind_tables": "illegal", "must_play": "none"}),
    ("irish", {"bind_tables": "illegal", "must_play": "none", "doubles": "x4"}),
    ("irish", {"higher_die": False}),
    ("irish", {"must_play": "none"}),
    ("irish", {"must_play": "none", "doubles": "x4"}),
    ("irish", IRISH_SMALL),
    ("irish", {**IRISH_SMALL, "bind_tables": "illegal"}),
    ("irish", {**IRISH_SMALL, "bind_tables": "illegal", "must_play": "none", "doubles": "x4"}),
    ("irish", {**IRISH_SMALL, "bind_effect": "remove_one_checker", "must_play": "none"}),
    ("irish", IRISH_TWELVE),
    ("irish", {**IRISH_TWELVE, "bind_tables": "illegal", "doubles": "x4"}),
    ("irish", {"points": 12, "checkers": 6, "setup": "12:2 8:2 3:2", "higher_die": False}),
    ("irish_play65", {"doubles": "each_once", "bind_tables": "illegal"}),
    ("irish_play65", {"must_play": "none"}),
    ("irish_play65", {"higher_die": False, "bind_effect": "remove_one_checker"}),
    ("irish_play65", {"bind_tables": "off"}),
    ("irish_play65", {"bind_toss": "two_dice_total"}),
    ("dutch", {"hit_gate": "none"}),
    ("dutch", {"hit_gate": "home_latched"}),
    ("dutch", {"hit_gate": "home_latched", "hit_gate_midturn": False}),
    ("dutch", {"hit_gate": "home_latched", "hit_gate_side": "victim"}),
    ("dutch", {"hit_gate_side": "victim"}),
    ("dutch", {"hit_gate_side": "victim", "hit_gate_midturn": False}),
    ("dutch", {"hit_gate_side": "victim", "hit_gate_counts_off": False}),
    ("dutch", {"hit_gate_side": "victim", "hit_gate_counts_off": False, "hit_gate_midturn": False}),
    ("dutch", {"hit_gate_midturn": False}),
    ("dutch", {"hit_gate_counts_off": False}),
    ("dutch", {"hit_gate_counts_off": False, "hit_gate_midturn": False}),
    ("dutch", {"entry_first_roll": "enter_only"}),
    ("dutch", {"entry_first_roll": "enter_only", "hit_gate": "home_latched"}),
    ("dutch", {"entry_first_roll": "enter_only", "hit_gate_midturn": False}),
    ("dutch", {"points": 8, "checkers": 3}),
    ("dutch", {"points": 8, "checkers": 3, "entry_first_roll": "enter_only", "hit_gate": "home_latched"}),
    ("dutch", {"points": 12, "checkers": 5, "hit_gate_midturn": False}),
    ("dutch", {"points": 16, "checkers": 8, "hit_gate_side": "victim"}),
    ("backgammon", {"checkers": 1}),
    ("backgammon", {"checkers": 2}),
    ("backgammon", {"points": 8, "checkers": 2}),
    ("backgammon", {"points": 16, "checkers": 8, "setup": "16:2 9:3 5:1 4:2"}),
    ("hypergammon", {"points": 20, "checkers": 5}),
    ("nackgammon", {"points": 12, "checkers": 3}),
    ("portes", {"hit_and_run": "forbidden"}),
    ("portes", {**IRISH_SMALL, "hit_and_run": "forbidden"}),
    ("acey_deucey", {"bonus_roll": "after_named,after_double"}),
    ("acey_deucey", {"bonus_roll": "after_named,after_double", **OVER}),
    ("acey_deucey", {"bearoff_die": "exact", "home_frozen": True}),
    ("acey_deucey", {"hand_policy": "no_crossing"}),
    ("acey_deucey", {"hand_policy": "before_any_move", "entry_trigger": "six"}),
    ("acey_deucey", {"entry_trigger": "double_or_12"}),
    ("acey_deucey", {"bar_trigger": "double_or_12", "score": "1/2"}),
    ("acey_deucey", {"bar_trigger": "six", "entry_trigger": "six", **OVER}),
    ("acey_deucey", {"bar_trigger": "double_or_12", "entry_trigger": "double_or_12", **SKIP}),
    ("acey_deucey", {**OVER, "leftover_scope": "doubles_only", "score": 1}),
    ("acey_deucey", SMALL),
    ("acey_deucey", {**SMALL, **SKIP, "hand_policy": "no_crossing"}),
    ("european_acey_deucey", {"bearoff_die": "standard", "score": 1}),
    ("european_acey_deucey", {"score": "1/2", "complement_while_entering": False}),
    ("european_acey_deucey", {"bonus_while_entering": False}),
    ("european_acey_deucey", {"bonus_while_entering": False, "entering_test": "at_tier_end"}),
    ("european_acey_deucey", {"complement_while_entering": False, "entering_test": "at_tier_end"}),
    ("european_acey_deucey", SMALL),
    ("european_acey_deucey", {**TWELVE, "complement_while_entering": False, "entering_test": "at_tier_end"}),
    ("french", OVER),
    ("french", {**SKIP, "score": 1}),
    ("french", {**SKIP, "leftover_scope": "doubles_only", "complement_while_entering": False}),
    ("french", {"bonus_while_entering": False, "entering_test": "at_tier_end", **OVER}),
    ("french", {"complement_while_entering": False, "entering_test": "at_tier_end", **SKIP}),
    ("french", SMALL),
    ("french", {**SMALL, **OVER, "bonus_while_entering": False}),
    ("russian", {"entering_test": "at_tier_end"}),
    ("russian", {"complement_while_entering": True}),
    ("russian", {"complement_while_entering": True, "entering_test": "at_tier_end"}),
    ("russian", {"complement_while_entering": True, "bonus_while_entering": True, "score": "1/2/3"}),
    ("russian", OVER),
    ("russian", {**SKIP, "entering_test": "at_tier_end"}),
    ("russian", SMALL),
    ("russian", {**SMALL, **SKIP, "entering_test": "at_tier_end"}),
    ("narde", {"opening": "high_uses", "head_limit": "none"}),
    ("narde", {"head_limit": 2}),
    ("narde", {"head_limit": 3}),
    ("narde", {"head_first_turn": "66,44"}),
    ("narde", {"head_first_turn": "55"}),
    ("narde", {"head_first_turn": "any_double", "wall": "none"}),
    ("narde", {"head_first_turn": "none", "wall": "not_all_15_trapped"}),
    ("narde", {"wall": "must_release", "score": "1/2/3_home"}),
    ("narde", {"formation_scope": "each_step"}),
    ("narde", {"formation_scope": "each_step", "wall": "not_all_15_trapped", "head_limit": "none"}),
    ("narde", SMALL),
    ("narde", {**SMALL, "formation_scope": "each_step", "head_first_turn": "any_double"}),
    ("narde", {**TWELVE, "wall": "not_all_15_trapped", "score": "1/2/3_home"}),
    ("narde", {**TWELVE, "wall": "must_release"}),
    ("moultezim", {"runner_gate": 12}),
    ("moultezim", {"runner_gate": "none", "opp_start_limit": 3}),
    ("moultezim", {"runner_gate": 14, "opp_start_limit": "none", "own_start_full": "forbidden"}),
    ("moultezim", {"opp_start_limit": 2, "own_start_full": "forbidden"}),
    ("moultezim", {**SMALL, "opp_start_limit": 1}),
    ("moultezim", {**TWELVE, "opp_start_limit": 2, "runner_gate": 6}),
    ("fevga", {"runner_gate": 12, "own_start_full": "both_quarters"}),
    ("fevga", {"own_start_full": "allowed", "unblock": "hard"}),
    ("fevga", {"unblock": "off", "front_six": "forbidden"}),
    ("fevga", {"unblock_trigger": "no_move_any_roll"}),
    ("fevga", {"unblock": "hard", "unblock_trigger": "no_move_any_roll", "head_limit": 1}),
    ("fevga", {"formation_scope": "each_step", "front_six": "forbidden"}),
    ("fevga", {"formation_scope": "each_step", "unblock": "hard", "runner_gate": "none"}),
    ("fevga", SMALL),
    ("fevga", {**SMALL, "own_start_full": "both_quarters", "unblock": "hard", "front_six": "forbidden"}),
    ("fevga", {**TWELVE, "unblock_trigger": "no_move_any_roll", "formation_scope": "each_step"}),
    ("plakoto", {"mother": "immediate"}),
    ("plakoto", {"mother": "none"}),
    ("plakoto", {"mother_value": 3, "bearoff_while_pinned": "allowed"}),
    ("plakoto", {"higher_die": False, "score": "per_checker"}),
    ("plakoto", {"score": "per_checker", "mother": "none", "bearoff_while_pinned": "allowed"}),
    ("plakoto", {"doubles": "cascade_up"}),
    ("plakoto", {"doubles": "cascade_up", **OVER}),
    ("plakoto", {"doubles": "cascade_up", **SKIP, "mother": "none"}),
    ("plakoto", {"doubles": "cascade_up", **OVER, "leftover_scope": "doubles_only", "mother": "immediate"}),
    ("plakoto", SMALL),
    ("plakoto", {**SMALL, "mother": "none", "bearoff_while_pinned": "allowed"}),
    ("plakoto", {**SMALL, "mother": "none", "doubles": "cascade_up", **SKIP}),
    ("plakoto", {**TWELVE, "mother": "immediate", "higher_die": False}),
    ("tapa", {"mother": "deferred"}),
    ("tapa", {"mother": "deferred", "mother_value": 3}),
    ("tapa", {"higher_die": False, "bearoff_while_pinned": "allowed"}),
    ("tapa", SMALL),
    ("tapa", {**SMALL, "bearoff_while_pinned": "allowed"}),
    ("tapa", {"points": 8, "checkers": 2}),
    ("gul_bara", {"cascade_grace": 0}),
    ("gul_bara", {"cascade_grace": 5, "cascade_grace_scope": "global"}),
    ("gul_bara", {"cascade_grace_scope": "global", "head_limit": 1}),
    ("gul_bara", {"cascade_grace": 1, "head_limit": 2, "wall": "needs_opp_ahead"}),
    ("gul_bara", OVER),
    ("gul_bara", {**SKIP, "head_limit": 1, "cascade_grace": 0}),
    ("gul_bara", {**OVER, "leftover_scope": "doubles_only", "wall": "needs_opp_ahead"}),
    ("gul_bara", {"bearoff_die": "exact", "home_frozen": True}),
    ("gul_bara", SMALL),
    ("gul_bara", {**SMALL, **SKIP, "head_limit": 1, "cascade_grace": 0, "wall": "needs_opp_ahead"}),
    ("gioul", {"leftover_scope": "doubles_only"}),
    ("gioul", {"leftover_stop": "skip_unplayable"}),
    ("gioul", {"cascade_grace": 3}),
    ("gioul", {"cascade_grace": 4, "cascade_grace_scope": "global", "leftover_stop": "skip_unplayable"}),
    ("gioul", SMALL),
    ("gioul", {**TWELVE, "leftover_stop": "skip_unplayable"}),
    ("kotra", {"entry_needs": "open", "opening": "high_uses"}),
    ("kotra", {"stack_limit": 1}),
    ("kotra", {"stack_limit": "none", "last_point_lock": "none"}),
    ("kotra", {"stack_limit": 3, "last_point_lock": 7}),
    ("kotra", {"last_point_lock": 2, "entry_needs": "open"}),
    ("kotra", SMALL),
    ("kotra", {**TWELVE, "stack_limit": 1, "last_point_lock": 2}),
]


def mixtures() -> list[Ruleset]:
    """Rules that no game combines, and other tracks: parts must not depend on the company they are in."""
    irish, dutch = engine.find_ruleset("irish"), engine.find_ruleset("dutch")
    latched = engine.find_ruleset("dutch", {"hit_gate": "home_latched"})
    small = replace(dutch, points=8, checkers=5)
    return [
        replace(dutch, must_play="none"),
        replace(dutch, higher_die=False, turn=irish.turn),
        replace(dutch, binding=BindTheTables(), bearing=irish.bearing),
        replace(dutch, formations=(ClosedBoard(),), must_play="none"),
        replace(latched, binding=BindTheTables(strip=False), track="parallel12"),
        replace(latched, formations=(ClosedBoard(),), bearing=irish.bearing, higher_die=False),
        replace(dutch, track="parallel0"),
        replace(dutch, track="parallel12", setup="head"),
        replace(small, binding=BindTheTables(), must_play="none"),
        replace(small, formations=(ClosedBoard(),), track="parallel12"),
        *mixtures_of_the_family(),
    ]


def mixtures_of_the_family() -> list[Ruleset]:
    """The same with pins, blocks, long turns, and the limits and formations of the other games."""
    acey, russian, narde = (engine.find_ruleset(name) for name in ("acey_deucey", "russian", "narde"))
    plakoto, gioul, kotra = (engine.find_ruleset(name) for name in ("plakoto", "gioul", "kotra"))
    deadlock = Race(points=(1, 2, 3), third="home", deadlock=True)
    every_ban = (StartQuarterFull(both=True), ThirdQuarterLimit(), HeadBlocked(), Wall())
    return [
        replace(acey, contact=Hit(gate=HomeGate(latched=True)), limits=(FirstRollEnters(), HitterStays())),
        replace(acey, track="parallel0", limits=(NoCrossing(), EntryTrigger(needs="six", stock="bar"), HomeFrozen())),
        replace(acey, contact=Hit(entry="empty"), turn=LongTurn(ace_deuce=True, left_overs=LeftOvers(skip=True))),
        replace(
            russian,
            track="contrary",
            turn=LongTurn(doubles="complement", early=Entering(complement=True, at_tier_end=True)),
        ),
        replace(russian, limits=(StackLimit(most=3), HitterStays()), scoring=PerChecker(), higher_die=False),
        replace(narde, contact=Hit(), formations=(Wall(), ClosedBoard()), limits=(RunnerFirst(ahead=3),)),
        replace(narde, limits=(RunnerFirst(ahead=0), HeadLimit(per_turn=2)), formations=every_ban),
        replace(narde, formations=every_ban, formation_scope="each_step", bearing=FreeBearing()),
        replace(narde, formations=(Unblock(trigger="no_move"), Unblock(hard=True)), higher_die=False),
        replace(narde, track="contrary", formations=(Wall(room="moves"), StartQuarterFull()), limits=()),
        replace(plakoto, bearing=ExactBearing(while_pinned=True), limits=(StackLimit(most=4), LastPointLock())),
        replace(
            plakoto,
            limits=(HeadLimit(opening="any_double"), HomeFrozen()),
            scoring=Mother(race=PerChecker(), value=3, immediate=True),
        ),
        replace(plakoto, scoring=deadlock, bearing=FreeBearing(while_pinned=True)),
        replace(
            gioul, contact=Pin(), scoring=deadlock, turn=LongTurn(doubles="cascade", left_overs=LeftOvers(skip=True))
        ),
        replace(
            gioul,
            limits=(HeadLimit(across_tiers=True),),
            turn=LongTurn(doubles="cascade", early=Grace(turns=2, shared=True)),
        ),
        replace(kotra, turn=LongTurn(doubles="cascade", early=Grace(turns=2), left_overs=LeftOvers(doubles_only=True))),
        replace(kotra, points=16, checkers=7, formations=(ThirdQuarterLimit(most=2),), formation_scope="each_step"),
    ]


def house_rulesets() -> dict[str, Ruleset]:
    """Every combination of house rules, and the mixtures, by a name for the report."""
    named = {
        " ".join([variant, *(f"{name}={value}" for name, value in edits.items())]): engine.find_ruleset(variant, edits)
        for variant, edits in HOUSE_RULES
    }
    return named | {f"mixture {number}": rules for number, rules in enumerate(mixtures())}
