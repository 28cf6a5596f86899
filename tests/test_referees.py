"""Engines we did not write: whom they judge, which way round, and what happens when they fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from agents.base import AgentError, least
from agents.referees import referee
from agents.referees.referee import (
    GNUBG,
    PUBEVAL,
    WORKER,
    Analyst,
    Engine,
    Referee,
    RefereeError,
    equities,
    wire,
)
from agents.registry import make_agent
from agents.simple import Pips
from arena.duel import duel
from engine import BatchGame, afterstates, find_ruleset, queues_of
from engine.chances import outcomes_of_chance
from engine.decisions import Afterstates
from engine.notation import decision
from tests.commands import refused, run
from tests.positions import after, board, checkers

BACKGAMMON = find_ruleset("backgammon")
OPENING = "24:2 13:5 8:3 6:5 / 24:2 13:5 8:3 6:5"
NO_NOISE = np.zeros(1, np.uint64)
has_sage = pytest.mark.skipif(find_spec("bgsage") is None, reason="bgsage is not installed")
has_gnubg = pytest.mark.skipif(find_spec("gnubg_nn") is None, reason="gnubg-nn is not installed")
FAKE = """
import os, sys, time
sys.path.insert(0, {folder!r})
import worker
def judge(before, rows, ply):
    {body}
