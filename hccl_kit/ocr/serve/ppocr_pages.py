"""The parts of the detectors of PP-OCR as nodes of ONNX; the other kinds of cells are in `ppocr_graph`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hccl_kit.ocr.models.db import DBHead
from hccl_kit.ocr.models.ppocr import aux_head, lcnet_v3, lcnet_v4, pyramid
from hccl_kit.ocr.serve.onnx_graph import Graph, Part


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


def _smooth(graph: Graph, cell: pyramid.Smooth, x: str) -> str:
    return str(graph.put(cell.reduce, graph.put(cell.depthwise, x)))


def _wide(graph: Graph, cell: pyramid.Wide, x: str) -> str:
    return str(graph.put(cell.pointwise, graph.put(cell.depthwise, x)))


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


def _db_head(graph: Graph, cell: DBHead, x: str) -> str:
    return str(graph.put(cell.segm, x))


PARTS: Mapping[type, Part] = {
    lcnet_v3.PageBackbone: _backbone_v3,
    lcnet_v4.PageBackbone: _backbone_v4,
    pyramid.Excited: _excited,
    pyramid.Smooth: _smooth,
    pyramid.RepLKFPN: _level_by_level,
    pyramid.RSEFPN: _level_by_level,
    pyramid.Wide: _wide,
    pyramid.Cross: _cross,
    pyramid.IntraCL: _intra_cl,
    pyramid.RepLKPAN: _down_and_up,
    DBHead: _db_head,
    aux_head.AuxDBHead: _db_head,
}
"""By the kind of cell, the function that writes it."""
