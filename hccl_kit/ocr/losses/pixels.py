"""Shared by the losses of maps: flattening, and online hard example mining (OHEM).

After Shrivastava et al. 2016, "Training Region-based Object Detectors with Online Hard Example Mining". No shape
depends on the data: a compiled graph takes any batch.
"""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, ops


def flat(maps: Tensor) -> Tensor:
    """(N, ...) to (N, pixels) float32."""
    return ops.reshape(maps, (maps.shape[0], -1)).astype(ms.float32)


def hardest(values: Tensor, wanted: Tensor) -> Tensor:
    """1 for the `wanted` (N,) greatest of (N, pixels) and values equal to the last of them, 0 for the others."""
    values = ops.stop_gradient(values)
    ordered = ops.sort(values, 1, True)[0]
    last = ops.clamp(wanted, 1, values.shape[1]).astype(ms.int32) - 1
    cut = ops.gather_elements(ordered, 1, ops.reshape(last, (-1, 1)))
    return ops.stop_gradient((values >= cut).astype(ms.float32))
