"""The weights in an ONNX file, placed into a network by the order in which they are used.

Names in such files have no stable meaning: `conv2d_74.w_0` is a counter. But the nodes are in the order in which they
run, so the n-th convolution, normalisation or dense layer of the file is the n-th of a network whose cells are created
in that order, as those in `hccl_kit.ocr.models.ppocr` are. Kinds and shapes of all must agree; a batch normalisation
that the network lacks is folded into the convolution before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import rapidocr
from hccl_kit.ocr.file_errors import assert_file, cannot_read
from hccl_kit.ocr.models.ppocr import folding, lcnet_v3
from hccl_kit.ocr.models.ppocr.folding import Norm

if TYPE_CHECKING:
    import onnx

Array = NDArray[np.float32]
MAX_BYTES = 1 << 31
"""The limit of the format for a model in a single file."""
CONVOLUTION, TRANSPOSED, DENSE = "convolution", "transposed convolution", "dense layer"
LAYER_NORM, BATCH_NORM, AFFINE = "layer normalisation", "batch normalisation", "scale and offset"


class Layer(NamedTuple):
    """A layer with weights; `arrays` by the parameter names of the MindSpore cell."""

    kind: str
    arrays: Mapping[str, Array]

    def __str__(self) -> str:
        first = next(iter(self.arrays.values()))
        return f"{self.kind} {'x'.join(map(str, first.shape))}{_with_bias(self.arrays)}"


class OnnxWeights(NamedTuple):
    """The layers of a file in the order in which they run, and its metadata."""

    layers: tuple[Layer, ...]
    metadata: Mapping[str, str]


def read(path: Path) -> OnnxWeights:
    """Read a file. Raises KitError if it is missing, damaged, not an ONNX file, or keeps weights in other files."""
    model = _model(path)
    try:
        layers = tuple(_layers(model.graph))
    except KitError as error:
        raise KitError(
            "ocr.onnx-weights.reason", "{path}: {reason}", hint=error.hint, path=path, reason=error.message
        ) from error
    except (ValueError, TypeError, LookupError, MemoryError, RecursionError) as error:  # types and sizes that disagree
        raise KitError("ocr.onnx-weights.damaged", "{path} is damaged: {reason}", path=path, reason=error) from error
    return OnnxWeights(layers, {row.key: row.value for row in model.metadata_props})


def place(layers: tuple[Layer, ...], network: nn.Cell) -> dict[str, Array]:
    """The arrays by the names of the parameters of `network`.

    The network may have further layers after those of the file, which only training needs. A dense layer that ends the
    file may have another number of classes. Raises KitError if the kinds or shapes of the layers differ.
    """
    cells = [(name, cell) for name, cell in network.cells_and_names() if type(cell) in _KINDS]
    given = len(layers)
    layers = _folded(layers, [_KINDS[type(cell)] for _, cell in cells])
    if not layers or len(layers) > len(cells):
        raise KitError(
            "ocr.onnx-weights.layers-weights-network",
            "it has {given} layers with weights, this network has {count}",
            given=given,
            count=len(cells),
        )
    placed: dict[str, Array] = {}
    for number, (layer, (name, cell)) in enumerate(zip(layers, cells, strict=False), 1):
        parameters = {key.rpartition(".")[2]: p for key, p in cell.parameters_dict(recurse=False).items()}
        shapes = {key: tuple(parameter.shape) for key, parameter in parameters.items()}
        classes = number == len(layers) and layer.kind == DENSE  # their number is that of the dictionary
        if (_KINDS[type(cell)], shapes.keys()) != (layer.kind, layer.arrays.keys()) or any(
            (array.shape[1:] if classes else array.shape) != (shape[1:] if classes else shape)
            for key, shape in shapes.items()
            for array in (layer.arrays[key],)
        ):
            first = next(iter(shapes.values()))
            raise KitError(
                "ocr.onnx-weights.layer-file-network",
                "layer {number} of the file is a {layer}, that of this network, {name}, a {kinds} {value}{with_bias}",
                number=number,
                layer=layer,
                name=name,
                kinds=_KINDS[type(cell)],
                value="x".join(map(str, first)),
                with_bias=_with_bias(shapes),
            )
        placed |= {parameters[key].name: layer.arrays[key] for key in shapes}
    return placed


def _folded(layers: tuple[Layer, ...], kinds: Sequence[str]) -> tuple[Layer, ...]:
    """Fold each normalisation that `kinds`, the layers of the network, lack into the convolution before it."""
    folded: list[Layer] = []
    for layer in layers:
        has_none = len(folded) >= len(kinds) or kinds[len(folded)] != BATCH_NORM
        if folded and layer.kind == BATCH_NORM and folded[-1].kind in (CONVOLUTION, TRANSPOSED) and has_none:
            before, norm = folded[-1], Norm(*layer.arrays.values())
            outputs = before.arrays["weight"].shape[1 if before.kind == TRANSPOSED else 0]
            if all(array.shape == (outputs,) for array in norm):
                weight, bias = before.arrays["weight"], before.arrays.get("bias")
                joined = folding.normalised(weight, norm, bias=bias, transposed=before.kind == TRANSPOSED)
                folded[-1] = Layer(before.kind, joined._asdict())
                continue
        folded.append(layer)
    return tuple(folded)


def blank_last(layer: Layer) -> Layer:
    """Move the CTC blank of a PaddleOCR classifier from the first class to the last."""
    return Layer(layer.kind, {name: np.roll(array, -1, axis=0) for name, array in layer.arrays.items()})


def _with_bias(names: Mapping[str, object]) -> str:
    return " with bias" if "bias" in names else ""


_KINDS: Mapping[type, str] = {
    nn.Conv2d: CONVOLUTION,
    nn.Conv2dTranspose: TRANSPOSED,
    nn.Dense: DENSE,
    nn.LayerNorm: LAYER_NORM,
    nn.BatchNorm2d: BATCH_NORM,
    lcnet_v3.Affine: AFFINE,
}


def _model(path: Path) -> onnx.ModelProto:
    onnx = rapidocr.imported_onnx(path)
    from google.protobuf.message import DecodeError  # noqa: PLC0415  # a part of it

    assert_file(path)
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise KitError(
            "ocr.onnx-weights.bytes",
            "{path} has {size} bytes; accepted: at most {max_bytes}",
            path=path,
            size=size,
            max_bytes=MAX_BYTES,
        )
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise cannot_read(path, error) from error
    except (DecodeError, ValueError) as error:
        raise KitError(
            "ocr.onnx-weights.damaged-not-onnx-file", "{path} is damaged or not an ONNX file", path=path
        ) from error
    if not model.graph.node:
        raise KitError(
            "ocr.onnx-weights.damaged-not-onnx", "{path} is damaged or not an ONNX file: it has no graph", path=path
        )
    return model


class _Graph:
    """The weights of a graph by name, also constants and reshaped weights, and the nodes that use each value."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.rows = {row.name: row for row in graph.initializer}
        self.users: dict[str, list[onnx.NodeProto]] = {}
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
                self.rows[node.output[0]] = node.attribute[0].t
            elif node.op_type in ("Identity", "Reshape") and node.input[0] in self.rows:
                self.rows[node.output[0]] = self.rows[node.input[0]]
            for name in node.input:
                self.users.setdefault(name, []).append(node)

    def affine(self, node: onnx.NodeProto) -> Mapping[str, Array] | None:
        """Scale and offset (1,) if the node multiplies by one number and the next node adds another; else None."""
        scales = [name for name in node.input if name in self.rows and list(self.rows[name].dims) == [1]]
        offset = self.added(node, 1) if node.op_type == "Mul" and len(scales) == 1 else None
        return None if offset is None else {"scale": self._array(scales[0]), "bias": offset}

    def arrays(self, node: onnx.NodeProto) -> list[Array]:
        """The weights among the inputs of a node; empty if the only one is a single number, which is not a layer."""
        arrays = [self._array(name) for name in node.input if name in self.rows]
        return arrays if len(arrays) > 1 or any(array.size > 1 for array in arrays) else []

    def added(self, node: onnx.NodeProto, size: int) -> Array | None:
        """The vector (`size`,) that is added to the output of the node; None if another node uses that output too."""
        users = self.users.get(node.output[0], [])
        if len(users) == 1 and users[0].op_type == "Identity":
            return self.added(users[0], size)
        if len(users) != 1 or users[0].op_type != "Add":
            return None
        arrays = [array for name in users[0].input if name in self.rows for array in (self._array(name),)]
        return (
            arrays[0].reshape(-1)
            if len(arrays) == 1 and arrays[0].size == max(arrays[0].shape, default=0) == size
            else None
        )

    def _array(self, name: str) -> Array:
        from onnx import numpy_helper  # noqa: PLC0415  # an extra

        row = self.rows[name]
        if row.data_location == row.EXTERNAL:
            raise KitError(
                "ocr.onnx-weights.stores-another-file",
                "it stores {name!r:.80} in another file",
                fix="save it as one file",
                name=name,
            )
        if any(side < 1 for side in row.dims):
            raise ValueError(f"{name!r:.80} has the dimensions {list(row.dims)[:8]}")
        array = np.asarray(numpy_helper.to_array(row), np.float32)
        if not np.isfinite(array).all():
            raise ValueError(f"{name!r:.80} holds numbers that are not finite")
        return array


