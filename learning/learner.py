"""The net, its optimizer and its schedules; one update from one trajectory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from agents.bearoff import WithBearoff, load_bearoff
from agents.glance import WIDEST, GlancingAgent
from agents.network import ValueNet
from agents.value import Evaluator, ValueAgent
from engine.ruleset import Ruleset
from learning.config import Config, Run, at
from learning.ranks import Ranks
from learning.selfplay import Trajectory
from learning.targets import Values, exact_targets, lambda_targets, one_hot


class NotFiniteError(Exception):
    """A loss or a weight is no number any more; the message names the update and the tensor."""


@dataclass
class Counters:
    """What a run has done so far; the budget is measured in it."""

    updates: int = 0
    games: int = 0
    plies: int = 0
    seconds: float = 0.0
    truncated: int = 0

    def progress(self, run: Run) -> float:
        """How far the run is through its budget, 0..1: the budget that is nearest its end counts."""
        used = {"updates": self.updates, "games": self.games, "plies": self.plies, "minutes": self.seconds / 60}
        limits = {"updates": run.updates, "games": run.games, "plies": run.plies, "minutes": run.minutes}
        return min(max(used[name] / limit for name, limit in limits.items() if limit is not None), 1.0)


class Learner:
    """A value net that learns from trajectories.

    Args:
        rules: of the games.
        config: of the run; net, td and optimizer are read from it, and the seed.
        device: where the net is.
    """

    def __init__(self, rules: Ruleset, config: Config, device: torch.device | str = "cpu") -> None:
        torch.manual_seed(config.seed)
        self.rules, self.config, self.device = rules, config, device
        self.net = ValueNet(rules, tuple(config.net.hidden)).to(device)
        self.bearoff = load_bearoff(config.td.bearoff, rules) if config.td.bearoff else None
        self.evaluator: Evaluator = self.net if self.bearoff is None else WithBearoff(self.net, self.bearoff)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1.0, fused=True)
        self.generator = np.random.default_rng(config.seed)
        self.counters = Counters()

    @property
    def progress(self) -> float:
        """How far the run is through its budget, 0..1."""
        return self.counters.progress(self.config.run)

    def scheduled(self, schedule: float | list[list[float]]) -> float:
        """The value of a schedule now."""
        return at(schedule, self.progress)

    def agent(self) -> ValueAgent:
        """The net as a player that explores as the config says."""
        weight = self.scheduled(self.config.td.gammon_weight)
        noise, missed = (self.scheduled(s) for s in (self.config.selfplay.noise, self.config.selfplay.glance))
        is_here = self.bearoff is None and self.net.levels.is_cpu and not self.config.run.players
        pays = len(self.net.hidden) > 1 and self.net.hidden[0] <= WIDEST
        judge = self.net.judge(torch.bfloat16 if self.config.selfplay.precision == "bfloat16" else torch.float32)
        if missed and not noise and is_here and pays:
            return GlancingAgent(judge, self.rules, "self", missed, weight)
        evaluator = judge if self.bearoff is None else WithBearoff(judge, self.bearoff)
        return ValueAgent(evaluator, self.rules, "self", noise, weight)

    def targets(self, trajectory: Trajectory) -> Values:
        """(T, N, K) float32: what the positions of a trajectory should have predicted."""
        decisions, games = trajectory.outcome.shape
        flat = (decisions + 1) * games
        boards = trajectory.boards.reshape(flat, *trajectory.boards.shape[2:])
        pending = trajectory.pending.reshape(flat)
        values = self.evaluator.values(boards, pending).reshape(decisions + 1, games, -1)
        known = None if self.bearoff is None else self.bearoff.known(boards, pending).reshape(decisions + 1, games)
        outcomes = one_hot(trajectory.outcome, self.rules.payoffs.size)
        lambda_ = self.scheduled(self.config.td.lambda_)
        targets = lambda_targets(values, outcomes, trajectory.passed, lambda_, known)
        exact = round(self.scheduled(self.config.td.exact) * trajectory.outcome.size)
        if exact:
            rows = self.generator.permutation(trajectory.outcome.size)[:exact]
            agent = ValueAgent(self.evaluator, self.rules, "self")
            flat_targets = targets.reshape(trajectory.outcome.size, -1)
            flat_targets[rows] = exact_targets(agent, boards.take(rows, axis=0), pending.take(rows), self.rules)
        return targets

    def update(self, trajectory: Trajectory, targets: Values, ranks: Ranks | None = None) -> float:
        """Learn from a trajectory; the mean loss, cross-entropy in nats.

        With `ranks`, each process brings its part of every minibatch and all take the same steps.

        Raises:
            NotFiniteError: the loss or a weight is infinite or no number.
        """
        size = trajectory.outcome.size
        boards = trajectory.boards[:-1].reshape(size, *trajectory.boards.shape[2:])
        pending = trajectory.pending[:-1].reshape(size)
        wanted = torch.from_numpy(targets.reshape(size, -1)).to(self.device)
        optimizer = self.config.optimizer
        for group in self.optimizer.param_groups:
            group["lr"] = self.scheduled(optimizer.rate)
        minibatch, epochs = (max(1, round(self.scheduled(s))) for s in (optimizer.minibatch, optimizer.epochs))
        minibatch = max(1, minibatch // (ranks.size if ranks else 1))
        losses = []
        for _ in range(epochs):
            order = self.generator.permutation(size)
            for low in range(0, size, minibatch):
                rows = order[low : low + minibatch]
                loss = functional.cross_entropy(self.net(boards[rows], pending[rows]), wanted[rows])
                self.optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                if ranks is not None:
                    ranks.average(self.net.parameters())
                self.optimizer.step()
                losses.append(loss.detach())
        mean = float(torch.stack(losses).mean())
        self._check(mean)
        return mean

    def _check(self, loss: float) -> None:
        """Stop at the first number that is none, before it is saved or played."""
        update = self.counters.updates + 1
        for name, tensor in self.net.named_parameters():
            if not bool(torch.isfinite(tensor).all()):
                raise NotFiniteError(f"update {update}: {name} is not finite")
        if not np.isfinite(loss):
            raise NotFiniteError(f"update {update}: the loss is {loss}")

    def count(self, sums: Mapping[str, float]) -> None:
        """Note an update and what was played for it, by the names of `learning.events`."""
        self.counters.updates += 1
        self.counters.games += round(sums["games"])
        self.counters.plies += round(sums["turns"])
        self.counters.truncated += round(sums["truncated"])
        self.counters.seconds += sums["seconds"]

    def state(self) -> dict[str, Any]:
        """Everything that a later learner needs to go on exactly from here, as tensors and plain types."""
        return {
            "weights": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "counters": asdict(self.counters),
            "generator": json.dumps(self.generator.bit_generator.state),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on exactly where `state()` was taken."""
        self.net.load_state_dict(state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.counters = Counters(**state["counters"])
        self.generator.bit_generator.state = json.loads(state["generator"])
