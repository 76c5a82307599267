"""Text detection: an image of a page goes in, the outlines of its texts come out, boxes are counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import drawing as picture
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data import loader
from hccl_kit.ocr.data.loader import Batch, Targets, stack_images
from hccl_kit.ocr.data.pages import page_labels, page_transforms
from hccl_kit.ocr.data.pages.pages import Page
from hccl_kit.ocr.data.samples import BadSampleError
from hccl_kit.ocr.decode.boxes import Box
from hccl_kit.ocr.metrics.boxes import BoxCounts, compare
from hccl_kit.ocr.tasks import detection_heads
from hccl_kit.ocr.tasks.detection_heads import OUTLININGS, PSE, Outlining
from hccl_kit.ocr.tasks.task import Warn
from hccl_kit.runtime import World

TARGETS = frozenset(step for way in OUTLININGS.values() for step in way.targets)
"""The steps that draw what a loss takes."""
SIZES = {
    "RandomCropWithBBox": "crop_size",
    "RandomCropWithMask": "size",
    "EASTProcessTrain": "length",
    "ScalePadImage": "target_size",
}
"""Steps that make images of exactly the size that an option tells."""
BLANK = np.zeros((640, 640, 3), np.uint8)
"""What stands in for an image that cannot be read."""
PICTURED = 4
"""Pages of a batch that its picture shows."""


class Detection:
    """The task of a configuration; KitError where its parts do not belong together, or a pipeline does not make what
    the network and the loss take.
    """

    label_steps = frozenset({"DetLabelEncode", "ValidatePolygons", *TARGETS})
    dictionary = ""
    nothing = BoxCounts().to_array()

    def __init__(self, config: Config) -> None:
        self.outlining = detection_heads.of(config)
        _assert_parts(config, self.outlining)
        for section in ("train", "eval"):
            if section in config:
                _assert_sizes(config, section, self.outlining.stride)
        loader.assert_not_of_lines(config["train"]["loader"], "detection")
        self.config = config
        post = _options(config["postprocess"]) if "postprocess" in config else {}
        self.rescales = bool(post.pop("rescale_fields", True))
        self.postprocess = self.outlining.decoder(**post)

    def loss(self) -> nn.Cell:
        """Of the maps, with the options of the section `loss`."""
        return self.outlining.loss(**_options(self.config["loss"]))

    def train_samples(self, warn: Warn) -> tuple[list[Page], int]:
        """The pages that have a text, and the number of others; the first ones are named."""
        pages, bad = page_labels.read_pages(self.config["train"]["dataset"])
        check, generator = page_transforms.encode_label(), np.random.default_rng(0)
        usable = []
        for page in pages:
            try:
                usable.append(check(page, generator))
            except BadSampleError as error:
                bad.append(f"{page.path}: {error}")
        if bad:
            warn(f"{len(bad)} of {len(usable) + len(bad)} pages are left out: {'; '.join(bad[:3])}")
        return usable, len(bad)

    def eval_samples(self, warn: Warn) -> list[Page]:
        """All pages: of one without a text every box is false."""
        pages, bad = page_labels.read_pages(self.config["eval"]["dataset"])
        if bad:
            warn(f"evaluation: {len(bad)} of {len(pages) + len(bad)} pages are left out: {'; '.join(bad[:3])}")
        if all(page.ignored.all() for page in pages):
            raise KitError("no page of the evaluation has a text that counts")
        return pages

    def lengths(self, samples: Sequence[Page], world: World) -> None:
        """Crops are of one size: any pages share a batch."""

    def collate(self, rows: Sequence[Page]) -> tuple[NDArray[np.float32], Targets]:
        """Images, and what the loss takes, each (N, ...) float32."""
        return stack_images(rows), tuple(np.stack(maps) for maps in zip(*(row.maps for row in rows), strict=True))

    def blank(self, sample: Page) -> Page:
        """The page with a black image."""
        return replace(sample, image=BLANK)

    def decode(self, outputs: NDArray[np.float32], samples: Sequence[Page]) -> list[list[Box]]:
        """From maps (N, C, h, w) to boxes, in the pixels of the source; see `rescale_fields`."""
        return [
            self.postprocess(maps, sample.shape if self.rescales else None)
            for maps, sample in zip(outputs[: len(samples)], samples, strict=True)
        ]

    def count(self, sample: Page, found: Sequence[Box]) -> BoxCounts:
        """The counts of one page."""
        double = self.config["metric"]["count_doubles"]
        boxes = [box.points for box in found]
        return compare(boxes, sample.source_polys, sample.ignored, count_doubles=double)

    def mistake(self, sample: Page, found: Sequence[Box]) -> str | None:
        """`path TAB 12 of 15 found, 2 false: h-mean 82.76%`."""
        counts = self.count(sample, found)
        return None if counts.found == counts.texts and not counts.false else f"{sample.path}\t{counts}"

    def picture(self, batch: Batch) -> NDArray[np.uint8]:
        """The first pages; the inner part of texts is green, what is around it red, what does not count is dark."""
        pages = []
        for number in range(min(PICTURED, len(batch.images))):
            inner, around, learnt = self.outlining.shown(batch.targets, number)
            page = picture.visible(batch.images[number]).astype(np.float32)
            page[learnt == 0] *= 0.4
            page[..., 1] = np.maximum(page[..., 1], 255 * inner)
            page[..., 2] = np.maximum(page[..., 2], 255 * around)
            pages.append(page.astype(np.uint8))
        return np.hstack(pages)

    def total(self, sums: NDArray[np.float32]) -> BoxCounts:
        """Back from the all-reduce."""
        return BoxCounts.from_array(sums)


def _assert_parts(config: Config, way: Outlining) -> None:
    """The head, what is learnt from, and what reads it. The loss takes its targets in one order, and a text that one
    step ignores the next must ignore too.
    """
    head = config["model"]["head"]
    for section, name in (("postprocess", way.postprocess), ("loss", way.criterion)):
        if section in config and config[section]["name"] != name:
            raise KitError(f"{section}.name is {config[section]['name']}; {head['name']} takes {name}")
    steps = _steps(config, "train")
    drawn = tuple(name for name, _ in steps if name in TARGETS)
    if drawn != way.targets:
        found = ", ".join(drawn) or "none of them"
        raise KitError(f"train.dataset.transform_pipeline must have {' and then '.join(way.targets)}; found: {found}")
    if way is PSE:
        kernels = next(options.get("kernel_num", 7) for name, options in steps if name in way.targets)
        if kernels != head["out_channels"]:
            raise KitError(f"model.head.out_channels is {head['out_channels']}, and PSEGtDecode.kernel_num {kernels}")


def _assert_sizes(config: Config, section: str, stride: int) -> None:
    for name, options in _steps(config, section):
        size = options.get(SIZES[name]) if name in SIZES else None
        if size and np.any(np.mod(size, stride)):
            raise KitError(
                f"{section}.dataset.transform_pipeline: {name}.{SIZES[name]} is {size}; "
                f"the network takes multiples of {stride}"
            )


def _steps(config: Config, section: str) -> list[tuple[str, Mapping[str, Any]]]:
    rows = config[section]["dataset"]["transform_pipeline"]
    return [(name, options or {}) for row in rows for name, options in row.items()]


def _options(section: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in section.items() if key != "name"}
