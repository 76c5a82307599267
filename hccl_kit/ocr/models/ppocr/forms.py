"""The parameters of PP-OCR's networks by their names: from the form with branches to the folded one, and back.

The cells with branches are those of `hccl_kit.ocr.models.ppocr.convolutions` and `lcnet_v3`; a cell `x` of them becomes
the convolution `x.weight`, `x.bias`. Nothing here needs MindSpore.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.models.ppocr import folding
from hccl_kit.ocr.models.ppocr.folding import Convolution, Norm

Array = NDArray[Any]
Arrays = Mapping[str, Array]
CONV, LARGE, FIRST = ".conv.weight", ".large.conv.weight", ".branches.0.conv.weight"
UP, KERNEL = ".up.weight", ".kernels.0.conv.weight"
NORM = ("gamma", "beta", "moving_mean", "moving_variance")


def matching(values: Arrays, wanted: Iterable[str]) -> Arrays:
    """`values`, and those of `wanted` that are missing but follow from the other form."""
    missing = set(wanted) - values.keys()
    if not missing:
        return values
    derived = {**unfolded(values, missing), **folded(values)}
    return {**{name: array for name, array in derived.items() if name in missing}, **values}


def folded(values: Arrays) -> dict[str, Array]:
    """The folded form: each cell with branches as one convolution, exact up to rounding; all other values unchanged.

    A cell whose shapes do not agree stays as it is.
    """
    cells = _cells(values)
    kept = {name: array for name, array in values.items() if not _is_inside(name, cells)}
    for cell, (weight, bias) in cells.items():
        kept |= {f"{cell}.weight": weight.astype(np.float32), f"{cell}.bias": bias.astype(np.float32)}
    return kept


def unfolded(values: Arrays, wanted: Iterable[str]) -> dict[str, Array]:
    """The parameters `wanted` of cells with branches whose folded convolution is among `values`; not of `Branched`.

    In evaluation the outputs are the same. The statistics of the normalisations are 0 and 1, not those of any images:
    train with them frozen (`model.freeze_batch_norm`). The 1x1 and the dilated branches start at zero.
    """
    parameters = {}
    for name in wanted:
        for part, made in _UNFOLDED.items():
            cell = name.removesuffix(part)
            weight, bias = values.get(f"{cell}.weight"), values.get(f"{cell}.bias")
            if cell != name and weight is not None and bias is not None:
                parameters[name] = made(weight, bias)
    return parameters


def _cells(values: Arrays) -> dict[str, Convolution]:
    """The folded convolution of each cell with branches, by the name of the cell."""
    convolutions: dict[str, Convolution | None] = {}
    for ending, fold in (
        (FIRST, _sum),
        (LARGE, _depthwise),
        (KERNEL, _large_kernel),
        (CONV, _normed),
        (UP, _normed_double),
    ):
        for name in values:
            cell = name.removesuffix(ending)
            if cell != name and not _is_inside(cell, convolutions):
                convolutions[cell] = fold(values, cell)
    return {cell: convolution for cell, convolution in convolutions.items() if convolution is not None}


def _is_inside(name: str, cells: Container[str]) -> bool:
    """Whether a name belongs to one of the cells."""
    end = name.rfind(".")
    while end > 0:
        if name[:end] in cells:
            return True
        end = name.rfind(".", 0, end)
    return False


def _normed(values: Arrays, cell: str) -> Convolution | None:
    weight, bias, norm = values.get(f"{cell}{CONV}"), values.get(f"{cell}.conv.bias"), _norm(values, f"{cell}.bn")
    if weight is None or norm is None or weight.ndim != 4 or len(weight) != len(norm.gamma):
        return None
    return None if bias is not None and bias.shape != norm.gamma.shape else folding.normalised(weight, norm, bias=bias)


def _normed_double(values: Arrays, cell: str) -> Convolution | None:
    weight, bias, norm = values[f"{cell}{UP}"], values.get(f"{cell}.up.bias"), _norm(values, f"{cell}.bn")
    if bias is None or norm is None or weight.ndim != 4 or not norm.gamma.shape == bias.shape == weight.shape[1:2]:
        return None
    return folding.normalised(weight, norm, bias=bias, transposed=True)


def _large_kernel(values: Arrays, cell: str) -> Convolution | None:
    shape = values[f"{cell}{KERNEL}"].shape
    if len(shape) != 4 or shape[1] != 1 or shape[2] != shape[3]:
        return None
    parts = []
    for number, (size, dilation) in enumerate(((shape[2], 1), *folding.DILATED.get(shape[2], ()))):
        weight = values.get(f"{cell}.kernels.{number}{CONV}")
        norm = _norm(values, f"{cell}.kernels.{number}.bn")
        if weight is None or norm is None or weight.shape != (len(norm.gamma), 1, size, size):
            return None
        parts.append((weight, norm, dilation))
    same = len({len(weight) for weight, _, _ in parts}) == 1
    return folding.large_kernel(parts, size=shape[2]) if same else None


def _depthwise(values: Arrays, cell: str) -> Convolution | None:
    large, norm = values[f"{cell}{LARGE}"], _norm(values, f"{cell}.large.bn")
    point, joined = values.get(f"{cell}.point.weight"), _norm(values, f"{cell}.bn")
    if point is None or norm is None or joined is None or not len(norm.gamma) == len(joined.gamma) == len(point):
        return None
    if large.shape != (len(point), 1, 3, 3) or point.shape != (len(point), 1, 1, 1):
        return None
    return folding.depthwise(large, norm, point, joined)


def _sum(values: Arrays, cell: str) -> Convolution | None:
    """The sum of several convolutions of one size, a 1x1 convolution and a normalised map, the last two if present."""
    parts, number = [], 0
    while f"{cell}.branches.{number}{CONV}" in values:
        parts.append(_normed(values, f"{cell}.branches.{number}"))
        number += 1
    shapes = {part.weight.shape if part else None for part in parts}
    shape = next(iter(shapes))
    if len(shapes) > 1 or shape is None or shape[2] != shape[3]:
        return None
    weights, biases = [part.weight for part in parts if part], [part.bias for part in parts if part]
    point, identity = _normed(values, f"{cell}.point"), _norm(values, f"{cell}.identity")
    if point is not None:
        if point.weight.shape != (*shape[:2], 1, 1):
            return None
        weights.append(folding.spread(point.weight, dilation=1, size=shape[2]))
        biases.append(point.bias)
    if identity is not None:
        if len(identity.gamma) != shape[0] or shape[1] not in (1, shape[0]):
            return None
        ones = np.ones((shape[0], 1)) if shape[1] == 1 else np.eye(shape[0])
        part = folding.normalised(ones.astype(np.float32)[..., None, None], identity)
        weights.append(folding.spread(part.weight, dilation=1, size=shape[2]))
        biases.append(part.bias)
    return Convolution(np.sum(weights, axis=0), np.sum(biases, axis=0))


def _norm(values: Arrays, cell: str) -> Norm | None:
    arrays = [values[f"{cell}.{key}"] for key in NORM if f"{cell}.{key}" in values]
    if len(arrays) < len(NORM) or len({array.shape for array in arrays}) > 1 or arrays[0].ndim != 1:
        return None
    return Norm(*arrays)


def _without_identity(weight: Array, _: Array) -> Array:
    centre = folding.spread(np.ones((len(weight), 1, 1, 1), np.float32), dilation=1, size=weight.shape[-1])
    return weight - centre


def _gap_kernel(number: int) -> Callable[[Array, Array], Array]:
    """Zeros in the shape of the dilated kernel of that number in a `Dilated`; an empty array if there is none."""

    def zeros(weight: Array, _: Array) -> Array:
        sizes = [size for size, _ in folding.DILATED.get(weight.shape[-1], ())]
        return np.zeros((len(weight), 1, *[sizes[number - 1] if number <= len(sizes) else 0] * 2), np.float32)

    return zeros


def _filled(value: float) -> Callable[[Array, Array], Array]:
    return lambda _, bias: np.full_like(bias, value, dtype=np.float32)


MOST = 1 + max(map(len, folding.DILATED.values()))
"""Maximum number of kernels in a `Dilated`."""
_ONE = float(np.sqrt(1 + folding.EPSILON))
"""The gamma with which a normalisation of statistics 0 and 1 changes nothing."""
_UNFOLDED: Mapping[str, Callable[[Array, Array], Array]] = {
    **dict.fromkeys((CONV, UP, KERNEL), lambda weight, _: weight),
    **dict.fromkeys((".conv.bias", ".up.bias"), _filled(0)),
    LARGE: _without_identity,
    ".point.weight": lambda weight, _: np.zeros((len(weight), 1, 1, 1), np.float32),
    **{f".kernels.{number}{CONV}": _gap_kernel(number) for number in range(1, MOST)},
    **{
        f"{part}.bn.{key}": made
        for part in ("", ".large", *(f".kernels.{number}" for number in range(MOST)))
        for key, made in zip(NORM, (_filled(_ONE), _filled(0), _filled(0), _filled(1)), strict=True)
    },
    **dict.fromkeys((".bn.beta", ".kernels.0.bn.beta"), lambda _, bias: bias),
}
"""How each parameter of a cell follows from the weight and the bias of its folded convolution."""
