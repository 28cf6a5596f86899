"""What happened in a trajectory, counted: for the curves of a run."""

from __future__ import annotations

import numpy as np

from engine.queues import queues_of
from engine.ruleset import Ruleset
from engine.slots import MINE, THEIRS
from learning.selfplay import Trajectory


def events_of(trajectory: Trajectory, rules: Ruleset) -> dict[str, float]:
    """Sums over a trajectory, from which rates are made; every name that occurs in these rules.

    Hits count checkers sent to the bar, entries those that came from bar or hand, pins those pinned,
    bindings the tosses for an opened point.
    """
    before, after = trajectory.boards[:-1], trajectory.boards[1:]
    passed = trajectory.passed[..., None]
    mine_after = np.where(passed, after[:, :, THEIRS], after[:, :, MINE])
    theirs_after = np.where(passed, after[:, :, MINE], after[:, :, THEIRS])
    names = queues_of(rules).names
    rolls = np.array([name.split(",")[0] not in ("first", "toss", "open", "open_theirs") for name in names])
    goes_on = (trajectory.outcome < 0) & rolls[trajectory.pending[:-1]]
    sums = {
        "decisions": float(trajectory.outcome.size),
        "afterstates": float(trajectory.rows),
        "games": float(trajectory.games),
        "turns": float(trajectory.turns),
        "lengths": float(trajectory.lengths.sum()),
        "wins_of_seat_0": float((trajectory.winners == 0).sum()),
        "truncated": float(trajectory.truncated),
    }
    if rules.contact.fate == "bar":
        hits = theirs_after[:, :, rules.bar].astype(int) - before[:, :, THEIRS, rules.bar]
        sums["hits"] = float(np.maximum(hits, 0)[goes_on].sum())
        stocks = [rules.bar, rules.hand]
        entries = before[:, :, MINE][..., stocks].astype(int).sum(-1) - mine_after[..., stocks].astype(int).sum(-1)
        sums["entries"] = float(np.maximum(entries, 0)[goes_on].sum())
    if rules.contact.fate == "pinned":
        pins = (theirs_after < 0).sum(-1) - (before[:, :, THEIRS] < 0).sum(-1)
        sums["pins"] = float(np.maximum(pins, 0)[goes_on].sum())
    if rules.binding is not None:
        is_toss = np.array([name.startswith("toss") for name in names])
        sums["bindings"] = float(is_toss[trajectory.pending[:-1]].sum())
    kinds = [int(payoff) for payoff in rules.payoffs if payoff >= 0]
    for index, payoff in enumerate(kinds):  # whoever won: an outcome and its mirror are one kind
        ends = np.isin(trajectory.outcome, (index, rules.payoffs.size - 1 - index))
        sums[f"share_of_{payoff}_points"] = float(ends.sum())
    return sums
