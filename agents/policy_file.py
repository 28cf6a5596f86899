"""The two formats of an exported policy: a card, which is text, and arrays of float32.

A file may come from anywhere. So it is read at once up to a limit, nothing in it is unpickled or
inflated, and every array must be as long as its header says: what is read never takes more memory
than a few times the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import struct
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.base import AgentError

Arrays = dict[str, npt.NDArray[np.float32]]
SUFFIXES = (".npz", ".safetensors")
LARGEST = 1 << 24  # bytes of a file; the usual net, 128-128, takes about 200,000
CARD = "card"
CARD_LARGEST = 1 << 20
FLOATS, BYTES = "<f4", "|u1"
NPY = re.compile(rb"\{'descr': '([^']{1,16})', 'fortran_order': (True|False), 'shape': \(([0-9, ]{0,60})\), \} *\n")
UNREADABLE = (OSError, EOFError, ValueError, RuntimeError, KeyError, struct.error, zipfile.BadZipFile)  # by zipfile


class PolicyError(AgentError):
    """A file is no exported policy, a damaged one, or one of other rules; or it cannot be written."""


def read_file(path: Path) -> tuple[str, Arrays]:
    """The card and the arrays of a policy file, by name; executes nothing.

    Raises:
        PolicyError: no such file, another suffix, too large, truncated, or not a file of ours.
    """
    check_suffix(path)
    try:
        if path.exists() and not path.is_file():
            raise PolicyError(f"{path}: not a file")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise PolicyError(f"{path}: no such policy") from None
    except (OSError, ValueError) as error:  # no access; a zero byte in a name
        raise PolicyError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(content) > LARGEST:
        raise PolicyError(f"{path}: larger than {LARGEST:,} bytes, which no policy is")
    return _read_npz(path, content) if path.suffix == ".npz" else _read_safetensors(path, content)


def write_file(path: Path, card: str, arrays: Arrays) -> int:
    """Write a policy file of the format that its suffix names; no half file is ever seen. Its size in bytes.

    Raises:
        PolicyError: another suffix, too large, or the folder cannot be written to.
    """
    check_suffix(path)
    content = _npz(card, arrays) if path.suffix == ".npz" else _safetensors(card, arrays)
    if len(content) > LARGEST or len(card.encode()) > CARD_LARGEST:
        raise PolicyError(
            f"{path}: {len(content):,} bytes; a policy has at most {LARGEST:,}, its card {CARD_LARGEST:,}"
        )
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise PolicyError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        with suppress(OSError):
            temporary.unlink()
    return len(content)


def digest_of(arrays: Arrays) -> str:
    """A digest of all arrays: .safetensors would not notice a changed weight."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].shape}".encode() + arrays[name].astype(FLOATS).tobytes())
    return f"sha256 {digest.hexdigest()}"


def check_suffix(path: Path) -> None:
    """Refuse a path that does not say which of the two formats its file has.

    Raises:
        PolicyError: another suffix.
    """
    if path.suffix not in SUFFIXES:
        raise PolicyError(f"{path}: the name of a policy must end with {' or '.join(SUFFIXES)}")


def printable(text: str) -> str:
    """A text from a file without what could steer a terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)


# -- .npz: a zip of .npy files, none compressed -------------------------------------------------------


def _npz(card: str, arrays: Arrays) -> bytes:
    """What `numpy.load` reads; the same for the same contents, so without the time of writing."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        members = {CARD: np.frombuffer(card.encode(), BYTES), **{name: a.astype(FLOATS) for name, a in arrays.items()}}
        for name, array in members.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
    return buffer.getvalue()


def _read_npz(path: Path, content: bytes) -> tuple[str, Arrays]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if f"{CARD}.npy" not in archive.namelist():
                raise PolicyError(f"{path}: not a policy of this program: it has no card")
            is_plain = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
            if not is_plain or sum(entry.file_size for entry in entries) > len(content):
                raise PolicyError(f"{path}: what it holds is compressed or larger than the file, which no policy is")
            members = {entry.filename: archive.read(entry) for entry in entries}
    except UNREADABLE as error:
        if isinstance(error, PolicyError):
            raise
        raise PolicyError(f"{path}: not a readable .npz file, or a truncated one ({_reason(error)})") from None
    if len(members) < len(entries):
        raise PolicyError(f"{path}: it holds two arrays of one name")
    card = _array(path, CARD, members.pop(f"{CARD}.npy"), BYTES)
    names = {name: name.removesuffix(".npy") for name in members}
    arrays = {names[n]: _array(path, names[n], m, FLOATS).astype(np.float32) for n, m in members.items()}
    return _text(path, card.tobytes()), arrays


def _array(path: Path, name: str, member: bytes, dtype: str) -> npt.NDArray[Any]:
    """The array in an .npy file of `dtype`; anything else, a pickle above all, is refused unread."""
    begin = 10 + int.from_bytes(member[8:10], "little")
    header = NPY.fullmatch(member[10:begin])
    if member[:8] != b"\x93NUMPY\x01\x00" or header is None:
        raise PolicyError(f"{path}: {name!r:.60} is not an array of numbers")
    found, is_fortran = header[1].decode("latin-1"), header[2] == b"True"
    if found != dtype or is_fortran:
        raise PolicyError(f"{path}: array {name!r:.60} is of type {found!r}, must be {dtype!r} in C order")
    shape = tuple(int(number) for number in re.findall(rb"\d+", header[3]))
    if math.prod(shape) * np.dtype(dtype).itemsize != len(member) - begin:
        raise PolicyError(f"{path}: array {name!r:.60} is not as long as its shape {shape} says")
    return np.frombuffer(member, dtype, offset=begin).reshape(shape)


# -- .safetensors: a JSON header, then the arrays -------------------------------------------------------


def _safetensors(card: str, arrays: Arrays) -> bytes:
    from safetensors.numpy import save

    return save({name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}, {CARD: card})


def _read_safetensors(path: Path, content: bytes) -> tuple[str, Arrays]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    size = int.from_bytes(content[:8], "little")
    if size > 2 * CARD_LARGEST:  # quotes in the card are escaped
        raise PolicyError(f"{path}: not a readable .safetensors file (a header of {size:,} bytes)")
    try:
        header = json.loads(content[8 : 8 + size])
        metadata = header.pop("__metadata__", {})
        types = {name: entry["dtype"] for name, entry in header.items()}
        card = metadata.get(CARD)
        if card is None:
            raise PolicyError(f"{path}: not a policy of this program: it has no card")
        for name, dtype in types.items():
            if dtype != "F32":
                raise PolicyError(f"{path}: array {name!r:.60} is of type {dtype!r:.20}, must be 'F32'")
        arrays = load(content)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, PolicyError):
            raise
        raise PolicyError(f"{path}: not a readable .safetensors file, or a truncated one ({_reason(error)})") from None
    return _text(path, str(card).encode()), arrays


def _text(path: Path, content: bytes) -> str:
    if len(content) > CARD_LARGEST:
        raise PolicyError(f"{path}: its card is larger than {CARD_LARGEST:,} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise PolicyError(f"{path}: its card is not text") from None


def _reason(error: Exception) -> str:
    """What an error of a library says, in short."""
    return printable(str(error).strip().split("\n")[0][:100]) or type(error).__name__
