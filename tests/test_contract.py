"""What every ruleset promises, checked on random games of all variants and some small boards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from engine import VARIANTS, Afterstates, BatchGame, Ruleset, afterstates, find_ruleset, queues_of
from engine.notation import format_position, parse_position
from engine.slots import MINE, THEIRS, Boards, Codes

SMALL = [
    find_ruleset("irish", {"points": 8, "checkers": 4, "setup": "8:2 3:2"}),
    find_ruleset("dutch", {"points": 12, "checkers": 5, "hit_gate": "home_latched"}),
    find_ruleset("backgammon", {"checkers": 2}),
]
ALL = [*VARIANTS, *SMALL]
pytestmark = pytest.mark.parametrize("rules", ALL, ids=[f"{r.name}-{r.points}-{r.checkers}" for r in ALL])


class Moment(NamedTuple):
    """N decisions of random games: the positions, what is pending, and every legal result."""

    boards: Boards
    pending: Codes
    after: Afterstates


def random_play(rules: Ruleset, games: int, decisions: int, seed: int = 5) -> list[Moment]:
    """Random games spread over all phases, decision by decision."""
    game = BatchGame(rules, games, seed=seed)
    moments = []
    for _ in range(decisions):
        after = game.afterstates()
        moments.append(Moment(game.boards.copy(), game.pending.copy(), after))
        game.step(after, after.start[:-1] + (game.noise % after.counts.astype(np.uint64)).astype(np.int64))
        over = np.flatnonzero(game.is_over)
        if over.size:
            game.restart(over)
    return moments


def totals(boards: Boards, rules: Ruleset) -> np.ndarray:
    """(..., 2) checkers of each side, wherever they stand."""
    total: np.ndarray = np.abs(boards[..., : rules.hand + 1]).sum(axis=-1)
    return total


def test_no_checker_is_ever_lost_or_made(rules: Ruleset) -> None:
    for _, _, after in random_play(rules, 200, 60):
        assert (totals(after.boards, rules) == rules.checkers).all()


def test_the_sides_never_share_a_point(rules: Ruleset) -> None:
    opposing = [rules.opposing(point) for point in range(1, rules.points + 1)]
    for _, _, after in random_play(rules, 200, 60):
        mine, theirs = after.boards[:, MINE, 1 : rules.points + 1], after.boards[:, THEIRS, opposing]
        assert not ((mine > 0) & (theirs > 0)).any()


def test_every_result_of_a_decision_is_listed_once(rules: Ruleset) -> None:
    for boards, _, after in random_play(rules, 100, 60):
        for number in range(len(boards)):
            part = slice(after.start[number], after.start[number + 1])
            rows = [
                (board.tobytes(), int(code) if over < 0 else None, bool(passed))
                for board, code, passed, over in zip(
                    after.boards[part], after.pending[part], after.passed[part], after.outcome[part], strict=True
                )
            ]
            assert 1 <= len(rows) == len(set(rows))


def test_many_games_at_once_equal_one_at_a_time_row_by_row(rules: Ruleset) -> None:
    for boards, pending, whole in random_play(rules, 40, 30)[::3]:
        for number in range(len(boards)):
            one = afterstates(boards[number : number + 1], pending[number : number + 1], rules)
            part = slice(whole.start[number], whole.start[number + 1])
            assert (one.boards == whole.boards[part]).all()
            assert (one.outcome == whole.outcome[part]).all()
            assert (one.passed == whole.passed[part]).all()
            going = one.outcome < 0
            assert (one.pending == whole.pending[part])[going].all()


def test_a_part_of_the_games_is_listed_as_in_the_whole(rules: Ruleset) -> None:
    for _, _, after in random_play(rules, 30, 20)[::5]:
        games = np.array([7, 3, 20])
        part, rows = after.of(games)
        assert part.counts.tolist() == after.counts[games].tolist()
        assert (part.boards == after.boards[rows]).all()
        assert (games[part.game] == after.game[rows]).all()


def test_payoffs_are_antisymmetric(rules: Ruleset) -> None:
    assert (rules.payoffs == -rules.payoffs[::-1]).all()


def test_my_point_of_their_point_is_my_point_again(rules: Ruleset) -> None:
    points = range(1, rules.points + 1)
    assert [rules.opposing(rules.opposing(point)) for point in points] == list(points)


def test_the_mirrored_word_agrees_with_the_opposing_points(rules: Ruleset) -> None:
    generator = np.random.default_rng(1)
    flags = generator.random((50, 2, 32)) < 0.3
    words = rules.mirrored(flags[:, THEIRS])
    for row in range(50):
        held = {point for point in range(1, rules.points + 1) if words[row] >> point & 1}
        assert held == {p for p in range(1, rules.points + 1) if flags[row, THEIRS, rules.opposing(p)]}


def test_the_same_seed_gives_the_same_games_and_another_seed_others(rules: Ruleset) -> None:
    def trace(seed: int) -> list[bytes]:
        return [moment.boards.tobytes() for moment in random_play(rules, 20, 25, seed)]

    assert trace(1) == trace(1)
    assert trace(1) != trace(2)


def test_random_games_end_or_reach_the_limit_of_who_plays_them(rules: Ruleset) -> None:
    game = BatchGame(rules, 500, seed=11)
    while len(game) and game.plies.max() < 2000:
        after = game.afterstates()
        result = game.step(after, after.start[:-1] + (game.noise % after.counts.astype(np.uint64)).astype(np.int64))
        paid = rules.payoffs[result.outcome[game.is_over]]
        assert 0 in rules.payoffs or (paid != 0).all()  # somebody is paid, where the rules know no draw
        game.keep(np.flatnonzero(~game.is_over))
    assert len(game) <= 25  # of 500: random play of hitting games has no bound


@pytest.mark.full
def test_none_of_10_000_random_games_is_cut(rules: Ruleset) -> None:
    game = BatchGame(rules, 10_000, seed=12)
    while len(game):
        after = game.afterstates()
        game.step(after, after.start[:-1] + (game.noise % after.counts.astype(np.uint64)).astype(np.int64))
        assert game.plies.max() < rules.ply_limit
        game.keep(np.flatnonzero(~game.is_over))


def test_a_position_survives_being_written_and_read(rules: Ruleset) -> None:
    names = queues_of(rules)
    for boards, pending, _ in random_play(rules, 20, 40)[::4]:
        for board, code in zip(boards, pending, strict=True):
            text = format_position(board, rules, names.items[code])
            again, queue = parse_position(text, rules)
            assert (again == board).all(), text
            assert queue == names.items[code]
