"""Export of trained networks: MINDIR for MindSpore, ONNX for other programs.

A file is moved to its final name only after it was loaded again and has reproduced the outputs of the network. All
shapes are fixed, but those of the ONNX files of PP-OCR's networks, see `ppocr_graph`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from numpy.typing import NDArray

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import EXIT_FINDINGS, KitError
from hccl_kit.ocr import interrupt

if TYPE_CHECKING:
    import onnx

TOLERANCE = 1e-3
"""Largest difference between the outputs of file and network, relative to the largest output of the network.

Operators in another order round differently: up to 2.3e-5 for the networks of configs/ before training; after it 1.1e-4
for the recogniser v6_small_receipts, on an image of 896 columns, and 4.4e-4 for the detector of that name (measured). A
wrong operator differs by more.
"""
FLAT = 0.01
"""Lower bound of the denominator: a trained detector gives values close to 0 on an image without text."""
STEEP = 10
"""The difference may be this many times the change of the network's own outputs when its input is rounded.

Untrained networks may be that steep (4 times was measured).
"""
INPUT, OUTPUT = "images", "probabilities"
"""Names of input and output in an ONNX file."""
OPERATOR = re.compile(r"(?:Exporting|the) (\w+) operator")
"""In MindSpore's messages about operators that it cannot export to ONNX."""
ERRORS = (RuntimeError, ValueError, TypeError)
"""Raised by MindSpore for networks that it cannot compile or export."""
OTHER_FORMAT = "--format mindir needs no ONNX"
Array = NDArray[np.float32]


class DifferenceError(KitError):
    """The exported file has other outputs than the network."""

    exit_code = EXIT_FINDINGS


@dataclass(frozen=True, slots=True)
class Exported:
    """A file that was written; `difference` is defined by TOLERANCE."""

    path: Path
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    difference: float

    def __str__(self) -> str:
        inputs, outputs = ("x".join(map(str, shape)) for shape in (self.inputs, self.outputs))
        return f"{self.path}: {inputs} -> {outputs}, largest relative difference {self.difference:.1e}"


def export(
    network: nn.Cell,
    shape: Sequence[int],
    path: Path,
    facts: Mapping[str, str],
    order: Sequence[int] = (),
    *,
    same: nn.Cell | None = None,
) -> Exported:
    """Export a network for images of `shape` (N, 3, H, W) to `path`, which ends in .mindir or .onnx.

    The outputs of the file are compared with those of `same`, a faster form of the network, or of the network itself.
    `facts` become the metadata of an ONNX file; MINDIR has none. `order` has, for each class of the ONNX file of a
    recogniser of PP-OCR, its number in the network, see `export_metadata.order`. Raises KitError if the network does
    not accept such images, MindSpore cannot export it or the file cannot be written, and DifferenceError if the outputs
    differ. `path` is unchanged in these cases.
    """
    images = np.random.default_rng(0).standard_normal(tuple(shape)).astype(np.float32)
    network.set_train(False)
    same = same or network
    same.set_train(False)
    try:
        expected = same(Tensor(images)).asnumpy()
    except ERRORS as error:
        raise KitError(
            "ocr.export.network-not-accept",
            "the network does not accept images of {tuple}: {first_line}",
            tuple=tuple(shape),
            first_line=_first_line(error),
        ) from error
    if not np.isfinite(expected).all():
        raise KitError(
            "ocr.export.outputs-network-not",
            "the outputs of the network are not finite",
            fix="check the weights: eval.ckpt_load_path",
        )
    with interrupt.scratch() as folder:
        # MindSpore chooses the names of files, and its ONNX writer rejects names with a space.
        temporary = folder / f"network{path.suffix}"
        outputs = WRITERS[path.suffix](network, images, temporary, facts, order)
        difference = _difference(outputs, expected)
        accepted = max(TOLERANCE, STEEP * _difference(same(Tensor(_rounded(images))).asnumpy(), expected))
        if not difference <= accepted:
            raise DifferenceError(
                f"{path} is not written: its outputs differ from the network's by {difference:.1e} of the largest "
                f"value; accepted: {accepted:.1e}",
                hint="try another --format, and report the configuration",
            )
        write_atomically(path, temporary.read_bytes())
    return Exported(path, images.shape, expected.shape, difference)


