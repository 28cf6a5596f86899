"""Does either seat win more? Self-play of an untrained and of a trained net: `python benchmarks/fairness.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from agents.network import ValueNet, load_network
from agents.value import ValueAgent
from cli import Parser, at_least, run
from engine import BatchGame, Ruleset
from engine.variants import VARIANTS, find_ruleset

BAND = 0.015  # how far from one half a seat's share may lie
GAMES_AT_ONCE = 20_000  # the last few games of a batch cost as much time as all of them
NOISE = 0.1  # of an untrained net: without any it plays some games round and round, and they hardly end


def seat_share(rules: Ruleset, net: ValueNet, games: int, seed: int, noise: float) -> float:
    """The share of decided games that seat 0 wins against the same net; either seat begins half of them.

    `noise` is added to equities, as a share of the largest payoff.
    """
    agent = ValueAgent(net, rules, "self", noise * float(rules.payoffs.max()))
    wins = decided = 0
    for number in range(0, games, GAMES_AT_ONCE):
        game = BatchGame(rules, min(GAMES_AT_ONCE, games - number), seed + number)
        while len(game):
            after = game.afterstates()
            result = game.step(after, agent.choose(after, game.noise))
            payoff = rules.payoffs[result.outcome] * game.is_over
            wins += int(((payoff > 0) == (result.seat == 0))[payoff != 0].sum())
            decided += int((payoff != 0).sum())
            game.keep(np.flatnonzero(~game.is_over & (game.plies < rules.ply_limit)))
    return wins / max(decided, 1)


def main() -> int:
    """Play, print a table; exit code 1 if a share is outside the band."""
    parser = Parser(
        prog="benchmarks/fairness.py",
        description="Shares of wins by seat in self-play, a line a game; 50 % +- 1.5 % is fair, exit code 1 if not.",
    )
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help="games; all of them where none is named")
    parser.add_argument("--games", type=at_least(100), default=20_000, help="for each net (default %(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of dice and weights (default %(default)s)")
    parser.add_argument("--runs", default="runs/family-{}", help="where the trained nets are (default %(default)s)")
    args = parser.parse_args()
    names = [find_ruleset(name).name for name in args.variants] or [rules.name for rules in VARIANTS]
    is_fair = True
    for name in tqdm(names, unit=" variants", disable=None):
        rules = find_ruleset(name)
        torch.manual_seed(args.seed)
        shares = [seat_share(rules, ValueNet(rules, (32,)), args.games, args.seed, NOISE)]
        if Path(args.runs.format(name)).exists():
            shares.append(seat_share(rules, load_network(args.runs.format(name), rules), args.games, args.seed, 0.0))
        is_fair &= all(abs(share - 0.5) <= BAND for share in shares)
        trained = f"{100 * shares[1]:.2f} %" if len(shares) > 1 else "no run"
        told = f"{rules.title}: seat 0 wins {100 * shares[0]:.2f} % with an untrained net, {trained} with a trained one"
        tqdm.write(told, file=sys.stdout)
        sys.stdout.flush()
    return 0 if is_fair else 1


if __name__ == "__main__":
    run(main)
