"""Does either seat win more? Self-play of an untrained and of a trained net: `python benchmarks/fairness.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from agents.network import ValueNet, load_network
from agents.value import ValueAgent
from cli import Parser, at_least, run
from engine import BatchGame, Ruleset
from engine.variants import VARIANTS, find_ruleset

BAND = 0.015  # how far from one half a seat's share may lie
GAMES_AT_ONCE = 5_000


def seat_share(rules: Ruleset, net: ValueNet, games: int, seed: int) -> float:
    """The share of decided games that seat 0 wins against the same net; either seat begins half of them."""
    agent = ValueAgent(net, rules, "self")
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
        prog="benchmarks/fairness.py", description="Shares of wins by seat in self-play; 50 % +- 1.5 % is fair."
    )
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help="games; all of them where none is named")
    parser.add_argument("--games", type=at_least(100), default=20_000, help="for each net (default %(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of dice and weights (default %(default)s)")
    parser.add_argument("--runs", default="runs/family-{}", help="where the trained nets are (default %(default)s)")
    args = parser.parse_args()
    names = [find_ruleset(name).name for name in args.variants] or [rules.name for rules in VARIANTS]
    table = Table("game", "untrained net, seat 0 wins", "trained net, seat 0 wins")
    is_fair = True
    for name in tqdm(names, unit=" variants", disable=None):
        rules = find_ruleset(name)
        torch.manual_seed(args.seed)
        nets = [ValueNet(rules, (32,))]
        if Path(args.runs.format(name)).exists():
            nets.append(load_network(args.runs.format(name), rules))
        shares = [seat_share(rules, net, args.games, args.seed) for net in nets]
        is_fair &= all(abs(share - 0.5) <= BAND for share in shares)
        table.add_row(rules.title, *(f"{100 * share:.2f} %" for share in shares), *["no run"] * (2 - len(shares)))
    Console().print(table)
    return 0 if is_fair else 1


if __name__ == "__main__":
    run(main)
