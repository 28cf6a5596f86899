"""Where checkers stand, and sets of such places as 32-bit words.

A row of a board counts one side's checkers, in that side's own numbering:
slot 0 is off, slots 1..P the points, P + 1 the bar, P + 2 the hand, and behind
them whatever a rule has to remember. A set of slots is one word: bit s is slot s.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Boards = npt.NDArray[np.int8]  # (M, 2, SLOTS): MINE acts next, then THEIRS
Counts = npt.NDArray[np.int8]  # (M,): checkers on one slot
Words = npt.NDArray[np.uint32]  # (M,): sets of slots
Flags = npt.NDArray[np.bool_]  # (M,)
Slots = npt.NDArray[np.intp]  # (M,): one slot each
Rows = npt.NDArray[np.intp]  # (M,): row numbers
Codes = npt.NDArray[np.int8]  # (M,): indices into a ruleset's queues
Outcomes = npt.NDArray[np.int8]  # (M,): indices into a ruleset's payoffs, -1 where the game goes on
Keys = npt.NDArray[np.uint64]  # (M,): hashes, seeds

MINE, THEIRS = 0, 1
OFF = 0
SLOTS = 32
CELLS = 2 * SLOTS  # of a position
ALL_SLOTS = np.uint32(0xFFFFFFFF)
NOWHERE = SLOTS - 1  # a slot that is always empty, for lookups that must find nothing


def is_number(text: str) -> bool:
    """Is this a whole number of a size that occurs here, in plain digits?"""
    return text.isascii() and text.isdigit() and len(text) <= 6


def where(flags: npt.NDArray[np.bool_]) -> Rows:
    """The numbers of the flags that are on; `np.flatnonzero` with a tenth of its overhead."""
    return flags.nonzero()[0]


def bit(slot: int) -> np.uint32:
    """The set of one slot."""
    return np.uint32(1 << slot)


def span(low: int, high: int) -> np.uint32:
    """The set of the slots low..high, both included; empty if high < low."""
    return np.uint32((1 << (high + 1)) - (1 << low)) if high >= low else np.uint32(0)


def pack(flags: npt.NDArray[np.bool_]) -> Words:
    """(..., SLOTS) flags as (...) words, slot s becoming bit s."""
    return np.packbits(flags, axis=-1, bitorder="little").view("<u4")[..., 0]


def pack_reversed(flags: npt.NDArray[np.bool_]) -> Words:
    """(..., SLOTS) flags as (...) words, slot s becoming bit SLOTS - 1 - s."""
    return np.packbits(flags, axis=-1, bitorder="big").view(">u4")[..., 0].astype(np.uint32)


def reverse(words: Words) -> Words:
    """(M,) words with slot s becoming bit SLOTS - 1 - s."""
    flags = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")
    return pack_reversed(flags.reshape(*words.shape, SLOTS).view(np.bool_))


def runs_of(words: Words, length: int) -> Words:
    """(M,) words: the lowest slot of every `length` consecutive slots that the set holds."""
    run = words
    for shift in range(1, length):
        run = run & (words >> np.uint32(shift))
    return run


def has_run(words: Words, length: int) -> Flags:
    """(M,) flags: does the set hold `length` consecutive slots?"""
    found: Flags = runs_of(words, length) != 0
    return found
