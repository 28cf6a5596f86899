"""What a run tells while it goes on: tensorboard, metrics.jsonl, and a bar or plain lines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
from matplotlib.figure import Figure
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams
from tqdm import tqdm

from engine.ruleset import Ruleset
from learning.config import Config
from learning.events import events_of
from learning.learner import Learner
from learning.selfplay import Trajectory

LINE_SECONDS = 30.0  # between plain lines, where there is no terminal
RECORD_UPDATES = 10  # updates a record of scalars stands for
PER_GAME = ("lengths", "wins_of_seat_0", "truncated", "bindings")  # the other events are told per turn


class Log:
    """Records of one run. The step of every curve is plies: turns played, over all games.

    What it has summed up since the last record is part of a checkpoint, so that a resumed run
    writes the same lines as one that never stopped, seconds and rates excepted.

    Args:
        folder: of the run; event files and `metrics.jsonl` go there.
        rules: of the games.
        quiet: show neither a bar nor lines.
    """

    def __init__(self, folder: Path, rules: Ruleset, quiet: bool = False) -> None:
        self.folder, self.rules, self.quiet = folder, rules, quiet
        self.sums: dict[str, float] = {}
        self.seconds: dict[str, float] = {}  # by what the time went to, since the last record
        self.is_terminal = sys.stderr.isatty() and not quiet
        self.writer: SummaryWriter
        self.bar: tqdm[None]
        self.began = self.recorded = time.monotonic()
        self.begun_at = 0.0  # progress when this process began
        self.line_due = self.began

    def open(self, learner: Learner, contents: dict[str, Any] | None = None) -> Log:
        """Begin to write; what an interrupted run wrote after the checkpoint it goes on from is dropped."""
        path = self.folder / "metrics.jsonl"
        counters = learner.counters
        if contents is not None:
            self.sums = dict(contents["log"]["sums"])
            lines = path.read_text("utf-8").splitlines() if path.exists() else []
            kept = [line for line in lines if json.loads(line)["updates"] <= counters.updates]
            path.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
        self.metrics = path.open("a", encoding="utf-8")
        # the purge drops curves past the checkpoint; a step later, because its own records stand
        self.writer = SummaryWriter(str(self.folder), purge_step=counters.plies + 1 if contents is not None else None)
        self.begun_at = learner.progress
        layout = "{percentage:3.0f} %|{bar}| {desc}"
        self.bar = tqdm(total=100, disable=not self.is_terminal, bar_format=layout, leave=False)
        return self

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.close()
        self.writer.close()
        self.metrics.close()

    def state(self) -> dict[str, Any]:
        """What a checkpoint has to keep of the log."""
        return {"sums": dict(self.sums)}

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Count the seconds of this block for `what`."""
        began = time.perf_counter()
        yield
        self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - began

    def record(self, learner: Learner, loss: float, trajectory: Trajectory) -> None:
        """Note an update; every RECORD_UPDATES of them, and the last, make a record."""
        for name, value in {**events_of(trajectory, self.rules), "loss": loss, "updates": 1.0}.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        if learner.counters.updates % RECORD_UPDATES and learner.progress < 1:
            return
        scalars = self._scalars(learner)
        self.sums, self.seconds, self.recorded = {}, {}, time.monotonic()
        self.write(learner, scalars)
        self._show(learner, scalars)

    def _scalars(self, learner: Learner) -> dict[str, float]:
        """The scalars of a record, from what was summed up."""
        sums, config = dict(self.sums), learner.config
        updates, decisions, games = sums.pop("updates"), sums.pop("decisions"), sums.pop("games")
        turns = sums.pop("turns")
        seconds = max(time.monotonic() - self.recorded, 1e-9)
        scalars = {
            "train/loss": sums.pop("loss") / updates,
            "train/rate": learner.scheduled(config.optimizer.rate),
            "train/lambda": learner.scheduled(config.td.lambda_),
            "train/gammon_weight": learner.scheduled(config.td.gammon_weight),
            "train/games": float(learner.counters.games),
            "game/afterstates_per_decision": sums.pop("afterstates") / decisions,
            "speed/games_per_second": games / seconds,
            "speed/plies_per_second": turns / seconds,
            "speed/memory_mib": psutil.Process().memory_info().rss / 2**20,
        }
        shown = {"lengths": "plies"}
        for name, value in sums.items():
            if not (name in PER_GAME or name.startswith("share")):
                scalars[f"game/{name}_per_turn"] = value / max(turns, 1)
            elif games:
                scalars[f"game/{shown.get(name, name)}"] = value / games
        total = sum(self.seconds.values())
        return scalars | {f"speed/share_{what}": spent / total for what, spent in self.seconds.items()}

    def write(self, learner: Learner, scalars: dict[str, float]) -> None:
        """Write scalars to the event file and to metrics.jsonl."""
        counters = learner.counters
        for tag, value in scalars.items():
            self.writer.add_scalar(tag, value, counters.plies)
        self.metrics.write(json.dumps({"plies": counters.plies, "updates": counters.updates, **scalars}) + "\n")
        self.metrics.flush()

    def figure(self, tag: str, figure: Figure, learner: Learner) -> None:
        """Add a picture to the event file."""
        self.writer.add_figure(tag, figure, learner.counters.plies)

    def hyperparameters(self, config: Config, metrics: dict[str, float]) -> None:
        """Write the config's values and the final figures, into the same folder as the curves."""
        sections = config.model_dump(mode="json", by_alias=True, exclude_none=True)
        values = {
            f"{section}.{key}".rstrip("."): value if isinstance(value, int | float) else str(value)
            for section, inner in sections.items()
            for key, value in (inner if isinstance(inner, dict) else {"": inner}).items()
        }
        writer = self.writer._get_file_writer()  # type: ignore[no-untyped-call]
        for summary in hparams(values, metrics):  # type: ignore[no-untyped-call]
            writer.add_summary(summary)

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if not self.quiet:
            tqdm.write(text, file=sys.stdout)
            sys.stdout.flush()

    def _show(self, learner: Learner, scalars: dict[str, float]) -> None:
        """Move the bar, or print a plain line now and then."""
        now, progress = time.monotonic(), learner.progress
        done = progress - self.begun_at
        left = (now - self.began) * (1 - progress) / done if done > 0 else float("inf")
        text = (
            f"{learner.counters.games:,} games, {scalars['speed/games_per_second']:,.0f} games/s, "
            f"loss {scalars['train/loss']:.4f}, {_clock(left)} left"
        )
        if self.is_terminal:
            self.bar.n = round(100 * progress, 1)
            self.bar.set_description_str(text)
        elif now >= self.line_due or progress >= 1:
            self.line_due = now + LINE_SECONDS
            self.say(f"{100 * progress:3.0f} %  {text}")


def _clock(seconds: float) -> str:
    """Seconds as m:ss or h:mm:ss."""
    minutes, rest = divmod(round(min(seconds, 1e6)), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
