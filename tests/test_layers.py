"""Imports point one way, and code knows rules, never games."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from engine import VARIANTS

ROOT = Path(__file__).parent.parent
LAYERS = [  # a module may import from the lines above its own
    ["engine.slots"],
    ["engine.board"],
    ["engine.ruleset"],
    ["engine.reach"],
    ["cli"],
    [f"engine.{name}" for name in ("contact", "turn", "limits", "formations", "bearing", "scoring", "binding")],
    ["engine.queues", "engine.tables"],
    ["engine.plays"],
    ["engine.tiers"],
    ["engine.decisions"],
    ["engine.chances"],
    ["engine.game"],
    ["engine.notation"],
    ["engine.playtext"],
    ["engine.options", "engine.describe"],
    ["engine.house_moves"],
    ["engine.house_rules"],
    ["engine.variants"],
    ["engine", "engine.__main__"],
    ["agents", "agents.base", "agents.encoding", "agents.referees.worker"],
    ["agents.simple", "agents.network", "agents.policy_file", "agents.referees", "agents.referees.process"],
    ["agents.policy_card", "agents.referees.rules"],
    ["agents.policy", "agents.referees.referee"],
    ["agents.value"],
    ["agents.bearoff", "agents.foreign", "agents.glance", "agents.lookahead"],
    ["agents.registry"],
    ["learning", "learning.config", "learning.room", "learning.selfplay", "learning.targets"],
    ["learning.ranks"],
    ["learning.events", "learning.learner", "learning.pictures", "learning.players", "learning.stopping"],
    ["learning.checkpoint", "learning.growth", "learning.log"],
    ["learning.runs", "learning.watching"],
    ["arena", "arena.luck", "arena.page", "arena.sequential", "arena.solving"],
    ["arena.duel"],
    ["arena.match"],
    ["arena.bearing_off", "arena.exact", "arena.parts", "arena.whole"],
    ["arena.duel_page", "arena.report", "arena.ratings", "arena.rollout"],
    ["arena.cross", "arena.errors", "arena.openings"],
    ["arena.show"],
    ["arena.commands"],
    ["arena.commands.bearoff", "arena.commands.exact"],
    ["arena.commands.lookahead", "arena.commands.luck", "arena.commands.rate"],
    ["arena.commands.cross", "arena.commands.openings"],
    ["arena.__main__"],
    ["train", "evaluate", "export"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
PLACES = ("engine", "agents", "agents/referees", "learning", "arena", "arena/commands", ".")
FILES = sorted(path for place in PLACES for path in (ROOT / place).glob("*.py"))


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def imports_of(path: Path) -> set[str]:
    return imported(path) & set(LEVEL)


@pytest.mark.parametrize("path", FILES, ids=[module_of(path) for path in FILES])
def test_a_module_imports_only_from_the_layers_above_it(path: Path) -> None:
    module = module_of(path)
    assert module in LEVEL, "a new module needs a layer"
    wrong = {name for name in imports_of(path) if LEVEL[name] >= LEVEL[module]}
    assert not wrong


def test_every_module_is_looked_at() -> None:
    for place in ("engine", "agents", "learning", "arena"):
        assert set((ROOT / place).rglob("*.py")) <= set(FILES)


@pytest.mark.parametrize("path", FILES, ids=[module_of(path) for path in FILES])
def test_only_a_program_of_its_own_loads_an_engine_under_the_gpl(path: Path) -> None:
    assert module_of(path) == "agents.referees.worker" or not any("gnubg" in name for name in imported(path))


def test_no_game_is_named_in_code_outside_the_variants() -> None:
    names = {rules.name for rules in VARIANTS}
    for path in FILES:
        if module_of(path) in ("engine.variants", "train", "evaluate"):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        strings = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert not strings & names, path


@pytest.mark.parametrize("path", FILES, ids=[module_of(path) for path in FILES])
def test_files_are_short(path: Path) -> None:
    limit = {"train": 200, "evaluate": 100, "export": 100}.get(module_of(path), 500)
    assert len(path.read_text("utf-8").splitlines()) < limit


@pytest.mark.parametrize("path", FILES, ids=[module_of(path) for path in FILES])
def test_functions_fit_on_a_screen(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno is not None
            is_told = isinstance(node.body[0], ast.Expr) and node.body[0].end_lineno is not None
            begin = (node.body[0].end_lineno or 0) if is_told else node.lineno
            assert node.end_lineno - begin <= 40, node.name


def test_the_engine_loads_numpy_only() -> None:
    code = "import sys, engine; print({'torch', 'pydantic', 'scipy', 'tqdm', 'rich', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "set()"
