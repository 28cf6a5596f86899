"""What a measurement found, as plain values, tables for a terminal and one HTML page that needs no network."""

from __future__ import annotations

import base64
import io
import json
import math
import os
import platform
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib import rc_context
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import EngFormatter
from rich import box
from rich.console import RenderableType
from rich.table import Table

from engine.ruleset import Ruleset
from engine.slots import Boards
from learning.pictures import draw_board

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters["breakable"] = lambda name: Markup(re.sub("([/:,])", r"\1<wbr>", str(escape(name))))
PACKAGES = ("tabula-rasa", "numpy", "torch")
DEPTH = 65  # percent of its colour that the strongest cell has; figures stay readable on it, light or dark
LIGHT_INK = "#e3e7ea"  # as the style sheet's, for figures on a dark page
DARKEST = 0.35  # luminance below which a line or letter would be lost on a dark page
REM_PER_INCH = 6.0
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Section:
    """A part of a page: a heading and ready-made HTML."""

    title: str
    body: str


@dataclass(frozen=True, eq=False)
class Findings:
    """What a command of the arena found.

    `record` is written as JSON, `shown` is printed, `sections` make the page. Where a check was made
    and did not hold, `failed` ends the command with exit code 1.
    """

    title: str
    record: dict[str, Any]
    shown: Sequence[RenderableType]
    sections: Sequence[Section] = field(default=())
    failed: bool = False


@dataclass(frozen=True, eq=False)
class Curve:
    """A line of a figure: x and y of equal length, and a band around y where `low` and `high` are given."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def text(title: str, *paragraphs: str) -> Section:
    """Plain sentences."""
    return Section(title, _render("text", paragraphs=paragraphs))


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> Section:
    """Figures in columns, the first one holding names; columns of figures are set flush right."""
    cells = [[str(cell) for cell in row] for row in rows]
    return Section(title, _render("table", columns=columns, rows=cells, numeric=_numeric(columns, cells), note=note))


def grid(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """The same for a terminal."""
    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column, is_numeric in zip(columns, _numeric(columns, rows), strict=True):
        made.add_column(column, justify="right" if is_numeric else "left")
    for row in rows:
        made.add_row(*row)
    return made


def _numeric(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    """Which columns hold figures, or yes and no."""
    figure = re.compile(r"[-+±−–\d.,:%\s]*|yes|no", re.IGNORECASE)
    return [at > 0 and all(figure.fullmatch(row[at]) for row in rows) for at in range(len(columns))]


def heat_map(
    title: str,
    names: Sequence[str],
    columns: Sequence[str],
    values: Values | Sequence[Sequence[float]],
    note: str = "",
    form: str = "+.3f",
    small: Sequence[Sequence[str]] | None = None,
    middle: float = 0.0,
) -> Section:
    """A table coloured by its figures: blue above the middle, orange below, the deeper the farther from it.

    Args:
        title: the heading.
        names: of the rows.
        columns: their headings.
        values: (rows, columns); NaN leaves a cell empty.
        note: stands below.
        form: how a figure is written, as `format` has it.
        small: (rows, columns) words that stand in small print below each figure, such as `±0.012`.
        middle: the figure that has no colour.
    """
    grid = np.asarray(values, np.float64).reshape(len(names), len(columns))
    most = float(np.nanmax(np.abs(grid - middle), initial=0.0, where=np.isfinite(grid))) or 1.0
    rows = [
        [
            {
                "told": format(value + 0.0, form) if math.isfinite(value) else "",
                "hue": "gain" if value >= middle else "loss",
                "depth": round(DEPTH * abs(value - middle) / most) if math.isfinite(value) else 0,
                "small": small[row][column] if small is not None else "",
            }
            for column, value in enumerate(line.tolist())
        ]
        for row, line in enumerate(grid)
    ]
    return Section(title, _render("heat_map", columns=columns, rows=list(zip(names, rows, strict=True)), note=note))


def shares(title: str, names: Sequence[str], points: Sequence[int], rows: Values, note: str = "") -> Section:
    """Bars of the share of each outcome: wins blue, losses orange, deeper for more points; what is left is grey.

    Args:
        title: the heading.
        names: of the bars.
        points: (K,) what each outcome pays, best first.
        rows: (bars, K) share of games with each outcome, 0..1; games that were cut make up the rest.
        note: stands below.
    """
    most = max(max(map(abs, points)), 1)
    kinds = [_kind(f"{pays:+d}", (pays > 0) - (pays < 0), 15 + (DEPTH - 15) * abs(pays) / most) for pays in points]
    left = np.maximum(1 - rows.sum(axis=1), 0)
    if (left > 1e-9).any():
        kinds, rows = [*kinds, _kind("cut", 0, 40)], np.column_stack([rows, left])
    bars = [(name, list(zip(kinds, row.tolist(), strict=True))) for name, row in zip(names, rows, strict=True)]
    return Section(title, _render("shares", kinds=kinds, rows=bars, note=note))


def curves(
    title: str,
    panels: Mapping[str, Sequence[Curve]],
    label: str,
    note: str = "",
    levels: Mapping[str, float] | None = None,
) -> Section:
    """Lines in panels side by side, one for each x.

    Args:
        title: the heading.
        panels: label of x -> the lines drawn against it.
        label: of y, which the panels share.
        note: stands below.
        levels: name -> y of lines across, to compare with.
    """
    figure = Figure(figsize=(max(6.4, 3.6 * len(panels)), 3.8), layout="constrained")
    parts = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (x, lines) in zip(parts, panels.items(), strict=True):
        for line in lines:
            (drawn,) = axes.plot(line.x, line.y, "o-", markersize=3.5, linewidth=1.5, label=line.name)
            if len(line.low):
                axes.fill_between(line.x, line.low, line.high, color=drawn.get_color(), alpha=0.25, linewidth=0)
        axes.set(xlabel=x)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        for level in (levels or {}).values():
            axes.axhline(level, color="#888", linestyle="--", linewidth=1)
    for name, level in (levels or {}).items():
        parts[-1].text(1.01, level, name, transform=parts[-1].get_yaxis_transform(), va="center", fontsize=8)
    parts[0].set_ylabel(label)
    if any(len(lines) > 1 for lines in panels.values()):
        parts[-1].legend(frameon=False)
    return picture(title, figure, note)


def intervals(title: str, names: Sequence[str], found: Values, label: str, note: str = "") -> Section:
    """A dot and a bar a name, the first at the top; `found` is (names, 3): value, low end, high end."""
    figure = Figure(figsize=(9, 1 + 0.32 * len(names)), layout="constrained")
    axes = figure.subplots()
    rows = np.arange(len(names))
    axes.hlines(rows, found[:, 1], found[:, 2], color="#2f7fe0", linewidth=5, alpha=0.4)
    axes.plot(found[:, 0], rows, "o", color="#2f7fe0", markersize=6)
    axes.set_yticks(rows, [name if len(name) <= 44 else f"{name[:20]}…{name[-23:]}" for name in names])
    axes.set(xlabel=label, ylim=(len(names) - 0.4, -0.6))
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return picture(title, figure, note)


def picture(title: str, figure: Figure, note: str = "") -> Section:
    """A matplotlib figure, drawn into the page, once for a light page and once for a dark one; uses the figure up."""
    return Section(title, _render("pictures", title=title, pictures=[_drawn(figure, "")], note=note))


def boards(
    title: str,
    positions: Sequence[tuple[Boards, str]],
    rules: Ruleset,
    note: str = "",
    sides: tuple[str, str] = ("to act", "opponent"),
) -> Section:
    """Positions drawn side by side, each a (2, SLOTS) board as its MINE sees it, with what is said of it.

    `sides` says what MINE and THEIRS are.
    """
    drawn = [_drawn(draw_board(board, rules, "", sides), caption) for board, caption in positions]
    return Section(title, _render("pictures", title=title, pictures=drawn, note=note))


def write_page(folder: Path, findings: Findings, command: str) -> Path:
    """Write `index.html` and `findings.json` into a folder, which is made if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    record = json.dumps(findings.record, indent=1)
    facts = {"seed": str(findings.record["seed"])} if "seed" in findings.record else {}
    facts |= {
        "date": time.strftime("%Y-%m-%d %H:%M %z"),
        "versions": ", ".join(
            [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in PACKAGES)]
        ),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
    values = {"title": findings.title, "command": command, "facts": facts, "sections": findings.sections}
    page = _render("page", **values, json=record)
    (folder / "findings.json").write_text(record + "\n", encoding="utf-8")
    (folder / "index.html").write_text(page, encoding="utf-8")
    return folder / "index.html"


