"""A duel on all cores, and one that ends as soon as it is settled who is better."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

from tqdm import tqdm

from agents.base import Agent
from agents.registry import make_agent
from arena.duel import JUDGED_AT_ONCE, Duel, joined, played, told
from arena.luck import Judge, judge_for
from arena.sequential import looks
from cli import Stopped, end_with_parent
from engine.ruleset import InputError, Ruleset

BLOCK = 1024  # pairs that one process plays at once, where there is no luck to look at
FEWEST_BLOCKS = 4  # for which other processes, which take two seconds to start, are worth it
Blocks = Sequence[range]


def match(
    rules: Ruleset,
    agents: tuple[Agent, Agent],
    games: int,
    seed: int,
    judge: Judge | None = None,
    until_settled: bool = False,
    shared: bool = True,
) -> Duel:
    """A duel, played on all cores where it is long; equal on one core and on many.

    The other processes make agents and judge again from their specs.

    Args:
        rules: of all games.
        agents: the first one's view the figures take.
        games: how many (rounded up to whole pairs), or how many at most.
        seed: of the dice.
        judge: the evaluator that says what was luck; None plays without.
        until_settled: stop as soon as it is settled which agent is better, looking after every 100
            pairs (later after every eighth of what was played).
        shared: have both games of a pair the same dice?
    """
    pairs, size = -(-games // 2), BLOCK if judge is None else JUDGED_AT_ONCE
    ends = list(looks(pairs)) if until_settled else [*range(size, pairs, size), pairs]
    blocks = [range(begin, end) for begin, end in pairwise([0, *ends])]
    parts: list[Duel] = []
    is_long = pairs >= FEWEST_BLOCKS * size
    cores = min(os.cpu_count() or 1, len(blocks)) if is_long else 1
    if is_long and judge is not None:
        judge = judge.quick()
    with (
        tqdm(total=2 * pairs, unit=" games", desc=told(*agents), disable=None) as bar,
        players(rules, agents, seed, judge, shared, cores, bar) as play,
    ):
        for part in play(blocks):
            parts.append(part)
            if cores > 1:
                bar.update(part.games)
            if until_settled and joined(parts, tuple(ends[: len(parts)])).settled:
                break
    return joined(parts, tuple(ends[: len(parts)]) if until_settled else ())


@contextmanager
def players(
    rules: Ruleset,
    agents: tuple[Agent, Agent],
    seed: int,
    judge: Judge | None,
    shared: bool,
    cores: int,
    bar: tqdm[None],
) -> Iterator[Callable[[Blocks], Iterator[Duel]]]:
    """What plays blocks of pairs, in order: this process, or as many as there are cores."""
    if cores == 1:
        yield partial(map, lambda pairs: played(rules, agents, seed, pairs, judge, shared, bar))
        return
    threads = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    os.environ |= dict.fromkeys(threads, "1")  # the processes take the cores
    start = partial(begin, rules, [agent.spec for agent in agents], seed, judge.spec if judge else None, shared)
    pool = ProcessPoolExecutor(cores, multiprocessing.get_context("spawn"), start)
    try:
        yield lambda blocks: pool.map(_play, blocks)
    except BrokenProcessPool:
        raise Stopped("a process that played games has died; is there enough memory?", 1) from None
    finally:
        pool.shutdown(cancel_futures=True)
        for name, value in threads.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


_AT_WORK: dict[str, Any] = {}  # what another process plays


def begin(rules: Ruleset, specs: Sequence[str], seed: int, judge: str | None, shared: bool) -> None:
    """Make the agents, in another process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word
    end_with_parent()
    first, second = (make_agent(spec, rules) for spec in specs)
    found = judge_for((), judge or "none", rules)
    look = found.quick() if found else None
    _AT_WORK["play"] = partial(played, rules, (first, second), seed, judge=look, shared=shared)


def _play(pairs: range) -> Duel:
    """A block, in another process."""
    part: Duel = _AT_WORK["play"](pairs)
    return part


def check_asked(text: str, specs: Sequence[str]) -> None:
    """Does `A>B` name two agents, by letter or spec, in either order? Which one is better is found out anyway.

    Raises:
        InputError: it does not, or more agents than two play.
    """
    if len(specs) != 2:
        raise InputError(f"--until {text}: is for two agents, found {len(specs)}")
    names = [part.strip() for part in text.split(">")]
    first, second = {"A", specs[0]}, {"B", specs[1]}
    if len(names) != 2 or not any(a in first and b in second for a, b in (names, names[::-1])):
        raise InputError(f"--until {text}: must be 'A>B', in quotes; A is the first agent, B the second")
