"""Trained networks as files that other programs run: MINDIR for MindSpore, ONNX for the others.

A file gets its name only after it was loaded again and gave what the network gives. All of its shapes are fixed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from numpy.typing import NDArray

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import EXIT_FINDINGS, KitError
from hccl_kit.ocr import interrupt

TOLERANCE = 1e-4
"""Greatest difference between file and network, as a part of the greatest value of the network.

The same operators in another order round differently: up to 2.3e-5 for the networks of configs/ (measured). A wrong
one is off by more.
"""
STEEP = 10
"""Where rounding of the images moves the network itself by more than a tenth of that, the file may be off by so many
times as much: some that have learnt nothing yet are as steep (4 times was measured).
"""
INPUT, OUTPUT = "images", "probabilities"
"""What an ONNX file calls them."""
OPERATOR = re.compile(r"(?:Exporting|the) (\w+) operator")
"""In the messages of MindSpore about operators that it does not write into ONNX files."""
FAULTS = (RuntimeError, ValueError, TypeError)
"""What MindSpore raises for networks that it cannot compile or write."""
OTHER_FORMAT = "--format mindir needs no ONNX"
Array = NDArray[np.float32]


class DifferenceError(KitError):
    """A file that does not give what the network gives."""

    exit_code = EXIT_FINDINGS


@dataclass(frozen=True, slots=True)
class Exported:
    """A file that was written; `difference` is as TOLERANCE tells."""

    path: Path
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    difference: float

    def __str__(self) -> str:
        inputs, outputs = ("x".join(map(str, shape)) for shape in (self.inputs, self.outputs))
        return f"{self.path}: {inputs} -> {outputs}, greatest relative difference {self.difference:.1e}"


def export(network: nn.Cell, shape: Sequence[int], path: Path, facts: Mapping[str, str]) -> Exported:
    """Write a network that takes images of `shape` (N, 3, H, W) to `path`, which ends in .mindir or .onnx.

    `facts` become the metadata of an ONNX file; MINDIR has no place for them. KitError where the network does not take
    such images, MindSpore cannot write it or the folder takes no file; DifferenceError where the file gives something
    else. `path` is as it was then.
    """
    images = np.random.default_rng(0).standard_normal(tuple(shape)).astype(np.float32)
    network.set_train(False)
    try:
        expected = network(Tensor(images)).asnumpy()
    except FAULTS as error:
        raise KitError(f"the network does not take images of {tuple(shape)}: {_first_line(error)}") from error
    if not np.isfinite(expected).all():
        raise KitError("what the network gives is not finite", hint="see eval.ckpt_load_path: are these good weights?")
    with interrupt.scratch() as folder:
        # MindSpore names the files itself, and its ONNX writer refuses names with a space.
        temporary = folder / f"network{path.suffix}"
        found = WAYS[path.suffix](network, images, temporary, facts)
        difference = _difference(found, expected)
        accepted = max(TOLERANCE, STEEP * _difference(network(Tensor(_rounded(images))).asnumpy(), expected))
        if not difference <= accepted:
            raise DifferenceError(
                f"{path} is not written: what it gives differs from the network by {difference:.1e} of its greatest "
                f"value; accepted: {accepted:.1e}",
                hint="try another --format, and report the configuration",
            )
        write_atomically(path, temporary.read_bytes())
    return Exported(path, images.shape, expected.shape, difference)


def _mindir(network: nn.Cell, images: Array, path: Path, facts: Mapping[str, str]) -> Array:
    """Writes the file; what it gives, loaded again."""
    del facts
    try:
        ms.export(network, Tensor(images), file_name=str(path), file_format="MINDIR")
        output: Array = nn.GraphCell(ms.load(str(path)))(Tensor(images)).asnumpy()
    except FAULTS as error:
        raise KitError(f"the network cannot be written as MINDIR: {_first_line(error)}") from error
    return output


def _onnx(network: nn.Cell, images: Array, path: Path, facts: Mapping[str, str]) -> Array:
    """Writes the file; what onnxruntime makes of it."""
    import onnx  # noqa: PLC0415  # of the extra `export`; MINDIR goes without
    import onnxruntime  # noqa: PLC0415  # the same

    try:
        ms.onnx.export(network, Tensor(images), file_name=str(path), input_names=[INPUT], output_names=[OUTPUT])
    except FAULTS as error:
        raise KitError(_why_not(error), hint=OTHER_FORMAT) from error
    model = onnx.load(path)
    for node in model.graph.node:
        if node.op_type == "ConvTranspose":
            # The shape is that of the pads and strides; MindSpore writes it with four numbers, ONNX takes two.
            kept = [attribute for attribute in node.attribute if attribute.name != "output_shape"]
            del node.attribute[:]
            node.attribute.extend(kept)
    onnx.helper.set_model_props(model, dict(facts))
    onnx.save(model, path)
    try:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        output: Array = session.run([OUTPUT], {INPUT: images})[0]
    except Exception as error:  # onnxruntime's own have no other base
        raise KitError(f"onnxruntime does not run the file: {_first_line(error)}", hint=OTHER_FORMAT) from error
    return output


WAYS: Mapping[str, Callable[[nn.Cell, Array, Path, Mapping[str, str]], Array]] = {".mindir": _mindir, ".onnx": _onnx}


def _why_not(error: Exception) -> str:
    """The operator that MindSpore does not write, where it names one."""
    named = OPERATOR.search(str(error))
    reason = f"MindSpore does not write its operator {named[1]}" if named else _first_line(error)
    return f"the network cannot be written as ONNX: {reason}"


def _difference(found: Array, expected: Array) -> float:
    """See TOLERANCE; infinite for other shapes."""
    if found.shape != expected.shape:
        return np.inf
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def _rounded(images: Array) -> Array:
    """The next float32 above every value."""
    return np.nextafter(images, np.float32(np.inf))


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
