"""A game solved exactly, and what a policy loses against perfect play and against the best answer to itself.

A game that went on for ever would score 0: values are the limit of games that are cut later and later.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from tqdm import tqdm

from agents.base import Agent, AgentError, Mixed, candidates
from agents.lookahead import LookaheadAgent
from agents.simple import pips
from agents.value import EVEN, ValueAgent
from arena.solving import POSITIONS_AT_ONCE, Graph, Values
from engine.decisions import Afterstates
from engine.slots import MINE, OFF, THEIRS, Rows

CLOSE = 1e-11  # a step of iteration that changes no value by more, in points, is the last
DIGITS = 9  # of points a game that iteration can tell
ROUNDS = 1000
MAPPED_AT_ONCE = 200_000  # positions of a block
SETTLING = 30  # sweeps with fixed replies after each choice of the best
SWEEPS = 100_000
Policy = Any  # (R,) the reply to each result of dice; or their shares, a sparse.csr_array (R, M): scipy tells no types


class NoConvergence(Exception):
    """The values of a game do not settle: our own bug."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A solved game: what every position is worth for MINE between perfect sides, and how they play."""

    graph: Graph
    values: Values  # (S,)
    policy: Policy


@dataclass(frozen=True)
class Exactness:
    """How far an agent is from perfect play, all in points a game; errors are None where it has no values.

    `regret`: what it loses against an optimal opponent, beyond what an optimal side would.
    `exploitability`: what the best opponent there can be wins from it. Both are means over the seats.
    """

    value_rms: float | None
    value_worst: float | None
    regret: float
    exploitability: float


# -- policies ----------------------------------------------------------------------------------------------


def greedy(
    listed: Values, graph: Graph, ranks: Values | None = None, even: float = 0.0
) -> tuple[Values, npt.NDArray[np.uint32]]:
    """(S,) what the best replies are expected to bring MINE, and (R,) the one of them that is taken each.

    Args:
        listed: as `Graph.listed`.
        graph: of the game.
        ranks: (2 S + K,) in the same order; of equal replies the one with the lowest is taken, then the first.
        even: replies are equal that are no more than this below the best.
    """
    mean, choice = np.empty(graph.size), np.empty(graph.weight.size, np.uint32)

    def look(low: int) -> None:
        results = graph.results[low : low + POSITIONS_AT_ONCE + 1]
        part = slice(int(results[0]), int(results[-1]))
        replies = graph.replies[part.start : part.stop + 1]
        starts = replies[:-1] - replies[0]
        result = np.repeat(np.arange(starts.size), np.diff(replies))
        target = graph.target[replies[0] : replies[-1]]
        values = listed.take(target)
        best = np.maximum.reduceat(values, starts)
        signed = np.where(graph.turned[part], -graph.weight[part], graph.weight[part]) * best
        mean[low : low + results.size - 1] = np.add.reduceat(signed, results[:-1] - results[0])
        is_best = values >= (best - even).take(result)
        if ranks is not None:
            order = np.where(is_best, ranks.take(target), np.inf)
            is_best = order == np.minimum.reduceat(order, starts).take(result)
        rows = np.flatnonzero(is_best)[::-1]
        first = np.empty(starts.size, np.uint32)
        first[result.take(rows)] = rows  # the last to be written
        choice[part] = first + np.uint32(replies[0])

    list(threads().map(look, range(0, graph.size, POSITIONS_AT_ONCE)))
    return mean, choice


def policy_of(agent: Agent, graph: Graph, judged: Values | None = None) -> Policy:
    """What an agent does in every decision of a game.

    Args:
        agent: made for these rules.
        graph: of the game.
        judged: its `state_values`, where they are known already.

    Raises:
        AgentError: it plays by chance and does not say with which shares.
    """
    if isinstance(agent, Mixed):
        shares = np.concatenate([agent.shares(after) for _, _, after in graph.decisions()])
        columns = np.arange(shares.size, dtype=np.int32)
        return sparse.csr_array((shares, columns, graph.replies), shape=(graph.weight.size, shares.size))
    if isinstance(agent, ValueAgent) and type(agent) in (ValueAgent, LookaheadAgent) and not agent.noise:
        return _by_values(agent, graph.listed(state_values(agent, graph) if judged is None else judged), graph)
    choice = np.empty(graph.weight.size, np.uint32)
    for results, replies, after in graph.decisions():
        noise = np.zeros(after.decided.size, np.uint64)
        rows = agent.choose(after, noise)
        if (rows != agent.choose(after, ~noise)).any():
            raise AgentError(f"agent {agent.spec!r}: plays by chance and does not say with which shares")
        choice[results] = rows + replies.start
    return choice


def _by_values(agent: ValueAgent, shallow: Values, graph: Graph) -> npt.NDArray[np.uint32]:
    """(R,) what an agent takes that goes by what it thinks of the positions, (2 S + K,) as listed."""
    if not isinstance(agent, LookaheadAgent):
        return greedy(shallow, graph, ranks(graph), EVEN)[1]
    deep, choice = graph.listed(greedy(shallow, graph)[0]), np.empty(graph.weight.size, np.uint32)
    for results, replies, after in graph.decisions():
        target = graph.target[replies]
        choice[results] = _looking_ahead(agent, after, shallow.take(target), deep.take(target)) + replies.start
    return choice


