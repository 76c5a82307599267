"""The networks of PP-OCR as ONNX graphs with free sizes, for programs that run PaddleOCR's files.

MindSpore cannot export these: its writer lacks the error function of GELU, and fixes all shapes. So each kind of cell
is written here with the operators of ONNX, from the parameters that it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from mindspore import nn
from onnx import TensorProto, helper

from hccl_kit.ocr.models.db import DBHead
from hccl_kit.ocr.models.network import CTCHead, Network
from hccl_kit.ocr.models.ppocr import lcnet_v3, lcnet_v4, necks, pyramid
from hccl_kit.ocr.models.ppocr.nrtr import GuidedNetwork, MultiHead
from hccl_kit.ocr.models.ppocr.pages import AuxDBHead
from hccl_kit.ocr.serve import onnx_graph
from hccl_kit.ocr.serve.onnx_graph import Graph, Part, chain, product

INPUT, OUTPUT = "x", "fetch_name_0"
"""The names in PaddleOCR's files."""
OPSET, IR = 17, 8
"""The first with layer normalisation, and its format: onnxruntime 1.12 and later."""
NEVER = -1e4
"""The logit of a class that the network does not have."""
ROWS = {
    lcnet_v3.LineBackbone: lcnet_v3.HEIGHT,
    lcnet_v4.LineBackbone: lcnet_v4.HEIGHT,
    lcnet_v3.PageBackbone: "height",
    lcnet_v4.PageBackbone: "height",
}


def is_known(network: nn.Cell) -> bool:
    """Whether this module writes this network."""
    return isinstance(network, (Network, GuidedNetwork)) and type(network.backbone) in ROWS


