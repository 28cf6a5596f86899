"""Files that are no policy, or not of this game, or meant to do harm: each is refused, and nothing in them runs."""

from __future__ import annotations

import io
import json
import pickle
import random
import struct
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from agents.base import difference
from agents.policy import Policy, read_policy
from agents.policy_file import LARGEST, SUFFIXES, Arrays, PolicyError, read_file, write_file
from engine import find_ruleset
from tests.commands import refused, run
from tests.policies import IRISH, Edit, edited, neither_plays_nor_shows

# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("edit", "parts"),
    [
        (lambda card, arrays: card.update(format="tabula-rasa policy 2"), ["policy 2", "this program reads"]),
        (lambda card, arrays: card.clear(), ["format None"]),
        (lambda card, arrays: card.update(encoding=2), ["encoding 2, this program reads 1"]),
        (lambda card, arrays: card.pop("encoding"), ["encoding None"]),
        (lambda card, arrays: card.pop("hidden"), ["damaged card", "'hidden'"]),
        (lambda card, arrays: card.update(hidden=[]), ["damaged card", "'hidden'"]),
        (lambda card, arrays: card.update(hidden=[8, -8]), ["damaged card", "'hidden'"]),
        (lambda card, arrays: card.update(hidden=[8] * 100), ["damaged card", "'hidden'"]),
        (lambda card, arrays: card.update(hidden=[10**9, 10**9]), ["damaged card", "'hidden'"]),
        (lambda card, arrays: card.update(variant=["irish"]), ["damaged card", "'variant'"]),
        (lambda card, arrays: card.update(config=nested(100)), ["nested more than"]),
        (lambda card, arrays: card.update(variant="irsh"), ["rules are not known here", "did you mean irish?"]),
        (lambda card, arrays: card.update(rules={"duobles": "x4"}), ["rules are not known here", "rules.doubles"]),
        (lambda card, arrays: card.update(rules={"points": "²"}), ["rules are not known here"]),
        (lambda card, arrays: card.update(outcomes=[2, -2]), ["outcomes are [2, -2]", "[1.0, -1.0]"]),
        (lambda card, arrays: card.update(hidden=[8, 9]), ["'layers.0.weight'", "(8, 8)", "(9, 8)"]),
        (lambda card, arrays: arrays.pop("bias"), ["'bias' is missing"]),
        (lambda card, arrays: arrays.clear(), ["is missing"]),
        (lambda card, arrays: arrays.update(extra=arrays["bias"]), ["'extra' belongs to no policy"]),
        (lambda card, arrays: arrays.update(bias=arrays["bias"][:7]), ["'bias'", "(7,)", "(8,)"]),
        (lambda card, arrays: arrays.update(bias=arrays["bias"].astype(np.float64)), ["'bias'", "type", "4'"]),
        (lambda card, arrays: arrays.update(bias=arrays["bias"].astype(np.int32)), ["'bias'", "type"]),
        (lambda card, arrays: arrays.update(bias=arrays["bias"] * np.nan), ["'bias'", "not finite"]),
        (lambda card, arrays: arrays.update(bias=arrays["bias"] / np.float32(0)), ["'bias'", "not finite"]),
        (lambda card, arrays: arrays.update(bias=arrays["bias"] * np.float32(1.01)), ["damaged", "weights"]),
        (lambda card, arrays: arrays.update(bias=arrays["bias"] * 0 + np.float32(3e38)), ["could overflow"]),
        (lambda card, arrays: arrays.update({n: a * np.float32(1e15) for n, a in arrays.items()}), ["could overflow"]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*divide.*:RuntimeWarning", "ignore:.*invalid.*:RuntimeWarning")
def test_a_policy_with_another_card_or_other_arrays_is_refused(
    suffix: str, edit: Edit, parts: list[str], exported: dict[str, Path], tmp_path: Path
) -> None:
    neither_plays_nor_shows(edited(exported[suffix], tmp_path / f"x{suffix}", edit), *parts)


def nested(depth: int) -> dict[str, Any]:
    """A table in a table in a table."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"x": value}
    return value


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_policy_plays_only_under_its_own_rules(suffix: str, exported: dict[str, Path]) -> None:
    spec = f"policy:{exported[suffix]}"
    assert run("evaluate.py", "irish", spec, "random", "--games", "4").returncode == 0
    refused(run("evaluate.py", "dutch", spec, "random"), str(exported[suffix]), "trained for irish, this game is dutch")
    refused(
        run("evaluate.py", "irish", spec, "random", "rules.higher_die=false", "rules.doubles=x4"),
        "this game is irish rules.doubles=x4 rules.higher_die=false (rules.doubles is each_once there, x4 here)",
    )


def test_house_rules_that_change_nothing_are_no_difference() -> None:
    assert difference(IRISH, find_ruleset("irish", {"doubles": "each_once"})) is None
    reason = difference(IRISH, find_ruleset("irish", {"must_play": "none"}))
    assert reason is not None
    assert reason.endswith("(rules.must_play is max_numbers there, none here)")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_no_policy_is_refused(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"x{suffix}"
    neither_plays_nor_shows(file, "no such policy")
    file.mkdir()
    neither_plays_nor_shows(file, "not a file")
    file.rmdir()
    for content in (
        b"",
        b"\0" * 100,
        b"PK\5\6" + b"\0" * 18,
        b"\x08\0\0\0\0\0\0\0[1, 2] 3",
        Path(__file__).read_bytes(),
    ):
        file.write_bytes(content)
        neither_plays_nor_shows(file)
    with file.open("wb") as sparse:
        sparse.truncate(LARGEST + 1)
    neither_plays_nor_shows(file, "larger than")


def test_another_suffix_is_refused(exported: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "policy.zip"
    file.write_bytes(exported[".npz"].read_bytes())
    refused(run("evaluate.py", "irish", "random", f"policy:{file}"), "must end with .npz or .safetensors")
    refused(run("evaluate.py", "irish", "random", "policy"), "must be policy:PATH")
    for own, other in (SUFFIXES, SUFFIXES[::-1]):
        file = tmp_path / f"x{other}"
        file.write_bytes(exported[own].read_bytes())
        neither_plays_nor_shows(file, f"not a readable {other} file")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_arrays_of_another_program_are_refused(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"x{suffix}"
    if suffix == ".npz":
        np.savez(file, weights=np.zeros((3, 3)))
    else:
        from safetensors.numpy import save_file

        save_file({"weights": np.zeros((3, 3))}, file)
    neither_plays_nor_shows(file, "not a policy of this program: it has no card")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_truncated_file_never_plays(suffix: str, exported: dict[str, Path], tmp_path: Path) -> None:
    content = exported[suffix].read_bytes()
    file = tmp_path / f"x{suffix}"
    for part in range(20):
        file.write_bytes(content[: len(content) * part // 20])
        neither_plays_nor_shows(file, "truncated")
    file.write_bytes(content[:-1])
    neither_plays_nor_shows(file, "truncated")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_damaged_file_is_refused_or_a_policy_but_nothing_else(
    suffix: str, exported: dict[str, Path], tmp_path: Path
) -> None:
    """Bytes changed at random: whatever a library makes of them, a caller sees a PolicyError."""
    content = exported[suffix].read_bytes()
    file = tmp_path / f"x{suffix}"
    dice = random.Random(8)
    for _ in range(600):
        damaged = bytearray(content)
        for _ in range(dice.choice((1, 1, 3, 30))):
            begin = 0 if dice.random() < 0.5 else max(len(damaged) - 1200, 0)
            damaged[begin + dice.randrange(min(1200, len(damaged)))] = dice.randrange(256)
        file.write_bytes(damaged)
        with suppress(PolicyError):
            assert isinstance(read_policy(file), Policy)


# -- malice --------------------------------------------------------------------------------------------------


class Malicious:
    """Runs code where it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("code was run",)


def with_member(file: Path, to: Path, name: str, member: bytes, compression: int = zipfile.ZIP_STORED) -> Path:
    """A copy of an .npz file with one more member, or another instead."""
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(to, "w", compression) as new:
        for entry in old.namelist():
            if entry != name:
                new.writestr(entry, old.read(entry))
        new.writestr(name, member)
    return to


def npy(header: str, content: bytes = b"") -> bytes:
    """A file that claims to be an array."""
    line = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(line)) + line.encode() + content


@pytest.mark.parametrize("name", ["bias", "card", "extra"])
def test_a_pickle_in_an_npz_is_refused_and_not_run(name: str, exported: dict[str, Path], tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Malicious()], object), allow_pickle=True)
    for number, member in enumerate((buffer.getvalue(), pickle.dumps(Malicious()))):
        file = with_member(exported[".npz"], tmp_path / f"{number}.npz", f"{name}.npy", member)
        for words in (["evaluate.py", "irish", f"policy:{file}", "random"], ["export.py", str(file)]):
            done = run(*words)
            refused(done, str(file), name)
            assert "code was run" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "member",
    [
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }"),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 99999999999999), }", b"\0" * 32),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }", b"\0" * 32),
        npy("{'descr': '<f4', 'fortran_order': True, 'shape': (8,), }", b"\0" * 32),
        npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (8,), }", b"\0" * 32),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-8,), }", b"\0" * 32),
        npy("(" * 100),
        npy("")[:9],
        b"",
    ],
)
def test_an_array_that_is_not_what_its_header_says_is_refused(
    member: bytes, exported: dict[str, Path], tmp_path: Path
) -> None:
    neither_plays_nor_shows(with_member(exported[".npz"], tmp_path / "x.npz", "bias.npy", member), "'bias'")


