"""Weights that a network starts from: a checkpoint of MindSpore, such as MindOCR writes, or a safetensors file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mindspore import Tensor, nn
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file

from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import listed
from hccl_kit.ocr.checkpoints import checkpoint

TYPES = frozenset({"F64", "F32", "F16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL"})
"""Types of a safetensors file that numpy has too."""
SHOWN = 5
"""Parameters that a message names; it counts the others."""
BACKBONE, PREFIX = "model.backbone.pretrained", "backbone."


def load(path: Path, network: nn.Cell, *, strict: bool, key: str = "model.pretrained") -> list[str]:
    """Set the parameters of `network` from a file; returns what is to be said of those that were not in both.

    The names are those of the network, statistics of batch normalisation included; what else the file holds, such as
    the state of an optimizer, is left alone. With the key `model.backbone.pretrained` only the backbone is set, and
    names may lack its `backbone.`, as in MindCV's files. KitError where the file is not there or not whole, or where
    nothing fits; with `strict` also where one parameter is missing or has another shape, and then no parameter is set.
    """
    notes: list[str] = []
    rows = _safetensors(path) if path.suffix == ".safetensors" else _checkpoint(path, notes.append)
    parameters = list(network.get_parameters())
    if key == BACKBONE:
        parameters = [p for p in parameters if p.name.startswith(PREFIX)]
        rows = {**{PREFIX + name: value for name, value in rows.items()}, **rows}
    fitting = [p for p in parameters if p.name in rows and rows[p.name].shape == p.shape]
    missing = [p.name for p in parameters if p.name not in rows]
    unlike = [
        f"{p.name} ({_shape(rows[p.name].shape)} in the file, {_shape(p.shape)} here)"
        for p in parameters
        if p.name in rows and rows[p.name].shape != p.shape
    ]
    skipped = [
        f"{len(names)} {what}: {_listed(names)}"
        for names, what in ((missing, "not in the file"), (unlike, "of another shape"))
        if names
    ]
    if skipped and (strict or not fitting):
        raise KitError(
            f"{key}: {path} does not fit this network:\n       " + "\n       ".join(skipped),
            hint="model.pretrained_strict: False takes the parameters that fit" if fitting else None,
        )
    for parameter in fitting:
        parameter.set_data(Tensor(rows[parameter.name], parameter.dtype))
    return [*notes, f"{path}: {len(fitting)} of {len(parameters)} parameters are taken", *skipped]


def _checkpoint(path: Path, say: Callable[[str], None]) -> Mapping[str, NDArray[Any]]:
    return {name: parameter.asnumpy() for name, parameter in checkpoint.read(path, say=say).items()}


def _safetensors(path: Path) -> Mapping[str, NDArray[Any]]:
    if not path.is_file():  # opening a named pipe waits for somebody to write
        raise KitError(f"there is no file {path}")
    try:
        _assert_known_types(path)
        rows: Mapping[str, NDArray[Any]] = load_file(path)
    except (OSError, SafetensorError, ValueError, MemoryError) as error:  # the last two: shapes that numpy refuses
        raise checkpoint.DamagedError(f"{path} is damaged or not a safetensors file: {error}") from error
    return rows


def _assert_known_types(path: Path) -> None:
    """Numpy has no type of its own for bfloat16 and for numbers of 8 bits."""
    with safe_open(path, framework="np") as file:
        for name in file.keys():  # noqa: SIM118  # it is no mapping
            found = file.get_slice(name).get_dtype()
            if found not in TYPES:
                raise KitError(
                    f"{path}: {name} is of type {found}; accepted: {', '.join(sorted(TYPES))}",
                    hint="convert the weights to float32 (F32) where they come from",
                )


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "one number"


def _listed(names: list[str]) -> str:
    return listed(names, SHOWN)
