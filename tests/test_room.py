"""Sums in shared memory: the same for all, whoever is quick or slow, and an end where somebody does not come."""

from __future__ import annotations

import os
import time
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path

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
    room, chance, right = Room(rank, SIZE, WIDTH, longest=30), np.random.default_rng(rank), 0
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


def test_all_get_the_same_sums_and_who_is_gone_is_missed_at_once(tmp_path: Path) -> None:
    context = get_context("spawn")
    told: Queue[tuple[int, int, str, float]] = context.Queue()
    processes = [context.Process(target=take_part, args=(rank, tmp_path / "meeting", told)) for rank in range(SIZE)]
    for process in processes:
        process.start()
    answers = sorted(told.get(timeout=120) for _ in processes)
    for process in processes:
        process.join(60)
    assert [right for _, right, _, _ in answers] == [ROUNDS] * SIZE
    assert [error for _, _, error, _ in answers] == ["it is gone", "it is gone", ""]
    assert max(seconds for _, _, _, seconds in answers) < 20
