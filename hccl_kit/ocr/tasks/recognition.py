"""Text recognition: an image of a line goes in, a text comes out, words are counted."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import drawing as picture
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.lines import image_shapes, line_transforms
from hccl_kit.ocr.data.lines.line_sources import Lines, read_lines
from hccl_kit.ocr.data.loader import Batch, Targets, stack_images
from hccl_kit.ocr.data.samples import BadSampleError, TextLine
from hccl_kit.ocr.decode.reading import Reading
from hccl_kit.ocr.metrics.words import WordCounts, compare, letters
from hccl_kit.ocr.tasks import text_heads
from hccl_kit.ocr.tasks.task import Warn
from hccl_kit.runtime import World

LABEL_STEPS = frozenset(line_transforms.MAX_TEXT_LEN)
"""Any of them goes with any head: they give the numbers of the characters, and the coding of the head does the rest."""
RESIZES, RESIZE_FOR_INFERENCE = ("RecResizeImg", "SVTRRecResizeImg"), "RecResizeNormForInfer"
BLANK = np.zeros((32, 100, 3), np.uint8)
"""What stands in for an image that cannot be read."""
NAMED = 3
"""Labels that are left out and named; the others are counted."""


class Recognition:
    """The task of a configuration whose network gives `steps(width)` steps for images that are `width` wide.

    KitError where the dictionary, the network's classes, the way it spells and the two pipelines do not go together.
    """

    label_steps = LABEL_STEPS
    nothing = WordCounts().to_array()

    def __init__(self, config: Config, *, height: int | None, steps: Callable[[int], int]) -> None:
        self.config = config
        self.coding = text_heads.of(config)
        self.charset = charset_of(config)
        self.dictionary = hashlib.sha256(self.charset.characters.encode()).hexdigest()
        self.options = label_options(config)
        self.longest: int = self.options["max_text_len"]
        _assert_as_long(config, self.longest)
        width = image_width(config, height)
        self.steps = steps(width)
        self.buckets = tuple((bucket, steps(bucket)) for bucket in (*_bucket_widths(config, width), width))

    def loss(self) -> nn.Cell:
        """That of the way the network spells."""
        return self.coding.loss(self.charset)

    def train_samples(self, warn: Warn) -> tuple[Lines, int]:
        """The lines whose label the network can learn, and the number of others; the first ones are named.

        Characters that the dictionary lacks vanish from labels, as in MindOCR; here it is said.
        """
        rows = read_lines(self.config["train"]["dataset"])
        encode, generator = line_transforms.encode_label(**self.options), np.random.default_rng(0)
        known = line_transforms.label_charset(**self.options)
        lower = line_transforms.makes_small(**self.options)
        usable: array[int] = array("q")
        bad: list[str] = []
        unknown: Counter[str] = Counter()
        for number, row in enumerate(rows):
            try:
                self._assert_fits(encode(row, generator).label)
            except BadSampleError as error:
                if len(bad) < NAMED:
                    bad.append(f"{row.path}: {error}")
                continue
            usable.append(number)
            unknown.update(c for c in (row.text.lower() if lower else row.text) if c not in known)
        left_out = len(rows) - len(usable)
        if left_out:
            warn(f"{left_out} of {len(rows)} labels are left out: {'; '.join(bad)}")
        if unknown:
            shown = " ".join(f"{character!r} ({count})" for character, count in unknown.most_common(5))
            warn(f"{unknown.total()} characters of the labels are not in the dictionary and are left out: {shown}")
        return rows.take(np.frombuffer(usable, np.int64)), left_out

    def eval_samples(self, warn: Warn) -> Lines:
        """Lines of which nothing is left to compare would count as right where nothing is read: they are left out."""
        rows = read_lines(self.config["eval"]["dataset"])
        kept = [number for number, row in enumerate(rows) if self._truth(row.text).strip()]
        if not kept:
            raise KitError("no word of the evaluation has a character of the dictionary")
        if len(kept) < len(rows):
            warn(f"evaluation: {len(rows) - len(kept)} of {len(rows)} words are left out: no known character")
        return rows.take(kept)

    def lengths(self, samples: Sequence[TextLine], world: World) -> NDArray[np.float32] | None:
        """Width over height of each line, where batches are as wide as their lines. Each rank reads its part of them.

        Characters are no measure: receipts grouped by them make batches a third wider (measured).
        """
        if len(self.buckets) == 1:
            return None
        lengths = np.zeros(len(samples), np.float32)
        first, last = (len(samples) * rank // world.size for rank in (world.rank, world.rank + 1))
        lengths[first:last] = image_shapes.aspects(samples[first:last])
        return world.all_reduce(lengths)

    def collate(self, rows: Sequence[TextLine]) -> tuple[NDArray[np.float32], Targets]:
        """Images (N, 3, H, W), without columns that are black in all, and the targets of the coding."""
        images = np.ascontiguousarray(stack_images(rows)[..., : self._columns(rows)])
        return images, self.coding.targets([row.label for row in rows], self.longest)

    def _columns(self, rows: Sequence[TextLine]) -> int:
        """The narrowest bucket that holds the lines and gives the steps that their labels need."""
        widest = max(row.columns or self.buckets[-1][0] for row in rows)
        needed = max(self.coding.steps(row.label) for row in rows)
        return next(width for width, steps in self.buckets if width >= widest and steps >= needed)

    def blank(self, sample: TextLine) -> TextLine:
        """The line with a black image."""
        return blank(sample)

    def decode(self, outputs: NDArray[np.float32], samples: Sequence[TextLine]) -> list[Reading]:
        """From probabilities (N, T, classes) to readings."""
        return self.coding.decode(outputs[: len(samples)], self.charset)

    def count(self, sample: TextLine, found: Reading) -> WordCounts:
        """The counts of one word."""
        metric = self.config["metric"]
        truth = self._truth(sample.text)
        read = letters(found.text) if metric["ignore_symbol"] else found.text
        return compare(read, truth, lower=metric["lower"], ignore_space=metric["ignore_space"])

    def mistake(self, sample: TextLine, found: Reading) -> str | None:
        """Path, truth and reading, as they are written, with a TAB between; None where it counts as right."""
        return None if self.count(sample, found).right else f"{sample.path}\t{sample.text}\t{found.text}"

    def picture(self, batch: Batch) -> NDArray[np.uint8]:
        """Every line with the text that its label stands for."""
        return picture.draw(
            [
                picture.Row(picture.visible(image), self.charset.decode(list(row.label)), 1.0)
                for image, row in zip(batch.images, batch.samples, strict=True)
            ]
        )

    def total(self, sums: NDArray[np.float32]) -> WordCounts:
        """Back from the all-reduce."""
        return WordCounts.from_array(sums)

    def _assert_fits(self, label: text_heads.Label) -> None:
        needed = self.coding.steps(label)
        if needed > self.steps:
            raise BadSampleError(f"the label needs {needed} steps, the network gives {self.steps}")

    def _truth(self, text: str) -> str:
        """What a reading is compared with: with `filter_ood`, the characters that the dictionary holds."""
        metric = self.config["metric"]
        if metric["filter_ood"]:
            known = self.charset.characters
            text = "".join(c for c in text if c == " " or (c.lower() if metric["lower"] else c) in known)
        return letters(text) if metric["ignore_symbol"] else text


def blank(line: TextLine) -> TextLine:
    """The line with a black image."""
    return replace(line, image=BLANK)


def charset_of(config: Config) -> Charset:
    """The dictionary of this configuration, checked against the network's classes and the labels' dictionary."""
    post, way = config["postprocess"], text_heads.of(config)
    head = config["model"]["head"]
    for section, name in (("postprocess", way.postprocess), ("loss", way.criterion)):
        if config[section]["name"] != name:
            raise KitError(
                f"{section}.name is {config[section]['name']}; {head['name']} goes with {name}",
                hint=f"-o {section}.name={name}",
            )
    charset = Charset.load(post["character_dict_path"], use_space_char=post["use_space_char"])
    classes = len(way.signs(charset))
    if head["out_channels"] != classes:
        raise KitError(
            f"model.head.out_channels is {head['out_channels']}, but the dictionary makes {classes} for {head['name']}",
            hint=f"set out_channels to {classes}, or postprocess.character_dict_path to the right file",
        )
    options = label_options(config)
    labels = Charset.load(options.get("character_dict_path"), use_space_char=options.get("use_space_char", False))
    if labels != charset:
        raise KitError("the labels and postprocess use different dictionaries", hint="see character_dict_path")
    return charset


def label_options(config: Config) -> dict[str, Any]:
    """The options of the step that encodes labels in the training pipeline; `max_text_len` is always among them."""
    for row in config["train"]["dataset"]["transform_pipeline"]:
        for step, options in row.items():
            if step in LABEL_STEPS:
                return {"max_text_len": line_transforms.MAX_TEXT_LEN[step]} | (options or {})
    raise KitError(f"train.dataset.transform_pipeline lacks {' or '.join(line_transforms.MAX_TEXT_LEN)}")


def _assert_as_long(config: Config, longest: int) -> None:
    """A head that spells has a step for every character, and the labels are filled up to as many."""
    steps = config["model"]["head"].get("batch_max_length", longest)
    if steps != longest:
        raise KitError(
            f"model.head.batch_max_length is {steps}, max_text_len of the labels {longest}; they must be equal",
            hint=f"set model.head.batch_max_length to {longest}",
        )


def image_width(config: Config, height: int | None) -> int:
    """The width of the images; KitError where the two pipelines do not make the images that the network takes."""
    train, evaluation = (image_shape(config, section) for section in ("train", "eval"))
    if train != evaluation:
        raise KitError(f"images are {train} in train and {evaluation} in eval", hint="see image_shape of the resizing")
    if height not in (None, train[0]):
        name = config["model"]["backbone"]["name"]
        raise KitError(f"images are {train}; {name} takes images {height} high", hint=f"image_shape: [{height}, ...]")
    return train[1]


def image_shape(config: Config, section: str) -> list[int]:
    """Height and width of the images of a pipeline; a width that follows the ratio is that of the widest."""
    for row in config[section]["dataset"]["transform_pipeline"]:
        for step, options in row.items():
            if step in RESIZES:
                shape: list[int] = options["image_shape"]
                return shape
            if step == RESIZE_FOR_INFERENCE:
                return [(options or {}).get(f"target_{side}", size) for side, size in (("height", 32), ("width", 320))]
    raise KitError(f"{section}.dataset.transform_pipeline lacks a step that makes images alike: {RESIZES[0]}")


def _bucket_widths(config: Config, width: int) -> list[int]:
    """The widths below that of the images to which batches of shorter lines are cut; none where that is not asked for.

    KitError where the training does not fill up its lines on the right: then there is nothing to cut off, and no line
    that could be stretched.
    """
    asked = config["train"]["loader"]
    fills = any(
        (options or {}).get("padding", step in RESIZES)
        for row in config["train"]["dataset"]["transform_pipeline"]
        for step, options in row.items()
    )
    for key in ("bucket_widths", "stretch"):
        if asked[key] and not fills:
            raise KitError(f"train.loader.{key} needs a resizing with padding: True")
    return sorted(bucket for bucket in asked["bucket_widths"] or () if bucket < width)
