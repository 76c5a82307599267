"""The end of a program that answers a question of another host."""

from __future__ import annotations

import sys
from collections.abc import Callable

from hccl_kit.base.errors import KitError


def answer_with(made: Callable[[], str]) -> None:
    """Print the answer, which is one line; or the error, and exit."""
    try:
        sys.stdout.write(f"{made()}\n")
    except KitError as error:
        sys.exit(error.render())
