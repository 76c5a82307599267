"""A network whose slow cells are replaced. Its parameters stay the same, and so do its results up to rounding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mindspore import nn

from hccl_kit.ocr.cpu import blocks, channel_scale, convolution, folded_norm, gelu
from hccl_kit.ocr.cpu.library import hold

PARTS: Mapping[str, Callable[[nn.Cell, Path], None]] = {
    "convolutions": convolution.replace,
    "maps in blocks": blocks.replace,
    "GELU": gelu.replace,
    "scales of channels": channel_scale.replace,
}
"""What replaces cells, in this order: blocks are for convolutions that are replaced already."""


def adapt(network: nn.Cell, library: Path, *, frozen: bool) -> None:
    """Let `library` compute the slow parts of `network`, in training and evaluation in graph mode.

    `frozen`: its weights no longer change, so its normalisations are folded into its convolutions.
    """
    hold(library)
    if frozen:
        folded_norm.fold(network)
    for replace in PARTS.values():
        replace(network, library)
