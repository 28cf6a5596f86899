"""A policy of other rules, read on purpose: what it does not know is shown as its nearest relative."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents.base import AgentError, told
from agents.value import Evaluator
from engine.queues import CHOICE_ITEMS, queues_of
from engine.ruleset import Queue, Ruleset
from engine.slots import Boards, Codes


class ForeignEvaluator:
    """Outcome probabilities under `rules` from an evaluator that was trained under others.

    Points, bar and checkers off are the same for both. Checkers in hand go to its hand, or to its bar
    where it has none. Of what its rules remember it sees what these rules remember too, for the rest
    what the board tells, all first turns being over. Of a queue that it never has pending it sees
    what it knows: later tiers are dropped, a choice that is to be made is skipped, and the side whose
    turn follows is on roll; of numbers that it never has, those with most nearly the same shares.
    Outcomes become those with the nearest payoff of the same sign, a draw that does not exist here
    half the least win and half the least loss.

    Args:
        evaluator: gives outcome probabilities under `theirs`.
        theirs: the rules that it knows.
        rules: of the games it is to play.
        place: where it was read, for the message.

    Raises:
        AgentError: positions of these games cannot be shown to it; says what cannot.
    """

    def __init__(self, evaluator: Evaluator, theirs: Ruleset, rules: Ruleset, place: str) -> None:
        reason = unreadable(theirs, rules)
        if reason is not None:
            raise AgentError(f"{place}: trained for {told(theirs)}, cannot read {told(rules)}: {reason}")
        self.evaluator, self.theirs, self.rules = evaluator, theirs, rules
        known = [relative(queue, theirs) for queue in queues_of(rules).items]
        self.codes = np.array([code for code, _ in known], np.int8)  # (C,)
        self.turns = np.array([turns for _, turns in known])  # (C,): is the other side on roll?
        self.outcomes = outcomes_between(theirs.payoffs, rules.payoffs)

    def values(self, boards: Boards, pending: Codes) -> npt.NDArray[np.float32]:
        """(M, K) float32 outcome probabilities for the side that acts next.

        Args:
            boards: (M, 2, SLOTS) int8, MINE acts next.
            pending: (M,) int8.
        """
        turned = self.turns.take(pending)[:, None]
        shown = self.shown(np.where(turned[:, None], boards[:, ::-1], boards))
        values = self.evaluator.values(shown, self.codes.take(pending)) @ self.outcomes
        return np.where(turned, values[:, ::-1], values)

    def shown(self, boards: Boards) -> Boards:
        """(M, 2, SLOTS) boards of these rules, as they are under the other ones."""
        theirs, rules = self.theirs, self.rules
        shown = np.zeros_like(boards)
        shown[:, :, : rules.bar + 1] = boards[:, :, : rules.bar + 1]
        shown[:, :, theirs.hand if has_hand(theirs) else theirs.bar] += boards[:, :, rules.hand]
        theirs.recall(shown)
        for name in theirs.memory.keys() & rules.memory.keys():
            kept = boards[:, :, rules.memory[name]]
            if name == "turns":  # counted up to another number; what has reached ours is over
                kept = np.where(kept >= rules.turns_told, theirs.turns_told, np.minimum(kept, theirs.turns_told))
            shown[:, :, theirs.memory[name]] = kept
        return shown


def has_hand(rules: Ruleset) -> bool:
    """Do checkers begin in the hand?"""
    return bool(rules.start_row[rules.hand])


def unreadable(theirs: Ruleset, rules: Ruleset) -> str | None:
    """Why positions of a game cannot be shown to a policy that was trained under `theirs`; else None."""
    for name in ("track", "points", "checkers"):
        there, here = getattr(theirs, name), getattr(rules, name)
        if there != here:
            return f"{name} is {there} there, {here} here"
    fates = theirs.contact.fate, rules.contact.fate
    if fates[0] != fates[1] and fates[1] != "safe":
        what = "pinned checkers" if fates[1] == "pinned" else "checkers on the bar"
        return f"it has never seen {what}"
    if has_hand(rules) and not has_hand(theirs) and fates[0] != "bar":
        return "it has never seen checkers in hand or on the bar"
    return None


def relative(queue: Queue, theirs: Ruleset) -> tuple[int, bool]:
    """The code of the nearest queue of other rules, and whether the other side is on roll there."""
    q, turns, known = queues_of(theirs), False, queue
    while known not in q.items and len(known) + isinstance(known[0], str) > 1:
        if isinstance(known[0], str):
            assert known[0] in (*CHOICE_ITEMS, "toss")
            turns ^= known[0] in ("toss", "open")  # the board is opened, and then it is the other side's turn
            known = known[1:] or ("roll",)
        else:
            known = known[:-1]
    if known in q.items:
        return q.items.index(known), turns
    wanted = shares(known, theirs)
    far = [np.abs(shares(item, theirs) - wanted).sum() for item in q.items]
    return int(np.argmin(far)), turns


def shares(queue: Queue, rules: Ruleset) -> npt.NDArray[np.float64]:
    """(faces,) how much of its first tier each number is; nothing where no numbers are to be played."""
    tier = queue[0] if isinstance(queue[0], tuple) else ()
    return np.array([tier.count(number) / max(len(tier), 1) for number in range(1, rules.faces + 1)])


def outcomes_between(theirs: npt.NDArray[np.float32], ours: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """(K there, K here) float32: which outcomes here each one there becomes; rows sum to 1.

    Args:
        theirs: (K there,) payoffs, best first.
        ours: (K here,) payoffs, best first.
    """
    table = np.zeros((theirs.size, ours.size), np.float32)
    wins = np.flatnonzero(ours > 0)[::-1]  # the least first: it is taken where two are equally near
    for row, points in enumerate(theirs):
        if points:
            near = wins[np.abs(ours.take(wins) - abs(points)).argmin()]
            table[row, near if points > 0 else ours.size - 1 - near] = 1
        elif (ours == 0).any():
            table[row] = ours == 0
        else:
            table[row, [wins[0], ours.size - 1 - wins[0]]] = 0.5
    return table
