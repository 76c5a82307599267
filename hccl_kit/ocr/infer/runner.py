"""What runs a trained network for `Inference`: MindSpore, or another library behind the same interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from numpy.typing import NDArray

Run = Callable[[NDArray[np.float32]], NDArray[Any]]
"""From images (N, 3, H, W) to the outputs of the network."""


class Runner(Protocol):
    """A network with its weights."""

    any_size: bool
    """Whether one graph takes batches of all sizes; else each shape costs a compilation."""
    at_once: int
    """Batches that may run at the same time, by as many threads."""

    def of_shape(self, shape: Sequence[int]) -> Run:
        """The network for images of this shape (N, 3, H, W). Call it from the main thread."""


class Compiled:
    """A network that MindSpore compiles, in evaluation mode; `any_size`: once for all sizes."""

    at_once = 1

    def __init__(self, network: nn.Cell, *, any_size: bool) -> None:
        self.network = network
        self.any_size = any_size
        network.set_train(False)
        if any_size:
            network.set_inputs(Tensor(shape=(None, 3, None, None), dtype=ms.float32))

    def of_shape(self, shape: Sequence[int]) -> Run:
        """The network itself."""
        del shape
        return self._run

    def _run(self, images: NDArray[np.float32]) -> NDArray[Any]:
        output: NDArray[Any] = self.network(Tensor(images)).asnumpy()
        return output
