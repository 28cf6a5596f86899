"""What the 0-ply choice of a policy loses a decision: against 1-ply, and against luck-adjusted rollouts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from agents.base import AgentError, Choice, Scores
from agents.lookahead import LookaheadAgent
from agents.registry import make_agent
from agents.value import ValueAgent
from arena.errors import CANDIDATES, NEAR, TRIVIAL, Errors, by_lookahead, by_rollout, sample
from arena.page import Findings, Section, grid, picture, table, text
from cli import apart, at_least
from engine.decisions import Afterstates
from engine.notation import format_position
from engine.playtext import format_play, write_queue
from engine.queues import queues_of
from engine.ruleset import Ruleset
from engine.variants import find_ruleset
from learning.pictures import draw_board

WORST = 5  # decisions that are told one by one
DRAWN = 3  # of these, boards on the page
COLUMNS = ("judge", "decisions", "millipoints a decision", "PR", "points a game and side")
MEANING = (
    "Millipoints are thousandths of a point lost per unforced decision, as GNU Backgammon counts its error rate. "
    "PR is 500 times the points lost per decision that is no trivial one; trivial are decisions whose best and worst "
    f"play differ by no more than {TRIVIAL} points at 0-ply, as Open Sage has it. Both are cubeless, and the "
    "judge is the policy itself, looking further: what it never sees, it does not count. ± is one standard error over "
    f"the decisions. Rolled out are the choice and up to {CANDIDATES - 1} rivals within {NEAR} points of the best by "
    "1-ply; the best is found by one half of the trials and its lead measured by the other."
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("variant", help="a game that `python -m engine list` prints")
    parser.add_argument("agent", nargs="+", metavar="AGENT", help="td:PATH or policy:FILE; rules.KEY=VALUE behind it "
                        "are house rules")  # fmt: skip
    parser.add_argument("--positions", type=at_least(2), default=200, help="unforced decisions (default %(default)s)")
    parser.add_argument("--trials", type=at_least(2), default=24, help="of each play (default %(default)s)")
    parser.add_argument("--plies", type=at_least(1), default=4, help="turns of a trial (default %(default)s)")


def find(args: argparse.Namespace) -> Findings:
    """Draw the positions, judge them twice, tell the worst."""
    words, house = apart(args.agent)
    rules = find_ruleset(args.variant, house)
    agent = policy_of(words, rules)
    drawn = sample(agent, args.positions, args.seed)
    deep, equity = by_lookahead(agent, LookaheadAgent(agent.evaluator, rules, agent.spec), drawn.after)
    rolled = by_rollout(agent, drawn.after, equity, args.trials, args.plies, args.seed)
    judges = {"1-ply": deep, f"rollouts, {args.trials} x {args.plies} plies": rolled}
    figures = {name: errors.record(drawn.a_game) for name, errors in judges.items()}
    rows = [row_of(name, figures[name]) for name in judges]
    choice = agent.best(agent.equities(drawn.after), drawn.after)
    worst = [told(drawn.after, game, choice, rolled, deep, rules) for game in np.argsort(-rolled.lost)[:WORST]]
    record = {
        "variant": rules.name,
        "rules": dict(rules.house),
        "agent": agent.spec,
        "seed": args.seed,
        "trials": args.trials,
        "plies": args.plies,
        "forced": drawn.forced,
        "unforced_a_game": drawn.a_game,
        "judges": figures,
        "worst": worst,
    }
    title = f"{rules.title}: what {agent.spec} loses at 0-ply, seed {args.seed}"
    sections = [
        table("Errors", COLUMNS, rows, MEANING),
        table("Worst decisions, by rollouts", list(worst[0]), [list(one.values()) for one in worst]),
        *boards(drawn.after, rolled.lost, worst, rules),
        text("Positions", f"{100 * drawn.forced:.1f} % of all decisions were forced; {drawn.a_game:.1f} a game were "
             "not, both sides together. Drawn at random from games of the policy against itself."),
    ]  # fmt: skip
    return Findings(title, record, [grid(title, COLUMNS, rows), MEANING], sections)


def policy_of(words: Sequence[str], rules: Ruleset) -> ValueAgent:
    """The 0-ply player that the one spec names.

    Raises:
        AgentError: more than one, or none with a value function.
    """
    if len(words) != 1:
        raise AgentError(f"one AGENT is required, found {len(words)}")
    agent = make_agent(words[0], rules)
    if not isinstance(agent, ValueAgent) or isinstance(agent, LookaheadAgent):
        raise AgentError(f"agent {agent.spec!r}: must be a value function at 0-ply, such as td:PATH or policy:FILE")
    return agent


def row_of(name: str, figures: dict[str, float | int]) -> list[str]:
    """One judge's figures."""
    error = (
        f"{figures['millipoints_per_unforced_decision']:.2f} ± {figures['millipoints_per_unforced_decision_se']:.2f}"
    )
    pr = f"{figures['pr']:.2f} ± {figures['pr_se']:.2f}"
    return [name, str(figures["decisions"]), error, pr, f"{figures['points_per_game_and_side']:.3f}"]


def told(
    after: Afterstates, game: int, choice: Choice, rolled: Errors, deep: Errors, rules: Ruleset
) -> dict[str, str | float]:
    """One decision: the position, what was played, what would have been better and by how much."""
    board, code, first = after.before[game], int(after.decided[game]), int(after.start[game])
    queue = queues_of(rules).items[code]
    return {
        "position": format_position(board, rules),
        "roll": write_queue(queue, rules),
        "played": format_play(board, code, int(choice[game]) - first, rules),
        "better": format_play(board, code, int(rolled.better[game]) - first, rules),
        "lost": round(float(rolled.lost[game]), 4),
        "±": round(float(rolled.sure[game]), 4),
        "lost by 1-ply": round(float(deep.lost[game]), 4),
    }


def boards(after: Afterstates, lost: Scores, worst: Sequence[dict[str, str | float]], rules: Ruleset) -> list[Section]:
    """The worst positions, drawn."""
    games = np.argsort(-lost)[:DRAWN]
    return [
        picture(
            f"{one['roll']}: {one['played']}, better {one['better']}",
            draw_board(after.before[game], rules, f"{one['roll']} to play"),
            f"Loses {one['lost']} ± {one['±']} points.",
        )
        for game, one in zip(games, worst, strict=False)
    ]
