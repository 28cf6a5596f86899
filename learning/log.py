"""What a run tells while it goes on: tensorboard, metrics.jsonl, and a bar or plain lines."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import TracebackType

from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from engine.ruleset import Ruleset
from learning.learner import Learner
from learning.selfplay import Trajectory

LINE_SECONDS = 30.0  # between plain lines, where there is no terminal
RECORD_SECONDS = 1.0  # between records of scalars


class Log:
    """Records of one run. The step of every curve is plies: turns played, over all games.

    Args:
        folder: of the run; event files and `metrics.jsonl` go there.
        rules: for the names of the outcomes.
    """

    def __init__(self, folder: Path, rules: Ruleset) -> None:
        self.rules = rules
        self.writer = SummaryWriter(str(folder))
        self.metrics = (folder / "metrics.jsonl").open("a", encoding="utf-8")
        self.is_terminal = sys.stderr.isatty()
        self.bar = tqdm(
            total=100, unit="%", disable=not self.is_terminal, bar_format="{percentage:3.0f} %|{bar}| {desc}"
        )
        self.began = self.line_due = self.record_due = time.monotonic()
        self.trajectories: list[Trajectory] = []
        self.losses: list[float] = []

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.close()
        self.writer.close()
        self.metrics.close()

    def record(self, learner: Learner, loss: float, trajectory: Trajectory) -> None:
        """Note an update; scalars are written about once a second, averaged over the updates since."""
        self.trajectories.append(trajectory)
        self.losses.append(loss)
        now = time.monotonic()
        if now < self.record_due and learner.progress < 1:
            return
        seconds = max(now - self.record_due + RECORD_SECONDS, 1e-9)
        self.record_due = now + RECORD_SECONDS
        scalars = self._scalars(learner, seconds)
        self.trajectories, self.losses = [], []
        self.write(learner.counters.plies, scalars)
        self._show(learner, scalars, now)

    def _scalars(self, learner: Learner, seconds: float) -> dict[str, float]:
        games = sum(t.games for t in self.trajectories)
        plies = sum(t.turns for t in self.trajectories)
        decisions = sum(t.outcome.size for t in self.trajectories)
        scalars = {
            "train/loss": sum(self.losses) / len(self.losses),
            "train/rate": learner.rate,
            "train/lambda": learner.lambda_,
            "train/updates": float(learner.counters.updates),
            "train/games": float(learner.counters.games),
            "speed/games_per_second": games / seconds,
            "speed/plies_per_second": plies / seconds,
            "game/afterstates_per_decision": sum(t.rows for t in self.trajectories) / decisions,
        }
        if games:
            scalars["game/plies"] = float(sum(t.lengths.sum() for t in self.trajectories) / games)
            scalars["game/wins_of_seat_0"] = float(sum((t.winners == 0).sum() for t in self.trajectories) / games)
            points = [int(payoff) for payoff in self.rules.payoffs if payoff >= 0]
            for index, payoff in enumerate(points):  # whoever won: outcome and its mirror are one kind
                mirror = self.rules.payoffs.size - 1 - index
                count = sum(int(((t.outcome == index) | (t.outcome == mirror)).sum()) for t in self.trajectories)
                scalars[f"game/share_of_{payoff}_points"] = count / games
        return scalars

    def write(self, plies: int, scalars: dict[str, float]) -> None:
        """Write scalars to the event file and to metrics.jsonl."""
        for tag, value in scalars.items():
            self.writer.add_scalar(tag, value, plies)
        self.metrics.write(json.dumps({"plies": plies, **scalars}) + "\n")
        self.metrics.flush()

    def _show(self, learner: Learner, scalars: dict[str, float], now: float) -> None:
        progress = learner.progress
        left = (now - self.began) * (1 - progress) / progress if progress else float("inf")
        text = (
            f"{learner.counters.games:,} games, {scalars['speed/games_per_second']:,.0f} games/s, "
            f"loss {scalars['train/loss']:.4f}, {_clock(left)} left"
        )
        if self.is_terminal:
            self.bar.n = round(100 * progress, 1)
            self.bar.set_description_str(text)
        elif now >= self.line_due or progress >= 1:
            self.line_due = now + LINE_SECONDS
            print(f"{100 * progress:3.0f} %  {text}", flush=True)


def _clock(seconds: float) -> str:
    """Seconds as m:ss or h:mm:ss."""
    minutes, rest = divmod(round(min(seconds, 1e6)), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
