"""Other programs, each in a process of its own: `python peers.py PACKAGE POSITIONS`, asked by speed.py.

Three find afterstates of recorded positions, one plays random games, one learns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import numpy.typing as npt
from laps import Lap, Step, lap_of

from engine import InputError
from engine.slots import MINE, THEIRS

CHUNK = 50  # positions a peer works through between two looks at the clock
REPLAYED = 2_000  # positions for OpenSpiel, whose states can only be made by replaying games
OPENSPIEL_BAR = 100
PGX_GAMES, PGX_STEPS = 1024, 20  # games at once, steps of one die in a call
BGSAGE_GAMES, BGSAGE_HIDDEN = 100, 120  # of training in a call; its own default
GENERATORS = ("gnubg-nn", "open-spiel", "bgsage")
MODULES = {
    "gnubg-nn": "gnubg_nn",
    "open-spiel": "pyspiel",
    "bgsage": "bgsage",
    "pgx": "pgx",
    "bgsage trainer": "bgbot_cpp",
}

Arrays = dict[str, npt.NDArray[Any]]
Generate = Callable[[Sequence[Any]], int]  # finds the results of positions in a peer's own form and counts them
Peer = tuple[list[Any], list[int], Generate]  # positions, how many results each has, and the work


def installed() -> list[str]:
    """The peers that can be asked here."""
    return [peer for peer, module in MODULES.items() if find_spec(module)]


def gnubg(record: Arrays) -> Peer:
    """gnubg-nn: two rows of 25, points 1..24 and the bar in their owner's count; row 1 is to play."""
    from gnubg_nn import moves

    boards = record["boards"][:, [THEIRS, MINE], 1:26].tolist()
    inputs = [(board, *roll) for board, roll in zip(boards, record["dice"].tolist(), strict=True)]
    counts = [max(len(moves(*position)), 1) for position in inputs]  # it lists no forced pass
    return inputs, counts, lambda chunk: sum([len(moves(board, large, small)) for board, large, small in chunk])


def openspiel_results(state: Any) -> list[Any]:
    """The states after a play; a double is two actions there."""
    children = [state.child(action) for action in state.legal_actions()]
    halves = {str(child): child for child in children if child.is_player_node()}
    results = [half.child(action) for half in halves.values() for action in half.legal_actions()]
    return results + [child for child in children if not child.is_player_node()]


def openspiel_board(state: Any, player: int) -> tuple[tuple[int, ...], ...]:
    """Slots 1..25 of both sides, `player` first; OpenSpiel's player 0 walks up from place 0 to 23, player 1 down."""
    places = [(*range(23, -1, -1), OPENSPIEL_BAR), (*range(24), OPENSPIEL_BAR)]
    return tuple(tuple(state.board(side, place) for place in places[side]) for side in (player, 1 - player))


def openspiel(record: Arrays) -> Peer:
    """OpenSpiel: the recorded games replayed, player 0 beginning all of them."""
    import pyspiel

    boards, start = record["boards"][:REPLAYED, :, 1:26].tolist(), pyspiel.load_game("backgammon")
    is_first = np.diff(record["game"], prepend=-1) != 0
    inputs, counts, player, results = [], [], 0, dict[Any, Any]()
    for rows, (larger, smaller), is_new in zip(boards, record["dice"][:REPLAYED], is_first[:REPLAYED], strict=True):
        player = 0 if is_new else 1 - player
        state = start.new_initial_state() if is_new else results[tuple(map(tuple, rows[::-1]))]
        rolls = {state.action_to_string(action): action for action in state.legal_actions()}
        state.apply_action(next(rolls[text] for text in rolls if text.endswith(f"(roll: {smaller}{larger})")))
        results = {openspiel_board(result, player): result for result in openspiel_results(state)}
        inputs.append(state)
        counts.append(len(results))
    return inputs, counts, lambda chunk: sum([len(openspiel_results(state)) for state in chunk])


def bgsage(record: Arrays) -> Peer:
    """bgsage: 26 numbers, their bar, points 1..24 in my count (mine positive), my bar."""
    from bgsage import possible_moves

    boards = record["boards"].astype(int)
    mine, theirs = boards[:, MINE], boards[:, THEIRS]
    points = mine[:, 1:25] - theirs[:, 24:0:-1]
    signed = np.concatenate([theirs[:, 25:26], points, mine[:, 25:26]], axis=1).tolist()
    inputs = [(board, *roll) for board, roll in zip(signed, record["dice"].tolist(), strict=True)]
    counts = [max(len(possible_moves(*position)), 1) for position in inputs]  # it lists no forced pass
    return inputs, counts, lambda chunk: sum([len(possible_moves(*position)) for position in chunk])