def model(network: Network | GuidedNetwork, order: Sequence[int] = ()) -> onnx.ModelProto:
    """The graph of a network: `x` (N, 3, H, W) to `fetch_name_0`, all but the height of lines free.

    Of a recogniser it is (N, T, classes): the class n is that with the number `order[n]` of the network, -1 stands for
    none. Raises KitError if a part of the network is not known.
    """
    graph = Graph(PARTS, order)
    output = graph.put(network.head, graph.put(network.neck, graph.put(network.backbone, INPUT)))
    graph.add("Identity", output, name=OUTPUT)
    sizes: list[Any] = ["batch", "steps", len(order)] if order else ["batch", 1, "height", "width"]
    value = helper.make_tensor_value_info
    made = helper.make_graph(
        graph.nodes,
        "hccl_kit",
        [value(INPUT, TensorProto.FLOAT, ["batch", 3, ROWS[type(network.backbone)], "width"])],
        [value(OUTPUT, TensorProto.FLOAT, sizes)],
        graph.weights,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    onnx.checker.check_model(model)
    return model


def _squeeze(graph: Graph, cell: lcnet_v4.SqueezeExcite, x: str) -> str:
    # Not GlobalAveragePool: over large maps onnxruntime's loses two digits where convolutions are before it.
    mean = graph.add("ReduceMean", x, axes=[2, 3], keepdims=1)
    inner = graph.add("Relu", graph.put(cell.reduce, mean))
    weight = graph.add("HardSigmoid", graph.put(cell.expand, inner), alpha=cell.steepness / 6, beta=0.5)
    return graph.add("Mul", x, weight)


def _stem(graph: Graph, cell: lcnet_v4.Stem, images: str) -> str:
    def relu(part: nn.Cell, x: str) -> str:
        return graph.add("Relu", graph.put(part, x))

    x = relu(cell.first, images)
    pooled = graph.add("MaxPool", x, kernel_shape=[2, 2], strides=[1, 1], pads=[0, 0, 1, 1])
    branch = relu(cell.right, relu(cell.left, x))
    return relu(cell.last, relu(cell.join, graph.add("Concat", pooled, branch, axis=1)))


def _block(graph: Graph, cell: lcnet_v4.Block, x: str) -> str:
    x = graph.put(cell.squeeze, graph.put(cell.depthwise, x))
    mixed = graph.put(cell.project, graph.put(cell.gelu, graph.put(cell.expand, x)))
    return graph.add("Add", x, mixed) if cell.residual else mixed


def _affine(graph: Graph, cell: lcnet_v3.Affine, x: str) -> str:
    scaled = graph.add("Mul", x, graph.constant(cell.scale.asnumpy()))
    return graph.add("Add", scaled, graph.constant(cell.bias.asnumpy()))


def _activated(graph: Graph, cell: lcnet_v3.Activated, x: str) -> str:
    x = graph.put(cell.inner, graph.put(cell.conv, x))
    return str(graph.put(cell.outer, graph.hard_swish(x)) if cell.is_active else x)


def _line_backbone(graph: Graph, cell: lcnet_v3.LineBackbone | lcnet_v4.LineBackbone, x: str) -> str:
    x = graph.put(cell.stem, x)
    for stage in cell.stages:
        x = graph.put(stage, x)
    return graph.add("AveragePool", x, kernel_shape=[3, 2], strides=[3, 2])


def _normalised(graph: Graph, cell: necks.Normalised, x: str) -> str:
    x = graph.put(cell.norm, graph.put(cell.conv, x))
    return graph.hard_swish(x) if cell.hard else graph.silu(x)


def _attention(graph: Graph, cell: necks.Attention, x: str) -> str:
    heads = graph.indices(0, 0, 3, necks.HEADS, cell.each)
    qkv = graph.add("Transpose", graph.add("Reshape", graph.put(cell.qkv, x), heads), perm=[2, 0, 3, 1, 4])
    query, key, value = (graph.add("Gather", qkv, graph.constant(n, np.int64), axis=0) for n in range(3))
    scaled = graph.add("Mul", query, graph.constant(cell.scale))
    weights = graph.add("Softmax", graph.add("MatMul", scaled, graph.add("Transpose", key, perm=[0, 1, 3, 2])), axis=-1)
    mixed = graph.add("Transpose", graph.add("MatMul", weights, value), perm=[0, 2, 1, 3])
    return graph.put(cell.project, graph.add("Reshape", mixed, graph.indices(0, 0, cell.width)))


def _perceptron(graph: Graph, cell: necks.Perceptron, x: str) -> str:
    return graph.put(cell.project, graph.silu(graph.put(cell.expand, x)))


def _svtr_block(graph: Graph, cell: necks.Block, x: str) -> str:
    x = graph.add("Add", x, graph.put(cell.attention, graph.put(cell.norm1, x)))
    return graph.add("Add", x, graph.put(cell.perceptron, graph.put(cell.norm2, x)))


def _light_svtr(graph: Graph, cell: necks.LightSVTR, features: str) -> str:
    """Columns (N, T, C), batch first. Nodes are in the order of the cells, by which `onnx_weights` reads a file."""
    skipped = graph.columns(graph.put(cell.skip, features))
    x = graph.put(cell.reduce, features)
    x = graph.add("Add", x, graph.put(cell.local, x))
    mixed = graph.put(cell.norm, graph.put(cell.blocks, graph.columns(x)))
    return graph.add("Add", mixed, skipped)


def _ctc_guide(graph: Graph, cell: necks.CTCGuide, features: str) -> str:
    return graph.put(cell.reduce, graph.columns(graph.put(cell.mix, graph.put(cell.local, features))))


def _svtr_encoder(graph: Graph, cell: necks.SVTREncoder, features: str) -> str:
    x = graph.columns(graph.put(cell.reduce, graph.put(cell.local, features)))
    mixed = graph.add("Transpose", graph.put(cell.norm, graph.put(cell.blocks, x)), perm=[0, 2, 1])
    back = graph.put(cell.expand, graph.add("Unsqueeze", mixed, graph.indices(2)))
    joined = graph.put(cell.join, graph.add("Concat", features, back, axis=1))
    return graph.columns(graph.put(cell.last, joined))


def _ctc_head(graph: Graph, cell: CTCHead, x: str) -> str:
    order = np.array(graph.order)
    weight, bias = cell.dense1.weight.asnumpy()[order], cell.dense1.bias.asnumpy()[order]
    weight[order < 0], bias[order < 0] = 0, NEVER
    return graph.add("Softmax", product(graph, weight, bias, x), axis=-1)


def _backbone_v4(graph: Graph, cell: lcnet_v4.PageBackbone, x: str) -> list[str]:
    x = graph.put(cell.stem, x)
    maps = []
    for stage in cell.stages:
        x = graph.put(stage, x)
        maps.append(x)
    return maps


def _backbone_v3(graph: Graph, cell: lcnet_v3.PageBackbone, x: str) -> list[str]:
    """The maps are reduced after all stages: the order of the cells, by which `adapt.onnx_weights` reads a file."""
    first, *others = cell.stages  # a slice would rename their parameters
    x = graph.put(first, graph.put(cell.stem, x))
    maps = []
    for stage in others:
        x = graph.put(stage, x)
        maps.append(x)
    return [graph.put(reduce, x) for reduce, x in zip(cell.reduce, maps, strict=True)]


def _excited(graph: Graph, cell: pyramid.Excited, x: str) -> str:
    x = graph.put(cell.conv, x)
    return graph.add("Add", x, graph.put(cell.squeeze, x))


def _cross(graph: Graph, cell: pyramid.Cross, x: str) -> str:
    first = graph.add("Add", graph.put(cell.square, x), graph.put(cell.upright, x))
    return graph.add("Add", first, graph.put(cell.flat, x))


def _intra_cl(graph: Graph, cell: pyramid.IntraCL, x: str) -> str:
    related = graph.put(cell.expand, graph.put(cell.crosses, graph.put(cell.reduce, x)))
    return graph.add("Add", x, graph.add("Relu", related))


def _level_by_level(graph: Graph, cell: pyramid.SmoothPyramid, features: Sequence[str]) -> str:
    sums = _sums(graph, cell, features)
    return _joined(graph, [graph.put(smooth, x) for smooth, x in zip(cell.smooth, sums, strict=True)])


def _down_and_up(graph: Graph, cell: pyramid.RepLKPAN, features: Sequence[str]) -> str:
    projected = [graph.put(project, x) for project, x in zip(cell.project, _sums(graph, cell, features), strict=True)]
    up = [projected.pop()]
    for halve in cell.halve:
        up.append(graph.add("Add", projected.pop(), graph.put(halve, up[-1])))
    lateral = [graph.put(sideways, x) for sideways, x in zip(cell.lateral, up, strict=True)]
    return _joined(graph, [graph.put(relate, x) for relate, x in zip(cell.relate, reversed(lateral), strict=True)])


def _sums(graph: Graph, cell: pyramid.Pyramid, features: Sequence[str]) -> list[str]:
    """From coarse to fine, each map with all coarser ones added."""
    sums: list[str] = []
    for unify, feature in zip(cell.unify, reversed(features), strict=True):
        x = graph.put(unify, feature)
        sums.append(graph.add("Add", x, _enlarged(graph, sums[-1], 2)) if sums else x)
    return sums


def _joined(graph: Graph, maps: Sequence[str]) -> str:
    """Maps from coarse to fine in the size of the finest, as one."""
    last = len(maps) - 1
    same = [x if level == last else _enlarged(graph, x, 1 << (last - level)) for level, x in enumerate(maps)]
    return graph.add("Concat", *same, axis=1)


def _enlarged(graph: Graph, x: str, factor: int) -> str:
    scales = graph.constant([1, 1, factor, factor])
    how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return graph.add("Resize", x, "", scales, **how)


PARTS: Mapping[type, Part] = {
    **onnx_graph.PARTS,
    lcnet_v3.Affine: _affine,
    lcnet_v3.Activated: _activated,
    lcnet_v3.Separable: chain("depthwise", "squeeze", "pointwise"),
    lcnet_v3.PageBackbone: _backbone_v3,
    lcnet_v3.LineBackbone: _line_backbone,
    lcnet_v4.Stem: _stem,
    lcnet_v4.PlainStem: onnx_graph.PARTS[nn.SequentialCell],
    lcnet_v4.SqueezeExcite: _squeeze,
    lcnet_v4.Block: _block,
    lcnet_v4.LineBackbone: _line_backbone,
    lcnet_v4.PageBackbone: _backbone_v4,
    necks.Normalised: _normalised,
    necks.Attention: _attention,
    necks.Perceptron: _perceptron,
    necks.Block: _svtr_block,
    necks.LightSVTR: _light_svtr,
    necks.CTCGuide: _ctc_guide,
    necks.SVTREncoder: _svtr_encoder,
    pyramid.Excited: _excited,
    pyramid.Smooth: chain("depthwise", "reduce"),
    pyramid.RepLKFPN: _level_by_level,
    pyramid.RSEFPN: _level_by_level,
    pyramid.Wide: chain("depthwise", "pointwise"),
    pyramid.Cross: _cross,
    pyramid.IntraCL: _intra_cl,
    pyramid.RepLKPAN: _down_and_up,
    DBHead: chain("segm"),
    AuxDBHead: chain("segm"),
    CTCHead: _ctc_head,
    MultiHead: _ctc_head,
}
"""By the kind of cell, the function that writes it."""