def test_what_is_compressed_is_refused_before_it_is_inflated(exported: dict[str, Path], tmp_path: Path) -> None:
    bomb = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (25000000,), }", b"\0" * 100_000_000)
    file = with_member(exported[".npz"], tmp_path / "x.npz", "bias.npy", bomb, zipfile.ZIP_DEFLATED)
    assert file.stat().st_size < LARGEST
    neither_plays_nor_shows(file, "compressed")


def test_a_safetensors_file_with_an_absurd_header_is_refused(exported: dict[str, Path], tmp_path: Path) -> None:
    content = exported[".safetensors"].read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    file = tmp_path / "x.safetensors"
    file.write_bytes(struct.pack("<Q", 1 << 40) + content[8:])
    neither_plays_nor_shows(file, "not a readable .safetensors file")
    for shape, offsets in (([10**12], [0, 4 * 10**12]), ([10**30], [0, 32]), ([8], [0, 64]), ([8], [-32, 0])):
        header["bias"] = {"dtype": "F32", "shape": shape, "data_offsets": offsets}
        text = json.dumps(header).encode()
        file.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])
        neither_plays_nor_shows(file, "not a readable .safetensors file")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_card_that_is_no_card_is_refused(suffix: str, exported: dict[str, Path], tmp_path: Path) -> None:
    _, arrays = read_file(exported[suffix])
    file = tmp_path / f"x{suffix}"
    for text in ("", "{", "3", "[" * 100_000, '{"format": ' + "9" * 5000 + "}"):
        write_file(file, text, arrays)
        neither_plays_nor_shows(file)
    with pytest.raises(PolicyError, match="at most"):
        write_file(file, "x" * (1 << 21), arrays)
    large: Arrays = {"weights": np.zeros(LARGEST, np.float32)}
    with pytest.raises(PolicyError, match="at most"):
        write_file(file, "{}", large)


def test_an_array_named_twice_is_refused(exported: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    file.write_bytes(exported[".npz"].read_bytes())
    zeros: npt.NDArray[np.float32] = np.zeros(8, np.float32)
    buffer = io.BytesIO()
    np.save(buffer, zeros)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(file, "a") as archive:
        archive.writestr("bias.npy", buffer.getvalue())
    neither_plays_nor_shows(file, "two arrays of one name")
