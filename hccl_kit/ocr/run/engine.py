"""Which library runs a trained network: MindSpore, or on a CPU onnxruntime, which is faster there."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import rapidocr

AUTO, MINDSPORE, ONNXRUNTIME = "auto", "mindspore", "onnxruntime"
OPTION: Mapping[str, Any] = {
    "choices": [AUTO, MINDSPORE, ONNXRUNTIME],
    "default": AUTO,
    "help": "what runs the networks (default: auto; that is onnxruntime on a CPU if it is installed, else MindSpore)",
}
"""The arguments of `add_argument` for --engine."""


def chosen(wanted: str, target: str) -> str:
    """MINDSPORE or ONNXRUNTIME for a device target, CPU or Ascend.

    Raises KitError if onnxruntime is wanted and not installed.
    """
    installed = find_spec("onnxruntime") is not None
    if wanted == ONNXRUNTIME and not installed:
        raise KitError(
            "ocr.engine.onnxruntime-not-installed",
            "onnxruntime is not installed",
            fix="{install}\nor --engine {mindspore}",
            install=rapidocr.INSTALL,
            mindspore=MINDSPORE,
        )
    if wanted == AUTO:
        return ONNXRUNTIME if installed and target == "CPU" else MINDSPORE
    return wanted


def named(engine: str, target: str) -> str:
    """An engine with its version and device, for the log."""
    return f"{engine} {metadata.version(engine)} on {'CPU' if engine == ONNXRUNTIME else target}"