worker.serve(judge, sys.stdin.buffer, sys.stdout.buffer)
"""


def faker(body: str) -> list[str]:
    """The command of a worker that judges by these lines."""
    return [sys.executable, "-c", FAKE.format(folder=str(WORKER.parent), body=body)]


def fake(body: str, engine: Engine = PUBEVAL, limit: float = 10.0) -> Referee:
    """A referee whose worker judges by these lines."""
    return Referee(BACKGAMMON, engine, faker(body), limit)


def asked(*questions: tuple[str, str]) -> Afterstates:
    """All legal results of several positions and rolls."""
    found = [decision(position, roll, BACKGAMMON) for position, roll in questions]
    boards, codes = np.stack([one for one, _ in found]), np.array([code for _, code in found], np.int8)
    return afterstates(boards, codes, BACKGAMMON)


def chosen(agent: Referee, position: str, roll: str) -> bytes:
    """The board after the referee's play, the chooser's side first."""
    found = after(BACKGAMMON, position, roll)
    row = agent.choose(found, NO_NOISE)[0]
    return checkers(found.boards[row, ::-1] if found.passed[row] else found.boards[row], BACKGAMMON)


def told(call: Callable[[], object]) -> str:
    """What the error of a call says."""
    with pytest.raises(AgentError) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)


# -- when they fail ---------------------------------------------------------------------------------

TWO = (OPENING, "3-1"), ("10:2 6:13 / 23:2 6:13", "6-5")
SECOND = "asked about 10:2 6:13 / 23:2 6:13 | queue:65"  # where the fakes fail: 10 is index 9


def test_a_referee_that_dies_is_an_error_naming_position_and_roll() -> None:
    agent = fake("return [0.0] * len(rows) if not before[0][9] else os._exit(3)")
    assert (
        told(lambda: agent.choose(asked(*TWO), NO_NOISE))
        == f"agent 'pubeval': its process died (exit code 3); {SECOND}"
    )
    with pytest.raises(RefereeError, match="its process has ended"):
        agent.choose(asked(*TWO), NO_NOISE)


def test_the_last_words_of_a_referee_are_passed_on() -> None:
    agent = fake("raise RuntimeError('weights are gone')")
    assert "RuntimeError: weights are gone; asked about 24:2 13:5" in told(lambda: agent.choose(asked(*TWO), NO_NOISE))


def test_a_referee_that_hangs_is_an_error_naming_position_and_roll() -> None:
    agent = fake("return [0.0] * len(rows) if not before[0][9] else time.sleep(60)", limit=0.5)
    begun = time.monotonic()
    assert told(lambda: agent.choose(asked(*TWO), NO_NOISE)) == f"agent 'pubeval': no answer within 0.5 s; {SECOND}"
    assert time.monotonic() - begun < 10


def test_a_referee_that_does_not_read_its_question_hangs_too() -> None:
    code = "import sys, time; sys.stdout.write('referee2'); sys.stdout.flush(); time.sleep(60)"
    agent = Referee(BACKGAMMON, PUBEVAL, [sys.executable, "-c", code], 0.5)
    game = BatchGame(BACKGAMMON, 4000)  # more than a pipe holds
    assert "no answer within 0.5 s; asked about" in told(lambda: agent.choose(game.afterstates(), game.noise))


def test_the_limit_is_for_a_decision_and_not_for_all_of_them() -> None:
    agent = fake("time.sleep(0.3); return [0.0] * len(rows)", limit=1.0)
    questions = asked(*[(OPENING, "3-1")] * 6)
    assert (agent.choose(questions, NO_NOISE) == questions.start[:-1]).all()


@pytest.mark.parametrize("number", ["float('nan')", "float('inf')"])
def test_a_score_that_is_no_number_is_an_error_naming_position_and_roll(number: str) -> None:
    agent = fake(f"return [{number} if before[0][9] else 0.0] * len(rows)")
    assert told(lambda: agent.choose(asked(*TWO), NO_NOISE)) == f"agent 'pubeval': its answer is impossible; {SECOND}"


@pytest.mark.parametrize(
    "chances",
    [
        (1.5, 0.0, 0.0, 0.0, 0.0),  # more than certain
        (0.5, 0.6, 0.0, 0.0, 0.0),  # more gammons than wins
        (0.5, 0.0, 0.0, 0.6, 0.0),  # more gammons than losses
        (0.5, -0.1, 0.0, 0.0, 0.0),
        (0.5, float("nan"), 0.0, 0.0, 0.0),
    ],
)
def test_probabilities_that_no_position_has_are_an_error(chances: tuple[float, ...]) -> None:
    text = str(chances).replace("nan", "float('nan')")
    agent = fake(f"return [number for row in rows for number in {text}]", GNUBG)
    assert "its answer is impossible; asked about 24:2" in told(lambda: agent.choose(asked(*TWO), NO_NOISE))


def test_a_process_that_does_not_start_is_an_error() -> None:
    absent = told(lambda: Referee(BACKGAMMON, PUBEVAL, ["/no/such/program"]))
    assert absent.startswith("agent 'pubeval': its process does not start: ")
    broken = told(lambda: Referee(BACKGAMMON, PUBEVAL, [sys.executable, "-c", "import no_such_module"]))
    assert "its process does not start: its process died (exit code 1): ModuleNotFoundError" in broken


def test_a_duel_in_which_a_referee_dies_ends_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "return [0.0] * len(rows) if before[0][23] else os._exit(3)"
    (tmp_path / "dying.py").write_text(FAKE.format(folder=str(WORKER.parent), body=body))
    monkeypatch.setattr(referee, "WORKER", tmp_path / "dying.py")
    monkeypatch.setattr(referee, "find_spec", lambda name: True)
    done = run("evaluate.py", "backgammon", "pubeval", "pips", "--games", "10")
    refused(done, "agent 'pubeval': its process died (exit code 3); asked about ", " / ", "queue:")


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_the_process_of_a_referee_ends_with_a_parent_that_is_killed() -> None:
    code = "import engine; from agents.referees.referee import PUBEVAL, Referee; "
    code += f"agent = Referee(engine.find_ruleset('backgammon'), PUBEVAL, {faker('return [0.0] * len(rows)')!r}); "
    code += "print(agent.process.popen.pid, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        os.kill(child, 0)
        parent.send_signal(signal.SIGKILL)
    assert has_gone(child)


def test_the_process_of_a_referee_ends_with_its_agent() -> None:
    agent = fake("return [0.0] * len(rows)")
    child = agent.process.popen.pid
    del agent
    assert has_gone(child)


def has_gone(process: int) -> bool:
    """Whether a process ends within some seconds."""
    with suppress(ProcessLookupError):
        for _ in range(100):
            os.kill(process, 0)
            if Path(f"/proc/{process}/stat").exists() and " Z " in Path(f"/proc/{process}/stat").read_text():
                return True  # only its new parent has not noticed yet
            time.sleep(0.1)
        return False
    return True


# -- which way round ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gnubg() -> Referee:
    return referee.gnubg(BACKGAMMON)


@pytest.fixture(scope="module")
def sage() -> Referee:
    return referee.sage(BACKGAMMON)


@pytest.fixture(scope="module")
def pubeval() -> Referee:
    return referee.pubeval(BACKGAMMON)


def answer(agent: Referee, position: str) -> list[float]:
    """What the worker says of a position after the first side's play."""
    sides = wire(decision(position, "2-1", BACKGAMMON)[0][None], BACKGAMMON)
    return [round(float(number), 3) for number in agent.process.ask(sides, sides, np.ones(1, np.int32))[0]]


