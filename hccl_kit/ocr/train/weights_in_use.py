"""The weights that are evaluated and kept: a moving average, a mean with the start, or those of the training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from numpy.typing import NDArray


@contextmanager
def swapped(parameters: Sequence[Parameter], values: Sequence[NDArray[Any]]) -> Iterator[None]:
    """Inside the with statement the parameters have other values; afterwards their own, bit by bit."""
    before = [parameter.asnumpy().copy() for parameter in parameters]
    try:
        for parameter, value in zip(parameters, values, strict=True):
            parameter.set_data(Tensor(value))
        yield
    finally:
        for parameter, value in zip(parameters, before, strict=True):
            parameter.set_data(Tensor(value))


class StartShare:
    """A weighted mean of the weights at the start and those of now: `train.start_share`.

    A network that is fine-tuned forgets what the new samples do not show. The mean keeps most of it, and often reads
    the new samples better too (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models"). Create it when the
    network has its initial weights, also in a run that resumes.
    """

    def __init__(self, network: nn.Cell, share: float) -> None:
        self.parameters = tuple(network.get_parameters())
        self.start = [parameter.asnumpy().copy() for parameter in self.parameters]
        self.share = share

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside the with statement the network has the mean as weights; afterwards its own, bit by bit."""
        pairs = zip(self.parameters, self.start, strict=True)
        values = [start + (now.asnumpy() - start) * start.dtype.type(1 - self.share) for now, start in pairs]
        with swapped(self.parameters, values):
            yield


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
