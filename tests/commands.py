"""Commands as people type them, run in this process or in one of their own."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

import cli
import evaluate
import export
import train
from arena.__main__ import main as arena_main
from engine.__main__ import main as engine_main

ROOT = Path(__file__).parent.parent
QUICK = ROOT / "configs" / "quick.toml"


class Done(NamedTuple):
    """What a finished command left."""

    returncode: int
    stdout: str
    stderr: str


def run(*words: str) -> Done:
    """A command, in this process: the script or module and its arguments."""
    scripts = {"train.py": train.main, "evaluate.py": evaluate.main, "export.py": export.main}
    modules = {"engine": engine_main, "arena": arena_main}
    main = modules[words[1]] if words[0] == "-m" else scripts[words[0]]
    out, err = io.StringIO(), io.StringIO()
    arguments = words[2:] if words[0] == "-m" else words[1:]
    with (
        patch.object(sys, "argv", [words[0], *arguments]),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as end,
    ):
        cli.run(main)
    assert isinstance(end.value.code, int)
    return Done(end.value.code, out.getvalue(), err.getvalue())


def process(*words: str) -> Done:
    """A command, in a process of its own."""
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=ROOT, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def refused(done: Done, *parts: str) -> None:
    """One line, exit code 2, no traceback, and it says these things."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for part in parts:
        assert part in done.stderr
