"""Arrays in pieces that stay in the cache of a processor, which several small arrays share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Part = tuple[slice, NDArray[np.float32], NDArray[np.float32]]


def pieces(
    given: Sequence[NDArray[np.float32]], results: Sequence[NDArray[np.float32]], size: int
) -> Iterator[list[Part]]:
    """The parts of each piece of `size` values: the place in the piece, the given values and where their results go.

    The two sequences have arrays of the same shapes, contiguous if they are results. The last piece may be shorter.
    """
    piece: list[Part] = []
    at = 0
    for values, into in zip(given, results, strict=True):
        flat, flat_into = values.reshape(-1), into.reshape(-1)
        start = 0
        while start < flat.size:
            count = min(flat.size - start, size - at)
            piece.append((slice(at, at + count), flat[start : start + count], flat_into[start : start + count]))
            start += count
            at += count
            if at == size:
                yield piece
                piece, at = [], 0
    if piece:
        yield piece
