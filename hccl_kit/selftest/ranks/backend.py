"""What a framework must offer to be measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from hccl_kit.selftest.measured import Operator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hccl_kit.selftest.ranks.work import Work


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
