"""The process of an engine we did not write, as its parent sees it: positions in, numbers out.

Wire format, little-endian, nothing else and never pickle. The child begins with `HELLO`. Then a
request is the numbers of decisions N, of rows M and of plies to look ahead, the rows of each
decision, the positions in which the decisions began, and the rows; the answer is `width` numbers
for each row. The answer comes decision by decision, so that one which never comes is known by its
number.
"""

from __future__ import annotations

import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from typing import IO

import numpy as np
import numpy.typing as npt

HELLO = b"referee2"
START_LIMIT = 60.0  # seconds for a process to start and to load its engine
TICK = 0.1  # seconds between looks at the clock

Wire = npt.NDArray[np.int8]  # (M, 2, 25): points 1..24 and the bar of either side in its own count, the chooser first
Answers = npt.NDArray[np.float64]  # (M, width)


class Fault(Exception):
    """What a process did wrong, and in which decision of the request it was."""

    def __init__(self, reason: str, decision: int) -> None:
        super().__init__(reason)
        self.decision = decision


class Process:
    """One engine's process; it ends with this object, and with the parent, whose end closes its stdin.

    Args:
        command: the program and its arguments.
        width: how many numbers it answers for a row.
        limit: seconds it may take for a decision.

    Raises:
        Fault: it does not start.
    """

    def __init__(self, command: Sequence[str], width: int, limit: float) -> None:
        self.width, self.limit = width, limit
        self.complaints = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        try:
            popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.complaints,
                start_new_session=True,  # Ctrl-C is for the parent
            )
        except OSError as error:
            raise Fault(f"its process does not start: {error}", 0) from None
        assert popen.stdin is not None
        assert popen.stdout is not None
        self.popen, self.requests, self.answers = popen, popen.stdin, popen.stdout
        self.end = weakref.finalize(self, _end, popen, self.complaints)
        with Watch(popen) as watch:
            watch.allow(START_LIMIT)
            hello = self.answers.read(len(HELLO))
        if hello != HELLO:
            reason = self.reason(watch)
            self.end()
            raise Fault(f"its process does not start: {reason}", 0)

    def ask(self, before: Wire, rows: Wire, counts: npt.NDArray[np.int32], ply: int = 0) -> Answers:
        """What the engine says about every row.

        Args:
            before: (N, 2, 25) int8, where the decisions began.
            rows: (M, 2, 25) int8, the positions to be judged.
            counts: (N,) int32, how many rows each decision has.
            ply: how many turns the engine looks ahead of each row.

        Returns:
            (M, width) float64.

        Raises:
            Fault: the process died, or took longer than `limit` for a decision.
        """
        answers = np.empty((len(rows), self.width))
        begun = 0
        try:
            with Watch(self.popen) as watch:
                watch.allow(self.limit)
                self._send(before, rows, counts, ply)
                low = 0
                for begun, count in enumerate(counts.tolist()):
                    watch.allow(self.limit)
                    part = self.answers.read(count * self.width * 8)
                    if len(part) < count * self.width * 8:
                        raise Fault(self.reason(watch), begun)
                    answers[low : low + count] = np.frombuffer(part, "<f8").reshape(count, self.width)
                    low += count
        except (BrokenPipeError, ValueError):  # it has ended, or was ended after an earlier fault
            raise Fault(self.reason(watch), begun) from None
        except BaseException:  # request and answer would be out of step from here on
            self.end()
            raise
        return answers

    def _send(self, before: Wire, rows: Wire, counts: npt.NDArray[np.int32], ply: int) -> None:
        sizes = np.array([len(before), len(rows), ply], "<i4")
        for array in (sizes, counts.astype("<i4"), before.astype(np.int8), rows.astype(np.int8)):
            self.requests.write(array.tobytes())
        self.requests.flush()

    def reason(self, watch: Watch) -> str:
        """Why no more answers come, in words."""
        if watch.is_late:
            return f"no answer within {watch.seconds:g} s"
        if self.complaints.closed:
            return "its process has ended"
        try:
            code = self.popen.wait(TICK * 10)
        except subprocess.TimeoutExpired:
            return "its process closed its output"
        self.complaints.seek(0)
        lines = self.complaints.read().decode(errors="replace").strip().splitlines()
        return f"its process died (exit code {code})" + (f": {lines[-1]}" if lines else "")


class Watch:
    """Kills a process that lets the time it is allowed pass."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self.popen = popen
        self.is_late = False
        self.seconds, self.deadline = 0.0, float("inf")
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def allow(self, seconds: float) -> None:
        """So many seconds from now on."""
        self.seconds, self.deadline = seconds, time.monotonic() + seconds

    def _look(self) -> None:
        while not self._done.wait(TICK):
            if time.monotonic() > self.deadline:
                self.is_late = True
                self.popen.kill()
                return


def _end(popen: subprocess.Popen[bytes], complaints: IO[bytes]) -> None:
    """End a process and free what belongs to it."""
    popen.kill()
    popen.wait()
    for pipe in (popen.stdin, popen.stdout, complaints):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:  # what was not sent yet finds nobody
                continue
