"""Pieces of shell text, and the one gate through which text of others enters a script."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence
from importlib.resources import files

from hccl_kit.worker_env import NAMES


def word(text: str) -> str:
    """`text` as one word of a shell, whatever is in it."""
    return shlex.quote(text)


def words(texts: Sequence[str]) -> str:
    """A command or the elements of an array."""
    return " ".join(map(word, texts))


def export(field: str, value: str) -> str:
    """Export a field of WorkerEnv under each of its names; `value` is shell text."""
    return " ".join(["export", *(f"{name}={value}" for name in NAMES[field])])


def array(name: str, values: Sequence[str]) -> list[str]:
    """An array with one element on each line."""
    return [f"{name}=(", *(f"    {word(value)}" for value in values), ")"]


def program(name: str) -> list[str]:
    """A program of ours as a variable of the script: its source."""
    source = files("hccl_kit.launch").joinpath(f"{name}.py").read_text(encoding="utf-8")
    return ["", "# shellcheck disable=SC2016  # a program in Python", f"{name}_program={word(source.rstrip())}"]


def section(part: str) -> list[str]:
    """A section of fixed text, set off from what stands before it."""
    return ["", *part.strip("\n").split("\n")]


def wrapped(command: str) -> str:
    """A long command over several lines; only for words without spaces in them."""
    return " \\\n    ".join(textwrap.wrap(command, 100, break_on_hyphens=False))
