"""The networks of the reader in MindSpore, with the weights of the package `rapidocr`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from numpy.typing import NDArray

from hccl_kit.ocr import on_cpu, rapidocr
from hccl_kit.ocr.adapt import pretrained
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.models.network import Network
from hccl_kit.ocr.models.ppocr import lines, pages
from hccl_kit.ocr.models.ppocr.direction import Direction
from hccl_kit.ocr.reader.engine import CLASSIFIER, DETECTOR, RECOGNISER, Networks, Run
from hccl_kit.ocr.reader.page import HEIGHT
from hccl_kit.ocr.run.start import DEFAULTS

PAGES = {
    "backbone": {"name": "det_pplcnet_v4", "size": "small"},
    "neck": {"name": "RepLKFPN", "out_channels": 96, "kernel": 7},
    "head": {"name": "DBHead", "k": 50, "bias": True, "adaptive": False, "k_scales_threshold": True},
}
"""The section `model` of the detector of PP-OCRv6 small, as it is used: without the branch of the threshold map."""
LINES = {
    "backbone": {"name": "rec_pplcnet_v4", "size": "small"},
    "neck": {"name": "LightSVTR", "dims": 120, "depth": 2, "mlp_ratio": 2, "local_kernel": 7, "dropout": 0.0},
}
"""That of its recogniser, without the head, whose size is that of the dictionary."""


class Cells(NamedTuple):
    """The networks with their weights, in evaluation mode."""

    detector: Network
    classifier: Direction
    recogniser: Network
    charset: Charset

    @property
    def classes(self) -> tuple[str | None, ...]:
        """The tokens of the recogniser's classes; None is the blank."""
        return (*self.charset.characters, None)


def cells() -> Cells:
    """The networks of PP-OCRv6 small and its classifier of directions.

    Raises KitError if the package is not installed or holds other files.
    """
    charset = Charset.load(RECOGNISER, use_space_char=True)
    head = {"name": "CTCHead", "out_channels": len(charset.characters) + 1}
    made = Cells(pages.build(PAGES), Direction(), lines.build({**LINES, "head": head}), charset)
    networks: dict[str, nn.Cell] = {DETECTOR: made.detector, CLASSIFIER: made.classifier, RECOGNISER: made.recogniser}
    for source, network in networks.items():
        classes = made.classes if source == RECOGNISER else ()
        pretrained.load(rapidocr.path(source), network, strict=True, key=source, classes=classes)
        network.set_train(False)
    return made


def published() -> Networks:
    """The networks of `cells` as functions of arrays. Raises KitError as `cells` does."""
    made = cells()
    if ms.get_context("device_target") == "CPU":
        for network in made[:3]:
            on_cpu.adapt(network, DEFAULTS, frozen=True)
    return Networks(
        _run(made.detector, (None, 3, None, None)),
        _run(made.classifier, (None, 3, HEIGHT, None)),
        _run(made.recogniser, (None, 3, HEIGHT, None)),
        made.charset,
    )


def _run(network: nn.Cell, shape: Sequence[int | None]) -> Run:
    """A network that is compiled once for images of all sizes: None in `shape`."""
    network.set_inputs(Tensor(shape=shape, dtype=ms.float32))

    def run(images: NDArray[np.float32]) -> NDArray[np.float32]:
        output: NDArray[np.float32] = network(Tensor(images)).asnumpy()
        return output

    return run
