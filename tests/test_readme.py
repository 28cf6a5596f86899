"""What the README shows, works."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.commands import process

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def test_the_lines_of_python_play_4096_games(capsys: pytest.CaptureFixture[str]) -> None:
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(code) == 1
    exec(compile(code[0], "README.md", "exec"), {})
    numbers = re.findall(r"-?\d+\.\d+", capsys.readouterr().out)
    assert len(numbers) == 2
    assert float(numbers[0]) == -float(numbers[1])
    assert abs(float(numbers[0])) < 0.2


def test_the_table_of_all_games_is_the_one_that_the_command_prints() -> None:
    assert process("benchmarks/family.py", "--show").stdout in README


def test_the_legal_example_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    from unittest.mock import patch

    from engine.__main__ import main

    line = next(line for line in README.splitlines() if line.startswith("python -m engine legal"))
    position = line.split("'")[1]
    with patch("sys.argv", ["engine", "legal", "irish", position, "6-5"]):
        assert main() == 0
    assert "7 distinct results" in capsys.readouterr().out


def test_the_manual_config_holds_every_key_with_its_default() -> None:
    from learning.config import Config, Run, keys

    text = (ROOT / "configs" / "base.toml").read_text("utf-8")
    manual = Config.model_validate(tomllib.loads(text))  # as written: loading puts this machine's choices for "auto"
    assert manual == Config(variant="backgammon", run=Run(minutes=60.0))
    for name, _ in keys():
        assert re.search(rf"^(# |\[)?{re.escape(name.split('.')[-1])}\b", text, re.MULTILINE), name
