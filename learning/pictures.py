"""Pictures of a run, for tensorboard: how well its values are calibrated, and a position."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon, Rectangle

from engine.ruleset import Ruleset
from engine.slots import MINE, OFF, THEIRS, Boards

BINS = 10
LIGHT, DARK, FELT = "#fbf6ea", "#2f3e46", "#eaddc4"


def draw_calibration(predicted: npt.NDArray[np.float64], actual: npt.NDArray[np.float64]) -> Figure:
    """Frequency of wins against their predicted probability, with how often each was predicted."""
    bins = np.minimum((predicted * BINS).astype(int), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    filled = counts > 0
    x = np.bincount(bins, predicted, BINS)[filled] / counts[filled]
    y = np.bincount(bins, actual, BINS)[filled] / counts[filled]
    figure = Figure(figsize=(4.5, 4.5), layout="constrained")
    axes = figure.subplots()
    centres = (np.arange(BINS) + 0.5) / BINS
    axes.bar(centres, counts / counts.sum(), width=0.9 / BINS, color="#888", alpha=0.3, label="share of positions")
    axes.plot([0, 1], [0, 1], color="#999", linewidth=1)
    axes.plot(x, y, "o-", color=DARK, label="won")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="predicted probability of a win", ylabel="share that was won")
    axes.legend(loc="upper left")
    return figure


def draw_board(board: Boards, rules: Ruleset, title: str, sides: tuple[str, str] = ("to act", "opponent")) -> Figure:
    """A (2, SLOTS) position as its MINE sees it: home at the lower right, my checkers light.

    `sides` says what MINE and THEIRS are.
    """
    half, height = rules.points // 2, 12.0
    figure = Figure(figsize=(5.2, 5.6), layout="constrained")
    axes = figure.subplots()
    for left, columns in ((0, half // 2), (half // 2 + 1, half - half // 2)):  # the two halves, the bar between them
        axes.add_patch(Rectangle((left, 0), columns, height, facecolor=FELT, edgecolor="#5b4636", linewidth=1.5))
    for point in range(1, rules.points + 1):
        is_low = point <= half
        column = half - point if is_low else point - half - 1
        x = column + (1.0 if column >= half // 2 else 0.0) + 0.5
        base, tip = (0.0, 4.8) if is_low else (height, height - 4.8)
        shade = "#c9a66b" if point % 2 else "#8a5a44"
        axes.add_patch(Polygon([(x - 0.5, base), (x + 0.5, base), (x, tip)], facecolor=shade))
        axes.text(x, -0.6 if is_low else height + 0.6, str(point), ha="center", va="center", fontsize=9)
        mine, theirs = int(board[MINE, point]), int(board[THEIRS, rules.opposing(point)])
        stacks = [(count, color) for count, color in ((mine, LIGHT), (theirs, DARK)) if count]
        level = 0.0
        for count, color in sorted(stacks):  # a pinned one (-1) lies below
            for _ in range(min(abs(count), 5)):
                y = base + (0.5 + level) * (1 if is_low else -1)
                axes.add_patch(Circle((x, y), 0.45, facecolor=color, edgecolor="#111", linewidth=0.6))
                level += 0.9
            if abs(count) > 5:
                ink = LIGHT if color == DARK else "#c33"
                axes.text(x, y, str(abs(count)), ha="center", va="center", fontsize=9, color=ink)
    stocks = [("bar", rules.bar), ("hand", rules.hand), ("off", OFF)]
    for side, who, y in ((MINE, sides[0], -1.9), (THEIRS, sides[1], height + 1.4)):
        held = ", ".join(f"{name} {board[side, slot]}" for name, slot in stocks if board[side, slot])
        axes.text(0, y, f"{who}  {held}", fontsize=11)
    axes.set(xlim=(-0.3, half + 1.3), ylim=(-2.5, height + 2.3), title=title)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return figure
