"""One whole game of every variant, as text for human eyes; `--write` makes the files anew.

Each line is a decision: position, what is to be played, the play. The counters of pips play it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from agents.registry import make_agent
from engine import VARIANTS, BatchGame, Ruleset, format_play, format_position, queues_of
from engine.playtext import write_queue

FOLDER = Path(__file__).parent / "playthroughs"


def playthrough(rules: Ruleset) -> str:
    """A game of this variant, a line a decision, and what it paid."""
    game = BatchGame(rules, 1, seed=2)
    agent = make_agent("pips", rules)
    lines = [f"{rules.title}: position of the side to play, what it plays, how"]
    while not game.is_over[0]:
        after = game.afterstates()
        choice = agent.choose(after, game.noise)
        position = format_position(game.boards[0], rules)
        queue = write_queue(queues_of(rules).items[game.pending[0]], rules)
        play = format_play(game.boards[0], int(game.pending[0]), int(choice[0]), rules)
        lines.append(f"seat {game.seat[0]}  {position}   {queue}: {play}")
        result = game.step(after, choice)
    points = int(rules.payoffs[result.outcome[0]]) * (1 if result.seat[0] == 0 else -1)
    return "\n".join([*lines, f"seat 0 scores {points:+d}"]) + "\n"


@pytest.mark.parametrize("rules", VARIANTS, ids=[rules.name for rules in VARIANTS])
def test_the_game_in_the_file_is_played_again(rules: Ruleset) -> None:
    assert playthrough(rules) == (FOLDER / f"{rules.name}.txt").read_text("utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        FOLDER.mkdir(exist_ok=True)
        for each in VARIANTS:
            (FOLDER / f"{each.name}.txt").write_text(playthrough(each), encoding="utf-8")
    else:
        print(np.random.default_rng().choice([playthrough(each) for each in VARIANTS]))
