"""An exported policy: a value net that plays with numpy alone, and the card that says what it is."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from agents.base import difference
from agents.encoding import COUNTS, encoding_of
from agents.policy_card import Card, card_text, parse, rules_of
from agents.policy_file import Arrays, PolicyError, digest_of, read_file, write_file
from engine.ruleset import Ruleset
from engine.slots import CELLS, Boards, Codes

Values = npt.NDArray[np.float32]  # (M, K)
Signal = npt.NDArray[np.float32]  # (M, H)

ROWS_AT_ONCE = 1024  # a slice whose activations stay in the cache
ROWS_A_PRODUCT = 16
HIGHEST = 1e37  # of a signal; float32 ends at 3.4e38


class Policy:
    """Outcome probabilities of a position, for the side that acts next, as the net that was exported gives them.

    Args:
        rules: of the games it was trained for.
        arrays: weights by name and of the shapes that `shapes_of` says.
        card: what it is, as plain values.
    """

    def __init__(self, rules: Ruleset, arrays: Arrays, card: Card) -> None:
        self.rules, self.arrays, self.card, self.encoding = rules, arrays, card, encoding_of(rules)
        board, queue = arrays["board_weight"], arrays["queue_weight"]
        cells = np.zeros((CELLS, COUNTS, board.shape[2]), np.float32)
        cells[self.encoding.cells] = np.matmul(self.encoding.levels, board)
        self.table = np.concatenate([cells.reshape(CELLS * COUNTS, -1), self.encoding.queues @ queue + arrays["bias"]])
        count = len(card["hidden"])
        self.layers = [(arrays[f"layers.{i}.weight"].T, arrays[f"layers.{i}.bias"]) for i in range(count)]

    def values(self, boards: Boards, pending: Codes) -> Values:
        """(M, K) float32 outcome probabilities for the side that acts next; rows sum to 1.

        Args:
            boards: (M, 2, SLOTS) int8, MINE acts next.
            pending: (M,) int8.
        """
        values = np.empty((len(pending), self.rules.payoffs.size), np.float32)
        for low in range(0, len(pending), ROWS_AT_ONCE):
            part = slice(low, low + ROWS_AT_ONCE)
            values[part] = self._softmax(self.logits(boards[part], pending[part]), boards[part])
        return values

    def logits(self, boards: Boards, pending: Codes) -> Values:
        """(M, K) float32 logits of (M, 2, SLOTS) boards and (M,) pending, before impossible outcomes are masked."""
        signal = sum_rows(self.table, *self.encoding.active(boards, pending))
        for weight, bias in self.layers:
            signal = product(np.maximum(signal, 0), weight) + bias
        return signal

    def _softmax(self, logits: Values, boards: Boards) -> Values:
        """(M, K) probabilities, exactly 0 for outcomes that cannot come any more."""
        possible = self.rules.scoring.possible(boards, self.rules)
        logits = np.where(possible, logits, -np.inf)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares: Values = weights / weights.sum(axis=1, keepdims=True)
        return shares


def sum_rows(table: Signal, rows: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]) -> Signal:
    """(M, H) sums of the rows of a table that are on in M positions, at least one in each.

    Equal to `np.add.reduceat(table[rows], starts)` but for the order of adding, and six times as
    fast (measured, 128 wide): the first row of every position is taken, then every second is added
    and so on, the positions with most rows first.

    Args:
        table: (R, H) float32.
        rows: (A,) numbers of rows, flat.
        starts: (M,) where the rows of each position begin.
    """
    counts = np.diff(starts, append=rows.size)
    order = np.argsort(-counts, kind="stable")
    begin, counts = starts.take(order), counts.take(order)
    partial = table.take(rows.take(begin), axis=0)
    for index in range(1, int(counts[0])):
        many = int(np.searchsorted(-counts, -index))  # positions that have more than `index` rows
        partial[:many] += table.take(rows.take(begin[:many] + index), axis=0)
    sums = np.empty_like(partial)
    sums[order] = partial
    return sums


def product(signal: Signal, weight: Signal) -> Signal:
    """(M, B) float32: (M, A) signal @ (A, B) weight, in groups of rows.

    OpenBLAS spreads larger products over threads, which wait for each other where another process
    has the cores: 16 rows a product took a fifth of the time on two busy cores, and half as much
    again where there is one thread anyway (measured, 128 by 128).
    """
    size = len(signal)
    groups = np.zeros((-(-size // ROWS_A_PRODUCT), ROWS_A_PRODUCT, signal.shape[1]), np.float32)
    groups.reshape(-1, signal.shape[1])[:size] = signal
    together: Signal = np.matmul(groups, weight).reshape(-1, weight.shape[1])[:size]
    return together


def load_policy(path: str | Path, rules: Ruleset) -> Policy:
    """The policy in a file, for games under `rules`; executes nothing.

    Raises:
        PolicyError: not readable, damaged, of another format or encoding, or of other rules.
    """
    policy = read_policy(path)
    reason = difference(policy.rules, rules)
    if reason is not None:
        raise PolicyError(f"{path}: {reason}")
    return policy


def read_policy(path: str | Path) -> Policy:
    """The policy in a file, under the rules that its card names.

    Raises:
        PolicyError: not readable, damaged, or of another format or encoding.
    """
    path = Path(path)
    text, arrays = read_file(path)
    card = parse(path, text)
    rules = rules_of(path, card)
    check(path, arrays, rules, card["hidden"])
    if digest_of(arrays) != card["weights"]:
        raise PolicyError(f"{path}: damaged: its weights are not those that its card was written for")
    return Policy(rules, arrays, card)


def write_policy(path: Path, rules: Ruleset, arrays: Arrays, hidden: list[int], run: Card) -> int:
    """Write a policy file; its size in bytes.

    Args:
        path: ends with `.npz` or `.safetensors`.
        rules: of the games it was trained for.
        arrays: weights by name, float32, of the shapes that `shapes_of` says.
        hidden: width of each hidden layer.
        run: what the card says of the run: `config`, `counters`, `figures`; plain values.

    Raises:
        PolicyError: weights that no policy has, something that is no plain value, or a file that cannot be written.
    """
    check(path, arrays, rules, hidden)
    return write_file(path, card_text(path, rules, hidden, digest_of(arrays), run), arrays)


def shapes_of(rules: Ruleset, hidden: list[int]) -> dict[str, tuple[int, ...]]:
    """The shape of every array of a policy, by name: cells and queue first, then a weight and a bias a layer."""
    encoding = encoding_of(rules)
    shapes: dict[str, tuple[int, ...]] = {
        "board_weight": (encoding.cells.size, encoding.levels.shape[1], hidden[0]),
        "queue_weight": (encoding.queues.shape[1], hidden[0]),
        "bias": (hidden[0],),
    }
    for index, (before, after) in enumerate(pairwise([*hidden, rules.payoffs.size])):
        shapes[f"layers.{index}.weight"], shapes[f"layers.{index}.bias"] = (after, before), (after,)
    return shapes


def check(path: Path, arrays: Arrays, rules: Ruleset, hidden: list[int]) -> None:
    """Refuse arrays that are not those of a net with these hidden layers.

    Raises:
        PolicyError: one is missing, surplus, of a wrong shape or type, or holds what is no number or too large a one.
    """
    shapes = shapes_of(rules, hidden)
    surplus = sorted(arrays.keys() - shapes.keys())
    if surplus:
        raise PolicyError(f"{path}: array {surplus[0]!r:.60} belongs to no policy with hidden layers {hidden}")
    for name, shape in shapes.items():
        if name not in arrays:
            raise PolicyError(f"{path}: array {name!r} is missing")
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float32:
            raise PolicyError(f"{path}: array {name!r} is {array.dtype} {array.shape}, must be float32 {shape}")
        if not np.isfinite(array).all():
            raise PolicyError(f"{path}: array {name!r} holds values that are not finite")
    if not _stays_finite(arrays, rules, len(hidden)):
        raise PolicyError(f"{path}: its weights are so large that values could overflow")


def _stays_finite(arrays: Arrays, rules: Ruleset, depth: int) -> bool:
    """Is no signal of any position so large that float32 could not hold it? By adding up absolute weights."""
    encoding = encoding_of(rules)
    sizes = {name: np.abs(array).astype(np.float64) for name, array in arrays.items()}
    bound = sizes["bias"] + np.abs(encoding.queues).max(axis=0) @ sizes["queue_weight"]  # (H,)
    bound += (encoding.levels.max(axis=0) @ sizes["board_weight"]).sum(axis=0)
    for index in range(depth):
        if bound.max() > HIGHEST:
            return False
        bound = sizes[f"layers.{index}.weight"] @ bound + sizes[f"layers.{index}.bias"]
    return bool(bound.max() <= HIGHEST)
