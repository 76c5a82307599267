"""Networks and batches that are small enough to be recomputed in numpy."""

from typing import Any

import numpy as np
from mindspore import Tensor, nn, ops
from numpy.typing import NDArray

from hccl_kit.ocr.data.loader import Batch
from hccl_kit.runtime.join import World
from hccl_kit.runtime.worker_env import WorkerEnv

ALONE = World(WorkerEnv(rank=0, size=1, local_rank=0, local_size=1, device=0), "single", "CPU")

OPTIMIZER: dict[str, Any] = {
    "opt": "momentum",
    "momentum": 0.9,
    "nesterov": False,
    "weight_decay": 0.0,
    "beta1": None,
    "beta2": None,
    "eps": None,
    "decay": 0.9,
    "centered": False,
    "accum": 0.1,
    "schedule_decay": 0.004,
    "filter_bias_and_bn": True,
    "grouping_strategy": None,
    "no_weight_decay_params": [],
    "decay_as_named": False,
    "lr_factors": {},
}
"""A section `optimizer` with its defaults."""


class Linear(nn.Cell):
    """Images (N, 1, 1, 3) to (N, 2)."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Dense(3, 2)

    def construct(self, images: Tensor) -> Tensor:
        return self.head(ops.reshape(images, (-1, 3)))


class Normed(nn.Cell):
    """Images (N, 1, 4, 4) to (N, 2), through a convolution and a batch normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.SequentialCell(nn.Conv2d(1, 3, 3, pad_mode="pad", padding=1), nn.BatchNorm2d(3), nn.ReLU())
        self.head = nn.Dense(3, 2)

    def construct(self, images: Tensor) -> Tensor:
        return self.head(ops.reduce_mean(self.stem(images), (2, 3)))


class Squares(nn.Cell):
    """The mean of the squared differences from the labels."""

    def construct(self, logits: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
        return ops.reduce_mean(ops.square(logits - ops.cast(labels, logits.dtype)))


def batch(shape: tuple[int, ...], seed: int = 0) -> Batch:
    """Random images of that shape with labels (N, 2)."""
    generator = np.random.default_rng(seed)
    images = generator.standard_normal(shape).astype(np.float32)
    labels = generator.integers(0, 9, (shape[0], 2)).astype(np.int32)
    return Batch(images, (labels, np.full(shape[0], 2, np.int32)), ())


def values(network: nn.Cell) -> dict[str, NDArray[np.float32]]:
    """A copy of every parameter."""
    return {parameter.name: parameter.asnumpy().copy() for parameter in network.get_parameters()}
