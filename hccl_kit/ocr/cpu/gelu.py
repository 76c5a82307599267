"""GELU by oneDNN.

MindSpore 2.10 computes the error function, and the hyperbolic tangent of the approximation, with the C library, one
value at a time: ten to thirty times as long as a product of two maps (measured).
"""

from __future__ import annotations

from pathlib import Path

from mindspore import Tensor, nn

from hccl_kit.ocr.cpu.children import replace_children
from hccl_kit.ocr.cpu.convolution import operator


class Gelu(nn.Cell):
    """Replaces nn.GELU, exact or approximate, for values of any shape. Results are equal up to rounding."""

    def __init__(self, gelu: nn.GELU, library: Path) -> None:
        super().__init__()
        name = "gelu_by_tanh" if gelu.approximate == "tanh" else "gelu_by_erf"
        self.forward = operator(library, name)
        self.backward = operator(library, f"of_{name}")

    def construct(self, values: Tensor) -> Tensor:
        return self.forward(values)

    def bprop(self, values: Tensor, _: Tensor, gradient: Tensor) -> tuple[Tensor]:
        """The gradient of `values`."""
        return (self.backward(values, gradient),)


def replace(network: nn.Cell, library: Path) -> None:
    """Let `library` compute each GELU of `network`."""
    replace_children(network, nn.GELU, lambda gelu: Gelu(gelu, library))
