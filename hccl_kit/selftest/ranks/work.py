"""What is timed on one rank alone: a product of square matrices, and a copy of memory; both in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

ITEM = 4
"""Bytes of a float32."""
SIDE_OF_CORE, SIDE_OF_CARD = 512, 4096
"""Rows of a matrix: the product takes milliseconds, much longer than what a framework does around it."""
COPY_OF_CORE, COPY_OF_CARD = 32 << 20, 1 << 30
"""Bytes that are copied: more than the caches of a core, or of a card."""


class Work(NamedTuple):
    """`run` does it once and waits for its end; `amount` are the operations, or the bytes that are read and written."""

    run: Callable[[], object]
    amount: float


def product(run: Callable[[], object], side: int = SIDE_OF_CORE) -> Work:
    """The product of two matrices of `side` rows."""
    return Work(run, 2 * side**3)


def copy(run: Callable[[], object], size: int = COPY_OF_CORE) -> Work:
    """A copy of `size` bytes."""
    return Work(run, 2 * size)


def copy_on_cpu() -> Work:
    """A copy by numpy."""
    given = np.ones(COPY_OF_CORE // ITEM, np.float32)
    taken = np.empty_like(given)
    return copy(lambda: np.copyto(taken, given))