def pgx() -> Step:
    """pgx: random games in a batch, compiled by JAX for the processor; a step is one checker by one die."""
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core, as for all others
    import jax
    import pgx as package
    from jax import numpy as jnp

    env = package.make("backgammon")
    new, play = jax.vmap(env.init), jax.vmap(env.step)

    def one(carry: Any, _: Any) -> Any:
        state, key, plies, games = carry
        key, pick, dice, fresh = jax.random.split(key, 4)
        action = jax.random.categorical(pick, jnp.where(state.legal_action_mask, 0.0, -1e9), axis=-1)
        after = play(state, action, jax.random.split(dice, PGX_GAMES))
        over = after.terminated
        plies += ((after._turn != state._turn) | over).sum()
        begun = new(jax.random.split(fresh, PGX_GAMES))
        state = jax.tree_util.tree_map(
            lambda old, begin: jnp.where(over.reshape((-1,) + (1,) * (old.ndim - 1)), begin, old), after, begun
        )
        return (state, key, plies, games + over.sum()), None

    many = jax.jit(lambda state, key: jax.lax.scan(one, (state, key, jnp.int32(0), jnp.int32(0)), None, PGX_STEPS)[0])
    key = jax.random.PRNGKey(0)
    held = [jax.jit(new)(jax.random.split(key, PGX_GAMES)), key]

    def step(lap: Lap) -> None:
        state, key, plies, games = many(*held)
        held[:] = state, key
        lap.plies += int(plies)
        lap.games += int(games)

    for _ in range(15):  # compiles, and spreads the games over all phases
        step(Lap())
    return step


def trainer() -> Step:
    """bgsage's own training by self-play in C++, TD(0), on one thread; goes on from its weights so far."""
    from bgbot_cpp import td_train

    folder, weights = mkdtemp(), [""]

    def step(lap: Lap) -> None:
        settings = {"n_games": BGSAGE_GAMES, "n_hidden": BGSAGE_HIDDEN, "benchmark_interval": 10**9}
        lap.games += td_train(models_dir=folder, model_name="peer", resume_from=weights[0], **settings).games_played
        weights[0] = str(Path(folder) / "peer.weights")

    for _ in range(10):  # the first games of an untrained net are long
        step(Lap())
    return step


def generator(peer: str, positions: str) -> tuple[dict[str, Any], Step]:
    """A generator at work on the recorded positions, and how often it agrees with ours."""
    with np.load(positions) as file:
        record = dict(file)
    inputs, counts, generate = {"gnubg-nn": gnubg, "open-spiel": openspiel, "bgsage": bgsage}[peer](record)
    parts = [slice(low, low + CHUNK) for low in range(0, len(inputs), CHUNK)]
    chunks = cycle([(inputs[part], sum(counts[part])) for part in parts])

    def step(lap: Lap) -> None:
        chunk, distinct = next(chunks)
        generate(chunk)
        lap.afterstates += distinct
        lap.plies += len(chunk)

    return {"positions": len(counts), "agree": int((record["counts"][: len(counts)] == counts).sum())}, step


def main(peer: str, positions: str) -> None:
    """Be a peer's process: for each line of seconds on stdin work that long, and print the lap."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the peer itself prints is no answer
    facts: dict[str, Any] = {"version": version(peer.split(maxsplit=1)[0])}
    if peer in GENERATORS:
        more, step = generator(peer, positions)
        facts |= more
    else:
        step = {"pgx": pgx, "bgsage trainer": trainer}[peer]()
    for line in sys.stdin:
        lap = lap_of(step, float(line)) if float(line) else Lap()
        print(json.dumps([facts, asdict(lap)]), file=out, flush=True)


def process_of(peer: str, positions: Path) -> subprocess.Popen[str]:
    """A peer's process, on one thread."""
    command, env = [sys.executable, __file__, peer, str(positions)], {**os.environ, "OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=env)


def ask(process: subprocess.Popen[str], seconds: float) -> tuple[dict[str, Any], Lap]:
    """One round of a peer: facts about it, and the lap; 0 seconds are for the facts only."""
    print(seconds, file=process.stdin, flush=True)
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise InputError("a peer's process ended early; run benchmarks/peers.py by hand to see why")
    facts, lap = json.loads(line)
    return facts, Lap(**lap)


if __name__ == "__main__":
    main(*sys.argv[1:])
