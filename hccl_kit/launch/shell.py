"""Pieces of shell text, and the one gate through which text of others enters a script."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence

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


def section(part: str) -> list[str]:
    """A section of fixed text, set off from what stands before it."""
    return ["", *part.strip("\n").split("\n")]


def wrapped(command: str) -> str:
    """A long command over several lines; only for words without spaces in them."""
    return " \\\n    ".join(textwrap.wrap(command, 100, break_on_hyphens=False))
