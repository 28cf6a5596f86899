"""Referees as agents: the parent's side. It imports no engine; see `worker` for that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from agents.base import AgentError, Choice, Scores, candidates, least
from agents.referees.process import Answers, Fault, Process, Wire
from agents.referees.rules import PLAYED, other_side_follows, refuse_unknown, refuse_unseen
from engine.decisions import Afterstates, afterstates
from engine.notation import format_position
from engine.queues import queues_of
from engine.ruleset import Ruleset
from engine.slots import Boards, Keys, Rows

LIMITS = (10.0, 30.0, 120.0)  # seconds for a decision, by ply; alone on a core they take 1 ms, 20 ms, 1 s
KEEP, WITHIN = 8, 0.16  # plays looked at more deeply, and points below the best; gnubg's "normal" filter of moves
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
    package: str = "gnubg_nn"
    distribution: str = "gnubg-nn"


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
SAGE = Engine("sage", 5, equities, 0.0, "bgsage", "bgsage")
EXPERT = Engine("gnubg", 5, lambda answers, rules: equities(answers, PLAYED), 3.0)  # more than any equity of his


class Referee:
    """Takes the play that an engine we did not write scores highest; the first of equals.

    Only our own afterstates are offered to it, so an illegal play cannot come out; a number that
    no position can have is an error. Forced plays are not asked about. With a `ply` the best plays by
    0-ply, as many as gnubg looks at, are asked about again, that many turns ahead.

    Args:
        rules: of the games it plays; the engine has to know them.
        engine: what the worker is and means.
        command: the worker's program and arguments.
        limit: seconds for a decision.
        ply: how many turns it looks ahead.
        spec: the text that makes this agent again, where it is not the engine's name.

    Raises:
        AgentError: its process does not start.
    """

    def __init__(
        self,
        rules: Ruleset,
        engine: Engine,
        command: Sequence[str],
        limit: float = LIMITS[0],
        ply: int = 0,
        spec: str = "",
    ) -> None:
        self.rules, self.engine, self.ply, self.spec = rules, engine, ply, spec or engine.name
        try:
            self.process = Process(command, engine.width, limit)
        except Fault as fault:
            raise AgentError(f"agent {self.spec!r}: {fault}") from None

    def choose(self, after: Afterstates, noise: Keys) -> Choice:
        """(N,) rows with the highest score.

        Raises:
            RefereeError: no answer or an impossible one; names the position and what is to be played.
        """
        choice = after.start[:-1].copy()
        games = np.flatnonzero(after.counts > 1)
        if games.size:
            part, rows = after.of(games)
            choice[games] = rows.take(least(-self.scores(part), part))
        return choice

    def scores(self, after: Afterstates) -> Scores:
        """(M,) scores for the chooser, -inf for plays that were not looked at as far ahead as the best.

        Raises:
            RefereeError: no answer or an impossible one; names the position and what is to be played.
        """
        scores = np.empty(after.game.size)
        over = np.flatnonzero(after.outcome >= 0)
        scores[over] = self.engine.finished + self.rules.payoffs.take(after.outcome.take(over))
        asked = np.flatnonzero(after.outcome < 0)
        scores[asked] = self.judged(after, asked, 0)
        if self.ply:
            rows = candidates(scores, after, KEEP, WITHIN)
            scores[np.setdiff1d(asked, rows)] = -np.inf
            asked = rows[after.outcome.take(rows) < 0]
            scores[asked] = self.judged(after, asked, self.ply)
        return scores

    def judged(self, after: Afterstates, asked: Rows, ply: int) -> Scores:
        """(A,) scores for the chooser of the (A,) rows asked about, none of which is finished."""
        assert after.passed.take(asked).all()  # with one roll a turn the other side acts next
        return self.answered(after, asked, after.boards.take(asked, axis=0)[:, ::-1], ply)

    def answered(self, after: Afterstates, asked: Rows, boards: Boards, ply: int) -> Scores:
        """(A,) scores of (A, 2, SLOTS) boards, the side that rolls next second, for the side that does not."""
        decisions, counts = np.unique(after.game.take(asked), return_counts=True)
        if not decisions.size:
            return np.empty(0)
        before = wire(after.before.take(decisions, axis=0), self.rules)
        try:
            answers = self.process.ask(before, wire(boards, self.rules), counts.astype(np.int32), ply)
            scores = self.engine.scores(answers, self.rules)
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


class Analyst(Referee):
    """A referee whose scores are points per game, so that it can be asked for them."""

    def equities(self, after: Afterstates) -> Scores:
        """(M,) points for the chooser; -inf where the referee has not looked."""
        return self.scores(after)


class Judge(Referee):
    """An expert who knows backgammon and not this game: our legal plays, gnubg's opinion of where they lead.

    He counts gammons and backgammons as backgammon does, whatever they pay here. Checkers in hand
    are shown on the bar; missing ones (fewer than 15) he takes for borne off; what the rules make a
    side remember, and what is left of a turn, he is not told: whoever rolls next is shown as on
    roll. So a side that acts again (bonus rolls, further numbers, left-over numbers, before which no
    dice are thrown) is on roll, and where a point is to be opened, the side whose turn comes then. A
    choice that moves no checker (which double, play the throw or roll afresh) is judged by the best
    play of the numbers it gives. A play that wins is taken.
    """

    def judged(self, after: Afterstates, asked: Rows, ply: int) -> Scores:
        """(A,) equities of backgammon for the chooser of the (A,) rows asked about, none of which is finished."""
        q = queues_of(self.rules)
        pending, passed = after.pending.take(asked), after.passed.take(asked)
        scores = np.empty(asked.size)
        is_open = q.is_choice.take(after.decided).take(after.game.take(asked)) & ~q.is_chance.take(pending)
        follow, ends = np.flatnonzero(is_open), np.flatnonzero(~is_open)
        if follow.size:
            rows = asked.take(follow)
            replies = afterstates(after.boards.take(rows, axis=0), pending.take(follow), self.rules)
            best = np.maximum.reduceat(self.scores(replies), replies.start[:-1])
            scores[follow] = np.where(passed.take(follow), -best, best)
        waits = other_side_follows(self.rules).take(pending.take(ends))[:, None, None]
        boards = after.boards.take(asked.take(ends), axis=0)
        equity = self.answered(after, asked.take(ends), np.where(waits, boards, boards[:, ::-1]), ply)
        scores[ends] = np.where(passed.take(ends) ^ waits[:, 0, 0], equity, -equity)
        return scores


def wire(boards: Boards, rules: Ruleset) -> Wire:
    """(M, 2, 25) int8: points and bar of (M, 2, SLOTS) boards; checkers in hand are on the bar."""
    seen = boards[:, :, 1 : rules.bar + 1].copy()
    seen[:, :, -1] += boards[:, :, rules.hand]
    return seen


def gnubg(rules: Ruleset, ply: int = 0, spec: str = "gnubg") -> Analyst:
    """GNU Backgammon at 0, 1 or 2 plies, cubeless, through gnubg-nn.

    Raises:
        AgentError: it does not know these rules, or is not installed.
    """
    refuse_unknown(GNUBG.name, rules)
    return Analyst(rules, GNUBG, command(GNUBG, spec), LIMITS[ply], ply, spec)


def sage(rules: Ruleset, ply: int = 0, spec: str = "sage") -> Analyst:
    """Open Sage at 0, 1 or 2 plies (its own count begins at 1), cubeless, through bgsage.

    Raises:
        AgentError: it does not know these rules, or is not installed.
    """
    refuse_unknown(SAGE.name, rules)
    return Analyst(rules, SAGE, command(SAGE, spec), LIMITS[ply], ply, spec)


def pubeval(rules: Ruleset) -> Referee:
    """Tesauro's Pubeval, through gnubg-nn.

    Raises:
        AgentError: it does not know these rules, or is not installed.
    """
    refuse_unknown(PUBEVAL.name, rules)
    return Referee(rules, PUBEVAL, command(PUBEVAL, PUBEVAL.name))


def judge(rules: Ruleset) -> Judge:
    """GNU Backgammon at 0-ply as an expert who does not know the game, through gnubg-nn.

    Raises:
        AgentError: its board cannot show these games, or gnubg-nn is not installed.
    """
    spec = "gnubg-judge"
    refuse_unseen(spec, rules)
    return Judge(rules, EXPERT, command(EXPERT, spec), spec=spec)


def command(engine: Engine, spec: str) -> list[str]:
    """The program of an engine's worker and its arguments.

    Raises:
        AgentError: the engine's package is not installed.
    """
    if find_spec(engine.package) is None:
        raise AgentError(f"agent {spec!r}: needs the package {engine.distribution}: pip install {engine.distribution}")
    return [sys.executable, "-P", str(WORKER), engine.name]
