"""Text detection: from the image of a page to the regions of its texts; scored by boxes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import drawing
from hccl_kit.ocr.config import Config, options_of
from hccl_kit.ocr.data.loader import Batch, Targets, stack_images
from hccl_kit.ocr.data.pages import page_labels, page_transforms
from hccl_kit.ocr.data.pages.pages import Page, Polygons
from hccl_kit.ocr.data.samples import BadSampleError
from hccl_kit.ocr.data.transforms import image_of, pixel_format
from hccl_kit.ocr.decode.boxes import Box, Decode
from hccl_kit.ocr.decode.db import db_postprocess
from hccl_kit.ocr.decode.east import east_postprocess
from hccl_kit.ocr.decode.pse import pse_postprocess
from hccl_kit.ocr.losses.pages import AuxDBLoss, DBLoss, EASTLoss, PSEDiceLoss
from hccl_kit.ocr.metrics.boxes import BoxCounts, Matches, compare, match
from hccl_kit.ocr.metrics.counts import Counts
from hccl_kit.ocr.tasks.task import Task, Warn, assert_names, assert_no_line_options

Shown = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Kernels and borders (H, W) of the texts of an image, from 0 to 1, and the mask (H, W), 0 for pixels that the loss
ignores.
"""


@dataclass(frozen=True, slots=True)
class DetectionHead:
    """What belongs to one kind of head; `criterion` and `postprocess` are its names in a configuration."""

    criterion: str
    postprocess: str
    targets: tuple[str, ...]
    """The transforms that draw the targets of the loss, in its order."""
    stride: int
    """Heights and widths of images are multiples of it."""
    loss: Callable[..., nn.Cell]
    decoder: Callable[..., Decode]
    shown: Callable[[Targets, int], Shown]
    """The targets of one image of a batch, for a picture."""


def _shown_of_db(targets: Targets, number: int) -> Shown:
    kernels, masks, thresholds, near = targets
    return kernels[number, 0], thresholds[number] * near[number], masks[number]


def _shown_of_pse(targets: Targets, number: int) -> Shown:
    texts, kernels, masks = targets
    return kernels[number, -1], texts[number] * masks[number], masks[number]


def _shown_of_east(targets: Targets, number: int) -> Shown:
    scores, _, ignored = (np.kron(maps[number, 0], np.ones((4, 4), np.float32)) for maps in targets)
    return scores, np.zeros_like(scores), 1 - ignored


DB = DetectionHead(
    criterion="DBLoss",
    postprocess="DBPostprocess",
    targets=("ShrinkBinaryMap", "BorderMap"),
    stride=32,
    loss=DBLoss,
    decoder=db_postprocess,
    shown=_shown_of_db,
)
PSE = DetectionHead(
    criterion="PSEDiceLoss",
    postprocess="PSEPostprocess",
    targets=("PSEGtDecode",),
    stride=4,
    loss=PSEDiceLoss,
    decoder=pse_postprocess,
    shown=_shown_of_pse,
)
EAST = DetectionHead(
    criterion="EASTLoss",
    postprocess="EASTPostprocess",
    targets=("EASTProcessTrain",),
    stride=4,
    loss=EASTLoss,
    decoder=east_postprocess,
    shown=_shown_of_east,
)
AUX_DB = replace(DB, criterion="AuxDBLoss", loss=AuxDBLoss)
HEADS: Mapping[str, DetectionHead] = {"DBHead": DB, "AuxDBHead": AUX_DB, "PSEHead": PSE, "EASTHead": EAST}
"""By the name of the head in a configuration."""


def head_of(config: Config) -> DetectionHead:
    """The head of a configuration."""
    return HEADS[config["model"]["head"]["name"]]


TARGETS = frozenset(name for head in HEADS.values() for name in head.targets)
"""The transforms that draw the targets of a loss."""
SIZES = {
    "RandomCropWithBBox": "crop_size",
    "RandomCropWithMask": "size",
    "EASTProcessTrain": "length",
    "ScalePadImage": "target_size",
}
"""Transforms that make images of exactly the size in one of their options."""
BLANK = np.zeros((640, 640, 3), np.uint8)
"""Replaces an image that cannot be read."""
PICTURED = 4
"""Pages in the picture of a batch."""


