"""Convolutions, normalisations and poolings that exchange maps in oneDNN's blocked channel layout.

MindSpore 2.10 gives oneDNN maps in plain order (NCHW). Each convolution reorders them, and the code for normalisations
in that order is slow: those of the small CRNN take more than a third of the time of its convolutions (measured). In a
sequence of cells it is known which cell takes the output of a convolution. So the convolution leaves its output in
blocks for the normalisation after it, and the normalisation leaves its own in blocks for the next convolution, if only
poolings and ReLU are between the two. Gradients return in the same layout.

A cell that is not a sequence can list such children by name in `in_row`: each takes the output of the one before it,
and nothing else takes that output; ReLU may be between them.

A tensor in blocks has the shape of the plain one; MindSpore does not know that its values are in another order.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from mindspore import Tensor, nn, ops

from hccl_kit.ocr.cpu.convolution import Convolution, Shape, operator
from hccl_kit.ocr.models.network import MaxPool

BLOCK = 16
"""Channels per block. A channel count that is not a multiple of it would take more memory in blocks."""
Two = tuple[Tensor, Tensor]
Three = tuple[Tensor, Tensor, Tensor]


def replace(network: nn.Cell, library: Path) -> None:
    """Let the sequences of `network` exchange maps in blocks. Call it after `convolution.replace`."""
    for _, cell in list(network.cells_and_names()):
        _in_row(cell, library)


def _in_row(parent: nn.Cell, library: Path) -> None:
    is_sequence = isinstance(parent, nn.SequentialCell)
    cells = list(parent) if is_sequence else [getattr(parent, name) for name in getattr(parent, "in_row", ())]
    norms = [number for number in range(1, len(cells)) if _fits(cells[number - 1], cells[number])]
    for place in norms:
        between = range(place + 1, _next_other(cells, place + 1))
        convolution, norm, *behind = cells[place - 1], cells[place], *cells[between.stop : between.stop + 1]
        convolution.conv2d.maps_in_blocks()
        stays = bool(behind) and _is_convolution(behind[0])
        if stays:
            behind[0].conv2d.images_in_blocks()
            for number in between:
                if isinstance(cells[number], MaxPool):
                    parent[number] = Pool(library, rows_only=cells[number].rows_only)
        del norm.bn_train, norm.bn_infer  # primitives: assigning a cell under the same name does not replace them
        norm.bn_train = ByBatch(norm.eps, norm.momentum, library, stays=stays)
        norm.bn_infer = ByMoving(norm.eps, library, stays=stays)


def _fits(convolution: nn.Cell, norm: nn.Cell) -> bool:
    return (
        _is_convolution(convolution)
        and not convolution.has_bias
        and convolution.out_channels % BLOCK == 0
        and type(norm) is nn.BatchNorm2d
    )


def _is_convolution(cell: nn.Cell) -> bool:
    return type(cell) is nn.Conv2d and isinstance(cell.conv2d, Convolution)


def _next_other(cells: list[nn.Cell], start: int) -> int:
    """The index of the first cell from `start` on that is neither ReLU nor pooling; len(cells) if there is none."""
    while start < len(cells) and type(cells[start]) in (nn.ReLU, MaxPool):
        start += 1
    return start


class Pool(nn.Cell):
    """Replaces MaxPool; input and output are in blocks."""

    def __init__(self, library: Path, *, rows_only: bool) -> None:
        super().__init__()
        self.window = Tensor(np.zeros((2, 1 if rows_only else 2), np.float32))
        self.of_any_size = operator(library, "pool_blocks")
        self.pool = _Pool(library)

    def construct(self, maps: Tensor) -> Tensor:
        if self.training:
            return self.pool(maps, self.window)[0]
        return self.of_any_size(maps, self.window)


class _Pool(nn.Cell):
    """Returns the maxima and their positions. The gradient of the positions is not used."""

    def __init__(self, library: Path) -> None:
        super().__init__()
        self.forward = operator(library, "pool_blocks_in_training", _smaller, outputs=2)
        self.backward = operator(library, "of_pool_blocks")

    def construct(self, maps: Tensor, window: Tensor) -> Two:
        return self.forward(maps, window)

    def bprop(self, maps: Tensor, window: Tensor, out: Two, gradient: Two) -> Two:
        """The gradients of the maps, and of the window, which is not used."""
        return self.backward(gradient[0], out[1], maps, window), window


def _smaller(maps: Shape, window: Shape) -> tuple[Shape, Shape]:
    shape = *maps[:2], maps[2] // window[0], maps[3] // window[1]
    return shape, shape


class ByBatch(nn.Cell):
    """Replaces ops.BatchNorm in training: normalises maps in blocks by the statistics of the batch.

    `momentum` is the weight of the batch in the moving statistics, as in ops.BatchNorm. The results are in blocks if
    `stays`.
    """

    def __init__(self, epsilon: float, momentum: float, library: Path, *, stays: bool) -> None:
        super().__init__()
        self.momentum = momentum
        self.normalise = _Batch(epsilon, library, stays=stays)

    def construct(self, maps: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, variance: Tensor) -> tuple[Tensor]:
        results, batch_mean, batch_variance = self.normalise(maps, gamma, beta)
        count = maps.shape[0] * maps.shape[2] * maps.shape[3]
        batch_variance = batch_variance * (count / max(count - 1, 1))  # the unbiased estimate (Bessel's correction)
        moved = (
            ops.assign(mean, mean + self.momentum * (batch_mean - mean)),
            ops.assign(variance, variance + self.momentum * (batch_variance - variance)),
        )
        return (ops.depend(results, moved),)


class _Batch(nn.Cell):
    """Returns the normalised maps, and mean and variance of the batch. The gradients of the statistics are not used."""

    def __init__(self, epsilon: float, library: Path, *, stays: bool) -> None:
        super().__init__()
        self.numbers = Tensor(np.array([epsilon, stays], np.float32))
        self.forward = operator(library, "normalise_batch", lambda maps, gamma, *_: (maps, gamma, gamma), outputs=3)
        self.backward = operator(library, "of_normalise_batch", _of_maps_gamma_beta, outputs=3)

    def construct(self, maps: Tensor, gamma: Tensor, beta: Tensor) -> Three:
        return self.forward(maps, gamma, beta, self.numbers)

    def bprop(self, maps: Tensor, gamma: Tensor, _: Tensor, out: Three, gradient: Three) -> Three:
        """The gradients of maps, gamma and beta."""
        return self.backward(gradient[0], maps, out[1], out[2], gamma, self.numbers)


def _of_maps_gamma_beta(maps: Shape, _: Shape, mean: Shape, *__: Shape) -> tuple[Shape, Shape, Shape]:
    return maps, mean, mean


class ByMoving(nn.Cell):
    """Replaces ops.BatchNorm in evaluation, and in training with frozen statistics."""

    def __init__(self, epsilon: float, library: Path, *, stays: bool) -> None:
        super().__init__()
        self.numbers = Tensor(np.array([epsilon, stays], np.float32))
        self.forward = operator(library, "normalise_given")
        self.backward = operator(library, "of_normalise_given", _of_maps_gamma_beta, outputs=3)

    def construct(self, maps: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, variance: Tensor) -> tuple[Tensor]:
        return (self.forward(maps, mean, variance, gamma, beta, self.numbers),)

    def bprop(
        self, maps: Tensor, gamma: Tensor, _: Tensor, mean: Tensor, variance: Tensor, __: Tensor, gradient: Tensor
    ) -> tuple[Tensor, ...]:
        """The gradients of maps, gamma and beta; the statistics have none."""
        of_maps, of_gamma, of_beta = self.backward(gradient[0], maps, mean, variance, gamma, self.numbers)
        return of_maps, of_gamma, of_beta, ops.zeros_like(mean), ops.zeros_like(variance)
