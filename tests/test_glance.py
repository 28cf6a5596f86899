"""A glance drops what is hopeless, keeps a play of every decision, and is only taken where nothing else decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.base import Scores
from agents.glance import GlancingAgent, fitted, parts
from agents.network import ROWS_AT_ONCE, ValueNet, read_checkpoint
from agents.value import ValueAgent
from engine import VARIANTS, BatchGame, Ruleset, find_ruleset
from engine.slots import Rows
from learning.config import Config, load_config
from learning.growth import starting_net
from learning.learner import Learner
from learning.selfplay import collect
from tests.commands import ROOT, run
from tests.test_runs import same

SIZES = np.random.default_rng(3).integers(1, 40, 500)  # plays of each decision
STARTS = np.concatenate([[0], SIZES.cumsum()[:-1]])
SIGNAL = torch.from_numpy(np.random.default_rng(4).random((SIZES.sum(), 6), np.float32))
SIGN = np.random.default_rng(5).choice([-1, 1], SIZES.sum()).astype(np.float32)
LINE = np.array([3.0, -1.0, 0.5, 0.0, 2.0, -2.0], np.float32)


def tops(equity: Scores) -> Rows:
    """(D,) the best row of each decision."""
    return np.array([low + part.argmax() for low, part in zip(STARTS, np.split(equity, STARTS[1:]), strict=True)])


def test_of_equities_that_are_a_line_the_best_alone_is_left() -> None:
    equity = SIGN * (SIGNAL.numpy() @ LINE + 0.7)
    glance = fitted(SIGNAL, SIGN, equity, STARTS, missed=0.0)
    assert glance.slope.numpy() == pytest.approx(LINE, abs=0.02)
    assert glance.height == pytest.approx(0.7, abs=0.02)
    close = equity >= np.maximum.reduceat(equity, STARTS).repeat(SIZES) - 0.05
    kept = glance.promising(SIGNAL, SIGN, STARTS)
    assert set(tops(equity)) <= set(kept)
    assert set(kept) <= set(np.flatnonzero(close))


def test_what_a_decision_is_worth_as_a_whole_does_not_matter() -> None:
    equity = SIGN * (SIGNAL.numpy() @ LINE + 0.7)
    shifted = equity + np.random.default_rng(6).normal(scale=5, size=SIZES.size).repeat(SIZES)
    first, second = (fitted(SIGNAL, SIGN, points, STARTS, missed=0.0) for points in (equity, shifted))
    assert second.slope.numpy() == pytest.approx(first.slope.numpy(), abs=1e-3)


@pytest.mark.parametrize("missed", [0.0, 0.02, 0.3])
def test_it_misses_the_best_play_of_no_more_decisions_than_it_may(missed: float) -> None:
    equity = SIGN * (SIGNAL.numpy() @ LINE) + np.random.default_rng(7).normal(scale=0.5, size=SIGN.size)
    kept = fitted(SIGNAL, SIGN, equity, STARTS, missed).promising(SIGNAL, SIGN, STARTS)
    owner = np.searchsorted(STARTS, kept, side="right") - 1
    assert np.array_equal(np.unique(owner), np.arange(SIZES.size))  # a play of every decision is left
    lost = (~np.isin(tops(equity), kept)).mean()
    assert missed - 0.01 <= lost <= missed


@pytest.mark.parametrize("size", [1, 5, 60])
def test_slices_hold_whole_decisions_one_after_the_other(size: int) -> None:
    game = np.arange(0, 3 * size, 3, dtype=np.int32).repeat(np.random.default_rng(size).integers(1, 900, size))
    rows = 0
    for part, starts in parts(game):
        assert part.start == rows
        assert np.array_equal(starts, np.unique(game[part], return_index=True)[1])
        assert rows == 0 or game[rows] != game[rows - 1]
        assert part.stop - part.start <= ROWS_AT_ONCE + 900
        rows = part.stop
    assert rows == game.size


@pytest.mark.parametrize("name", ["backgammon", "irish", "dutch"])
def test_a_trained_net_hardly_ever_misses_its_best_play(name: str) -> None:
    rules = find_ruleset(name)
    net = starting_net(f"checkpoints/{name}.npz", rules)
    full, game = ValueAgent(net, rules, "full"), BatchGame(rules, 1000)
    collect(game, full, 25)
    glancing = GlancingAgent(net.judge(), rules, "self", 0.05)
    collect(game, glancing, 1)  # to which it is fitted
    lost, looked = [], []
    for _ in range(8):
        after = game.afterstates()
        choice, best = glancing.choose(after, game.noise), full.choose(after, game.noise)
        equity, found = full.equities(after), glancing.equities(after)
        seen = np.isfinite(found)
        assert seen.take(choice).all()
        assert found[seen] == pytest.approx(equity[seen], abs=1e-5)
        lost.append((equity[choice] < equity[best] - 1e-5).mean())
        looked.append(seen.mean())
        game.step(after, best)
        game.restart(np.flatnonzero(game.is_over))
    assert 0 < np.mean(lost) < 0.1
    assert np.mean(looked) < 0.6


@pytest.mark.parametrize("name", ["backgammon", "irish", "dutch"])
def test_a_trained_net_loses_next_to_nothing_by_choosing_in_bfloat16(name: str) -> None:
    rules = find_ruleset(name)
    net, game = starting_net(f"checkpoints/{name}.npz", rules), BatchGame(rules, 2000)
    full, coarse = ValueAgent(net, rules, "full"), ValueAgent(net.judge(torch.bfloat16), rules, "coarse")
    collect(game, full, 25)
    after = game.afterstates()
    equity = full.equities(after)
    lost = equity[full.best(equity, after)] - equity[coarse.choose(after, game.noise)]
    assert 0 < (lost > 1e-6).mean() < 0.05  # it is another arithmetic, and hardly ever another choice
    assert lost.mean() < 1e-4


@pytest.mark.parametrize("is_fast", [True, False])
def test_the_precision_is_settled_when_a_run_begins(is_fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learning.config.has_fast_bfloat16", lambda: is_fast)
    base = ROOT / "configs" / "base.toml"
    assert load_config(base).selfplay.precision == ("bfloat16" if is_fast else "float32")
    assert load_config(base, ["run.device=cuda"]).selfplay.precision == "float32"
    assert load_config(base, ["selfplay.precision=bfloat16"]).selfplay.precision == "bfloat16"


def test_plays_are_all_looked_at_until_there_were_enough_to_fit_to() -> None:
    rules = find_ruleset("backgammon")
    net, game, seen = starting_net("checkpoints/backgammon.npz", rules), BatchGame(rules, 90), 0
    full, agent = ValueAgent(net, rules, "full"), GlancingAgent(net.judge(), rules, "self", 0.1)
    collect(game, full, 20)
    while seen < agent.enough:
        after = game.afterstates()
        assert agent.glance is None
        assert np.isfinite(agent.equities(after)).all()
        seen += (after.outcome < 0).sum()
        game.step(after, full.choose(after, game.noise))
    assert agent.glance is not None
    assert not np.isfinite(agent.equities(game.afterstates())).all()


@pytest.mark.parametrize(
    ("section", "settings"),
    [
        ("selfplay", {"glance": 0.0}),
        ("selfplay", {"noise": 0.1}),
        ("net", {"hidden": [32]}),
        ("net", {"hidden": [256, 128]}),
    ],
    ids=["not wanted", "noise explores", "nothing to save", "a dear fit"],
)
def test_where_a_glance_would_decide_or_save_nothing_there_is_none(section: str, settings: dict[str, Any]) -> None:
    common = {"variant": "backgammon", "run": {"updates": 1}}
    rules = find_ruleset("backgammon")
    assert type(Learner(rules, Config.model_validate(common)).agent()) is GlancingAgent
    assert type(Learner(rules, Config.model_validate(common | {section: settings})).agent()) is ValueAgent


@pytest.mark.parametrize("rules", VARIANTS, ids=[rules.name for rules in VARIANTS])
def test_in_every_game_it_looks_at_what_it_takes_and_at_something_of_every_decision(rules: Ruleset) -> None:
    net, game = ValueNet(rules, (8, 8)), BatchGame(rules, 300, seed=3)
    full, glances = ValueAgent(net, rules, "full"), 0
    collect(game, full, 20)
    for _ in range(20):
        glancing, after = GlancingAgent(net.judge(), rules, "self", 0.2), game.afterstates()
        glancing.choose(after, game.noise)  # to which it is fitted
        choice, found, equity = glancing.choose(after, game.noise), glancing.equities(after), full.equities(after)
        seen = np.isfinite(found)
        assert seen.take(choice).all()
        assert (choice >= after.start[:-1]).all()
        assert (choice < after.start[1:]).all()
        assert found[seen] == pytest.approx(equity[seen], abs=1e-4)
        assert np.isfinite(found[after.outcome >= 0]).all()  # what ends a game is never dropped
        glances += glancing.glance is not None
        game.step(after, choice)
        game.restart(np.flatnonzero(game.is_over))
    assert glances > 10


def test_a_run_that_glances_resumes_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = ["net.hidden=[16, 8]", "selfplay.batch=256", "selfplay.glance=0.2", "evaluate.opponents=[]"]
    settings += ["td.lambda=0.5", "optimizer.rate=0.001"]  # no schedule, which a budget would stretch
    config = str(ROOT / "configs" / "backgammon.toml")
    for name, updates in (("whole", 8), ("resumed", 4), ("without", 8)):
        glance = ["selfplay.glance=0"] if name == "without" else []
        assert run("train.py", config, *settings, *glance, f"run.updates={updates}", f"run.name={name}").returncode == 0
    assert run("train.py", "--resume", "runs/resumed", "run.updates=8").returncode == 0
    whole, resumed, without = (read_checkpoint(f"runs/{name}") for name in ("whole", "resumed", "without"))
    assert same(whole["weights"], resumed["weights"])
    assert same(whole["games"], resumed["games"])
    assert not same(whole["weights"], without["weights"])
