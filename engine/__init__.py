"""Backgammon and its family as data, thousands of games stepped at once in numpy."""

from engine.decisions import Afterstates, afterstates
from engine.game import BatchGame, IllegalPlay, Result
from engine.notation import PositionError, format_position, parse_position
from engine.options import OptionError
from engine.playtext import format_play, parse_play
from engine.queues import queues_of
from engine.ruleset import InputError, RulesError, Ruleset
from engine.variants import VARIANTS, UnknownVariant, find_ruleset

__all__ = [
    "VARIANTS",
    "Afterstates",
    "BatchGame",
    "IllegalPlay",
    "InputError",
    "OptionError",
    "PositionError",
    "Result",
    "RulesError",
    "Ruleset",
    "UnknownVariant",
    "afterstates",
    "find_ruleset",
    "format_play",
    "format_position",
    "parse_play",
    "parse_position",
    "queues_of",
]
