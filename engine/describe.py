"""A ruleset in words: every rule in force as a sentence."""

from __future__ import annotations

from engine.notation import format_side
from engine.ruleset import Part, Ruleset

TRACKS = {
    "contrary": "The sides move in opposite directions; my point p is the opponent's {mirror} - p.",
    "parallel12": "The sides move the same way, half a lap apart.",
    "parallel0": "The sides move the same way over the same points.",
}
OPENINGS = {
    "high_uses": "Each side throws a die; the higher begins and plays the two numbers thrown.",
    "high_rerolls": "Each side throws a die; the higher begins and throws both dice afresh.",
    "high_chooses": "Each side throws a die; the higher begins, with the two numbers thrown or with a new roll.",
    "low_rerolls": "Each side throws a die; the lower begins and throws both dice afresh.",
}


def sentences(rules: Ruleset) -> list[str]:
    """The rules in force, as a person reads them."""
    duty = "As many numbers as possible must be played"
    duty += "; if either of two but not both can be, the larger." if rules.higher_die else "."
    if rules.must_play == "none":
        duty = "A side may stop after any step; only entering from the bar is a duty."
    judged = "What no play may leave holds after each of its steps, too."
    is_each = rules.formation_scope == "each_step" and any(formation.hard for formation in rules.formations)
    parts: list[Part] = [rules.turn, rules.contact, *rules.limits, *rules.formations, rules.bearing, rules.scoring]
    return [
        f"{rules.points} points, {rules.checkers} checkers a side, dice of {rules.faces} faces, "
        f"home {rules.quarter}..1. Each side counts its own points, {rules.points}..1 towards home.",
        f"Start: {format_side(rules.start_row, rules)}.",
        TRACKS[rules.track].format(mirror=rules.points + 1),
        OPENINGS[rules.opening] + " Ties are thrown again.",
        *(part.tell(rules) for part in parts),
        *([rules.binding.tell(rules)] if rules.binding is not None else []),
        *([judged] if is_each else []),
        duty,
        f"A game of more than {rules.ply_limit:,} turns is cut by whoever plays it, and counts as truncated.",
    ]
