"""Replaces the trained weights of a network during an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mindspore import Parameter, Tensor, nn
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
