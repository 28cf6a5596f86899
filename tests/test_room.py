"""Sums in shared memory: the same for all, whoever is quick or slow, and an end where somebody does not come."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist

from learning.room import HAS_ROOM, Room

pytestmark = pytest.mark.skipif(not HAS_ROOM, reason="no room on this kind of machine")
SIZE, WIDTH, ROUNDS = 3, 1000, 300


def brought(rank: int, number: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng([rank, number]).normal(size=WIDTH).astype(np.float32))


def take_part(rank: int, meeting: str, told: Queue[tuple[int, int, str, float]]) -> None:
    """Come to every round, now and then late; then the last one leaves without a word."""
    dist.init_process_group("gloo", f"file://{meeting}", rank=rank, world_size=SIZE)
    room, chance, right = Room(rank, SIZE, torch.empty(WIDTH), longest=30), np.random.default_rng(rank), 0
    for number in range(ROUNDS):
        if chance.random() < 0.1:
            time.sleep(0.003 * rank)
        found = room.sum(brought(rank, number))
        right += torch.equal(found, torch.stack([brought(each, number) for each in range(SIZE)]).sum(dim=0))
    if rank == SIZE - 1:
        told.put((rank, right, "", 0.0))
        told.close()
        told.join_thread()
        os._exit(0)
    began = time.monotonic()
    try:
        room.sum(brought(rank, ROUNDS))
    except TimeoutError as error:
        told.put((rank, right, str(error), time.monotonic() - began))


def find_it_closed(rank: int, meeting: str, told: Queue[bool]) -> None:
    """Come, but for one that may not."""
    dist.init_process_group("gloo", f"file://{meeting}", rank=rank, world_size=SIZE)
    if rank == 1:
        np.memmap = refuse  # type: ignore[misc, assignment]
    told.put(Room(rank, SIZE, torch.empty(WIDTH), longest=30).is_open)


def refuse(*_: object, **__: object) -> None:
    raise PermissionError


def started(work: Callable[..., None], folder: Path, told: Queue[Any]) -> list[Any]:
    """What the processes tell, in order, once all have ended."""
    process = partial(get_context("spawn").Process, target=work)
    processes = [process(args=(rank, folder / "meeting", told)) for rank in range(SIZE)]
    for each in processes:
        each.start()
    answers = sorted(told.get(timeout=120) for _ in processes)
    for each in processes:
        each.join(60)
    return answers


def test_all_get_the_same_sums_and_who_is_gone_is_missed_at_once(tmp_path: Path) -> None:
    told: Queue[tuple[int, int, str, float]] = get_context("spawn").Queue()
    answers = started(take_part, tmp_path, told)
    assert [right for _, right, _, _ in answers] == [ROUNDS] * SIZE
    assert [error for _, _, error, _ in answers] == ["it is gone", "it is gone", ""]
    assert max(seconds for _, _, _, seconds in answers) < 10


def test_where_one_may_not_enter_the_room_is_closed_for_all(tmp_path: Path) -> None:
    assert started(find_it_closed, tmp_path, get_context("spawn").Queue()) == [False] * SIZE
