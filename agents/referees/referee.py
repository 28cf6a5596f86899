"""Referees as agents: the parent's side. It imports no engine; see `worker` for that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from agents.base import AgentError, Choice, Scores, least
from agents.referees.process import Answers, Fault, Process, Wire
from agents.referees.rules import refuse_unknown
from engine.decisions import Afterstates
from engine.notation import format_position
from engine.queues import queues_of
from engine.ruleset import Ruleset
from engine.slots import Boards, Keys, Rows

LIMIT = 10.0  # seconds for a decision; both engines take less than a millisecond
PACKAGE, DISTRIBUTION = "gnubg_nn", "gnubg-nn"
WORKER = Path(__file__).with_name("worker.py")
SLACK = 1e-4  # by which probabilities out of float32 may miss their bounds


class RefereeError(AgentError):
    """A referee died, hung or gave an impossible answer; the message names position and roll."""


@dataclass(frozen=True)
class Engine:
    """What a worker answers, and what it means."""

    name: str
    width: int  # numbers a row
    scores: Callable[[Answers, Ruleset], Scores]  # (M, width) answers -> (M,) for the chooser; nan where impossible
    finished: float  # added to the payoff of a play that ends the game


def equities(answers: Answers, rules: Ruleset) -> Scores:
    """(M,) cubeless equities for the chooser, of (M, 5) probabilities for the side that rolls next.

    Each of these counts the worse ones too: win, gammon, backgammon won, gammon, backgammon lost.
    """
    win, gammon, backgammon, lost_gammon, lost_backgammon = answers.T
    chances = [backgammon, gammon - backgammon, win - gammon]
    chances += [1 - win - lost_gammon, lost_gammon - lost_backgammon, lost_backgammon]
    outcomes = np.stack(chances, axis=1)
    scores: Scores = np.round((outcomes * -rules.payoffs).sum(axis=1), 6)
    return np.where((outcomes >= -SLACK).all(axis=1), scores, np.nan)


def plain(answers: Answers, rules: Ruleset) -> Scores:
    """(M,) scores for the chooser, as they come."""
    return answers[:, 0]


GNUBG = Engine("gnubg", 5, equities, 0.0)
PUBEVAL = Engine("pubeval", 1, plain, 99_999_999.0)  # its author's score of a won game


class Referee:
    """Takes the play that an engine we did not write scores highest; the first of equals.

    Only our own afterstates are offered to it, so an illegal play cannot come out; a number that
    no position can have is an error. Forced plays are not asked about.

    Args:
        rules: of the games it plays.
        engine: what the worker is and means.
        command: the worker's program and arguments.
        limit: seconds for a decision.

    Raises:
        AgentError: the engine does not know these rules, or its process does not start.
    """

    def __init__(self, rules: Ruleset, engine: Engine, command: Sequence[str], limit: float = LIMIT) -> None:
        refuse_unknown(engine.name, rules)
        self.rules, self.engine, self.spec = rules, engine, engine.name
        try:
            self.process = Process(command, engine.width, limit)
        except Fault as fault:
            raise AgentError(f"agent {self.spec!r}: {fault}") from None

    def choose(self, after: Afterstates, noise: Keys) -> Choice:
        """(N,) rows with the highest score.

        Raises:
            RefereeError: no answer or an impossible one; names the position and what is to be played.
        """
        scores = np.zeros(after.game.size)
        over = np.flatnonzero(after.outcome >= 0)
        scores[over] = self.engine.finished + self.rules.payoffs.take(after.outcome.take(over))
        asked = np.flatnonzero((after.outcome < 0) & (after.counts > 1).take(after.game))
        if asked.size:
            scores[asked] = self.judged(after, asked)
        return least(-scores, after)

    def judged(self, after: Afterstates, asked: Rows) -> Scores:
        """(A,) scores for the chooser of the (A,) rows asked about, none of which is finished."""
        assert after.passed.take(asked).all()  # with one roll a turn the other side acts next
        decisions, counts = np.unique(after.game.take(asked), return_counts=True)
        before = wire(after.before.take(decisions, axis=0), self.rules)
        rows = wire(after.boards.take(asked, axis=0)[:, ::-1], self.rules)
        try:
            scores = self.engine.scores(self.process.ask(before, rows, counts.astype(np.int32)), self.rules)
            wrong = np.flatnonzero(~np.isfinite(scores))
            if wrong.size:
                decision = int(np.searchsorted(np.cumsum(counts), wrong[0], side="right"))
                raise Fault("its answer is impossible", decision)
        except Fault as fault:
            game = int(decisions[fault.decision])
            queue = queues_of(self.rules).items[after.decided[game]]
            position = format_position(after.before[game], self.rules, queue)
            raise RefereeError(f"agent {self.spec!r}: {fault}; asked about {position}") from None
        return scores


def wire(boards: Boards, rules: Ruleset) -> Wire:
    """(M, 2, 25) int8: points and bar of (M, 2, SLOTS) boards."""
    return boards[:, :, 1 : rules.bar + 1]


def gnubg(rules: Ruleset) -> Referee:
    """GNU Backgammon at 0-ply, cubeless, through gnubg-nn.

    Raises:
        AgentError: it does not know these rules, or is not installed.
    """
    return installed(rules, GNUBG)


def pubeval(rules: Ruleset) -> Referee:
    """Tesauro's Pubeval, through gnubg-nn.

    Raises:
        AgentError: it does not know these rules, or is not installed.
    """
    return installed(rules, PUBEVAL)


def installed(rules: Ruleset, engine: Engine) -> Referee:
    """A referee whose engine is in the package gnubg-nn."""
    refuse_unknown(engine.name, rules)
    if find_spec(PACKAGE) is None:
        raise AgentError(f"agent {engine.name!r}: needs the package {DISTRIBUTION}: pip install {DISTRIBUTION}")
    return Referee(rules, engine, [sys.executable, "-P", str(WORKER), engine.name])
