"""Settings of all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from agents.policy_file import SUFFIXES
from tests.commands import run
from tests.policies import IRISH, checkpoint

torch.set_num_threads(1)  # tests run beside each other


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of Irish."""
    return checkpoint(tmp_path_factory.mktemp("source"), IRISH, [8, 8])[0]


@pytest.fixture(scope="module")
def exported(source: Path) -> dict[str, Path]:
    """It as a policy, by suffix."""
    files = {suffix: source.with_name(f"policy{suffix}") for suffix in SUFFIXES}
    for file in files.values():
        assert run("export.py", str(source), str(file)).returncode == 0
    return files
