"""Commands of ours run for every game, side by side, and their figures kept; for the other programs of this folder."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import psutil
from tqdm import tqdm

from cli import Parser, at_least
from engine.ruleset import InputError
from engine.variants import VARIANTS, find_ruleset
from learning.runs import processor

ROOT = Path(__file__).parent.parent
Task = TypeVar("Task")
Figures = dict[str, Any]  # of every game, by its name


def arguments(prog: str, description: str, minutes: float) -> argparse.Namespace:
    """The command line of a sweep; `variants` are names of games, all of them where none is given."""
    parser = Parser(prog=prog, description=description)
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help="games; all of them where none is named")
    parser.add_argument("--minutes", type=float, default=minutes, help="of training for each (default %(default)s)")
    parser.add_argument("--at-once", type=at_least(1), default=2, help="trainings side by side, a core each")
    parser.add_argument("--show", action="store_true", help="print the figures of the last time, train nothing")
    args = parser.parse_args()
    args.variants = [find_ruleset(name).name for name in args.variants] or [rules.name for rules in VARIANTS]
    return args


def swept(
    tasks: Sequence[Task], work: Callable[[Task], dict[str, Any]], at_once: int
) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Every task with what came of it and of what machine, as soon as it and all before it are done."""
    made_on = {"at_once": at_once, "cores": psutil.cpu_count(), "processor": processor()}
    with ThreadPoolExecutor(at_once) as pool, tqdm(total=len(tasks), unit=" games", disable=None) as bar:
        for task, entry in zip(tasks, pool.map(work, tasks), strict=True):
            yield task, entry | made_on
            bar.update()


def called(*words: str, folder: Path) -> str:
    """What a command of ours printed, run in this folder.

    Raises:
        InputError: it failed.
    """
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        raise InputError(f"{' '.join(words)}: ended with {done.returncode}: {done.stderr.strip()[-200:]}")
    return done.stdout


def read(path: Path) -> Figures:
    """The figures that were kept; none where there are none yet."""
    found: Figures = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def keep(figures: Figures, path: Path) -> None:
    """Write the figures, the games in the order of `python -m engine list`."""
    order = {rules.name: figures[rules.name] for rules in VARIANTS if rules.name in figures}
    path.write_text(json.dumps(order, indent=1) + "\n", encoding="utf-8")


def as_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    head, *lines = (f"| {' | '.join(cells)} |" for cells in (columns, *rows))
    return "\n".join([head, "|" + "---|" * len(columns), *lines])
