"""What a 0-ply choice loses a decision, by its own look-ahead and by rollouts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from agents.base import Choice, Scores
from agents.lookahead import LookaheadAgent
from agents.value import ValueAgent
from arena.rollout import roll_out
from engine.decisions import Afterstates, afterstates
from engine.game import BatchGame
from engine.slots import Flags, Rows

GAMES_A_POSITION = 4  # positions taken from a game, on average: neighbours tell little new
TRIVIAL = 0.001  # points between the best and the worst play up to which a decision is no decision
NEAR = 0.08  # points below the best by 1-ply within which a play is rolled out
CANDIDATES = 3  # plays that are rolled out: the choice, and as many of 1-ply's best as make these
ERROR_UNIT, PR_UNIT = 1000, 500


@dataclass(frozen=True, eq=False)
class Sample:
    """Unforced decisions of games that an agent played against itself, and how often decisions were so."""

    after: Afterstates
    forced: float  # share of all decisions
    a_game: float  # unforced decisions of a game, both sides together


@dataclass(frozen=True, eq=False)
class Errors:
    """What each of N decisions lost against a better judge, in points.

    `counts` says which decisions are no trivial ones, that is whose best and worst play differ by more
    than `TRIVIAL` at 0-ply.
    """

    lost: Scores  # (N,)
    sure: Scores  # (N,) standard error of each, 0 where the judge has none
    better: Choice  # (N,) the row that the judge likes best
    counts: Flags  # (N,)

    def record(self, a_game: float) -> dict[str, float | int]:
        """Means, with their standard errors over the decisions."""
        counted = self.lost[self.counts]
        return {
            "decisions": self.lost.size,
            "nontrivial": int(counted.size),
            "points_per_decision": float(self.lost.mean()),
            "points_per_decision_se": spread(self.lost),
            "millipoints_per_unforced_decision": ERROR_UNIT * float(self.lost.mean()),
            "millipoints_per_unforced_decision_se": ERROR_UNIT * spread(self.lost),
            "pr": PR_UNIT * float(counted.mean()) if counted.size else 0.0,
            "pr_se": PR_UNIT * spread(counted),
            "points_per_game_and_side": float(self.lost.mean()) * a_game / 2,
        }


def spread(numbers: Scores) -> float:
    """The standard error of a mean; 0 of fewer than two numbers."""
    return float(numbers.std(ddof=1) / np.sqrt(numbers.size)) if numbers.size > 1 else 0.0


def sample(agent: ValueAgent, positions: int, seed: int) -> Sample:
    """Unforced decisions out of games of an agent against itself, drawn at random from all of these games.

    The same seed gives the same positions.
    """
    games = max(positions // GAMES_A_POSITION, 8)
    game = BatchGame(agent.rules, games, seed)
    boards, codes, forced = [], [], 0
    while len(game):
        after = game.afterstates()
        free = np.flatnonzero(after.counts > 1)
        boards.append(after.before.take(free, axis=0))
        codes.append(after.decided.take(free))
        forced += len(game) - free.size
        game.step(after, agent.choose(after, game.noise))
        game.keep(np.flatnonzero(~game.is_over & (game.plies < agent.rules.ply_limit)))
    found, decided = np.concatenate(boards), np.concatenate(codes)
    taken = np.random.default_rng(seed).permutation(decided.size)[:positions]
    return Sample(
        afterstates(found.take(taken, axis=0), decided.take(taken), agent.rules),
        forced / max(forced + decided.size, 1),
        decided.size / games,
    )


def nontrivial(equity: Scores, after: Afterstates) -> Flags:
    """(N,) flags: do the best and the worst play of a decision differ by more than `TRIVIAL` points?"""
    low, high = (pick.reduceat(equity, after.start[:-1]) for pick in (np.minimum, np.maximum))
    return np.asarray(high - low > TRIVIAL)


def by_lookahead(agent: ValueAgent, deep: LookaheadAgent, after: Afterstates) -> tuple[Errors, Scores]:
    """What the 0-ply choice of N decisions loses by 1-ply; and the (M,) 1-ply equities, -inf where not looked."""
    shallow, equity = agent.equities(after), np.empty(after.game.size)
    games = np.arange(after.counts.size)
    for part in tqdm(np.array_split(games, -(-games.size // 16)), desc="1-ply", unit=" x 16", disable=None):
        some, rows = after.of(part)
        equity[rows] = deep.equities(some)
    choice = agent.best(shallow, after)
    missed = choice[~np.isfinite(equity.take(choice))]  # of many equal plays 1-ply has looked at others
    if missed.size:
        ahead = deep.ahead(after.boards.take(missed, axis=0), after.pending.take(missed))
        equity[missed] = np.where(after.passed.take(missed), -ahead, ahead)
    better = deep.best(equity, after)
    lost = np.maximum(equity.take(better) - equity.take(choice), 0)
    return Errors(lost, np.zeros(lost.size), better, nontrivial(shallow, after)), equity


def by_rollout(agent: ValueAgent, after: Afterstates, equity: Scores, trials: int, plies: int, seed: int) -> Errors:
    """What the 0-ply choice of N decisions loses by truncated rollouts with the luck taken out.

    Rolled out are the choice and the plays that 1-ply likes best, where these are no more than `NEAR`
    below the best; a choice without rivals loses nothing. The best is found by one half of the trials
    and its lead measured by the other, both ways round: the largest of several noisy means would be
    too large. So a true error may show too small where the halves disagree, and single ones below 0.

    Args:
        agent: the 0-ply player, who also plays and values in the rollouts.
        after: the decisions.
        equity: (M,) by 1-ply, -inf where it has not looked.
        trials: of each play, rounded up to an even number.
        plies: turns a trial.
        seed: of the dice.
    """
    shallow = agent.equities(after)
    choice = agent.best(shallow, after)
    lost, sure, better = np.zeros(choice.size), np.zeros(choice.size), choice.copy()
    spans = zip(after.start[:-1], after.start[1:], choice, strict=True)
    rivals = [low + near(equity[low:high], int(pick - low)) for low, high, pick in spans]
    half = -(-trials // 2)
    with tqdm(total=2 * half * sum(map(len, rivals)), desc="rollouts", unit=" trials", disable=None) as bar:
        for game, others in enumerate(rivals):
            if others.size:
                rows = np.append(choice[game], others)
                results = _results(agent, after, rows, (2 * half, plies, seed + game), bar)
                lead = results - results[0]
                first, second = lead[:, :half].mean(axis=1), lead[:, half:].mean(axis=1)
                lost[game] = (second[first.argmax()] + first[second.argmax()]) / 2
                best = int(lead.mean(axis=1).argmax())
                better[game] = rows[best]
                sure[game] = spread(lead[best or int(lead[1:].mean(axis=1).argmax()) + 1])
    return Errors(lost, sure, better, nontrivial(shallow, after))


def near(equity: Scores, choice: int) -> Rows:
    """The best plays by 1-ply besides the choice, as far as they come near the best; rows of one decision."""
    order = np.argsort(-equity, kind="stable")[:CANDIDATES]
    order = order[(order != choice) & (equity[order] >= equity.max() - NEAR)]
    return np.asarray(order[: CANDIDATES - 1], np.intp)


def _results(
    agent: ValueAgent, after: Afterstates, rows: Rows, how: tuple[int, int, int], bar: tqdm[None]
) -> npt.NDArray[np.float64]:
    """(R, trials) points for the chooser of some rows of one decision, all with the same dice."""
    trials, plies, seed = how
    payoffs = agent.payoffs.take(after.outcome.take(rows))
    results = np.repeat(payoffs[:, None], trials, axis=1).astype(np.float64)
    asked = np.flatnonzero(after.outcome.take(rows) < 0)
    bar.update(trials * (rows.size - asked.size - 1))  # the choice itself is not in the total
    if asked.size:
        at = rows.take(asked)
        found = roll_out(agent, after.boards.take(at, axis=0), after.pending.take(at), trials, plies, seed, bar)
        results[asked] = np.where(after.passed.take(at)[:, None], -found.adjusted, found.adjusted)
    return results
