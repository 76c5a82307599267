"""What a framework must offer to be measured: collectives, a product of square matrices, and a copy of memory.

All are in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from hccl_kit.selftest.measured import Operator

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Call(NamedTuple):
    """A prepared collective: `fill` sets its input, `run` does it once, `result` returns its output."""

    fill: Callable[[], None]
    run: Callable[[], None]
    result: Callable[[], NDArray[np.float32]]


class Group(Protocol):
    """Ranks that communicate with each other."""

    def call(self, operator: Operator, source: NDArray[np.float32], count: int) -> Call:
        """Prepare a collective over `source`, the share of this rank; `count` are the elements of the whole array.

        `run` raises an exception if it fails or takes too long.
        """

    def close(self) -> None:
        """Leave the group."""


class Backend(Protocol):
    """A framework. `skipped` are operators that it does not have here."""

    skipped: tuple[Operator, ...]

    def group(self, ranks: Sequence[int], step: int, seconds: float) -> Group:
        """The group of `ranks`, in which this rank is; waits at most `seconds` to form it, and in a call."""

    def product(self) -> Work:
        """A product of matrices, as the framework does it."""

    def copy(self) -> Work:
        """A copy of memory, where the framework has its data."""


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