@has_gnubg
def test_gnubg_speaks_for_the_side_that_rolls_next(gnubg: Referee) -> None:
    assert answer(gnubg, "6:5 5:5 4:5 / 1:1") == [1, 1, 0, 0, 0]  # it bears off its last one: a gammon
    assert answer(gnubg, "1:1 / 6:5 5:5 4:5") == [0, 0, 0, round(2 / 36, 3), 0]  # a gammon unless 2-1 takes none off


@has_gnubg
def test_equities_are_the_choosers() -> None:
    assert equities(np.array([[1.0, 1.0, 0.0, 0.0, 0.0]]), BACKGAMMON) == [-2]
    assert equities(np.array([[0.0, 0.0, 0.0, 1.0, 0.25]]), BACKGAMMON) == [2.25]
    assert equities(np.array([[0.75, 0.25, 0.0, 0.0, 0.0]]), BACKGAMMON) == [-0.75]


@has_gnubg
@pytest.mark.parametrize(
    ("roll", "result"),  # the plays of every opening book
    [
        ("3-1", "24:2 13:5 8:2 6:4 5:2 / 24:2 13:5 8:3 6:5"),
        ("4-2", "24:2 13:5 8:2 6:4 4:2 / 24:2 13:5 8:3 6:5"),
        ("6-1", "24:2 13:4 8:2 7:2 6:5 / 24:2 13:5 8:3 6:5"),
        ("6-5", "24:1 13:6 8:3 6:5 / 24:2 13:5 8:3 6:5"),
    ],
)
def test_both_make_the_best_openings(gnubg: Referee, pubeval: Referee, roll: str, result: str) -> None:
    assert chosen(gnubg, OPENING, roll) == board(BACKGAMMON, result)
    if roll != "6-5":
        assert chosen(pubeval, OPENING, roll) == board(BACKGAMMON, result)


@has_gnubg
def test_pubeval_likes_its_own_checkers_off_and_the_opponents_on_the_bar(pubeval: Referee) -> None:
    assert answer(pubeval, "2:2 / 1:2") > answer(pubeval, "2:4 / 1:2")
    assert answer(pubeval, "6:13 1:2 / bar:1 6:14") > answer(pubeval, "6:13 1:2 / 20:1 6:14")


@has_gnubg
def test_a_play_that_wins_at_once_is_taken(gnubg: Referee, pubeval: Referee) -> None:
    for agent in (gnubg, pubeval):
        assert chosen(agent, "5:1 1:1 / 6:15", "6-5") == board(BACKGAMMON, "off:15 / 6:15")


PLAYER = """
import json, sys
from gnubg_nn import best_move, pub_best_move
print(json.dumps([{function}(board, large, small) for board, large, small in json.load(sys.stdin)]))
"""


def played_by(function: str, questions: Sequence[object]) -> list[object]:
    """The steps of a player within gnubg-nn, in a process of its own; a question is a board and a roll."""
    command = [sys.executable, "-c", PLAYER.format(function=function)]
    done = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def result(before: np.ndarray, steps: list[int]) -> bytes:
    """The (2, 25) board, the chooser first, after steps whose points are counted from 0."""
    mine, theirs = before.tolist()
    for source, target in zip(steps[::2], steps[1::2], strict=True):
        if source < 0:  # the rest of the list is unused
            break
        mine[source] -= 1
        if target >= 0:
            mine[target] += 1
            if theirs[23 - target] == 1:
                theirs[23 - target] = 0
                theirs[24] += 1
    return bytes([*mine, *theirs])


def agrees(agent: Referee, function: str, first: int) -> list[bool]:
    """Whether the agent plays as a player within gnubg-nn, who rolls in board[1] and counts points from `first`."""
    game, pips = BatchGame(BACKGAMMON, 60, seed=9), Pips(BACKGAMMON)
    befores, questions, plays = [], [], []
    for turn in range(60):
        found = game.afterstates()
        if turn % 4 == 3:
            rows = agent.choose(found, game.noise)
            sides = np.where(found.passed[rows, None, None], found.boards[rows, ::-1], found.boards[rows])
            plays += [one.tobytes() for one in wire(sides, BACKGAMMON)]
            befores += list(wire(found.before, BACKGAMMON))
            dice = queues_of(BACKGAMMON).numbers[found.decided][:, :2].tolist()
            boards = wire(found.before[:, ::-1], BACKGAMMON).tolist()
            questions += [(board, *roll) for board, roll in zip(boards, dice, strict=True)]
        game.step(found, pips.choose(found, game.noise))
        over = np.flatnonzero(game.is_over)
        if over.size:
            game.restart(over)
    steps = [(np.array(one, int).reshape(-1) - first).tolist() for one in played_by(function, questions)]
    return [result(*one) == play for *one, play in zip(befores, steps, plays, strict=True)]


