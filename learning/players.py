"""The games of a run's process: played in it, or by player processes that ask its net.

A player process holds a batch of games and finds plays on its own core, with numpy alone; what they
are worth it asks here, where the net is. With two players a core, one finds plays while the net
judges what the other found, so that neither side waits. Boards and answers pass through shared
memory, all else through a pipe, whose end is the end of the player.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from agents.network import Judge
from agents.value import ValueAgent
from cli import keep_memory
from engine.game import BatchGame
from engine.ruleset import Ruleset
from engine.slots import SLOTS, Boards, Codes
from learning.ranks import LONGEST_WAIT, RankError
from learning.selfplay import Trajectory, collect, joined

State = dict[str, Any]  # of a batch: arrays of its games, and the seed of its next ones
ROWS = 8192  # afterstates in one question


def seed_of(seed: int, batch: int) -> int:
    """The seed of a batch, by its number in the run; that of the first is the run's own."""
    return seed + (batch << 40)


class Games(Protocol):
    """The games that one process of a run is responsible for, in one batch or several."""

    def collect(self, agent: ValueAgent, decisions: int) -> Trajectory:
        """Play on for so many decisions in every game."""

    def states(self) -> list[State]:
        """Everything that each batch needs to go on exactly."""

    def restore(self, states: Sequence[State]) -> None:
        """Go on exactly where `states()` was taken, a state for each batch."""

    def __len__(self) -> int:
        """How many batches."""

    def __enter__(self) -> Games: ...

    def __exit__(self, kind: Any, error: Any, trace: TracebackType | None) -> None: ...


