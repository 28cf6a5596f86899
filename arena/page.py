"""What a measurement found, as plain values, tables for a terminal and one HTML page that needs no network."""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.console import RenderableType

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .75rem; border-bottom: 1px solid #ddd; text-align: right }
th:first-child, td:first-child { text-align: left }
img { max-width: 100% }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: 1rem }
figure { margin: 0 }
pre { background: #f6f6f6; padding: .5rem; overflow-x: auto }
"""


@dataclass(frozen=True)
class Section:
    """A part of a page: a heading and ready-made HTML."""

    title: str
    body: str


@dataclass(frozen=True, eq=False)
class Findings:
    """What a command of the arena found.

    `record` is written as JSON, `shown` is printed, `sections` make the page.
    """

    title: str
    record: dict[str, Any]
    shown: Sequence[RenderableType]
    sections: Sequence[Section] = field(default=())


def text(title: str, *paragraphs: str) -> Section:
    """Plain sentences."""
    return Section(title, "".join(f"<p>{html.escape(paragraph)}</p>" for paragraph in paragraphs))


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> Section:
    """Figures in columns, the first one holding names."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    end = f"<p>{html.escape(note)}</p>" if note else ""
    return Section(title, f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{end}")


def picture(title: str, figure: Figure, note: str = "") -> Section:
    """A matplotlib figure, drawn into the page."""
    return Section(title, f"{image(figure, title)}<p>{html.escape(note)}</p>")


def gallery(title: str, figures: Sequence[tuple[str, Figure]]) -> Section:
    """Small matplotlib figures side by side, each with a line below it."""
    body = "".join(
        f"<figure>{image(figure, line)}<figcaption>{html.escape(line)}</figcaption></figure>"
        for line, figure in figures
    )
    return Section(title, f'<div class="gallery">{body}</div>')


def image(figure: Figure, said: str) -> str:
    """A matplotlib figure as an `img`, which needs no network."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg")
    source = base64.b64encode(drawn.getvalue()).decode("ascii")
    return f'<img alt="{html.escape(said)}" src="data:image/svg+xml;base64,{source}">'


def write_page(folder: Path, findings: Findings, command: str) -> Path:
    """Write `index.html` and `findings.json` into a folder, which is made if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = "".join(f"<h2>{html.escape(part.title)}</h2>{part.body}" for part in findings.sections)
    title = html.escape(findings.title)
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        f"</head><body><h1>{title}</h1><pre>{html.escape(command)}</pre>{parts}</body></html>\n"
    )
    (folder / "index.html").write_text(page, encoding="utf-8")
    (folder / "findings.json").write_text(json.dumps(findings.record, indent=1) + "\n", encoding="utf-8")
    return folder / "index.html"
