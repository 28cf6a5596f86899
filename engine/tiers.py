"""A tier of numbers played out: from growing layers to the plays that stay, each result once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt

from engine.plays import Plays, can_leave, distinct, each_once, end_games, options, step, unmoved
from engine.queues import LEFTS, queues_of
from engine.ruleset import Began, Ruleset
from engine.slots import MINE, Boards, Codes, Flags, Keys, Outcomes, Rows, where
from engine.tables import tables_of


@dataclass(frozen=True, eq=False)
class Ends:
    """Every end of a tier's plays, the layers one behind the other: M rows, the N that stand still first."""

    layers: list[Plays]
    rules: Ruleset

    @cached_property
    def parts(self) -> list[slice]:
        """Which of the M rows belong to each layer."""
        ends = np.cumsum([0, *(layer.game.size for layer in self.layers)]).tolist()
        return [slice(low, high) for low, high in pairwise(ends)]

    @cached_property
    def game(self) -> Rows:
        """(M,)."""
        return np.concatenate([layer.game for layer in self.layers])

    @cached_property
    def left(self) -> npt.NDArray[np.int8]:
        """(M,): which numbers of the tier are unplayed."""
        return np.concatenate([layer.left for layer in self.layers])

    @cached_property
    def outcome(self) -> Outcomes:
        """(M,)."""
        return np.concatenate([layer.outcome for layer in self.layers])

    @property
    def began(self) -> Began:
        """The N decisions."""
        return self.layers[0].began

    def by_layer(self, flags: Flags) -> Iterator[tuple[Plays, Rows]]:
        """Each layer, and its own rows whose flag is on."""
        for layer, part in zip(self.layers, self.parts, strict=True):
            yield layer, where(flags[part])

    def forbidden(self, *, hard: bool) -> Flags:
        """(M,) flags: some hard, or some soft, formation forbids the play."""
        if all(formation.hard is not hard for formation in self.rules.formations):
            return np.zeros(self.game.size, np.bool_)
        return np.concatenate([forbidden(layer, self.rules, hard=hard) for layer in self.layers])

    def keys(self, rows: Rows) -> Keys:
        """(R,): equal where the game, the position and what follows are; `rows` in rising order."""
        rules, q = self.rules, queues_of(self.rules)
        asked = np.zeros(self.game.size, np.bool_)
        asked[rows] = True
        boards = np.concatenate([layer.take(own).key for layer, own in self.by_layer(asked) if own.size])
        game, tables = self.game.take(rows), tables_of(rules)
        at = self.began.pending.take(game) * np.intp(LEFTS) + self.left.take(rows)
        follower = np.where(self.outcome.take(rows) >= 0, -1, q.next.reshape(-1).take(at)).astype(np.uint64)
        keys: Keys = boards + game.astype(np.uint64) * tables.game_key + follower * tables.cell_key[0]
        return keys


def grow(boards: Boards, pending: Codes, rules: Ruleset) -> list[Plays]:
    """Every legal play of the first tier of what is pending.

    Args:
        boards: (N, 2, SLOTS) int8, MINE is to decide.
        pending: (N,) int8, codes of queues that begin with numbers.
        rules: of all games.

    Returns:
        Every distinct result once, by the number of its steps.
    """
    layer = unmoved(boards, pending, rules)
    layers = [layer]
    while layer.game.size and layer.left.any():
        layer = each_once(step(layer.unfinished(), rules, orders=False), rules)
        end_games(layer, rules)
        if rules.formation_scope == "each_step":
            layer = standing(layer, rules)
        layers.append(layer)
    return worthiest(Ends(layers, rules))


def standing(plays: Plays, rules: Ruleset) -> Plays:
    """The plays that no hard formation forbids; the end of the game is exempt."""
    bad = forbidden(plays, rules, hard=True)
    return plays.take(where(~bad)) if bad.any() else plays


def forbidden(plays: Plays, rules: Ruleset, *, hard: bool) -> Flags:
    """(M,) flags: some hard, or some soft, formation forbids this play, and it does not end the game."""
    bad = np.zeros(plays.game.size, np.bool_)
    if bad.size:
        see = plays.see(np.arange(plays.game.size), np.zeros(plays.game.size, np.uint32))
        for formation in rules.formations:
            if formation.hard is hard:
                bad |= formation.bad(see)
        bad &= plays.outcome < 0
    return bad


