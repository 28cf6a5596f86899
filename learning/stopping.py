"""Ctrl-C and SIGTERM: finish the update, save, and leave with 130 or 143."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopSignal:
    """Notes the first SIGINT or SIGTERM; a second one ends the process at once.

    Within `interrupting()`, where nothing of the run is half done, the first one ends that block.
    """

    def __init__(self) -> None:
        self.number = 0
        self.may_interrupt = False

    def install(self) -> StopSignal:
        """Begin to listen."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        signal.signal(number, signal.SIG_DFL)
        if self.may_interrupt:
            raise KeyboardInterrupt

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """A block that a signal ends at once; what follows it goes on."""
        self.may_interrupt = True
        try:
            yield
        except KeyboardInterrupt:
            if not self.number:
                raise
        finally:
            self.may_interrupt = False

    @property
    def code(self) -> int:
        """The exit code that tells which signal it was."""
        return 128 + self.number
