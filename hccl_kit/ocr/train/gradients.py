"""The compiled parts of a training step for gradients. All inputs and outputs are tensors on the device."""

from __future__ import annotations

from collections.abc import Sequence

import mindspore as ms
import numpy as np
from mindspore import ParameterTuple, Tensor, nn, ops
from mindspore.ops import functional
from numpy.typing import NDArray

from hccl_kit.ocr.models import dropout


class Compute(nn.Cell):
    """Inputs: a factor for the loss, images (N, C, H, W) and the targets of the loss.

    Outputs: the loss times the factor and its gradients, a tuple in the order of the trainable parameters. The plain
    loss is not among them: it would make the step of a small network up to 1.4 times as long on CPU (measured).
    """

    def __init__(self, network: nn.Cell, loss: nn.Cell) -> None:
        super().__init__(auto_prefix=False)  # parameters keep the names of the network
        self.keys = ParameterTuple(dropout.keys(network))  # registered: a kept graph takes only such parameters
        self.forward = _Forward(network, loss)
        self.differentiate = ops.value_and_grad(self.forward, None, network.trainable_params())

    def construct(self, factor: Tensor, images: Tensor, *targets: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        return self.differentiate(factor, images, *targets)


class _Forward(nn.Cell):
    def __init__(self, network: nn.Cell, loss: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.loss = loss
        self.guided = getattr(network, "guided", False)  # teacher forcing

    def construct(self, factor: Tensor, images: Tensor, *targets: Tensor) -> Tensor:
        outputs = self.network(images, *targets) if self.guided else self.network(images)
        # The output of a network in mixed precision may be float16; losses take float32.
        prediction = functional.mixed_precision_cast(ms.float32, outputs)
        return self.loss(prediction, *targets) * factor


class Add(nn.Cell):
    """Inputs: two gradients of each parameter, one list after the other. Outputs: their sums."""

    def construct(self, *gradients: Tensor) -> tuple[Tensor, ...]:
        half = len(gradients) // 2
        sums: tuple[Tensor, ...] = ()
        for index in range(half):
            sums = (*sums, gradients[index] + gradients[half + index])
        return sums


class _Squares(nn.Cell):
    def construct(self, *gradients: Tensor) -> Tensor:
        sums: tuple[Tensor, ...] = ()
        for index in range(len(gradients)):
            sums = (*sums, ops.reduce_sum(ops.square(gradients[index])))
        return ops.stack(sums)


class Squares:
    """The sum of the squares of each of some gradients.

    On CPU without a graph: numpy sees the values where they are, and takes a seventh of the time (measured).
    """

    def __init__(self) -> None:
        self.on_cpu = ms.get_context("device_target") == "CPU"
        self.compiled = _Squares()

    def __call__(self, gradients: Sequence[Tensor]) -> NDArray[np.float32]:
        if self.on_cpu:
            with np.errstate(over="ignore"):  # the caller looks for what is not finite
                # Not by BLAS, whose threads would wait for more while MindSpore computes.
                return np.array([np.square(gradient.asnumpy()).sum() for gradient in gradients], np.float32)
        sums: NDArray[np.float32] = self.compiled(*gradients).asnumpy()
        return sums
