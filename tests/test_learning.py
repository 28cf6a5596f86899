"""Targets, the net, and that a bot really learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agents.network import ValueNet
from agents.registry import make_agent
from agents.value import ValueAgent
from arena.duel import duel
from engine import BatchGame, find_ruleset
from learning.config import Config, Run, at
from learning.learner import Learner
from learning.selfplay import collect
from learning.targets import lambda_targets, one_hot
from tests.training import learned

IRISH = find_ruleset("irish")
BACKGAMMON = find_ruleset("backgammon")


def column(*rows: tuple[float, float]) -> np.ndarray:
    """(T, 1, 2) float32 for one game with two outcomes."""
    return np.array(rows, np.float32)[:, None]


def test_with_lambda_0_the_target_is_the_next_value_seen_from_here() -> None:
    values = column((0.5, 0.5), (0.7, 0.3), (0.6, 0.4))
    targets = lambda_targets(values, np.zeros((2, 1, 2), np.float32), np.array([[True], [False]]), 0.0)
    assert targets[:, 0] == pytest.approx(np.array([[0.3, 0.7], [0.6, 0.4]]))


def test_with_lambda_1_the_target_is_what_happened_at_the_horizon() -> None:
    values = column((0.5, 0.5), (0.7, 0.3), (0.6, 0.4))
    targets = lambda_targets(values, np.zeros((2, 1, 2), np.float32), np.array([[True], [True]]), 1.0)
    assert targets[:, 0] == pytest.approx(np.array([[0.6, 0.4], [0.4, 0.6]]))


def test_between_them_the_target_mixes_step_by_step() -> None:
    # by pencil, lambda 0.5: G1 = turn(.6,.4) = (.4,.6); G0 = turn(.5 (.7,.3) + .5 (.4,.6)) = (.45,.55)
    values = column((0.5, 0.5), (0.7, 0.3), (0.6, 0.4))
    targets = lambda_targets(values, np.zeros((2, 1, 2), np.float32), np.array([[True], [True]]), 0.5)
    assert targets[:, 0] == pytest.approx(np.array([[0.45, 0.55], [0.4, 0.6]]))


def test_a_finished_game_takes_its_target_from_the_result_not_from_the_next_game() -> None:
    values = column((0.5, 0.5), (0.9, 0.1), (0.9, 0.1))
    outcomes = column((0, 0), (1, 0))
    targets = lambda_targets(values, outcomes, np.array([[True], [True]]), 1.0)
    assert targets[:, 0] == pytest.approx(np.array([[0.0, 1.0], [1.0, 0.0]]))


def test_lambda_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        lambda_targets(column((1, 0), (1, 0)), column((0, 0)), np.array([[True]]), 1.5)


def test_the_targets_of_self_play_are_probabilities_of_exclusive_outcomes() -> None:  # S17
    learner = Learner(BACKGAMMON, Config(variant="backgammon", seed=1, run=Run(updates=1)))
    game = BatchGame(BACKGAMMON, 64, seed=1)
    for _ in range(12):
        trajectory = collect(game, make_agent("random", BACKGAMMON), 8)
        targets = learner.targets(trajectory)
        assert targets.min() >= 0
        assert targets.sum(axis=-1) == pytest.approx(1, abs=1e-5)
        possible = BACKGAMMON.scoring.possible(trajectory.boards[:-1].reshape(-1, 2, 32), BACKGAMMON)
        assert (targets.reshape(-1, 6)[~possible] == 0).all()


def test_a_win_counts_for_the_side_to_act_in_each_earlier_position() -> None:  # S68
    game = BatchGame(find_ruleset("hypergammon"), 200, seed=4)
    agent = make_agent("random", game.rules)
    trajectory = collect(game, agent, 100)
    targets = lambda_targets(
        np.zeros((101, 200, 6), np.float32), one_hot(trajectory.outcome, 6), trajectory.passed, 1.0
    )
    ended = np.argwhere(trajectory.outcome >= 0)
    for t, number in ended[:50]:
        outcome, seen = trajectory.outcome[t, number], t
        while seen > 0 and trajectory.outcome[seen - 1, number] < 0:
            seen -= 1
            outcome = 5 - outcome if trajectory.passed[seen, number] else outcome
            assert targets[seen, number].argmax() == outcome


def test_lengths_and_winners_of_every_game_in_every_place_are_counted() -> None:  # S67
    rules = find_ruleset("hypergammon")
    game = BatchGame(rules, 50, seed=6)
    trajectory = collect(game, make_agent("random", rules), 400)
    assert trajectory.games == (trajectory.outcome >= 0).sum() > 250
    unfinished = game.plies.sum()
    # the toss turns the view of half of the stored starts, so turns are counted by the game itself
    assert trajectory.lengths.sum() + unfinished == pytest.approx(50 * 400, abs=0)


def test_impossible_outcomes_have_probability_exactly_0() -> None:  # S15
    net = ValueNet(BACKGAMMON, (16,))
    game = BatchGame(BACKGAMMON, 100, seed=2)
    game.boards[:, :, 24] -= 1
    game.boards[:, 1, 0] += 1  # THEIRS has one off
    game.boards[:, 0, 6] += 1
    values = net.values(game.boards, game.pending)
    assert (values[:, :2] == 0).all()
    assert values.sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_what_plays_sums_rows_and_what_learns_multiplies_with_one_result() -> None:
    net = ValueNet(IRISH, (8, 4))
    game = BatchGame(IRISH, 200, seed=3)
    collect(game, make_agent("random", IRISH), 40)
    thermometers = net.encoding.levels[game.boards.reshape(200, 64)[:, net.encoding.cells]]  # (200, U, L)
    dense = np.einsum("mul,ulh->mh", thermometers, net.board_weight.detach().numpy())
    dense += net.encoding.queues[game.pending] @ net.queue_weight.detach().numpy() + net.bias.detach().numpy()
    rows, starts = net.encoding.active(game.boards, game.pending)
    with torch.no_grad():
        summed = torch.nn.functional.embedding_bag(
            torch.from_numpy(rows), net.table(), torch.from_numpy(starts), mode="sum"
        )
        learned = torch.softmax(net(game.boards, game.pending), dim=1).numpy()
    assert summed.numpy() == pytest.approx(dense, abs=1e-5)
    assert net.values(game.boards, game.pending) == pytest.approx(learned, abs=1e-5)


def test_a_schedule_is_linear_between_its_points() -> None:
    assert at(0.3, 0.7) == 0.3
    assert [at([[0.0, 1.0], [0.5, 1.0], [1.0, 0.0]], p) for p in (0.0, 0.5, 0.75, 1.0)] == [1.0, 1.0, 0.5, 0.0]


class Flat:
    """An evaluator that finds every position even."""

    def values(self, boards: np.ndarray, pending: np.ndarray) -> np.ndarray:
        """(M, 2): one half each."""
        return np.full((len(boards), 2), 0.5, np.float32)


def test_equal_equities_take_more_checkers_off_then_fewer_pips() -> None:  # S33
    from tests.positions import after

    found = after(IRISH, "4:1 2:3 1:7 off:4 / 13:15", "4-2")
    choice = ValueAgent(Flat(), IRISH, "flat").choose(found, np.zeros(1, np.uint64))
    assert found.boards[choice[0], 1, 0] == 6  # two off


def test_rounding_noise_does_not_change_a_choice() -> None:  # S33
    from tests.positions import after

    found = after(IRISH, "24:2 13:5 8:3 6:5 / 24:2 13:5 8:3 6:5", "3-1")
    agent = ValueAgent(Flat(), IRISH, "flat")
    noise = np.random.default_rng(1)
    picks = {int(agent.best(noise.normal(scale=1e-8, size=found.game.size), found)[0]) for _ in range(50)}
    assert len(picks) == 1


@pytest.fixture(scope="module")
def trained() -> Learner:
    """Irish after 60 updates from a fixed seed."""
    config = Config.model_validate(
        {
            "variant": "irish",
            "seed": 1,
            "net": {"hidden": [32]},
            "selfplay": {"batch": 500, "plies": 12},
            "run": {"updates": 60},
        }
    )
    return learned(config)


def test_a_short_training_beats_random_play(trained: Learner) -> None:  # S73
    match = duel(IRISH, ValueAgent(trained.net, IRISH, "bot"), make_agent("random", IRISH), 2000, seed=5)
    assert match.wins >= 0.75


def test_a_short_training_beats_its_own_untrained_net(trained: Learner) -> None:  # S73
    untrained = Learner(IRISH, trained.config).net  # a frozen net scores exactly one half here
    match = duel(IRISH, ValueAgent(trained.net, IRISH, "bot"), ValueAgent(untrained, IRISH, "new"), 2000, seed=5)
    assert match.wins >= 0.75


def test_a_net_against_itself_scores_exactly_0(trained: Learner) -> None:
    agent = ValueAgent(trained.net, IRISH, "bot")
    assert duel(IRISH, agent, agent, 200, seed=5).ppg == 0
