"""The expert who knows backgammon and not the game: what he is shown, and what he refuses."""

from __future__ import annotations

import numpy as np
import pytest

from agents.referees.referee import EXPERT, Judge, Referee, wire
from agents.registry import make_agent
from arena.duel import duel
from engine import BatchGame, Ruleset, afterstates, find_ruleset, parse_position, queues_of
from tests.positions import after, checkers
from tests.test_referees import BACKGAMMON, NO_NOISE, faker, has_gnubg, told

ACEY = find_ruleset("acey_deucey")
OWN_ACES = "return [(row[1][0] / 15) * (n == 0) for row in rows for n in range(5)]"  # wins by checkers on his 1


def expert(rules: Ruleset, body: str) -> Judge:
    """The expert, with a worker that judges by these lines."""
    return Judge(rules, EXPERT, faker(body), spec="gnubg-judge")


@has_gnubg
def test_in_backgammon_the_expert_plays_as_gnubg_does() -> None:
    gnubg = make_agent("gnubg", BACKGAMMON)
    judge, game = make_agent("gnubg-judge", BACKGAMMON), BatchGame(BACKGAMMON, 100, seed=3)
    for _ in range(20):
        found = game.afterstates()
        choice = gnubg.choose(found, game.noise)
        assert (judge.choose(found, game.noise) == choice).all()
        game.step(found, choice)


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        (find_ruleset("plakoto"), "has pinned checkers"),
        (find_ruleset("narde"), "has both sides move the same way"),
        (find_ruleset("russian"), "has both sides move the same way"),
        (find_ruleset("gioul"), "has no hits: a lone checker closes its point"),
        (find_ruleset("irish", {"points": "8", "checkers": "4", "setup": "8:2 3:2"}), "has 8 points"),
    ],
)
def test_the_expert_refuses_what_his_board_cannot_show(rules: Ruleset, reason: str) -> None:
    assert told(lambda: make_agent("gnubg-judge", rules)).endswith(f"; this game {reason}")


@has_gnubg
@pytest.mark.parametrize("name", ["irish", "dutch", "hypergammon", "acey_deucey", "european_acey_deucey", "french"])
def test_the_expert_plays_every_game_with_hits_on_his_board(name: str) -> None:
    rules = find_ruleset(name)
    match = duel(rules, make_agent("gnubg-judge", rules), make_agent("random", rules), 10, seed=2)
    assert match.ppg > 0
    assert match.truncated == 0


def test_checkers_in_hand_are_shown_on_the_bar() -> None:
    rules = find_ruleset("dutch")
    sides = wire(board_of(rules, "hand:13 bar:1 3:1 / hand:15"), rules)
    assert sides[0, :, 24].tolist() == [14, 15]


def test_who_rolls_again_is_on_roll() -> None:
    again = expert(ACEY, OWN_ACES)  # after 2-1 one names a double: 3/1 is good for whoever rolls
    assert result_of(again, ACEY, "10:1 3:1 2:1 off:12 / 10:3 off:12", "2-1").startswith(b"\x0c\x02")


def test_before_a_point_is_opened_the_other_side_is_on_roll() -> None:
    rules = find_ruleset("irish")
    on_bar = "return [(0.9 if row[1][24] else 0.3) * (n == 0) for row in rows for n in range(5)]"
    found = after(rules, "10:1 7:1 6:2 5:2 4:2 3:2 2:2 1:2 off:1 / bar:1 8:14", "2-1")
    assert not found.passed.all()  # where mine are closed, the toss for the point comes next
    assert expert(rules, on_bar).scores(found).tolist() == pytest.approx([-0.8] * found.game.size)


def test_a_double_is_named_by_its_best_play() -> None:
    naming = queues_of(ACEY).code(("name",))
    found = afterstates(board_of(ACEY, "22:1 7:3 off:11 / 10:3 off:12"), np.array([naming], np.int8), ACEY)
    row = expert(ACEY, OWN_ACES).choose(found, NO_NOISE)[0]
    assert queues_of(ACEY).items[found.pending[row]][0] == (6, 6, 6, 6)  # 7/1(3)


def board_of(rules: Ruleset, position: str) -> np.ndarray:
    """(1, 2, SLOTS): a position before its dice."""
    return parse_position(position, rules)[0][None]


def result_of(agent: Referee, rules: Ruleset, position: str, roll: str) -> bytes:
    """The checkers after the referee's play, the chooser's side first."""
    found = after(rules, position, roll)
    row = agent.choose(found, NO_NOISE)[0]
    return checkers(found.boards[row, ::-1] if found.passed[row] else found.boards[row], rules)
