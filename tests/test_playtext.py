"""Plays as people write them, and back."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import numpy as np
import pytest

from engine import PositionError, Ruleset, find_ruleset, parse_play, queues_of
from engine.notation import decision
from engine.playtext import Wording, moves_of, read_moves, write_moves, write_queue
from engine.slots import MINE, THEIRS, Boards
from tests.rulesets import mixtures
from tests.samples import thrown_positions
from tests.test_cli import engine
from tests.test_contract import ALL, random_play

BACKGAMMON = find_ruleset("backgammon")
IRISH = find_ruleset("irish")
DUTCH = find_ruleset("dutch")
THROWN = [*mixtures(), BACKGAMMON, IRISH, DUTCH]
OPENING = "24:2 13:5 8:3 6:5 / 24:2 13:5 8:3 6:5"
BOUND = "8:1 6:2 5:4 4:2 3:2 2:2 1:2 / bar:1 5:14 | queue:open"
WIDEST = "24:1 21:1 18:1 16:1 15:1 14:1 13:2 11:1 10:1 9:1 8:1 7:1 6:2 / 24:15"


def wording(rules: Ruleset, position: str, roll: str) -> Wording:
    return Wording(*decision(position, roll, rules), rules)


def texts(rules: Ruleset, position: str, roll: str) -> list[str]:
    return sorted(wording(rules, position, roll).texts)


def meant(rules: Ruleset, position: str, roll: str, text: str) -> str:
    """The printed form of a play that somebody typed."""
    known = wording(rules, position, roll)
    return known.texts[known.row(text)]


# -- writing -------------------------------------------------------------------------------------------------


def test_the_larger_start_comes_first_and_the_longer_step_of_equal_starts() -> None:
    assert texts(BACKGAMMON, OPENING, "6-5") == sorted(
        ["24/13", "24/18 13/8", "24/18 8/3", "13/7 13/8", "13/7 8/3", "13/2", "8/2 8/3"]
    )


def test_a_point_on_the_way_is_written_where_it_hits() -> None:  # 13/11*/7 or 13/9/7, S12
    assert texts(BACKGAMMON, "13:1 / 14:1", "4-2") == ["13/11*/7", "13/7"]


def test_equal_moves_are_counted_and_the_star_stands_once() -> None:
    assert "bar/21 8/4*(2) 6/2" in texts(BACKGAMMON, "bar:1 8:2 6:2 / 24:1 21:1", "4-4")


def test_a_checker_that_hits_and_goes_on_is_told_from_one_that_stays() -> None:
    assert "24/22*/20 24/22 6/4" in texts(BACKGAMMON, "24:2 6:1 / 3:1", "2-2")


def test_entering_from_the_hand_and_bearing_off() -> None:
    assert texts(DUTCH, "hand:15 / hand:15", "5-3") == ["hand/17", "hand/20 hand/22"]
    assert texts(BACKGAMMON, "4:1 2:3 1:7 / 13:2", "4-2") == ["4/off", "4/off 2/off"]  # S33; the first is 4/2/off


def test_a_forced_pass_is_no_play() -> None:
    assert texts(BACKGAMMON, "bar:2 6:13 / 6:2 5:2 4:2 3:2 2:2 1:5", "6-5") == ["no play"]


def test_opening_a_bound_point_names_it_in_its_owners_count() -> None:
    closed = "8:1 6:2 5:4 4:2 3:2 2:2 1:2"
    assert wording(IRISH, f"{closed} / bar:1 5:14 | queue:open", "-").texts[4] == "opens 5"
    assert wording(IRISH, f"bar:1 5:14 / {closed} | queue:open_theirs", "-").texts[4] == "opens their 5"


def test_the_winner_of_the_toss_plays_it_or_rolls_afresh() -> None:
    rules = replace(BACKGAMMON, opening="high_chooses")
    assert wording(rules, f"{OPENING} | queue:either,65", "-").texts == ("plays 6-5", "rolls afresh")


def test_what_is_to_be_played_is_written_as_a_roll() -> None:
    assert write_queue(((6, 5),), BACKGAMMON) == "6-5"
    assert write_queue(((4, 4, 4, 4),), BACKGAMMON) == "4-4"
    assert write_queue(((4, 4),), IRISH) == "4-4"
    assert write_queue(((3, 3, 3), "roll"), BACKGAMMON) == "3(3), then a roll"


def test_results_that_differ_in_what_follows_only_say_it() -> None:
    known = wording(BACKGAMMON, "bar:2 6:13 / 6:2 5:2 4:2 3:2 2:2 1:5", "6-5").after
    twice = known.of(np.array([0, 0]))[0]
    twice.pending[:] = [queues_of(BACKGAMMON).code((pair,)) for pair in ((6, 5), (6, 4))]
    told = Wording(*decision("bar:2 6:13 / 6:2 5:2 4:2 3:2 2:2 1:5", "6-5", BACKGAMMON), BACKGAMMON, twice)
    assert told.texts == ("no play (then the other side: 65)", "no play (then the other side: 64)")
    assert [told.row(text) for text in told.texts] == [0, 1]


# -- reading --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roll", "typed", "printed"),
    [
        ("6-5", "13/8 24/18", "24/18 13/8"),
        ("6-5", "24/18/13", "24/13"),
        ("6-5", "24/18 18/13", "24/13"),
        ("6-5", "18/13, 24/18", "24/13"),
        ("6-5", " 24/13 ", "24/13"),
        ("3-3", "8/5 8/5 6/3 6/3", "8/5(2) 6/3(2)"),
        ("3-3", "13/7 13/7", "13/7(2)"),
        ("3-3", "13/10(2) 10/7(2)", "13/7(2)"),
        ("3-3", "13/10/7(2)", "13/7(2)"),
    ],
)
def test_steps_may_come_in_any_order_and_one_by_one(roll: str, typed: str, printed: str) -> None:
    assert meant(BACKGAMMON, OPENING, roll, typed) == printed


@pytest.mark.parametrize("typed", ["13/11/7", "13/11 11/7", "11/7 13/11*", "13/11*/7"])
def test_a_star_may_be_missing_where_the_way_tells_it(typed: str) -> None:
    assert meant(BACKGAMMON, "13:1 / 14:1", "4-2", typed) == "13/11*/7"


def test_without_a_star_the_play_that_hits_nothing_is_meant() -> None:
    assert meant(BACKGAMMON, "13:1 / 14:1", "4-2", "13/7") == "13/7"


def test_without_a_star_the_only_play_there_is_is_meant() -> None:  # their 16 is my 9, so 13/7 has to hit on 11
    assert meant(BACKGAMMON, "13:1 / 14:1 16:2", "4-2", "13/7") == "13/11*/7"


def test_a_last_checker_may_go_off_by_one_number_or_by_both() -> None:  # S07
    assert [meant(BACKGAMMON, "4:1 / 12:1", "6-2", typed) for typed in ("4/off", "4/2/off")] == ["4/off"] * 2


def test_a_play_that_could_be_two_is_refused() -> None:  # by 11 one blot is hit, by 9 another
    assert texts(BACKGAMMON, "13:1 / 14:1 16:1", "4-2") == ["13/11*/7", "13/9*/7"]
    with pytest.raises(PositionError, match=r"could be any of '13/(11|9)\*/7', '13/(11|9)\*/7'"):
        meant(BACKGAMMON, "13:1 / 14:1 16:1", "4-2", "13/7")


@pytest.mark.parametrize(
    ("typed", "parts"),
    [
        ("24/17", ["'24/17': not legal here", "the nearest of 7", "'24/13'"]),
        ("24/18", ["not legal here", "'24/18 8/3'"]),
        ("24/18* 13/8", ["not legal here", "'24/18 13/8'"]),
        ("no play", ["not legal here"]),
        ("25/18", ["'25/18' is no move", "1 to 24"]),
        ("24-18", ["'24-18' is no move", "8/4(2)"]),
        ("6/8", ["'6/8' does not lead towards home"]),
        ("24/18(16)", ["moves 16 checkers"]),
        ("13/bar", ["does not lead towards home"]),
        ("", ["not legal here"]),
    ],
)
def test_a_refusal_names_the_nearest_legal_plays(typed: str, parts: list[str]) -> None:
    with pytest.raises(PositionError) as refusal:
        parse_play(typed, *decision(OPENING, "6-5", BACKGAMMON), BACKGAMMON)
    for part in parts:
        assert part in str(refusal.value)


@pytest.mark.parametrize("typed", ["opens 5", "5", "Open 5"])
def test_a_choice_may_be_named_by_its_number(typed: str) -> None:
    assert meant(IRISH, BOUND, "-", typed) == "opens 5"


@pytest.mark.parametrize("typed", ["opens 7", "names 5", "opens", "", "24/18"])
def test_a_choice_that_there_is_not_is_refused(typed: str) -> None:
    with pytest.raises(PositionError, match="not legal here; the nearest of 6: 'opens"):
        meant(IRISH, BOUND, "-", typed)


# -- promises -------------------------------------------------------------------------------------------------


def replayed(board: Boards, text: str, rules: Ruleset) -> bytes:
    """A board after the moves of a text, made with nothing but the text: `MINE` went, who is starred is on the bar."""
    after = board.copy()
    if text != "no play":
        play = read_moves(text, rules)
        for move in play.moves:
            after[MINE, move[0]] -= 1
            after[MINE, move[-1]] += 1
        for point in play.stars if rules.contact.fate == "bar" else ():
            after[THEIRS, rules.opposing(point)] -= 1
            after[THEIRS, rules.bar] += 1
        for point in range(
            1, rules.points + 1
        ):  # where one may land on a lone checker and it stays there, it is pinned
            if abs(after[THEIRS, rules.opposing(point)]) == 1 and after[MINE, point] >= 0:
                after[THEIRS, rules.opposing(point)] = -1 if after[MINE, point] else 1
    return after[:, : rules.hand + 1].tobytes()


def check(board: Boards, code: int, rules: Ruleset) -> None:
    """Every text means its own row, in another order and step by step too, and taken by its word it leads there."""
    known = Wording(board, code, rules)
    after = known.after
    assert len(set(known.texts)) == after.game.size
    for row, text in enumerate(known.texts):
        assert known.row(text) == row
        if queues_of(rules).is_choice[code]:
            continue
        sides = after.boards[row, ::-1] if after.passed[row] else after.boards[row]
        assert replayed(board, text, rules) == sides[:, : rules.hand + 1].tobytes(), text
        if text != "no play":
            assert known.row(" ".join(reversed(text.split()))) == row
        if "*" not in text:
            assert known.row(spelled(text, rules)) == row


def spelled(text: str, rules: Ruleset) -> str:
    """The moves of a text hop by hop, none counted."""
    names = {0: "off", rules.bar: "bar", rules.hand: "hand"}
    hops = read_moves(text, rules).hops if text != "no play" else ()
    return " ".join(f"{names.get(a, str(a))}/{names.get(b, str(b))}" for a, b in hops) or text


@pytest.mark.parametrize("rules", ALL, ids=[f"{r.name}-{r.points}-{r.checkers}" for r in ALL])
def test_every_printed_play_of_random_games_is_read_as_its_own_row(rules: Ruleset) -> None:  # S28, S31
    for boards, pending, _ in random_play(rules, 12, 30):
        for board, code in zip(boards, pending, strict=True):
            check(board, int(code), rules)


@pytest.mark.parametrize("number", range(len(THROWN)))
def test_every_printed_play_of_thrown_positions_is_read_as_its_own_row(number: int) -> None:
    rules = THROWN[number]
    boards, pending = thrown_positions(rules, 60, np.random.default_rng(number))
    for board, code in zip(boards, pending, strict=True):
        check(board, int(code), rules)


def test_moves_survive_being_written_and_read() -> None:
    for text in ("bar/21 hand/20 8/4*(2) 4/off", "24/18*/13 24/18"):
        rules = DUTCH
        assert write_moves(read_moves(text, rules), rules) == text
    assert moves_of([]) == read_moves("", BACKGAMMON)


def test_1330_plays_are_worded_within_two_seconds() -> None:  # S20
    began = time.perf_counter()
    known = wording(BACKGAMMON, WIDEST, "1-1")
    assert known.row(known.texts[1000]) == 1000
    assert len(set(known.texts)) == 1330
    assert time.perf_counter() - began < 2


def test_legal_prints_the_plays_and_what_it_prints_can_be_typed_back() -> None:  # S31
    listing = json.loads(engine("legal", "backgammon", OPENING, "6-5", "--json").stdout)
    board, code = decision(OPENING, "6-5", BACKGAMMON)
    assert [parse_play(text, board, code, BACKGAMMON) for text in listing["plays"]] == list(range(7))
    assert "   1  24/13        24:1 13:6 8:3 6:5" in engine("legal", "backgammon", OPENING, "6-5").stdout