def _layers(graph: onnx.GraphProto) -> Iterator[Layer]:
    known = _Graph(graph)
    for node in graph.node:
        kind = _OPERATORS.get(node.op_type)
        affine = known.affine(node)
        if affine is not None:
            yield Layer(AFFINE, affine)
        arrays = known.arrays(node) if kind else []
        if kind is None or not arrays:
            continue
        if kind == BATCH_NORM:
            names = ("gamma", "beta", "moving_mean", "moving_variance")
            yield Layer(kind, dict(zip(names, arrays, strict=True)))
        elif kind == LAYER_NORM:
            beta = known.added(node, arrays[0].size) if len(arrays) == 1 else arrays[1]
            if beta is not None and arrays[0].ndim == 1:
                yield Layer(kind, {"gamma": arrays[0], "beta": beta})
        else:
            options = {option.name: option for option in node.attribute}
            if any(options[name].f != 1 for name in ("alpha", "beta") if name in options):
                raise ValueError(f"{node.name!r:.80} multiplies its weights by a factor")
            is_turned = node.op_type == "MatMul" or (
                node.op_type == "Gemm" and not ("transB" in options and options["transB"].i)
            )
            weight = arrays[0].T if is_turned else arrays[0]
            outputs = weight.shape[1 if kind == TRANSPOSED else 0]
            bias = arrays[1] if len(arrays) > 1 else known.added(node, outputs)
            yield Layer(kind, {"weight": weight} if bias is None else {"weight": weight, "bias": bias})


_OPERATORS: Mapping[str, str] = {
    "Conv": CONVOLUTION,
    "ConvTranspose": TRANSPOSED,
    "MatMul": DENSE,
    "Gemm": DENSE,
    "BatchNormalization": BATCH_NORM,
    "LayerNormalization": LAYER_NORM,
    "Mul": LAYER_NORM,
}
"""A layer normalisation may be decomposed: its last two operators multiply by one vector and add another."""
