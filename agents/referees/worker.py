"""The child's side: a program of its own that asks an engine. Nothing of the project is imported here.

    python agents/referees/worker.py gnubg|pubeval|sage

gnubg-nn is under the GPL and keeps globals: it is loaded by this program only, one engine a
process. Requests and answers are those of `agents.referees.process`; every board on the wire has
the chooser's side first. The program ends when its stdin does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import IO, Any

import numpy as np
import numpy.typing as npt

HELLO = b"referee2"
SIDES = 2 * 25  # numbers of a board
FAR = 23  # index of the 24 point

Board = list[list[int]]  # two sides of 25 numbers: points 1..24, bar
Judge = Callable[[Board, list[Board], int], list[Any]]  # where a decision began, its rows, plies -> numbers, row by row


def gnubg() -> Judge:
    """GNU Backgammon's nets: five probabilities a row, for the side that rolls next.

    They are win, win of a gammon or more, of a backgammon, loss of a gammon or more, of a
    backgammon. `probabilities` sees the board through the side in board[1], which is to roll: in
    our rows the chooser has played, so he is in board[0]. At 1-ply they are the mean over all rolls
    after the best reply by 0-ply, and so on (tests/test_referees.py adds it up).
    """
    from gnubg_nn import probabilities

    return lambda before, rows, ply: [number for row in rows for number in probabilities(row, ply)]


def sage() -> Judge:
    """Open Sage's nets, through bgsage: the same five probabilities a row, for the side that rolls next.

    Its plies count from 1, the bare nets. It judges a row for the side that has played, from a
    board of 26: the opponent's bar, points 1..24 with opposing checkers negative, the own bar. Its
    bare nets may find more gammons than wins (by 0.03), and in lost positions more backgammons than
    gammons (by 0.3); what is too much is cut off.
    """
    import bgbot_cpp
    from bgsage.weights import default_weights

    weights = default_weights()
    files = weights.strategy_type, weights.weight_paths_list, weights.hidden_sizes_list
    depths = [bgbot_cpp.create_strategy(*files)]
    depths += [bgbot_cpp.create_multipy(*files, n_plies=plies) for plies in (2, 3)]

    def seen(board: Board) -> list[int]:
        mine, theirs = board
        points = [own - other for own, other in zip(mine[:24], theirs[FAR::-1], strict=True)]
        return [theirs[24], *points, mine[24]]

    def judge(before: Board, rows: list[Board], ply: int) -> list[float]:
        numbers: list[float] = []
        for row in rows:
            win, *won, lost, lost_backgammon = depths[ply].evaluate_board(seen(row), seen(before))["probs"]
            numbers += [1 - win, *np.minimum.accumulate([1 - win, lost, lost_backgammon])[1:]]
            numbers += [*np.minimum.accumulate([win, *won])[1:]]
        return numbers

    return judge


def pubeval() -> Judge:
    """Tesauro's Pubeval: one score a row, for the chooser, higher is better.

    `pub_eval_score` scores for the side in board[0], which has played. It takes the weights of a
    race or of contact by the board it is given, where the author wants the position before the
    play to decide. So in a row that leaves contact two checkers are put on the opponent's 24 point:
    that makes it contact, and no input of Pubeval's sees them (he has inputs for opposing blots
    and for the bar, none for opposing points).
    """
    from gnubg_nn import c_race, classify, pub_eval_score

    def judge(before: Board, rows: list[Board], ply: int) -> list[float]:
        if classify(before) > c_race:
            for _, opponent in rows:
                if not opponent[FAR]:
                    opponent[FAR] = 2
        return [pub_eval_score(row) for row in rows]

    return judge


ENGINES = {"gnubg": gnubg, "pubeval": pubeval, "sage": sage}


def array(requests: IO[bytes], dtype: str, count: int) -> npt.NDArray[Any]:
    """The next `count` numbers of a request.

    Raises:
        EOFError: the parent has ended.
    """
    size = np.dtype(dtype).itemsize * count
    part = requests.read(size)
    if len(part) < size:
        raise EOFError
    return np.frombuffer(part, dtype)


def serve(judge: Judge, requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    answers.write(HELLO)
    answers.flush()
    while True:
        decisions, rows, ply = array(requests, "<i4", 3).tolist()
        counts = array(requests, "<i4", decisions).tolist()
        befores = array(requests, "i1", decisions * SIDES).reshape(-1, 2, 25).tolist()
        boards = array(requests, "i1", rows * SIDES).reshape(-1, 2, 25).tolist()
        low = 0
        for before, count in zip(befores, counts, strict=True):
            answers.write(np.array(judge(before, boards[low : low + count], ply), "<f8").tobytes())
            answers.flush()
            low += count


def main() -> None:
    """Serve the engine that the command line names."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the engine prints is no answer
    try:
        serve(ENGINES[sys.argv[1]](), sys.stdin.buffer, answers)
    except (EOFError, BrokenPipeError):
        os._exit(0)  # without flushing into a pipe that nobody reads


if __name__ == "__main__":
    main()