@has_gnubg
def test_pubeval_plays_as_gnubgs_own_copy_of_it_also_where_contact_ends(pubeval: Referee) -> None:
    same = agrees(pubeval, "pub_best_move", first=0)
    assert len(same) == 900
    assert all(same)


@has_gnubg
def test_gnubg_plays_as_its_own_player_does(gnubg: Referee) -> None:
    same = agrees(gnubg, "best_move", first=1)
    assert np.mean(same) > 0.98  # all others are plays it finds exactly equal (measured: 46 of 4,935)


# -- how they play ---------------------------------------------------------------------------------------


@has_gnubg
@pytest.mark.parametrize("name", ["gnubg", "pubeval"])
def test_a_referee_against_itself_scores_exactly_0(name: str, request: pytest.FixtureRequest) -> None:
    agent = request.getfixturevalue(name)
    assert (duel(BACKGAMMON, agent, make_agent(name, BACKGAMMON), 60, seed=1).points == 0).all()


@has_gnubg
def test_gnubg_beats_pubeval(gnubg: Referee, pubeval: Referee) -> None:
    assert duel(BACKGAMMON, gnubg, pubeval, 400, seed=1).ppg > 0.3


@has_gnubg
def test_evaluate_plays_referees() -> None:
    done = run("evaluate.py", "backgammon", "gnubg", "pubeval", "--games", "20", "--json", "-")
    assert json.loads(done.stdout)["pairs"][0]["games"] == 20


# -- looking ahead -----------------------------------------------------------------------------------------

CONTACT = "24:2 13:5 8:3 6:5 / 24:2 13:5 8:2 6:4 5:2"
BAR = "bar:1 13:4 8:3 6:4 5:2 4:1 / 24:1 22:2 13:3 8:3 6:4 3:2"


def ahead(agent: Referee, position: str) -> np.ndarray:
    """(5,) probabilities of the side to roll: the mean over the dice after the replies the bare nets like best.

    Added up with our own plays and dice.
    """
    board, _ = decision(position, "2-1", BACKGAMMON)
    roll = np.array([queues_of(BACKGAMMON).code(("roll",))], np.int8)
    chances = outcomes_of_chance(board[None], roll, BACKGAMMON)
    replies = afterstates(chances.boards, chances.pending, BACKGAMMON)
    sides = wire(replies.boards[:, ::-1], BACKGAMMON)
    told = agent.process.ask(wire(replies.before, BACKGAMMON), sides, replies.counts.astype(np.int32))
    best = least(-equities(told, BACKGAMMON), replies)
    win, gammon, backgammon, lost, lost_backgammon = chances.weight @ told.take(best, axis=0)
    turned: np.ndarray = np.array([1 - win, lost, lost_backgammon, gammon, backgammon])
    return turned


def asked_ahead(agent: Referee, position: str, ply: int) -> np.ndarray:
    """(5,) probabilities of the side to roll, as the engine says so many plies ahead."""
    sides = wire(decision(position, "2-1", BACKGAMMON)[0][None, ::-1], BACKGAMMON)
    numbers: np.ndarray = agent.process.ask(sides, sides, np.ones(1, np.int32), ply)[0]
    return numbers


@has_gnubg
@pytest.mark.parametrize("position", [CONTACT, BAR])
def test_gnubg_at_1_ply_is_the_mean_over_the_dice_after_the_best_reply(gnubg: Referee, position: str) -> None:
    assert asked_ahead(gnubg, position, 1) == pytest.approx(ahead(gnubg, position), abs=1e-5)
    assert asked_ahead(gnubg, position, 0) != pytest.approx(ahead(gnubg, position), abs=1e-3)


@has_sage
@pytest.mark.parametrize("position", [CONTACT, BAR])
def test_sage_at_1_ply_is_nearly_the_mean_over_the_dice_after_the_best_reply(sage: Referee, position: str) -> None:
    assert asked_ahead(sage, position, 1) == pytest.approx(ahead(sage, position), abs=2e-3)  # it skips poor replies
    assert asked_ahead(sage, position, 0) != pytest.approx(ahead(sage, position), abs=2e-3)