class Detection(Task):
    """The task of a configuration.

    Raises KitError if its parts do not belong together, or a pipeline does not make what network and loss take.
    """

    label_transforms = frozenset({"DetLabelEncode", "ValidatePolygons", *TARGETS})
    counts: type[Counts] = BoxCounts
    units = "pages"

    def __init__(self, config: Config) -> None:
        self.head = head_of(config)
        _assert_parts(config, self.head)
        for section in ("train", "eval"):
            if section in config:
                _assert_sizes(config, section, self.head.stride)
        assert_no_line_options(config, "detection")
        self.config = config
        post = options_of(config["postprocess"]) if "postprocess" in config else {}
        self.rescales = bool(post.pop("rescale_fields", True))
        self.postprocess = self.head.decoder(**post)

    def loss(self) -> nn.Cell:
        """The loss of the head, with the options of the section `loss`."""
        return self.head.loss(**options_of(self.config["loss"]))

    def train_samples(self, warn: Warn) -> tuple[list[Page], int]:
        """The pages with a text, and the number of the others; `warn` gets the first ones."""
        pages, bad = page_labels.read_pages(self.config.training_set)
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
        """All pages: on a page without text every box is a false positive."""
        pages, bad = page_labels.read_pages(self.config["eval"]["dataset"])
        if bad:
            warn(f"evaluation: {len(bad)} of {len(pages) + len(bad)} pages are left out: {'; '.join(bad[:3])}")
        if all(page.ignored.all() for page in pages):
            raise KitError(
                "ocr.detection.no-page-evaluation", "no page of the evaluation has a text that is not ignored"
            )
        return pages

    def collate(self, rows: Sequence[Page]) -> tuple[NDArray[np.float32], Targets]:
        """Images and the targets of the loss, each (N, ...) float32."""
        return stack_images(rows), tuple(np.stack(maps) for maps in zip(*(row.maps for row in rows), strict=True))

    def blank(self, sample: Page) -> Page:
        """The page with a black image."""
        return replace(sample, image=BLANK)

    def decode(self, outputs: NDArray[np.float32], samples: Sequence[Page]) -> list[list[Box]]:
        """From maps (N, C, h, w) to boxes in pixels of the source, or of the input if `rescale_fields` is empty."""
        return [
            self.postprocess(maps, sample.shape if self.rescales else None)
            for maps, sample in zip(outputs[: len(samples)], samples, strict=True)
        ]

    def count(self, sample: Page, prediction: Sequence[Box]) -> BoxCounts:
        """The counts of one page."""
        return compare(*_case(sample, prediction), count_duplicates=self._strict)

    def matches(self, sample: Page, prediction: Sequence[Box]) -> Matches:
        """Which box finds which text of a page."""
        return match(*_case(sample, prediction), count_duplicates=self._strict)

    def mistake(self, sample: Page, prediction: Sequence[Box]) -> str | None:
        """`path TAB 12 of 15 found, 2 false: h-mean 82.76%`; None if all texts and nothing else are found."""
        counts = self.count(sample, prediction)
        return None if counts.found == counts.texts and not counts.false else f"{sample.path}\t{counts}"

    def distance(self, counts: BoxCounts, prediction: Sequence[Box]) -> float:
        """Missed texts and false boxes."""
        del prediction
        return counts.texts - counts.found + counts.false

    def picture(self, batch: Batch) -> NDArray[np.uint8]:
        """The first pages with kernels, borders and ignored regions of their texts."""
        pixels, shown = pixel_format(self.config.transforms("train")), range(min(PICTURED, len(batch.images)))
        images = [pixels.restored(batch.images[number]) for number in shown]
        return drawing.draw_targets(images, [self.head.shown(batch.targets, number) for number in shown])

    def comparison(self, predicted: Iterable[tuple[Page, Sequence[Box]]]) -> NDArray[np.uint8]:
        """Every page with its texts, found or missed, and the false boxes."""
        return drawing.draw_comparisons(self._compared(page, boxes) for page, boxes in predicted)

    @property
    def _strict(self) -> bool:
        return bool(self.config["metric"]["count_doubles"])

    def _compared(self, page: Page, boxes: Sequence[Box]) -> drawing.ComparedPage:
        matches = self.matches(page, boxes)
        found = matches.found
        image = pixel_format(self.config.transforms("eval")).restored(image_of(page))
        height, width = page.content or image.shape[:2]
        scale = (page.shape.scale_w, page.shape.scale_h) if page.shape and self.rescales else (1.0, 1.0)
        return drawing.ComparedPage(
            image[:height, :width],
            f"{page.path.name}: {self.count(page, boxes)}",
            found=page.polys[found],
            missed=page.polys[~found & ~page.ignored],
            ignored=page.polys[page.ignored],
            false=[box.points * scale for box, is_false in zip(boxes, matches.false, strict=True) if is_false],
        )


def _case(page: Page, boxes: Sequence[Box]) -> tuple[list[NDArray[np.float32]], Polygons, NDArray[np.bool_]]:
    return [box.points for box in boxes], page.source_polys, page.ignored


def _assert_parts(config: Config, head: DetectionHead) -> None:
    """Raises KitError if targets, loss and post-processing are not those of the head.

    The loss takes its targets in one order, and the second transform must ignore a text that the first one ignores.
    """
    model, transforms = config["model"]["head"], config.transforms("train")
    assert_names(config, postprocess=head.postprocess, loss=head.criterion)
    drawn = tuple(name for name, _ in transforms if name in TARGETS)
    if drawn != head.targets:
        names = ", ".join(drawn) or "none of them"
        raise KitError(
            "ocr.detection.train-dataset-transform",
            "train.dataset.transform_pipeline must have {targets}; found: {value}",
            targets=" and then ".join(head.targets),
            value=names,
        )
    if head is PSE:
        kernels = next(options.get("kernel_num", 7) for name, options in transforms if name in head.targets)
        if kernels != model["out_channels"]:
            raise KitError(
                "ocr.detection.model-head-out",
                "model.head.out_channels is {out_channels}, and PSEGtDecode.kernel_num {kernels}",
                out_channels=model["out_channels"],
                kernels=kernels,
            )


def _assert_sizes(config: Config, section: str, stride: int) -> None:
    for name, options in config.transforms(section):
        size = options.get(SIZES[name]) if name in SIZES else None
        if size and np.any(np.mod(size, stride)):
            raise KitError(
                "ocr.detection.dataset-transform-pipeline",
                "{section}.dataset.transform_pipeline: {name}.{sizes} is {size}; the network takes "
                "multiples of {stride}",
                section=section,
                name=name,
                sizes=SIZES[name],
                size=size,
                stride=stride,
            )