def games_of(rules: Ruleset, games: int, players: int, seed: int, rank: int) -> Games:
    """The games of a process.

    Args:
        rules: of all games.
        games: how many.
        players: processes that play them, 0 for this one.
        seed: of the run; each batch gets its own from it.
        rank: the number of this process in the run.
    """
    if not players:
        return Alone(BatchGame(rules, games, seed_of(seed, rank)))
    return Players(rules, games // players, [seed_of(seed, rank * players + number) for number in range(players)])


class Alone:
    """One batch, played in this process."""

    def __init__(self, game: BatchGame) -> None:
        self.game = game

    def collect(self, agent: ValueAgent, decisions: int) -> Trajectory:
        """Play on for so many decisions in every game."""
        return collect(self.game, agent, decisions)

    def states(self) -> list[State]:
        """Everything that the batch needs to go on exactly."""
        return [self.game.state()]

    def restore(self, states: Sequence[State]) -> None:
        """Go on exactly where `states()` was taken."""
        self.game.restore(states[0])

    def __len__(self) -> int:
        return 1

    def __enter__(self) -> Alone:
        return self

    def __exit__(self, kind: Any, error: Any, trace: TracebackType | None) -> None:
        pass


class Shared:
    """Room in shared memory for one question and its answer, as arrays."""

    def __init__(self, memory: Sequence[Any], outcomes: int) -> None:
        boards, pending, possible, values = memory
        self.boards: Boards = np.frombuffer(boards, np.int8).reshape(ROWS, 2, SLOTS)
        self.pending: Codes = np.frombuffer(pending, np.int8)
        self.possible = np.frombuffer(possible, np.bool_).reshape(ROWS, outcomes)
        self.values = np.frombuffer(values, np.float32).reshape(ROWS, outcomes)


class Players:
    """Several batches, each in a process of its own, whose questions this process's net answers.

    Args:
        rules: of all games.
        games: in each batch.
        seeds: of the batches, one a player.
    """

    def __init__(self, rules: Ruleset, games: int, seeds: Sequence[int]) -> None:
        outcomes = rules.payoffs.size
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a player has one core
        context = get_context("spawn")  # the same on every system, and torch's threads are not copied
        self.pipes, self.shared, self.processes = list[Connection](), list[Shared](), []
        for seed in seeds:
            memory = [context.RawArray("b", ROWS * width) for width in (2 * SLOTS, 1, outcomes, 4 * outcomes)]
            here, there = context.Pipe()
            process = context.Process(target=_play, args=(there, memory, rules, games, seed))
            process.start()
            there.close()
            self.pipes.append(here)
            self.shared.append(Shared(memory, outcomes))
            self.processes.append(process)

    def collect(self, agent: ValueAgent, decisions: int) -> Trajectory:
        """Play on for so many decisions in every game, the players' batches side by side.

        Raises:
            RankError: a player has died or does not answer.
        """
        net = agent.evaluator

        def answer(player: int, rows: int) -> None:
            at = self.shared[player]
            asked = at.boards[:rows], at.pending[:rows]
            at.values[:rows] = net(*asked, at.possible[:rows]) if isinstance(net, Judge) else net.values(*asked)

        return joined(self._ask([("collect", decisions, agent.noise, agent.payoffs)] * len(self), answer))

    def states(self) -> list[State]:
        """Everything that each batch needs to go on exactly."""
        return self._ask([("state",)] * len(self))

    def restore(self, states: Sequence[State]) -> None:
        """Go on exactly where `states()` was taken, a state for each batch."""
        self._ask([("restore", state) for state in states])

    def _ask(self, requests: Sequence[tuple[Any, ...]], answer: Any = None) -> list[Any]:
        """What each player makes of its request; questions on the way, numbers of rows, are answered."""
        found: dict[int, Any] = {}
        number = {pipe: index for index, pipe in enumerate(self.pipes)}
        try:
            for pipe, request in zip(self.pipes, requests, strict=True):
                pipe.send(request)
            while len(found) < len(self):
                ready = wait([pipe for pipe in self.pipes if number[pipe] not in found], LONGEST_WAIT.total_seconds())
                if not ready:
                    raise RankError("a player process of this run does not answer")
                for pipe in [pipe for pipe in self.pipes if pipe in ready]:
                    message = pipe.recv()
                    if isinstance(message, int):
                        answer(number[pipe], message)
                        pipe.send(None)
                    else:
                        found[number[pipe]] = message
        except (EOFError, OSError) as error:
            raise RankError(f"a player process of this run has died ({error or type(error).__name__})") from error
        return [found[index] for index in range(len(self))]

    def __len__(self) -> int:
        return len(self.pipes)

    def __enter__(self) -> Players:
        return self

    def __exit__(self, kind: Any, error: Any, trace: TracebackType | None) -> None:
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            process.join(1.0)
            process.kill()
            process.join()


class Asker:
    """An evaluator whose net is in another process."""

    def __init__(self, pipe: Connection, shared: Shared, rules: Ruleset) -> None:
        self.pipe, self.shared, self.rules = pipe, shared, rules

    def values(self, boards: Boards, pending: Codes) -> npt.NDArray[np.float32]:
        """(M, K) float32 outcome probabilities for the side that acts next."""
        found = np.empty((len(pending), self.rules.payoffs.size), np.float32)
        for low in range(0, len(pending), ROWS):
            part = slice(low, low + ROWS)
            rows = len(pending[part])
            self.shared.boards[:rows], self.shared.pending[:rows] = boards[part], pending[part]
            self.shared.possible[:rows] = self.rules.scoring.possible(boards[part], self.rules)
            self.pipe.send(rows)
            self.pipe.recv()
            found[part] = self.shared.values[:rows]
        return found


def _play(pipe: Connection, memory: Sequence[Any], rules: Ruleset, games: int, seed: int) -> None:
    """Be a player: do what the pipe says until it ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # they are for the other end of the pipe
    keep_memory()
    game, asker = BatchGame(rules, games, seed), Asker(pipe, Shared(memory, rules.payoffs.size), rules)
    while True:
        try:
            word, *rest = pipe.recv()
            if word == "collect":
                decisions, noise, payoffs = rest
                agent = ValueAgent(asker, rules, "self", noise)
                agent.payoffs = payoffs
                pipe.send(collect(game, agent, decisions))
            elif word == "state":
                pipe.send(game.state())
            else:
                game.restore(*rest)
                pipe.send(None)
        except (EOFError, OSError):
            return
