"""Bilinear resizing of maps, each side by a product with a matrix of weights.

The products run on every device, forward and backward, export to ONNX, and support all three alignments of the pixels
of the two sizes that are in use.
"""

from __future__ import annotations

import numpy as np
from mindspore import Tensor, ops
from mindspore.ops import constexpr
from numpy.typing import NDArray

EDGES, CORNERS, ORIGIN = "edges", "corners", "origin"
"""What stays aligned: the outer edges of the pixels, as in OpenCV (`half_pixel_centers`); the centres of the outer
pixels (`align_corners`); or the centre of the first pixel alone (neither of the two)."""


def bilinear(maps: Tensor, height: int, width: int, *, keeps: str) -> Tensor:
    """Maps (N, C, h, w) as (N, C, height, width); `keeps` is EDGES, CORNERS or ORIGIN."""
    wide = _along_rows(maps, width, keeps)
    high = _along_rows(ops.transpose(wide, (0, 1, 3, 2)), height, keeps)
    return ops.transpose(high, (0, 1, 3, 2))


def _along_rows(maps: Tensor, length: int, keeps: str) -> Tensor:
    count, channels, height, width = maps.shape
    if width == length:
        return maps
    rows = ops.reshape(maps, (-1, width))
    longer = ops.matmul(rows, ops.cast(_constant(width, length, keeps), maps.dtype))
    return ops.reshape(longer, (count, channels, height, length))


@constexpr
def _constant(before: int, after: int, keeps: str) -> Tensor:
    return Tensor(weights(before, after, keeps))


def weights(before: int, after: int, keeps: str) -> NDArray[np.float32]:
    """The weight of each of `before` values in each of `after`: (before, after), columns sum to 1."""
    places = np.arange(after, dtype=np.float64)
    if keeps == EDGES:
        places = (places + 0.5) * before / after - 0.5
    elif keeps == CORNERS:
        places = places * ((before - 1) / max(1, after - 1))
    else:
        places = places * before / after
    places = np.clip(places, 0, before - 1)
    low = np.floor(places).astype(int)
    high = np.minimum(low + 1, before - 1)
    share = places - low
    table = np.zeros((before, after))
    np.add.at(table, (low, np.arange(after)), 1 - share)
    np.add.at(table, (high, np.arange(after)), share)
    return table.astype(np.float32)
