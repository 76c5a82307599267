"""The trained network of a configuration in the engine that runs it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import mindspore as ms
from mindspore import nn

from hccl_kit.base import progress
from hccl_kit.base.errors import KitError
from hccl_kit.base.terminal import printable
from hccl_kit.ocr.checkpoints import fetch
from hccl_kit.ocr.checkpoints.weights_file import WeightsFile
from hccl_kit.ocr.code_digest import code_digest
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.infer.inference import Inference, Runner
from hccl_kit.ocr.run import engine
from hccl_kit.ocr.serve import export, export_metadata
from hccl_kit.ocr.tasks.task import Task
from hccl_kit.ocr.train import build


def trained(config: Config, inference: Inference, wanted: str, *, images: int) -> nn.Cell | Runner:
    """The network with its weights, to run about `images` images with `inference`.

    `wanted` is a value of --engine. With `auto` a network that cannot be exported runs in MindSpore, and a line on
    standard error says why; with `onnxruntime` KitError is raised.
    """
    if engine.chosen(wanted, ms.get_context("device_target")) == engine.MINDSPORE:
        return build.network_to_use(config)
    try:
        return _exported(config, inference, images)
    except KitError as error:
        if wanted == engine.ONNXRUNTIME:
            raise
        network = build.network_to_use(config)  # raises the same error if it is one of the weights
        progress.say(printable(f"engine: {engine.MINDSPORE}: {error.message}"))
        return network


def _exported(config: Config, inference: Inference, images: int) -> Runner:
    """The network in onnxruntime; its first file is exported here, so that errors show before an image is read."""
    from hccl_kit.ocr.serve.onnx_runner import OnnxRunner  # noqa: PLC0415  # onnxruntime is an extra

    any_size = export_metadata.takes_all_sizes(config)
    order = range(len(inference.task.classes)) if any_size else ()
    shape = export_metadata.input_shape(config, None, 1 if any_size else inference.batch_size)

    def write(shape: Sequence[int], path: Path) -> None:
        export.export(build.network_to_export(config), shape, path, {}, order, same=build.network_to_use(config))

    runner = OnnxRunner(
        fetch.cache(os.environ) / "onnx",
        _name(config, inference.task),
        write,
        any_size=any_size,
        batches=-(-images // inference.batch_size),
    )
    runner.of_shape(shape)
    return runner


def _name(config: Config, task: Task) -> str:
    """A digest of everything that the exported files depend on, except their shapes."""
    weights = WeightsFile.of(fetch.local_path("eval.ckpt_load_path", str(config.weights), os.environ))
    facts = {
        "code": code_digest(),
        "versions": [metadata.version(name) for name in ("mindspore", "onnx")],
        "model": config["model"],
        "dictionary": task.dictionary,
        "weights": weights.sha256,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]
