"""The processes of one run: each plays its own games; gradients and sums are shared, the first one writes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from cli import Stopped
from engine.ruleset import InputError
from learning.room import HAS_ROOM, LENT, Room

RUN_KEY = "tabula-rasa/run"  # in torchrun's store, which outlives the processes that it starts anew
LONGEST_WAIT = timedelta(seconds=60)  # for the others; a dead one ends the run with a message


class RankError(Stopped):
    """Another process of this run has died, or does not answer."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 1)


class Ranks:
    """All processes of a run, seen from one of them. A single process needs no others and asks nobody.

    Started by torchrun, or by `start()`, which runs this command again for the others.
    """

    def __init__(self) -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.is_given = "WORLD_SIZE" in os.environ  # by torchrun, or by the first process of the run
        self.children: list[subprocess.Popen[bytes]] = []
        self.store: Any = None  # torchrun's
        self.rooms: dict[torch.dtype, Room] = {}  # where gradients are summed, and where figures are

    @property
    def is_first(self) -> bool:
        """Is this the process that writes?"""
        return self.rank == 0

    @property
    def settings(self) -> list[str]:
        """What the number of processes means for the config, where it is settled already."""
        return [f"run.workers={self.size}"] if self.is_given else []

    def device(self, wanted: str) -> torch.device:
        """Where this process's net is: the processes of a machine take its GPUs in turn.

        Raises:
            InputError: a GPU is wanted where torch can use none.
        """
        if wanted == "cpu":
            return torch.device("cpu")
        if not torch.cuda.is_available():
            raise InputError(f'run.device="{wanted}": torch can use no GPU here; run.device="cpu" needs none')
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())

    def begun(self) -> Path | None:
        """The folder of the run that this job began before torchrun started its processes anew, if it did.

        Raises:
            InputError: torchrun does not tell.
            RankError: its store does not answer.
        """
        if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
            if int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")):
                raise InputError("torchrun has no store that outlives a restart; go on with --resume RUN")
            return None
        try:
            self.store, _, _ = next(rendezvous("env://", timeout=LONGEST_WAIT))
            return Path(self.store.get(RUN_KEY).decode()) if self.store.check([RUN_KEY]) else None
        except RuntimeError as error:
            raise RankError(_told(error)) from error

    def remember(self, folder: Path) -> None:
        """Tell the processes that torchrun may start instead of these which run to go on with."""
        if self.store is not None and self.is_first:
            self.store.set(RUN_KEY, str(folder))

    def start(self, workers: int) -> None:
        """Begin to work together; starts the other `workers` processes where nobody else has.

        Raises:
            RankError: one of them does not come.
        """
        if not self.is_given and workers > 1:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(workers)}
            os.environ |= {"RANK": "0", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": str(workers)}
            for rank in range(1, workers):
                place = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)}
                command = [sys.executable, *sys.argv]
                self.children.append(subprocess.Popen(command, env=place, stdout=subprocess.DEVNULL))
            self.size = workers
        if self.size > 1:
            try:
                dist.init_process_group("gloo", None, LONGEST_WAIT, self.size, self.rank, self._store_of_this_start())
            except RuntimeError as error:
                raise RankError(_told(error)) from error

    def _store_of_this_start(self) -> Any:
        """Torchrun's store without what its earlier processes left there: they cannot be reached any more."""
        if self.store is None:
            return None
        from torch._C._distributed_c10d import PrefixStore  # torch.distributed.PrefixStore, with its types

        return PrefixStore(f"start {os.environ['TORCHELASTIC_RESTART_COUNT']}", self.store)

    def stop(self) -> None:
        """End the work together, and wait for those that were started here."""
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()
        for child in self.children:
            child.wait(timeout=LONGEST_WAIT.total_seconds())

    def average(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace every gradient by its mean over the processes."""
        if self.size == 1:
            return
        learned = [(parameter, parameter.grad) for parameter in parameters if parameter.grad is not None]
        flat = torch.cat([gradient.view(-1) for _, gradient in learned])
        mean = (self._sum(flat.cpu()) / self.size).to(flat.device)
        parts = torch.split(mean, [gradient.numel() for _, gradient in learned])
        for (parameter, gradient), part in zip(learned, parts, strict=True):
            parameter.grad = part.view_as(gradient)

    def _sum(self, numbers: torch.Tensor) -> torch.Tensor:
        """The sum over the processes, in shared memory where all of them are on this machine."""
        if not HAS_ROOM or int(os.environ.get("LOCAL_WORLD_SIZE", "0")) != self.size:
            return self._reduce(numbers)
        try:
            if numbers.dtype not in self.rooms:
                self.rooms[numbers.dtype] = Room(self.rank, self.size, numbers, LONGEST_WAIT.total_seconds())
            room = self.rooms[numbers.dtype]
            return room.sum(numbers) if room.is_open else self._reduce(numbers)
        except (RuntimeError, OSError) as error:
            raise RankError(_told(error)) from error

    def total(self, sums: Mapping[str, float]) -> dict[str, float]:
        """The same names with sums over the processes."""
        if self.size == 1:
            return dict(sums)
        values = self._sum(torch.tensor(list(sums.values()), dtype=torch.float64))
        return dict(zip(sums, values.tolist(), strict=True))

    def gather(self, value: Any) -> list[Any]:
        """Everybody's value, by rank; for the first process. The others get their own only."""
        if self.size == 1:
            return [value]
        found: list[Any] | None = [None] * self.size if self.is_first else None
        try:
            dist.gather_object(value, found)
        except RuntimeError as error:
            raise RankError(_told(error)) from error
        return found or [value]

    def _reduce(self, tensor: torch.Tensor) -> torch.Tensor:
        """Sum over the processes, in place, and return it; in a short wait other processes get the core."""
        try:
            work = dist.all_reduce(tensor, async_op=True)
            assert work is not None
            blocks = time.monotonic() + LENT
            while not work.is_completed() and time.monotonic() < blocks:
                os.sched_yield()
            work.wait()
            return tensor
        except RuntimeError as error:
            raise RankError(_told(error)) from error


def _told(error: Exception) -> str:
    reason = str(error).strip().split("\n")[0][:160]
    return f"another process of this run has died or does not answer ({reason})"
