"""The generator counts as many results as the scalar rulebook did when `tests/counts` was written."""

from __future__ import annotations

import pytest

from engine import VARIANTS
from tests.make_counts import FOLDER, counts
from tests.positions import after

GAMES = {rules.name: rules for rules in VARIANTS}


@pytest.mark.parametrize("name", GAMES)
def test_as_many_results_as_the_rulebook_counts(name: str) -> None:
    lines = (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    assert len(lines) > 50
    for text in lines:
        position, roll, count = text.split("\t")
        assert after(GAMES[name], position, roll).game.size == int(count), text


@pytest.mark.full
@pytest.mark.parametrize("name", GAMES)
def test_the_files_are_what_the_rulebook_counts(name: str) -> None:
    assert counts(GAMES[name]) == (FOLDER / f"{name}.txt").read_text("utf-8")
