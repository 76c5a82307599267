"""Initial weights of a network: a MindSpore checkpoint, such as MindOCR's, a safetensors or an ONNX file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mindspore import Tensor, nn
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import listed
from hccl_kit.ocr import rapidocr
from hccl_kit.ocr.adapt import classifier, onnx_weights
from hccl_kit.ocr.checkpoints import checkpoint, dictionary_mark
from hccl_kit.ocr.checkpoints.checkpoint import DamagedError
from hccl_kit.ocr.file_errors import assert_file
from hccl_kit.ocr.models.ppocr import forms, names

TYPES = frozenset({"F64", "F32", "F16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL"})
"""Types of safetensors that numpy supports."""
FOREIGN = (".onnx", ".safetensors")
"""Files of other programs; all others are checkpoints of MindSpore."""
SHOWN = 5
"""Parameters that a message names; the others are counted."""
BACKBONE, PREFIX = "model.backbone.pretrained", "backbone."
MEAN = ".running_mean"
NORM_NAMES = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance"}
IN_USE = "eval.ckpt_load_path"
"""The key of trained weights, which are of use only if all of them fit."""


def load(
    path: Path,
    network: nn.Cell,
    *,
    strict: bool,
    key: str = "model.pretrained",
    classes: Sequence[str | None] = (),
    characters: str = "",
) -> list[str]:
    """Set the parameters of `network` from a file; returns notes, also on parameters that are missing or do not fit.

    Parameters match by name, statistics of batch normalisation included; other values in the file, such as the state
    of an optimizer, are ignored. Names of PP-OCR's networks in `transformers` are translated, those of batch
    normalisations in `mindspore.mint` too, and weights of a network with branches are folded for one without, and back.
    With the key `model.backbone.pretrained` only the backbone is set, names may lack the prefix `backbone.`, as in
    MindCV's files, and a note says what is not used.

    The layers of an ONNX file match by order, see `onnx_weights`. Its classifier is converted to `classes`, the class
    tokens of the network; if the file names no characters, its classes are taken to be in that order. The classifier of
    a checkpoint of this package is converted to `characters`, the dictionary of the network.

    Raises KitError if the file is missing or damaged or nothing fits; with `strict` also if one parameter is missing or
    has another shape. No parameter is set in these cases.
    """
    notes: list[str] = []
    if path.suffix == ".onnx":
        rows = _onnx(path, network, key, classes, notes.append)
    elif path.suffix == ".safetensors":
        rows = _safetensors(path)
        if names.of_transformers(rows):
            rows = names.translated(rows)
            notes.append(f"{path}: it has the names of transformers; its classes are taken in the dictionary's order")
    else:
        rows = _checkpoint(path, characters, notes.append, strict=strict)
    rows = _with_norms_of_nn(rows)
    parameters = list(network.get_parameters())
    if key == BACKBONE:
        parameters = [p for p in parameters if p.name.startswith(PREFIX)]
        unused = rows.keys() - {name for p in parameters for name in (p.name, p.name.removeprefix(PREFIX))}
        if unused:
            notes.append(f"{path}: {len(unused)} are not of this backbone: {listed(sorted(unused), SHOWN)}")
        rows = {**{PREFIX + name: value for name, value in rows.items()}, **rows}
    rows = forms.matching(rows, (p.name for p in parameters))
    fitting = [p for p in parameters if p.name in rows and rows[p.name].shape == p.shape]
    missing = [p.name for p in parameters if p.name not in rows]
    mismatched = [
        f"{p.name} ({_shape(rows[p.name].shape)} in the file, {_shape(p.shape)} here)"
        for p in parameters
        if p.name in rows and rows[p.name].shape != p.shape
    ]
    skipped = [
        f"{len(names)} {what}: {listed(names, SHOWN)}"
        for names, what in ((missing, "not in the file"), (mismatched, "of another shape"))
        if names
    ]
    if skipped and (strict or not fitting):
        raise KitError(
            "ocr.pretrained.not-fit-network",
            "{key}: {path} does not fit this network:\n       {skipped}",
            hint=Message(
                "ocr.pretrained.not-fit-network.fix", "model.pretrained_strict: False takes the parameters that fit"
            )
            if fitting and key != IN_USE
            else None,
            key=key,
            path=path,
            skipped="\n       ".join(skipped),
        )
    for parameter in fitting:
        parameter.set_data(Tensor(rows[parameter.name], parameter.dtype))
    return [*notes, f"{path}: {len(fitting)} of {len(parameters)} parameters are taken", *skipped]


def _onnx(
    path: Path, network: nn.Cell, key: str, classes: Sequence[str | None], say: Callable[[str], None]
) -> Mapping[str, NDArray[Any]]:
    weights = onnx_weights.read(path)
    characters = rapidocr.listed_characters(weights.metadata)
    layers = weights.layers
    if classes and characters is not None and layers:
        last, note = classifier.converted(layers[-1], (None, *characters, " "), classes)
        layers = (*layers[:-1], last)
        if note:
            say(f"{path}: {note}")
    elif classes and classes[-1] is None and layers and layers[-1].kind == onnx_weights.DENSE:
        layers = (*layers[:-1], onnx_weights.blank_last(layers[-1]))
        say(f"{path}: it names no characters; its classes are taken in the dictionary's order")
    try:
        return onnx_weights.place(layers, network)
    except KitError as error:
        branched = any(parameter.name.endswith(".bn.gamma") for parameter in network.get_parameters())
        raise KitError(
            "ocr.pretrained.weights-another-network",
            "{key}: {path} has the weights of another network: {reason}",
            hint=Message(
                "ocr.pretrained.weights-another-network.fix",
                "ONNX files of PP-OCR hold folded convolutions: set model.backbone.branches: False",
            )
            if branched
            else None,
            key=key,
            path=path,
            reason=error.message,
        ) from error


def _checkpoint(path: Path, characters: str, say: Callable[[str], None], *, strict: bool) -> Mapping[str, NDArray[Any]]:
    saved = checkpoint.read(path, say=say)
    rows = {name: parameter.asnumpy() for name, parameter in saved.items()}
    if not characters or not dictionary_mark.differs(saved, hashlib.sha256(characters.encode()).hexdigest()):
        return rows
    try:
        given = dictionary_mark.characters(path, saved)
        if given is None:
            raise dictionary_mark.other(path)
        rows, note = classifier.by_character(rows, given, characters)
    except DamagedError:
        raise
    except KitError as error:
        if strict:
            raise KitError(
                "ocr.pretrained.reason", "{path}: {reason}", hint=error.hint, path=path, reason=error.message
            ) from error
        note = "the classifier is left out"
        rows = {name: value for name, value in rows.items() if name not in classifier.PLACES}
    say(f"{path} was trained with another dictionary: {note}")
    return rows


def _safetensors(path: Path) -> Mapping[str, NDArray[Any]]:
    assert_file(path)
    try:
        _assert_known_types(path)
        rows: Mapping[str, NDArray[Any]] = load_file(path)
    except (OSError, SafetensorError, ValueError, MemoryError) as error:  # the last two: shapes that numpy refuses
        raise checkpoint.DamagedError(f"{path} is damaged or not a safetensors file: {error}") from error
    checkpoint.assert_finite(path, rows)
    return rows


def _assert_known_types(path: Path) -> None:
    """Raises KitError for a type that numpy lacks, such as bfloat16 or 8-bit floats."""
    with safe_open(path, framework="np") as file:
        for name in file.keys():  # noqa: SIM118  # not a mapping
            type_of_file = file.get_slice(name).get_dtype()
            if type_of_file not in TYPES:
                raise KitError(
                    "ocr.pretrained.type",
                    "{path}: {name} is of type {value}; accepted: {types}",
                    fix="convert the weights to float32 (F32) where they come from",
                    path=path,
                    name=name,
                    value=type_of_file,
                    types=", ".join(sorted(TYPES)),
                )


def _with_norms_of_nn(rows: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """The values with the names of `mindspore.nn` for batch normalisations of `mindspore.mint` and PyTorch.

    MindCV's networks use `mindspore.mint` since 0.5, and before `mindspore.nn`.
    """
    norms = {name.removesuffix(MEAN) for name in rows if name.endswith(MEAN)}
    renamed = {}
    for name, array in rows.items():
        cell, _, key = name.rpartition(".")
        if cell not in norms:
            renamed[name] = array
        elif key in NORM_NAMES:  # drops num_batches_tracked
            renamed[f"{cell}.{NORM_NAMES[key]}"] = array
    return renamed


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "one number"
