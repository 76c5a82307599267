"""One training step in three compiled parts, so that each can be timed and the middle one replaced:

    compute   images, labels -> loss and all gradients as one vector
    reduce    the mean of both over the ranks (and of the batch norm statistics): one all-reduce a step
    update    vector, learning rate -> new weights

One vector instead of a tensor per parameter: measured on CPU, 26 small all-reduces cost more than the step itself.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from mindspore import Parameter, Tensor, nn, ops

from hccl_kit.ocr.data.loader import Batch
from hccl_kit.ocr.optimizer import Update


@dataclass(frozen=True, slots=True)
class StepResult:
    """`loss` and gradient `norm` of the joint batch, equal on all ranks; seconds spent computing and communicating."""

    loss: float
    norm: float
    compute_s: float
    communication_s: float

    @property
    def finite(self) -> bool:
        """False: the weights were left as they are, on all ranks."""
        return math.isfinite(self.norm) and math.isfinite(self.loss)


class Compute(nn.Cell):
    """Inputs: images (N, C, H, W), labels (N, L), lengths (N,). Outputs: the loss and the gradients, one vector."""

    def __init__(self, network: nn.Cell, loss: nn.Cell) -> None:
        super().__init__(auto_prefix=False)  # parameters keep the names of the network
        self.forward = _Forward(network, loss)
        self.differentiate = ops.value_and_grad(self.forward, None, network.trainable_params())

    def construct(self, images: Tensor, labels: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        loss, gradients = self.differentiate(images, labels, lengths)
        return loss, ops.concat([ops.reshape(gradient, (-1,)) for gradient in gradients])


class _Forward(nn.Cell):
    def __init__(self, network: nn.Cell, loss: nn.Cell) -> None:
        super().__init__(auto_prefix=False)  # parameters keep the names of the network
        self.network = network
        self.loss = loss

    def construct(self, images: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
        return self.loss(self.network(images), labels, lengths)


class Reduce(nn.Cell):
    """The means over the ranks of the gradient vector and the loss, and the norm of that gradient.

    The batch norm statistics become means too: otherwise each rank would keep those of its own shard, and which rank
    saves would matter.
    """

    def __init__(self, statistics: list[Parameter], size: int) -> None:
        super().__init__(auto_prefix=False)  # parameters keep the names of the network
        self.statistics = statistics
        self.sizes = [parameter.size for parameter in statistics]
        self.shapes = [parameter.shape for parameter in statistics]
        self.size = size
        if size > 1:
            self.all_reduce = ops.AllReduce()

    def construct(self, loss: Tensor, flat: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.size > 1:
            own = [ops.reshape(parameter, (-1,)) for parameter in self.statistics]
            mean = self.all_reduce(ops.concat([flat, ops.reshape(loss, (1,)), *own])) / self.size
            loss = mean[flat.shape[0]]
            start = flat.shape[0] + 1
            for index in range(len(self.sizes)):
                piece = mean[start : start + self.sizes[index]]
                ops.assign(self.statistics[index], ops.reshape(piece, self.shapes[index]))
                start += self.sizes[index]
            flat = mean[: flat.shape[0]]
        return loss, flat, ops.sqrt(ops.reduce_sum(ops.square(flat)))


class TrainStep:
    """Runs the three parts on one batch. `clip_norm` None: gradients are not clipped."""

    def __init__(self, network: nn.Cell, loss: nn.Cell, update: Update, *, size: int, clip_norm: float | None) -> None:
        statistics = [p for p in network.get_parameters() if p.name.endswith(("moving_mean", "moving_variance"))]
        self.network = network
        self.compute = Compute(network, loss)
        self.reduce = Reduce(statistics, size)
        self.update = update
        self.clip_norm = clip_norm

    def __call__(self, batch: Batch, rate: float) -> StepResult:
        """One step with learning rate `rate`; the weights stay as they are where the gradient is not finite."""
        started = time.perf_counter()
        self.network.set_train(True)
        loss, flat = self.compute(Tensor(batch.images), Tensor(batch.labels), Tensor(batch.lengths))
        loss.asnumpy()  # waits for the computation, as does the next one for the all-reduce
        computed = time.perf_counter()
        loss, flat, norm = self.reduce(loss, flat)
        joint_loss, joint_norm = float(loss.asnumpy()), float(norm.asnumpy())
        reduced = time.perf_counter()
        result = StepResult(joint_loss, joint_norm, 0.0, 0.0)
        if result.finite:
            factor = min(1.0, self.clip_norm / (joint_norm + 1e-6)) if self.clip_norm else 1.0
            self.update(flat, Tensor(np.float32(factor)), Tensor(np.float32(rate)))
        whole = time.perf_counter() - started
        communication = reduced - computed if self.reduce.size > 1 else 0.0
        return replace(result, compute_s=whole - communication, communication_s=communication)


def freeze_batch_norm(network: nn.Cell) -> None:
    """Let every batch normalisation use its moving statistics and leave them alone, in training too."""
    for cell in network.cells_and_names():
        if isinstance(cell[1], (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            cell[1].use_batch_statistics = False
