"""The processes of one run: each plays its own games; gradients and sums are shared, the first one writes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

LONGEST_WAIT = timedelta(seconds=60)  # for the others; a dead one ends the run with a message


class RankError(Exception):
    """Another process of this run has died, or does not answer."""


class Ranks:
    """All processes of a run, seen from one of them. A single process needs no others and asks nobody.

    Started by torchrun, or by `start()`, which runs this command again for the others.
    """

    def __init__(self) -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.children: list[subprocess.Popen[bytes]] = []

    @property
    def is_first(self) -> bool:
        """Is this the process that writes?"""
        return self.rank == 0

    def seed(self, seed: int) -> int:
        """A seed of this process's own, for its games; the first one's is `seed` itself."""
        return seed + (self.rank << 40)

    def start(self, workers: int | str) -> None:
        """Begin to work together; starts the other processes where nobody else has.

        Args:
            workers: processes wanted, or "cores"; what torchrun has started counts more.
        """
        workers = (os.cpu_count() or 1) if isinstance(workers, str) else workers
        if self.size == 1 and workers > 1:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            os.environ |= {
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "WORLD_SIZE": str(workers),
                "RANK": "0",
            }
            for rank in range(1, workers):
                place = {**os.environ, "RANK": str(rank)}
                self.children.append(
                    subprocess.Popen([sys.executable, *sys.argv], env=place, stdout=subprocess.DEVNULL)
                )
            self.size = workers
        if self.size > 1:
            dist.init_process_group("gloo", rank=self.rank, world_size=self.size, timeout=LONGEST_WAIT)

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
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        flat = torch.cat([gradient.view(-1) for gradient in gradients])
        self._reduce(flat)
        flat /= self.size
        for gradient, part in zip(gradients, torch.split(flat, [g.numel() for g in gradients]), strict=True):
            gradient.copy_(part.view_as(gradient))

    def total(self, sums: Mapping[str, float]) -> dict[str, float]:
        """The same names with sums over the processes."""
        if self.size == 1:
            return dict(sums)
        values = torch.tensor(list(sums.values()), dtype=torch.float64)
        self._reduce(values)
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

    def _reduce(self, tensor: torch.Tensor) -> None:
        try:
            dist.all_reduce(tensor)
        except RuntimeError as error:
            raise RankError(_told(error)) from error


def _told(error: RuntimeError) -> str:
    reason = str(error).strip().split("\n")[0][:160]
    return f"another process of this run has died or does not answer ({reason})"
