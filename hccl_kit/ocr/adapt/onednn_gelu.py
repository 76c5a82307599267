"""GELU by oneDNN, for CPUs (see `hccl_kit.ocr.native`).

MindSpore 2.10 computes the error function, and the hyperbolic tangent of the approximation, with the C library, one
value at a time: ten to thirty times as long as a product of two maps (measured).
"""

from __future__ import annotations

from pathlib import Path

from mindspore import Tensor, nn

from hccl_kit.ocr.adapt.onednn_convolution import operator
from hccl_kit.ocr.models import cpu_forms


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
    """Let `library` compute each GELU that is an attribute of a cell of `network`, in training and evaluation."""
    for _, cell in list(network.cells_and_names()):
        for name, child in list(cell.name_cells().items()):
            if type(child) is nn.GELU and hasattr(cell, name):
                setattr(cell, name, Gelu(child, library))
                if isinstance(cell, cpu_forms.Gelu):
                    cell.by_polynomial = False