def worthiest(ends: Ends) -> list[Plays]:
    """The plays that use their numbers best, each result once; soft formations are avoided where possible."""
    is_kept = avoiding(ends, dutiful(ends, lawful(ends)))
    is_kept[repeats(ends, is_kept)] = False
    return [
        layer if rows.size == layer.game.size else layer.take(rows)
        for layer, rows in ends.by_layer(is_kept)
        if rows.size
    ]


def lawful(ends: Ends) -> Flags:
    """(M,) flags: the play breaks no hard formation; standing still may, in games where nothing else is legal."""
    is_lawful = ~ends.forbidden(hard=True)
    is_still, *_ = ends.parts
    if not is_lawful[is_still].all():
        has_play = np.zeros(len(ends.began.boards), np.bool_)
        has_play[ends.game[is_still.stop :].take(where(is_lawful[is_still.stop :]))] = True
        is_lawful[is_still] |= ~has_play
    return is_lawful


def dutiful(ends: Ends, is_lawful: Flags) -> Flags:
    """(M,) flags: of the lawful plays, those of games in which no other meets the duty to play better."""
    best = np.full(len(ends.began.boards), -128, np.int8)
    if ends.rules.must_play == "none":  # only entering stays a duty: as many as possible
        worth = np.concatenate([-layer.boards[:, MINE, ends.rules.bar] for layer in ends.layers])
        np.maximum.at(best, ends.game.compress(is_lawful), worth.compress(is_lawful))
        return np.asarray(is_lawful & (worth == best.take(ends.game)))
    is_kept: Flags = is_lawful & (ends.left == 0)
    is_done = np.zeros(best.size, np.bool_)  # in these games only complete plays count
    is_done[ends.game.take(where(is_kept))] = True
    rows = where(is_lawful & (ends.left != 0))
    rows = rows.compress(~is_done.take(ends.game.take(rows)))
    game = ends.game.take(rows)
    at = ends.began.pending.take(game) * np.intp(LEFTS) + ends.left.take(rows)
    worth = queues_of(ends.rules).worth.reshape(-1).take(at)
    np.maximum.at(best, game, worth)
    is_kept[rows] = worth == best.take(game)
    return is_kept


def avoiding(ends: Ends, is_kept: Flags) -> Flags:
    """(M,) flags: of those kept, the plays that no soft formation forbids, in games that have one."""
    bad = ends.forbidden(hard=False)
    if not bad.any():
        return is_kept
    has_good = np.zeros(len(ends.began.boards), np.bool_)
    has_good[ends.game.take(where(is_kept & ~bad))] = True
    return is_kept & ~(bad & has_good.take(ends.game))


def repeats(ends: Ends, is_kept: Flags) -> Rows:
    """The rows of those kept that lead to the same as a later one.

    Complete plays that do not end the game were merged as they grew and meet no others, unless
    stopping early is allowed; so only few rows are looked at.
    """
    doubts = where(is_kept & ((ends.outcome >= 0) | (ends.left != 0) | (ends.rules.must_play == "none")))
    game = ends.game.take(doubts)
    doubts = doubts.compress(np.bincount(game).take(game) > 1)
    return np.delete(doubts, distinct(ends.keys(doubts))) if doubts.size else doubts


def declare_draws(layers: list[Plays], rules: Ruleset) -> None:
    """End forced passes as draws, in place, where no roll lets either side ever step again."""
    counts = sum(np.bincount(layer.game, minlength=len(layer.began.boards)) for layer in layers)
    for layer in layers:
        if layer.origin is None:
            rows = where((np.take(counts, layer.game) == 1) & (layer.left != 0))
            dead = rows[is_dead(layer.boards.take(rows, axis=0), rules)]
            layer.outcome[dead] = rules.payoffs.size // 2


def is_dead(boards: Boards, rules: Ruleset) -> Flags:
    """(M,) flags: neither side has a legal play with any roll."""
    q = queues_of(rules)
    roll = q.code(("roll",))
    codes = np.unique(q.chance_code[:, roll, : int(q.ways[roll])])
    full = q.full.take(codes)
    dead = np.ones(len(boards), np.bool_)
    for view, unplayed in product((-1, 1), np.unique(full)[::-1]):  # doubles first: they try every number
        rows, rolls = where(dead), codes[full == unplayed]
        if not rows.size:
            break
        pending, rows = np.tile(rolls, rows.size), rows.repeat(rolls.size)
        start = boards[rows, ::view]
        if rules.formations:
            for plays in grow(start, pending, rules):
                dead[rows[plays.game[plays.left != unplayed]]] = False
        else:  # a single step is a play
            row, die, _ = options(first := unmoved(start, pending, rules), q)
            can = can_leave(first.see(row, die))
            dead[rows[row[can != 0]]] = False
    return dead
