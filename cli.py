"""What every command line of the project shares: one line and exit code 2 on bad input."""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import parent_process
from pathlib import Path
from typing import NoReturn

from engine.ruleset import InputError


class Stopped(Exception):
    """Work ended before its time; the message says how to go on, `code` is the exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Parser(argparse.ArgumentParser):
    """An argument parser that answers bad input with one line."""

    def error(self, message: str) -> NoReturn:
        """End with the one line."""
        raise InputError(f"{self.prog}: {message}; see {self.prog} --help")


def house_rules(settings: Sequence[str]) -> dict[str, str]:
    """`rules.KEY=VALUE` arguments as option -> value.

    Raises:
        InputError: an argument of another form.
    """
    rules: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        section, dot, name = key.partition(".")
        if section != "rules" or not dot or not equals or not name:
            raise InputError(f"{setting!r}: must be rules.KEY=VALUE, such as rules.checkers=3")
        if name in rules:
            raise InputError(f"rules.{name}: set twice")
        rules[name] = value
    return rules


def apart(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Arguments without the `rules.KEY=VALUE` among them, and these as option -> value.

    Raises:
        InputError: a house rule of another form.
    """
    settings = [word for word in words if word.startswith("rules.")]
    return [word for word in words if word not in settings], house_rules(settings)


def at_least(least: int) -> Callable[[str], int]:
    """A type for arguments: a whole number not below `least`."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"{text} is below {least}")
        return value

    return number


def check_file(file: Path | None, option: str) -> None:
    """Make sure, before any work, that the file of an option can be written; `-` is standard output.

    Raises:
        InputError: it is a folder, or lies in none.
    """
    if file is None or str(file) == "-":
        return
    if not file.parent.is_dir():
        raise InputError(f"{option} {file}: there is no folder {file.parent}")
    if file.is_dir():
        raise InputError(f"{option} {file}: is a folder; give a file")


def check_folder(folder: Path, option: str) -> None:
    """Make sure, before any work, that files can be written into the folder of an option; it need not exist.

    Raises:
        InputError: it is a file, lies in one, or may not be written.
    """
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        raise InputError(f"{option} {folder}: {there} is a file; give a folder")
    if not os.access(there, os.W_OK):
        raise InputError(f"{option} {folder}: {there} may not be written; give another folder")


def keep_memory() -> None:
    """Ask glibc to keep freed memory for the next large array instead of returning it to the system.

    Batches make arrays of megabytes many times a second; fetching their pages anew took a quarter
    of the time of a batch of 4,096 games. Other C libraries are left alone.
    """
    trim_threshold, mmap_threshold = -1, -3  # as malloc.h numbers them
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(trim_threshold, 1 << 30)
        libc.mallopt(mmap_threshold, 1 << 30)


def release_memory() -> None:
    """Return to the system what is no longer in use: gaps between arrays, and pictures that refer to themselves.

    Python looks for such circles only once they are a quarter of all objects, of which torch makes many.
    """
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def end_with_parent() -> None:
    """From now on, end this process of `multiprocessing` with the one that started it, killed or not."""
    if (parent := parent_process()) is None:
        return

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def run(main: Callable[[], int]) -> NoReturn:
    """Exit with what `main` returns; bad input ends with one line and 2, Ctrl-C with 130."""
    keep_memory()
    try:
        code = main()
        sys.stdout.flush()
    except InputError as error:
        print(str(error).replace("\n", " "), file=sys.stderr)
        code = 2
    except Stopped as error:
        print(error, file=sys.stderr)
        code = error.code
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        code = 0
    sys.exit(code)
