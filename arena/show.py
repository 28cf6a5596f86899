"""Whole games as text, turn by turn, for people to replay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from agents.base import Agent, Appraiser
from arena.report import short_names
from engine.decisions import Afterstates
from engine.game import BatchGame, Result, seeds_of
from engine.notation import format_board
from engine.playtext import Wording, write_queue
from engine.queues import queues_of
from engine.ruleset import Ruleset

BEST = 3  # plays whose equities are shown
NAME_WIDTH = 36


def shown_games(rules: Ruleset, agents: tuple[Agent, Agent], games: int, seed: int) -> Iterator[str]:
    """The first game of each of the first pairs of a duel, as blocks of text: a head, the decisions, the result.

    Args:
        rules: of all games.
        agents: the first has seat 0, as in the first game of a pair.
        games: how many.
        seed: of the dice, the same as the duel's.
    """
    names = short_names([agent.spec for agent in agents], NAME_WIDTH)
    if names[0] == names[1]:
        names = [f"{name} ({seat + 1})" for seat, name in enumerate(names)]
    for number, seeds in enumerate(seeds_of(seed, games).reshape(-1, 1)):
        head = f"Game {number + 1} of {games}: {rules.title}, seed {seed}"
        yield (
            f"{head}\n{'=' * len(head)}\n{names[0]} against {names[1]}.\n"
            "X is the side to play, points are in its count.\n"
        )
        yield from shown_game(BatchGame(rules, 1, seeds=seeds), agents, names)


def shown_game(game: BatchGame, agents: tuple[Agent, Agent], names: Sequence[str]) -> Iterator[str]:
    """The decisions of one game, a block each, and its result; it is played to its end."""
    rules = game.rules
    while not game.is_over[0]:
        if game.plies[0] >= rules.ply_limit:
            yield f"Cut after {rules.ply_limit:,} turns: no result.\n"
            return
        after = game.afterstates()
        seat = int(game.seat[0])
        choice = agents[seat].choose(after, game.noise)
        yield shown_decision(game, after, int(choice[0]), agents[seat], names[seat])
        result = game.step(after, choice)
    yield told_result(result, names, int(game.plies[0]), rules)


def shown_decision(game: BatchGame, after: Afterstates, row: int, agent: Agent, name: str) -> str:
    """The board, what is to be played, the play, and the equities of the best plays where the agent has any."""
    board, code = game.boards[0], int(game.pending[0])
    queue = queues_of(game.rules).items[code]
    texts = Wording(board, code, game.rules, after).texts
    lines = [f"{int(game.plies[0]) + 1}. {name}: {write_queue(queue, game.rules)}"]
    lines += [line for line in format_board(board, game.rules).split("\n") if line.strip() not in ("X", "O")]
    choices = f" (of {len(texts)})" if len(texts) > 1 else " (forced)"
    lines.append(f"  {texts[row]}{choices}")
    if isinstance(agent, Appraiser) and len(texts) > 1:
        equity = agent.equities(after)
        best = [best for best in np.argsort(-equity, kind="stable")[:BEST] if np.isfinite(equity[best])]
        lines += [f"    {equity[best]:+.3f}  {texts[best]}" for best in best]
    return "\n".join(lines) + "\n"


def told_result(result: Result, names: Sequence[str], turns: int, rules: Ruleset) -> str:
    """Who won how much."""
    points = int(rules.payoffs[result.outcome[0]])
    if not points:
        return f"A draw after {turns} turns.\n"
    winner = names[int(result.seat[0]) ^ (points < 0)]
    return f"{winner} wins {abs(points)} point{'s' * (abs(points) > 1)} after {turns} turns.\n"
