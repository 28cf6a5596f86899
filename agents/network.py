"""The value net: int8 boards and pending in, outcome probabilities out; and reading it from a file."""

from __future__ import annotations

import pickle
import warnings
import zipfile
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from timeit import Timer
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.base import AgentError, difference
from agents.encoding import COUNTS, ENCODING, encoding_of
from engine.ruleset import Ruleset
from engine.slots import CELLS, Boards, Codes
from engine.variants import find_ruleset

Values = npt.NDArray[np.float32]  # (M, K)
Possible = npt.NDArray[np.bool_]  # (M, K): the outcomes that can still come
IMPOSSIBLE = -1e9  # a logit whose probability is exactly 0
ROWS_AT_ONCE = 8192  # a slice whose activations stay in the cache
STEP = 256  # rows in bfloat16 come in multiples of this: torch compiles its product for every number of rows
WORTH_IT = 0.75  # of float32's time; bfloat16 needs half of it where a processor has it, and longer elsewhere
FORMAT = "tabula-rasa checkpoint 1"


class CheckpointMismatch(AgentError):
    """A file is no checkpoint, or one of other rules or another encoding."""


class ValueNet(nn.Module):
    """Outcome probabilities of a position, for the side that acts next.

    Thermometers of both rows and the queue enter a ReLU layer, which is summed from a table where
    nothing is learned (see `agents.encoding`); then come ordinary layers, the last with one output
    an outcome (K).

    Args:
        rules: the ruleset; inputs and outcomes follow from it.
        hidden: width of each hidden layer.
    """

    levels: Tensor
    queues: Tensor
    cells: Tensor
    place: Tensor

    def __init__(self, rules: Ruleset, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.rules, self.hidden = rules, hidden
        self.encoding = encoding_of(rules)
        cells, levels, queue = self.encoding.cells.size, self.encoding.levels.shape[1], self.encoding.queues.shape[1]
        scale = 1 / np.sqrt(cells * levels)
        self.board_weight = nn.Parameter(torch.empty(cells, levels, hidden[0]).uniform_(-scale, scale))
        self.queue_weight = nn.Parameter(torch.empty(queue, hidden[0]).uniform_(-scale, scale))
        self.bias = nn.Parameter(torch.zeros(hidden[0]))
        widths = [*hidden, rules.payoffs.size]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.register_buffer("levels", torch.from_numpy(self.encoding.levels), persistent=False)
        self.register_buffer("queues", torch.from_numpy(self.encoding.queues), persistent=False)
        self.register_buffer("cells", torch.from_numpy(self.encoding.cells), persistent=False)
        place = torch.from_numpy(COUNTS * np.append(self.encoding.cells, CELLS))
        self.register_buffer("place", place.int(), persistent=False)

    def table(self) -> Tensor:
        """(R, hidden[0]): the first layer as a table, a row for each (cell, count) and each queue."""
        board = self.bias.new_zeros(CELLS, COUNTS, self.hidden[0])
        board[self.cells] = torch.matmul(self.levels, self.board_weight)
        return torch.cat([board.flatten(0, 1), self.queues @ self.queue_weight + self.bias])

    def first(self, table: Tensor, rows: Tensor, starts: Tensor | None) -> Tensor:
        """(M, hidden[0]) what leaves the first layer, of M positions given as rows of `table`.

        The rows are flat with their starts, or (M, any).
        """
        return functional.embedding_bag(rows, table, starts, mode="sum").relu_()

    def all_rows(self, boards: Tensor, pending: Tensor) -> Tensor:
        """(M, U + 1) int32: a row of the table for every cell, that of an empty one being 0, and for the queue.

        A GPU makes them faster than it gets the rows that are on; a processor does not.
        """
        counts = boards.flatten(1).index_select(1, self.cells) & (COUNTS - 1)
        return torch.cat([counts, pending[:, None]], dim=1).int() + self.place

    def forward(self, boards: Boards, pending: Codes) -> Tensor:
        """(M, K) logits of (M, 2, SLOTS) int8 boards and (M,) int8 pending; impossible outcomes have none.

        The thermometers are multiplied as they are: gradients of a product cost less than those of sums of rows.
        """
        inputs = torch.from_numpy(self.encoding.thermometers(boards)).to(self.levels.device)
        queues = torch.addmm(self.bias, self.queues, self.queue_weight)
        queue = queues.index_select(0, torch.from_numpy(pending).to(queues.device).int())
        signal = torch.addmm(queue, inputs, self.board_weight.flatten(0, 1)).relu_()
        for layer in self.layers[:-1]:
            signal = layer(signal).relu_()
        logits = cast(Tensor, self.layers[-1](signal))
        possible = self.rules.scoring.possible(boards, self.rules)
        return (
            logits if possible.all() else logits.masked_fill(torch.from_numpy(~possible).to(logits.device), IMPOSSIBLE)
        )

    def judge(self, dtype: torch.dtype = torch.float32) -> Judge:
        """The net with its weights of now, in float32 or, where being fast matters more, in bfloat16."""
        return Judge(self, dtype)

    def values(self, boards: Boards, pending: Codes) -> Values:
        """(M, K) float32 outcome probabilities for the side that acts next; rows sum to 1."""
        return self.judge().values(boards, pending)


class Judge:
    """A net with its weights of now, in two halves, so that not every position must go through the second.

    Args:
        net: must not learn meanwhile.
        dtype: of the layers between the first and the last; these two are float32.
    """

    def __init__(self, net: ValueNet, dtype: torch.dtype = torch.float32) -> None:
        self.net, self.dtype = net, dtype
        *inner, self.last = cast(list[nn.Linear], [*net.layers])
        with torch.no_grad():
            self.table = net.table()
            self.inner = [(layer.weight.to(dtype), layer.bias.to(dtype)) for layer in inner]

    def first(self, boards: Boards, pending: Codes) -> Tensor:
        """(M, hidden[0]) what leaves the first layer."""
        with torch.no_grad():
            if self.table.is_cpu:
                rows, starts = self.net.encoding.active(boards, pending)
                return self.net.first(self.table, torch.from_numpy(rows), torch.from_numpy(starts))
            where = torch.from_numpy(boards).to(self.table.device), torch.from_numpy(pending).to(self.table.device)
            return self.net.first(self.table, self.net.all_rows(*where), None)

    def rest(self, signal: Tensor, possible: Possible) -> Values:
        """(M, K) float32 outcome probabilities from what left the first layer."""
        with torch.no_grad():
            size, wide = len(signal), signal
            if self.dtype != signal.dtype:
                wide = signal.new_zeros(-(-size // STEP) * STEP, signal.shape[1], dtype=self.dtype)
                wide[:size] = signal
            for weight, bias in self.inner:
                wide = functional.linear(wide, weight, bias).relu_()
            signal = wide[:size].float()
            bias, weight = self.last.bias[:, None], self.last.weight
            logits = torch.addmm(bias, weight, signal.t())  # (K, M): this way round product and softmax
            if not possible.all():  # cost 60 ns a position, the other way 230 (measured, one core)
                logits.masked_fill_(torch.from_numpy(~possible).to(logits.device).t(), IMPOSSIBLE)
            found: Values = torch.softmax(logits, dim=0).t().cpu().numpy()
        return found

    def __call__(self, boards: Boards, pending: Codes, possible: Possible) -> Values:
        """(M, K) float32 outcome probabilities for the side that acts next; rows sum to 1."""
        return self.rest(self.first(boards, pending), possible)

    def values(self, boards: Boards, pending: Codes) -> Values:
        """(M, K) float32 outcome probabilities, of as many positions as there are."""
        values = np.empty((len(pending), self.net.rules.payoffs.size), np.float32)
        for low in range(0, len(pending), ROWS_AT_ONCE):
            part = slice(low, low + ROWS_AT_ONCE)
            possible = self.net.rules.scoring.possible(boards[part], self.net.rules)
            values[part] = self(boards[part], pending[part], possible)
        return values


@lru_cache(maxsize=1)
def has_fast_bfloat16() -> bool:
    """Does this processor multiply matrices of bfloat16 clearly faster than of float32? Measured, once a process."""
    timers = []
    for dtype in (torch.float32, torch.bfloat16):
        signal, weight = torch.ones(ROWS_AT_ONCE // 8, 128, dtype=dtype), torch.ones(128, 128, dtype=dtype)
        timers.append(Timer(partial(functional.linear, signal, weight)))
    single, half = zip(*([timer.timeit(1) for timer in timers] for _ in range(20)), strict=True)  # in turns
    return bool(min(half) < WORTH_IT * min(single))


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """The plain contents of a checkpoint file, or of the last one of a run folder; executes nothing.

    Raises:
        CheckpointMismatch: no such file, not one of ours, or of another encoding.
    """
    file = Path(path)
    try:
        if file.is_dir():
            file = file / "checkpoints" / "last.pt"
        with warnings.catch_warnings():  # about files that are refused anyway
            warnings.simplefilter("ignore")
            contents = torch.load(file, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise CheckpointMismatch(f"{file}: no such checkpoint") from None
    except pickle.UnpicklingError:
        raise CheckpointMismatch(
            f"{file}: not a readable checkpoint: it holds more than tensors and plain values"
        ) from None
    except (OSError, RuntimeError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        reason = str(error).strip().split("\n")[0][:120]
        raise CheckpointMismatch(f"{file}: not a readable checkpoint ({reason or type(error).__name__})") from None
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise CheckpointMismatch(f"{file}: not a checkpoint of this program ({FORMAT!r} is missing)")
    if contents.get("encoding") != ENCODING:
        raise CheckpointMismatch(f"{file}: encoding {contents.get('encoding')}, this program reads {ENCODING}")
    return contents


def network_of(contents: dict[str, Any], place: str | Path) -> ValueNet:
    """The net of a checkpoint's contents.

    Raises:
        CheckpointMismatch: something is missing, or of the wrong shape.
    """
    try:
        rules = find_ruleset(contents["variant"], contents["rules"])
        net = ValueNet(rules, tuple(contents["hidden"]))
        net.load_state_dict(contents["weights"])
    except (KeyError, TypeError, RuntimeError, AttributeError) as error:
        reason = str(error).strip().replace("\n", " ")[:160]
        raise CheckpointMismatch(f"{place}: damaged checkpoint ({type(error).__name__}: {reason})") from None
    return net.eval()


def read_network(path: str | Path) -> ValueNet:
    """The net of a checkpoint file or run folder, under the rules that it names.

    Raises:
        CheckpointMismatch: not readable, or of another encoding.
    """
    return network_of(read_checkpoint(path), path)


def load_network(path: str | Path, rules: Ruleset) -> ValueNet:
    """The net of a checkpoint file or run folder, for games under `rules`.

    Raises:
        CheckpointMismatch: not readable, or trained under other rules; names the first difference.
    """
    net = read_network(path)
    reason = difference(net.rules, rules)
    if reason is not None:
        raise CheckpointMismatch(f"{path}: {reason}")
    return net