def ranks(graph: Graph) -> Values:
    """(2 S + K,) the order in which `ValueAgent.best` takes equal replies: checkers off, then pips."""
    boards, count = graph.boards, graph.rules.payoffs.size
    mine, theirs = (pips(boards[:, side], graph.rules) - 1000.0 * boards[:, side, OFF] for side in (MINE, THEIRS))
    return np.concatenate([mine, theirs, np.full(count, -1000.0 * graph.rules.checkers)])


def _looking_ahead(agent: LookaheadAgent, after: Afterstates, shallow: Values, deep: Values) -> Rows:
    """The rows that an agent takes, by what it makes of them at 0-ply, and one roll ahead."""
    looked_at = candidates(shallow, after, agent.keep, agent.within)
    equity = np.full(shallow.size, -np.inf)
    equity[looked_at] = deep[looked_at]
    return agent.best(equity, after)


def state_values(agent: ValueAgent, graph: Graph) -> Values:
    """(S,) what a value function thinks of every position, for MINE."""
    values = np.empty(graph.size)
    for low in range(0, graph.size, POSITIONS_AT_ONCE):
        part = slice(low, low + POSITIONS_AT_ONCE)
        values[part] = agent.evaluator.values(graph.boards[part], graph.pending[part]) @ agent.payoffs
    return values


