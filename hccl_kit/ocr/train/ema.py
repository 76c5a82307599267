"""The exponential moving average of the weights: with `train.ema` it is evaluated and saved as the best."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

from hccl_kit.ocr.train.weights_in_use import swapped

WARM_UP = 2000
"""Time constant of the decay's warm-up, in updates; MindOCR's value."""


class Ema(nn.Cell):
    """The average of all parameters of a network, statistics of batch normalisation included.

    A call updates it: average = d average + (1 - d) value, d = decay (1 - exp(-updates / 2000)), as in MindOCR. Early
    averages forget the initial weights fast; after some thousand updates d is `decay`. Create it once all ranks have
    the same weights; checkpoints of a run hold its parameters.
    """

    def __init__(self, network: nn.Cell, decay: float) -> None:
        super().__init__(auto_prefix=False)  # parameters keep the names of the network
        self.parameters = ParameterTuple(network.get_parameters())
        self.averages = self.parameters.clone(prefix="ema", init="same")
        for average in self.averages:
            average.requires_grad = False
        self.updates = Parameter(Tensor(0.0), name="ema_updates", requires_grad=False)
        self.decay = decay

    def construct(self) -> Tensor:
        ops.assign_add(self.updates, Tensor(1.0))
        rest = 1.0 - self.decay * (1.0 - ops.exp(-self.updates / WARM_UP))
        for index in range(len(self.averages)):
            ops.assign_add(self.averages[index], (self.parameters[index] - self.averages[index]) * rest)
        return rest

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside the with statement the network has the averages as weights; afterwards its own, bit by bit."""
        with swapped(self.parameters, [average.asnumpy() for average in self.averages]):
            yield
