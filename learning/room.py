"""Sums over the processes of one machine, through memory that they share: there is nobody to wake."""

from __future__ import annotations

import os
import platform
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from torch import Tensor

LENT = 0.05  # seconds of a wait in which a process only yields its core; one that sleeps is woken milliseconds late
NAP = 0.001  # seconds of sleep after that
LOOK = 1.0  # seconds between two looks whether all are alive
LINE = 8  # int64s of a cache line, so that no two processes write into one
HAS_ROOM = hasattr(os, "memfd_create") and platform.machine() == "x86_64"  # whose stores are seen in the order made


class Room:
    """Memory in which each process of a run leaves numbers and finds those of all others.

    It has two sides that are used in turn: a quick process may leave its next numbers while others
    still read. None can be further ahead, since it waits for all to come.

    Args:
        rank: the number of this process among all of torch's process group, which are on one machine.
        size: how many there are.
        like: (W,) of the numbers that each will bring: how many, and their type.
        longest: seconds that it waits for the others.
    """

    def __init__(self, rank: int, size: int, like: Tensor, longest: float) -> None:
        self.rank, self.longest, self.round = rank, longest, 0
        counts = 8 * LINE * size
        memory = shared(rank, counts + 2 * size * like.nbytes)
        self.processes = [0] * size
        dist.all_gather_object(self.processes, 0 if memory is None else os.getpid())
        self.is_open = 0 not in self.processes  # for all of them, or for none
        if memory is not None:
            self.rounds = memory[:counts].view(np.int64)[::LINE]  # (size,): how often each has come
            self.sides = torch.from_numpy(memory[counts:]).view(like.dtype).view(2, size, -1)

    def sum(self, numbers: Tensor) -> Tensor:
        """(W,) the sum of what all processes bring; all get the same bits.

        Raises:
            TimeoutError: one of them does not come, or is gone.
        """
        self.round += 1
        side = self.sides[self.round % 2]
        side[self.rank].copy_(numbers)
        self.rounds[self.rank] = self.round
        began = looked = time.monotonic()
        while self.rounds.min() < self.round:
            os.sched_yield()
            now = time.monotonic()
            if now - began > LENT:
                time.sleep(NAP)
            if now - looked > LOOK:
                looked = now
                if any(map(is_gone, self.processes)):
                    raise TimeoutError("it is gone")
            if now - began > self.longest:
                raise TimeoutError(f"no answer for {self.longest:g} seconds")
        return side.sum(dim=0)


def shared(rank: int, size: int) -> npt.NDArray[np.uint8] | None:
    """(size,) zeros in memory that all processes of torch's group share; None where this one may not have it."""
    place, memory = [""], None
    with ExitStack() as until_all_are_in:
        with suppress(OSError):
            if rank == 0:
                file = os.memfd_create("tabula-rasa")
                until_all_are_in.callback(os.close, file)
                os.ftruncate(file, size)
                place = [f"/proc/{os.getpid()}/fd/{file}"]
        dist.broadcast_object_list(place)
        with suppress(OSError):
            memory = np.memmap(place[0], np.uint8, "r+", shape=(size,))
        dist.barrier()
    return memory


def is_gone(process: int) -> bool:
    """Has a process of this machine ended, even if its parent has not asked yet?"""
    try:
        return Path(f"/proc/{process}/stat").read_text("latin-1").rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
