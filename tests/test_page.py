"""Pages of findings: one file each, readable anywhere, that says what the record says."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from arena.page import (
    Curve,
    Findings,
    Section,
    boards,
    curves,
    heat_map,
    intervals,
    picture,
    shares,
    table,
    text,
    write_page,
)
from cli import check_folder
from engine import find_ruleset, parse_position
from engine.ruleset import InputError

EVIL = "<script>alert(1)</script>&\"'"
RULES = find_ruleset("plakoto")


class Reader(HTMLParser):
    """A page as a browser takes it: its tags, what they would load, and its words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        told = {"src", "srcset", "href", "data", "poster", "action", "background", "style"}
        self.loads += [value or "" for name, value in attrs if name in told]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def every_section(name: str) -> list[Section]:
    figure = Figure()
    figure.subplots().plot([0, 1], label=name)
    board = parse_position("24:11 23:2 20:1 p8:1 / 24:13 17:1 13:1", RULES)[0]
    return [
        text(name, name),
        table(name, [name, "ppg"], [[name, "+0.123"]], name),
        heat_map(name, [name, "b"], [name], [[0.5], [float("nan")]], name, small=[[name], [""]]),
        shares(name, [name], [2, 1, -1, -2], np.array([[0.25, 0.25, 0.25, 0.2]]), name),
        curves(name, {name: [Curve(name, [1, 2], [0, 1], [0, 0], [1, 2]), Curve("b", [1, 2], [0, 1])]}, name, name),
        intervals(name, [name], np.array([[0.1, 0.0, 0.2]]), name, name),
        picture(name, figure, name),
        boards(name, [(board, name), (board, name)], RULES, name),
    ]


def page_of(folder: Path, name: str) -> tuple[Reader, str]:
    findings = Findings(name, {"seed": 7, "agents": [name]}, [], every_section(name))
    page = write_page(folder / "report", findings, f"python -m arena {name}").read_text("utf-8")
    return Reader(page), page


def test_a_page_loads_nothing_from_anywhere(tmp_path: Path) -> None:
    reader, page = page_of(tmp_path, "pips")
    assert sum(load.startswith("data:image/svg+xml;base64,") for load in reader.loads) == 2 * (1 + 1 + 1 + 2)
    for load in reader.loads:
        assert load.startswith(("data:", "#", "--depth:", "width:")), load[:80]
    for word in ("http:", "https:", "url(", "@import"):
        assert word not in page
    assert not {"script", "iframe", "object", "embed", "base"} & set(reader.tags)


def test_names_are_shown_as_they_are_and_never_run(tmp_path: Path) -> None:
    reader, page = page_of(tmp_path, EVIL)
    assert "script" not in reader.tags
    assert "<script" not in page
    head = 3  # title, heading and command; in the JSON its quotes are escaped
    headings = 2 * 8  # and links to them
    bodies = 1 + 3 + 4 + 2 + 1 + 1 + 1 + 3  # what each section says, as `every_section` lists it
    assert reader.text.count(EVIL) == head + headings + bodies


def test_a_page_and_the_file_beside_it_hold_the_record(tmp_path: Path) -> None:
    reader, _ = page_of(tmp_path, EVIL)
    record = {"seed": 7, "agents": [EVIL]}
    assert json.loads((tmp_path / "report" / "findings.json").read_text("utf-8")) == record
    assert json.loads(reader.words[reader.words.index("All figures as JSON") + 2]) == record


def test_a_page_names_command_seed_date_and_versions(tmp_path: Path) -> None:
    reader, _ = page_of(tmp_path, "pips")
    for word in ("python -m arena pips", "seed", "date", "Python 3.", "numpy 2.", "tabula-rasa 0."):
        assert word in reader.text


def test_a_figure_is_drawn_light_and_dark_and_both_times_the_same_for_the_same_figures() -> None:
    first, again = every_section("a")[4].body, every_section("a")[4].body
    assert first == again
    light, dark = [load for load in Reader(first).loads if load.startswith("data:")]
    assert light != dark


def test_the_deepest_cell_of_a_heat_map_is_the_one_farthest_from_0() -> None:
    body = heat_map("", ["a"], ["x", "y", "z"], [[0.1, -0.4, float("nan")]]).body
    assert 'class="loss" style="--depth: 65%">-0.400' in body
    assert 'class="gain" style="--depth: 16%">+0.100' in body
    assert "nan" not in body


def test_games_that_were_cut_are_what_the_outcomes_leave() -> None:
    body = shares("", ["a"], [1, -1], np.array([[0.5, 0.25]])).body
    assert 'title="cut: 25.00 %"' in body
    assert "cut" not in shares("", ["a"], [1, -1], np.array([[0.5, 0.5]])).body


@pytest.mark.parametrize("place", ["file", "file/report"])
def test_a_page_is_refused_before_any_work_where_a_file_is_in_the_way(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file; give a folder"):
        check_folder(tmp_path / place, "--report")
    check_folder(tmp_path / "new" / "report", "--report")
    assert not (tmp_path / "new").exists()