# -- values ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def threads() -> ThreadPoolExecutor:
    """One a core, for what numpy and scipy do without the interpreter."""
    return ThreadPoolExecutor(os.cpu_count())


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear map of listed values, (S, 2 S + K), in blocks of rows."""

    blocks: list[sparse.csr_array]

    def __matmul__(self, listed: Values) -> Values:
        """(S,) of (2 S + K,), or (S, C) of (2 S + K, C)."""
        return np.concatenate(list(threads().map(lambda block: block @ listed, self.blocks)))


@dataclass(frozen=True, eq=False)
class Mover:
    """A policy as linear maps of listed values: what is expected where MINE replies, and where the other side does."""

    here: Linear
    there: Linear


def replied(dice: sparse.csr_array, policy: Policy, graph: Graph) -> sparse.csr_array:
    """(N, 2 S + K) where a policy leads that is asked for each of the (N, R') results of dice."""
    size = 2 * graph.size + graph.rules.payoffs.size
    if isinstance(policy, np.ndarray):
        rows = graph.target.take(policy.take(dice.indices))
        return sparse.csr_array((dice.data, rows, dice.indptr), shape=(dice.shape[0], size))
    shape = policy.shape[0], size
    return dice @ sparse.csr_array((policy.data, graph.target.take(policy.indices), policy.indptr), shape=shape)


def expected(policy: Policy, graph: Graph, *signs: tuple[float, float]) -> list[Linear]:
    """What a policy leads to, for each pair of signs: of replies of MINE, and of those of the other side."""

    def block(low: int) -> list[sparse.csr_array]:
        results = graph.results[low : min(low + MAPPED_AT_ONCE, graph.size) + 1]
        replies = policy[int(results[0]) : int(results[-1])]
        return [replied(graph.dice(results, *pair), replies, graph) for pair in signs]

    blocks = threads().map(block, range(0, graph.size, MAPPED_AT_ONCE))
    return [Linear(list(part)) for part in zip(*blocks, strict=True)]


def mover(policy: Policy, graph: Graph) -> Mover:
    """The maps of a policy."""
    return Mover(*expected(policy, graph, (1.0, 0.0), (0.0, 1.0)))


def one_of(own: Values, other: Values, graph: Graph) -> Values:
    """(2 S + K,) as `Graph.listed`, for a side whose opponent plays by another policy."""
    return np.concatenate([own, -other, graph.rules.payoffs])


def between(
    first: Mover,
    second: Mover,
    graph: Graph,
    begin: tuple[Values, Values] | None = None,
    sweeps: int = SWEEPS,
    progress: bool = False,
) -> tuple[Values, Values]:
    """(S,) values for MINE where it is the first side, and where it is the second, both with fixed policies.

    Args:
        first: policy of one side.
        second: policy of the other.
        graph: of the game.
        begin: what to start from; zeros where None, so that endless play is worth nothing.
        sweeps: the most that are made.
        progress: count the sweeps on a bar.

    Raises:
        NoConvergence: they do not settle, and `sweeps` was not set.
    """
    own, other = (np.zeros(graph.size), np.zeros(graph.size)) if begin is None else begin
    for _ in counted(sweeps, "two policies, sweeps", progress):
        before = own, other
        own = first.here @ one_of(own, other, graph) - second.there @ one_of(other, own, graph)
        other = second.here @ one_of(other, own, graph) - first.there @ one_of(own, other, graph)
        change = max(np.abs(own - before[0]).max(), np.abs(other - before[1]).max())
        if change < CLOSE / 10:
            return own, other
    if sweeps == SWEEPS:
        raise NoConvergence(f"{graph.rules.name}: values still change by {change} after {sweeps} sweeps")
    return own, other


def outcome_shares(policy: Policy, graph: Graph) -> npt.NDArray[np.float64]:
    """(S, K) how often each outcome comes, for MINE, when both sides play a policy.

    Raises:
        NoConvergence: they do not settle.
    """
    both, count = mover(policy, graph), graph.rules.payoffs.size
    shares: npt.NDArray[np.float64] = np.zeros((graph.size, count))
    for _ in range(SWEEPS):
        listed = np.concatenate([shares, shares[:, ::-1], np.eye(count)])
        new: npt.NDArray[np.float64] = both.here @ listed + (both.there @ listed)[:, ::-1]
        change = float(np.abs(new - shares).max())
        shares = new
        if change < CLOSE:
            return shares
    raise NoConvergence(f"{graph.rules.name}: outcomes still change by {change} after {SWEEPS} sweeps")


def solve(graph: Graph) -> Solution:
    """Perfect play of both sides: the best replies to the values they lead to."""
    *_, (solution, _) = approach(graph, np.zeros(graph.size))
    return solution


def approach(graph: Graph, values: Values) -> Iterator[tuple[Solution, float]]:
    """What comes nearer to perfect play, and how much values change; the last is the solution.

    Each round takes the best replies and then lets the values settle a little while both sides keep
    to them (modified policy iteration, Puterman & Shin 1978); where a round does not come nearer, the
    next one is a plain sweep of value iteration.
    """
    change = np.inf
    for _ in range(ROUNDS):
        new, choice = greedy(graph.listed(values), graph)
        before, change = change, float(np.abs(new - values).max())
        values = new
        if CLOSE <= change < before:
            values = settle(choice, graph, values)
        yield Solution(graph, values, choice), change
        if change < CLOSE:
            return
    raise NoConvergence(f"{graph.rules.name}: values still change by {change} after {ROUNDS} rounds")


def settle(policy: Policy, graph: Graph, values: Values) -> Values:
    """(S,) values a little later, while both sides keep to a policy."""
    both = expected(policy, graph, (1.0, -1.0))[0]
    for _ in range(SETTLING):
        values = both @ graph.listed(values)
    return values


def solved(graph: Graph, values: Values) -> Solution:
    """A game whose values are known already, as `solve` gave them.

    Raises:
        NoConvergence: they are not the values of this game.
    """
    change, choice = np.inf, None
    if values.shape == (graph.size,):
        new, choice = greedy(graph.listed(values), graph)
        change = float(np.abs(new - values).max())
    if not change < 100 * CLOSE:
        raise NoConvergence(f"{graph.rules.name}: the kept values are not those of this game; they change by {change}")
    return Solution(graph, values, choice)


def best_response(
    fixed: Mover, graph: Graph, begin: tuple[Values, Values] | None = None, progress: bool = False
) -> tuple[Values, Values]:
    """(S,) values for MINE where it is the best opponent there can be of a fixed policy, and where it is the policy.

    As `solve`: the best replies to what is expected against the policy, then values settle a little.

    Args:
        fixed: the policy.
        graph: of the game.
        begin: both values for some opponent, who is to be improved on; of an endless game where None.
        progress: count the rounds on a bar.
    """
    own, other = (np.zeros(graph.size), np.zeros(graph.size)) if begin is None else begin
    for _ in counted(ROUNDS, "best response, rounds", progress):
        choice = greedy(one_of(own, other, graph), graph)[1]
        before = own, other
        own, other = between(mover(choice, graph), fixed, graph, before, SETTLING)
        if max(np.abs(own - before[0]).max(), np.abs(other - before[1]).max()) < CLOSE:
            return own, other
    raise NoConvergence(f"{graph.rules.name}: the best response still changes after {ROUNDS} rounds")


def counted(most: int, what: str, progress: bool) -> Iterator[int]:
    """0, 1, .. most - 1, on a bar that does not know where it will end."""
    with tqdm(desc=what, unit="", disable=None if progress else True) as bar:
        for number in range(most):
            bar.update()
            yield number


def measure(policy: Policy, solution: Solution, judged: Values | None = None, *, progress: bool = False) -> Exactness:
    """How far a policy is from perfect play.

    Args:
        policy: of the agent.
        solution: of the game.
        judged: (S,) what the agent thinks every position is worth for MINE, where it has an opinion.
        progress: show bars.
    """
    graph, best = solution.graph, solution.values
    fixed = mover(policy, graph)
    own, other = between(fixed, mover(solution.policy, graph), graph, progress=progress)
    answer, answered = best_response(fixed, graph, (other, own), progress)
    error = None if judged is None else judged - best
    return Exactness(
        None if error is None else float(np.sqrt(np.mean(error**2))),
        None if error is None else float(np.abs(error).max()),
        settled(-(own[0] - other[0]) / 2),
        settled((answer[0] - answered[0]) / 2),
    )


def settled(points: float) -> float:
    """Points without the digits that iteration cannot tell."""
    return round(float(points), DIGITS) + 0.0
