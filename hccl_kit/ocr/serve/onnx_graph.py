"""An ONNX graph under construction: nodes and weights, and what each kind of cell becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from mindspore import nn
from onnx import helper, numpy_helper

from hccl_kit.base.errors import KitError

Part = Callable[["Graph", Any, Any], Any]
"""Writes a cell: from the graph, the cell and the name of its input, or several names, to those of its output."""


class Graph:
    """Nodes and weights under construction.

    `parts` has for each kind of cell the function that writes it; `order` the classes of a recogniser, see
    `ppocr_graph.model`.
    """

    def __init__(self, parts: Mapping[type, Part], order: Sequence[int] = ()) -> None:
        self.parts = parts
        self.order = order
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def add(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """A node; returns the name of its output."""
        name = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, value: Any, kind: Any = np.float32) -> str:
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(value, kind, order="C"), name))
        return name

    def indices(self, *values: int) -> str:
        return self.constant(values, np.int64)

    def put(self, cell: nn.Cell, x: str) -> Any:
        """The nodes of a cell; returns its output, or a tuple of them."""
        if type(cell) not in self.parts:
            raise KitError(
                "ocr.onnx-graph.cannot-exported-onnx",
                "{name} cannot be exported as ONNX",
                fix="--format mindir, or model.backbone.branches: False",
                name=type(cell).__name__,
            )
        return self.parts[type(cell)](self, cell, x)

    def silu(self, x: str) -> str:
        return self.add("Mul", x, self.add("Sigmoid", x))

    def hard_swish(self, x: str) -> str:
        return self.add("Mul", x, self.add("HardSigmoid", x, alpha=1 / 6, beta=0.5))

    def columns(self, x: str) -> str:
        """Features (N, C, 1, T) to columns (N, T, C)."""
        return self.add("Transpose", self.add("Squeeze", x, self.indices(2)), perm=[0, 2, 1])
