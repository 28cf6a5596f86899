"""Short trainings without files, evaluations or other processes."""

from __future__ import annotations

from engine import BatchGame, find_ruleset
from learning.config import Config
from learning.learner import Learner
from learning.selfplay import collect


def learned(config: Config) -> Learner:
    """A learner when its budget of updates is used up."""
    rules = find_ruleset(config.variant, config.rules)
    learner, game = Learner(rules, config), BatchGame(rules, config.selfplay.batch, config.seed)
    while learner.progress < 1:
        trajectory = collect(game, learner.agent(), config.selfplay.plies)
        learner.update(trajectory, learner.targets(trajectory))
        learner.counters.updates += 1
    return learner
