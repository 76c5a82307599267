"""Networks against a reference implementation, with weights that are derived from the parameter names.

The formula is in tests/ocr/reference/README.md.
"""

import csv
from typing import Any
from zlib import crc32

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn, ops
from numpy.typing import NDArray

from tests.ocr.reference import REFERENCE

Table = list[tuple[str, tuple[int, ...], bool]]


def parameter_table(model: str) -> Table:
    """Name, shape and trainability of every parameter, in the order of the network."""
    with (REFERENCE / f"{model}.parameters.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [
        (row["name"], tuple(int(side) for side in row["shape"].split("x")), row["requires_grad"] == "1") for row in rows
    ]


def parameters_of(network: nn.Cell) -> Table:
    """The same table of a network."""
    return [(p.name, tuple(p.shape), bool(p.requires_grad)) for p in network.get_parameters()]


def weight(name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """The value of a parameter."""
    generator = np.random.default_rng(crc32(name.encode()))
    if name.endswith(("gamma", "moving_variance")):
        value = generator.uniform(0.5, 1.5, shape)
    elif name.endswith("moving_mean") or len(shape) < 2:
        value = generator.standard_normal(shape) * 0.1
    else:
        value = generator.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))
    return value.astype(np.float32)


def fill(network: nn.Cell) -> None:
    """Give every parameter its value."""
    for parameter in network.get_parameters():
        parameter.set_data(Tensor(weight(parameter.name, tuple(parameter.shape))))


def images(shape: Any) -> Tensor:
    """The input."""
    return Tensor(np.random.default_rng(0).standard_normal(tuple(shape)).astype(np.float32))


def assert_close(found: NDArray[np.float32], expected: NDArray[np.float32], what: str, *, share: float = 1e-4) -> None:
    """Equal within a `share` of the largest value: deep networks without batch statistics produce large values."""
    assert found.shape == expected.shape, what
    off = float(np.abs(found - expected).max())
    assert off <= share * float(np.abs(expected).max()), f"{what}: off by {off}"


def assert_close_in_sum(
    found: NDArray[np.float32], expected: NDArray[np.float32], what: str, *, share: float = 1e-4
) -> None:
    """Equal within a `share` of the sum of all values: for outputs with larger rounding errors at a few positions.

    An example is a sigmoid of values in the thousands near a zero crossing (by a hundredth), or deep networks with
    the statistics of 30 values: noise of 1e-7 in the images of DBNet ResNet-50 moves its maps by up to 6e-4 (measured).
    """
    assert found.shape == expected.shape, what
    off = float(np.abs(found - expected).sum(dtype=np.float64))
    assert off <= share * float(np.abs(expected).sum(dtype=np.float64)), f"{what}: off by {off}"


def assert_modes_agree(network: nn.Cell, *inputs: Tensor, share: float = 1e-4) -> None:
    """The compiled graph has the outputs of PyNative mode."""

    def arrays() -> list[NDArray[np.float32]]:
        outputs = network(*inputs)
        return [one.asnumpy() for one in (outputs if isinstance(outputs, tuple) else (outputs,))]

    compiled = arrays()
    ms.set_context(mode=ms.PYNATIVE_MODE)
    try:
        plain = arrays()
    finally:
        ms.set_context(mode=ms.GRAPH_MODE)
    for one, other in zip(compiled, plain, strict=True):
        assert_close(one, other, type(network).__name__, share=share)


def statistics(network: nn.Cell) -> dict[str, float]:
    """The sums of the moving statistics of each batch normalisation."""
    moving = (p for p in network.get_parameters() if p.name.endswith(("moving_mean", "moving_variance")))
    return {p.name: float(p.asnumpy().astype(np.float64).sum()) for p in moving}


def assert_statistics(network: nn.Cell, expected: Any, *, share: float = 1e-4) -> None:
    """Every moving statistic after one step matches the reference, and there are no others."""
    sums = statistics(network)
    for key, value in zip(expected["bn_after_train_names"], expected["bn_after_train_sum"], strict=True):
        assert sums.pop(str(key)) == pytest.approx(value, rel=share, abs=share), key
    assert sums == {}


def without_gradient(network: nn.Cell, *inputs: Tensor) -> list[str]:
    """The parameters that get no gradient from the squares of the outputs, in the current mode of the network."""
    parameters = network.trainable_params()

    def energy(*inputs: Tensor) -> Tensor:
        outputs = network(*inputs)
        return sum(ops.reduce_sum(ops.square(one)) for one in (outputs if isinstance(outputs, tuple) else (outputs,)))

    gradients = ops.grad(energy, None, parameters)(*inputs)
    return [p.name for p, g in zip(parameters, gradients, strict=True) if not np.abs(g.asnumpy()).max() > 0]
