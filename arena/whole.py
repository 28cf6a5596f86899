"""Games of millions of positions, made once into files that are then looked at without being read whole.

All positions of a game are listed beforehand, so that what a slice of them leads to can be written at
once; each process takes a share of the slices.
"""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from arena.solving import POSITIONS_AT_ONCE, Found, Graph, Starts, explored, keys_of
from cli import end_with_parent
from engine.queues import queues_of
from engine.ruleset import InputError, Ruleset
from engine.slots import OFF, SLOTS, THEIRS, Boards, Codes
from engine.variants import find_ruleset

FORMAT = "tabula-rasa graph 1"
FILES = {"target": np.int32, "weight": np.float64, "turned": np.bool_, "counts": np.int32, "ways": np.int32}
SLICES_AT_ONCE = 16


class NotListed(InputError):
    """The positions of this game cannot be listed beforehand; the message says why."""


def all_positions(rules: Ruleset) -> tuple[Boards, Codes]:
    """The start, then every position in which both sides have checkers left and MINE is about to roll.

    Raises:
        NotListed: a turn is more than one decision, something is remembered, or checkers are pinned.
    """
    q = queues_of(rules)
    waits = [queue for queue in q.items if isinstance(queue[0], str)]
    is_simple = waits == [("first",), ("roll",)] and not rules.turn.is_long and not rules.memory
    if not is_simple or rules.contact.fate == "pinned":
        raise NotListed(f"{rules.name}: more can be pending or remembered than a roll, so positions cannot be listed")
    slots = [
        OFF,
        *range(1, rules.bar + (rules.contact.fate == "bar")),
        *[rules.hand] * bool(rules.start_row[rules.hand]),
    ]
    held = list(combinations_with_replacement(slots, rules.checkers))
    sides = np.zeros((len(held), SLOTS), np.int8)
    for side, places in zip(sides, held, strict=True):
        np.add.at(side, list(places), 1)
    sides = sides[sides[:, OFF] < rules.checkers]
    found = [rules.start_row[None, None].repeat(2, axis=1)]
    across = rules.across[1 : rules.points + 1] - THEIRS * SLOTS
    stands = sides[:, across] > 0
    for side in sides:
        apart = ~(stands & (side[1 : rules.points + 1] > 0)).any(axis=1)
        found.append(np.stack([np.broadcast_to(side, sides[apart].shape), sides[apart]], axis=1))
    boards = np.concatenate(found)
    pending = np.full(len(boards), q.code(("roll",)), np.int8)
    pending[0] = q.code(("first",))
    return boards, pending


def make_graph(rules: Ruleset, folder: Path, workers: int = 1, progress: bool = False) -> Graph:
    """Explore all positions of a game into files in a folder, and open them.

    Args:
        rules: of the game.
        folder: is made; what is there already is replaced once everything new is complete.
        workers: processes that share the work.
        progress: show a bar.

    Raises:
        NotListed: the positions of this game cannot be listed beforehand.
    """
    size = len(all_positions(rules)[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("card.json", "values.npy", "half-way.npy"):  # nothing of an older game is taken for this one's
        (folder / name).unlink(missing_ok=True)
    step = POSITIONS_AT_ONCE * SLICES_AT_ONCE
    parts = [(rules.name, dict(rules.house), folder, low, min(low + step, size)) for low in range(0, size, step)]
    outputs = {name: (folder / name).open("wb") for name in FILES}
    with (
        ProcessPoolExecutor(workers, initializer=end_with_parent) as pool,
        tqdm(total=size, unit="", disable=None if progress else True) as bar,
    ):
        for part, written in zip(parts, pool.map(write_part, parts), strict=True):
            for name, output in outputs.items():
                with (written / name).open("rb") as file:
                    shutil.copyfileobj(file, output)
            shutil.rmtree(written)
            bar.update(part[4] - part[3])
    for output in outputs.values():
        output.close()
    card = {"format": FORMAT, "variant": rules.name, "rules": dict(rules.house), "positions": size}
    (folder / "card.json").write_text(json.dumps(card), encoding="utf-8")
    return open_graph(folder, rules)


_LISTED: dict[str, tuple[Boards, Codes, Found]] = {}  # what a process has listed, once for all its parts


def write_part(part: tuple[str, dict[str, str], Path, int, int]) -> Path:
    """What can follow the positions low..high - 1, written into a folder of its own."""
    name, house, folder, low, high = part
    rules = find_ruleset(name, house)
    if (key := str(folder)) not in _LISTED:
        boards, pending = all_positions(rules)
        keys = keys_of(boards, pending)
        order = np.argsort(keys)
        _LISTED[key] = boards, pending, Found(keys[order], order.astype(np.int32))
    boards, pending, found = _LISTED[key]
    written = folder / f"part-{low}"
    written.mkdir(exist_ok=True)
    files = {name: (written / name).open("wb") for name in FILES}
    for begin in range(low, high, POSITIONS_AT_ONCE):
        slots = slice(begin, min(begin + POSITIONS_AT_ONCE, high))
        layer, _, _ = explored(boards[slots], pending[slots], rules)
        assert found.knows(layer.keys), "a position was not listed"
        target = layer.target(found, pending.size)
        columns: list[npt.NDArray[Any]] = [target, layer.weight, layer.turned, layer.replies, layer.results]
        for (name, dtype), column in zip(FILES.items(), columns, strict=True):
            column.astype(dtype).tofile(files[name])
    for file in files.values():
        file.close()
    return written


def open_graph(folder: Path, rules: Ruleset) -> Graph:
    """The graph in a folder; its replies stay on the disk until they are looked at.

    Raises:
        InputError: there is none, or one of another game.
    """
    try:
        card = json.loads((folder / "card.json").read_text("utf-8"))
        is_ours = card["format"] == FORMAT and find_ruleset(card["variant"], card["rules"]) == rules
    except (OSError, ValueError, KeyError, TypeError):
        is_ours = False
    if not is_ours:
        raise InputError(f"{folder}: holds no graph of {rules.name} with these rules")
    columns: dict[str, Any] = {name: np.memmap(folder / name, dtype, "r") for name, dtype in FILES.items()}
    boards, pending = all_positions(rules)
    return Graph(
        rules,
        boards,
        pending,
        starts(columns["ways"]),
        columns["weight"],
        columns["turned"],
        starts(columns["counts"]),
        columns["target"],
    )


def starts(counts: npt.NDArray[np.int32]) -> Starts:
    """(N + 1,) where each of N parts begins, in half the bytes where these do."""
    total = int(counts.sum(dtype=np.int64))
    found: npt.NDArray[Any] = np.zeros(counts.size + 1, np.int64 if total >> 32 else np.uint32)
    np.cumsum(counts, out=found[1:])
    return found