def _mindir(network: nn.Cell, images: Array, path: Path, facts: Mapping[str, str], order: Sequence[int]) -> Array:
    """Write the file; returns its outputs after loading it again."""
    del facts, order
    try:
        ms.export(network, Tensor(images), file_name=str(path), file_format="MINDIR")
        output: Array = nn.GraphCell(ms.load(str(path)))(Tensor(images)).asnumpy()
    except ERRORS as error:
        raise KitError(
            "ocr.export.network-cannot-exported",
            "the network cannot be exported as MINDIR: {first_line}",
            first_line=_first_line(error),
        ) from error
    return output


def _onnx(network: nn.Cell, images: Array, path: Path, facts: Mapping[str, str], order: Sequence[int]) -> Array:
    """Write the file; returns its outputs in onnxruntime, with the classes in the order of the network."""
    import onnx  # noqa: PLC0415  # of the extra `export`; MINDIR does not need it
    import onnxruntime  # noqa: PLC0415  # the same

    from hccl_kit.ocr.serve import ppocr_graph  # noqa: PLC0415  # the same

    of_ppocr = ppocr_graph.is_known(network)
    model = ppocr_graph.model(network, order) if of_ppocr else _exported(network, images, path)
    onnx.helper.set_model_props(model, dict(facts))
    onnx.save(model, path)
    try:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        output: Array = session.run(None, {session.get_inputs()[0].name: images})[0]
    except Exception as error:  # its exceptions have no other base class
        raise KitError(
            "ocr.export.onnxruntime-cannot-run",
            "onnxruntime cannot run the file: {first_line}",
            hint=OTHER_FORMAT,
            first_line=_first_line(error),
        ) from error
    if not order:
        return output
    places = {number: place for place, number in enumerate(order)}
    return output[..., [places[number] for number in range(max(order) + 1)]]


def _exported(network: nn.Cell, images: Array, path: Path) -> onnx.ModelProto:
    """MindSpore's graph of a network; `path` is its scratch file."""
    import onnx  # noqa: PLC0415  # of the extra `export`

    try:
        ms.onnx.export(network, Tensor(images), file_name=str(path), input_names=[INPUT], output_names=[OUTPUT])
    except ERRORS as error:
        raise KitError(_why_not(error), hint=OTHER_FORMAT) from error
    model = onnx.load(path)
    for node in model.graph.node:
        if node.op_type == "ConvTranspose":
            # It follows from pads and strides; MindSpore writes four numbers, ONNX accepts two.
            kept = [attribute for attribute in node.attribute if attribute.name != "output_shape"]
            del node.attribute[:]
            node.attribute.extend(kept)
    return model


Write = Callable[[nn.Cell, Array, Path, Mapping[str, str], Sequence[int]], Array]
WRITERS: Mapping[str, Write] = {".mindir": _mindir, ".onnx": _onnx}


def _why_not(error: Exception) -> str:
    """The reason why MindSpore cannot export a network: the unsupported operator, if it names one."""
    named = OPERATOR.search(str(error))
    reason = f"MindSpore cannot export its operator {named[1]}" if named else _first_line(error)
    return f"the network cannot be exported as ONNX: {reason}"


def _difference(outputs: Array, expected: Array) -> float:
    """The relative difference, see TOLERANCE; infinite if shapes differ."""
    if outputs.shape != expected.shape:
        return np.inf
    return float(np.abs(outputs - expected).max() / max(float(np.abs(expected).max()), FLAT))


def _rounded(images: Array) -> Array:
    """The images with every value rounded up to the next float32."""
    return np.nextafter(images, np.float32(np.inf))


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