@has_sage
def test_sage_has_no_more_backgammons_than_gammons_nor_gammons_than_wins(sage: Referee) -> None:
    lost = asked(("20:1 6:1 4:1 2:5 1:1 off:6 / 1:1 off:14", "4-2"))  # its bare net says 0.30 and 0.02 here
    sage.choose(lost, NO_NOISE)
    hopeless = "22:1 13:1 12:1 11:2 8:2 7:1 6:3 5:2 4:2 / bar:2 8:1 7:1 6:3 5:2 4:2 2:2 1:2"
    sage.choose(asked((hopeless, "5-2")), NO_NOISE)


@has_sage
@has_gnubg
@pytest.mark.parametrize("ply", [0, 1, 2])
@pytest.mark.parametrize("position", [CONTACT, BAR])
def test_sage_and_gnubg_nearly_agree_which_way_round(gnubg: Referee, sage: Referee, position: str, ply: int) -> None:
    assert asked_ahead(sage, position, ply) == pytest.approx(asked_ahead(gnubg, position, ply), abs=0.02)


@pytest.mark.parametrize("spec", ["gnubg", "gnubg:ply=0", "gnubg:ply=1", "gnubg:ply=2", "gnubg-judge"])
@has_gnubg
def test_the_spec_of_a_referee_makes_it_again(spec: str) -> None:
    assert make_agent(spec, BACKGAMMON).spec == spec


@pytest.mark.parametrize("spec", ["sage", "sage:ply=2"])
@has_sage
def test_the_spec_of_sage_makes_it_again(spec: str) -> None:
    assert make_agent(spec, BACKGAMMON).spec == spec


@pytest.mark.parametrize("spec", ["gnubg:ply=3", "sage:ply=", "gnubg:1", "sage:depth=1"])
def test_a_referee_looks_ahead_as_far_as_it_can(spec: str) -> None:
    assert told(lambda: make_agent(spec, BACKGAMMON)).endswith(":ply=N, N from 0 to 2")


@pytest.mark.parametrize("spec", ["pubeval:ply=1", "gnubg-judge:ply=1"])
def test_other_referees_look_at_the_position_only(spec: str) -> None:
    assert told(lambda: make_agent(spec, BACKGAMMON)) == f"agent {spec!r}: must be {spec.partition(':')[0]}"


def test_only_the_best_plays_at_0_ply_are_looked_at_more_deeply() -> None:
    body = "return [(row[1][23] / 10 if ply == 0 else 0.5) * (n == 0) for row in rows for n in range(5)]"
    agent = Analyst(BACKGAMMON, GNUBG, faker(body), ply=1)
    found = asked(("24:2 13:5 8:3 6:5 / 24:2 13:5 8:3 6:5", "3-1"))
    assert np.isfinite(agent.equities(found)).sum() == 8


@has_gnubg
def test_gnubg_takes_the_play_of_the_opening_books_where_the_bare_nets_do_not() -> None:
    ahead = make_agent("gnubg:ply=1", BACKGAMMON)
    assert isinstance(ahead, Analyst)
    found = asked((OPENING, "6-5"))
    best = board(BACKGAMMON, "24:1 13:6 8:3 6:5 / 24:2 13:5 8:3 6:5")  # lover's leap, 24/13
    row = ahead.choose(found, NO_NOISE)[0]
    assert checkers(found.boards[row, ::-1], BACKGAMMON) == best


@pytest.mark.full
@has_gnubg
@has_sage
@pytest.mark.parametrize("name", ["gnubg", "sage"])
def test_a_referee_that_looks_ahead_does_not_lose_to_itself(name: str) -> None:
    ahead, bare = make_agent(f"{name}:ply=1", BACKGAMMON), make_agent(name, BACKGAMMON)
    assert duel(BACKGAMMON, ahead, bare, 2000, seed=1).interval()[1] > 0


@pytest.mark.full
@has_gnubg
def test_gnubg_scores_the_published_figure_against_pubeval(gnubg: Referee, pubeval: Referee) -> None:
    match = duel(BACKGAMMON, gnubg, pubeval, 100_000, seed=0)  # published: +0.63; about half an hour
    assert 0.61 < match.ppg < 0.65