def _render(template: str, **values: Any) -> str:
    return TEMPLATES.get_template(f"{template}.html").render(values)


def _kind(name: str, sign: int, depth: float) -> dict[str, object]:
    """A colour of the style sheet, with its name in the key."""
    return {"name": name, "hue": ("loss", "none", "gain")[sign + 1], "depth": round(depth)}


def _drawn(figure: Figure, caption: str) -> dict[str, object]:
    """A figure as two pictures, in dark ink and in light ink."""
    width = round(REM_PER_INCH * figure.get_figwidth(), 1)
    light = _svg(figure)
    for artist in figure.findobj(lambda found: isinstance(found, Text | Line2D)):
        assert isinstance(artist, Text | Line2D)
        if np.dot(to_rgb(artist.get_color()), (0.299, 0.587, 0.114)) < DARKEST:
            artist.set_color(LIGHT_INK)
    for axes in figure.axes:
        axes.tick_params(colors=LIGHT_INK)
        axes.spines[:].set_edgecolor(LIGHT_INK)
    for legend in figure.findobj(Legend):
        assert isinstance(legend, Legend)
        legend.get_frame().set(facecolor="none", edgecolor="none")
    return {"light": light, "dark": _svg(figure), "width": width, "caption": caption}


def _svg(figure: Figure) -> str:
    """A figure as base64; equal figures give equal text."""
    drawn = io.BytesIO()
    with rc_context({"svg.hashsalt": "page"}):
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    return base64.b64encode(drawn.getvalue()).decode("ascii")
