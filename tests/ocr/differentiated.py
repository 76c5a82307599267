"""A network and its gradients, for tests that compare two implementations."""

from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import Tensor, nn, ops
from numpy.typing import NDArray


class Gradients(nn.Cell):
    """The gradients of the input and of all parameters, for a given gradient of the output of `network`."""

    def __init__(self, network: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.differentiate = ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)(
            network, network.trainable_params()
        )

    def construct(self, given: Tensor, gradient: Tensor) -> Any:
        return self.differentiate(given, gradient)


def found(network: nn.Cell, shape: tuple[int, ...]) -> list[NDArray[np.float32]]:
    """The output of `network` in training for an input of `shape`, and the gradients of input and parameters."""
    draw = np.random.default_rng(5).standard_normal
    given = Tensor(draw(shape).astype(np.float32))
    network.set_train(True)
    output = network(given)
    of_input, of_parameters = Gradients(network)(given, Tensor(draw(output.shape).astype(np.float32)))
    return [array.asnumpy() for array in (output, *of_input, *of_parameters)]
