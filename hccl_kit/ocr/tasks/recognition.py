"""Text recognition: from the image of a line to its text; scored by words."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data import image_file
from hccl_kit.ocr.data.lines import line_transforms, rec_augment
from hccl_kit.ocr.data.lines.line_sources import Lines, read_lines
from hccl_kit.ocr.data.loader import Batch, Targets, stack_images
from hccl_kit.ocr.data.samples import BadSampleError, TextLine
from hccl_kit.ocr.data.synthetic.render import rendered_lines
from hccl_kit.ocr.decode.reading import Reading
from hccl_kit.ocr.metrics.counts import Counts
from hccl_kit.ocr.metrics.lines import WordCounts, compare, letters, unaltered
from hccl_kit.ocr.tasks import language, line_images, text_heads
from hccl_kit.ocr.tasks.task import Warn, assert_names, lacks
from hccl_kit.runtime.join import World

LABEL_TRANSFORMS = frozenset(line_transforms.MAX_TEXT_LEN)
"""Each works with every head: it gives the numbers of the characters, from which the head makes its targets."""
MEASURED = 10_000
"""Lines whose shapes are read at the start if nothing else needs them."""
REHEARSAL = 1
"""The seed of `train.rehearsal`: its lines are others than those of `eval.guard`."""
SHOWN = 3
"""Labels that a warning names; the others are counted."""


class Recognition(line_images.LineTask):
    """The task of a configuration whose network gives `sequence_length(width)` time steps for images of a width.

    Raises KitError if the dictionary, the classes of the network, its head and the two pipelines do not fit together.
    """

    label_transforms = LABEL_TRANSFORMS
    counts: type[Counts] = WordCounts

    def __init__(self, config: Config, *, height: int | None, sequence_length: Callable[[int], int]) -> None:
        self.config = config
        self.head = text_heads.of(config)
        self.charset = _charset_of(config)
        self.characters = self.charset.characters
        self.dictionary = hashlib.sha256(self.characters.encode()).hexdigest()
        self.texts = language.texts_of(config)
        search = language.beam_search(config, self.texts, self.charset)
        self._decode = search.decode if search else self.head.decode
        self.classes: Sequence[str | None] = self.head.classes(self.charset)
        self.options = _label_options(config)
        self.longest: int = self.options["max_text_len"]
        _assert_max_length(config, self.longest)
        _assert_case(config)
        width = line_images.image_width(config, height)
        self.sequence_length = sequence_length(width)
        widths = (*line_images.bucket_widths(config, "train", width), width)
        for bucket in line_images.bucket_widths(config, "eval", width):
            sequence_length(bucket)  # raises KitError if the network cannot take it
        _assert_joins_fit(config, self.longest, self.head.min_length, self.sequence_length)
        self.buckets = tuple((bucket, sequence_length(bucket)) for bucket in widths)

    def loss(self) -> nn.Cell:
        """The loss of the head. Labels that were converted to lower case do not tell the case of the print."""
        if not self.config["loss"]["ignore_case"]:
            return self.head.loss(self.charset, None)
        if line_transforms.lowers_case(**self.options):
            return self.head.loss(self.charset, [False] * len(self.characters))
        return self.head.loss(self.charset, self.charset.tells_case())

    def train_samples(self, warn: Warn) -> tuple[Lines, int]:
        """The lines whose label the network can learn, and the number of the others; `warn` gets the first ones.

        Characters that the dictionary lacks are dropped from labels, as in MindOCR, and counted in a warning.
        """
        rows = read_lines(self.config.training_set)
        encode, generator = line_transforms.encode_label(**self.options), np.random.default_rng(0)
        known = line_transforms.label_charset(**self.options)
        lower = line_transforms.lowers_case(**self.options)
        usable: array[int] = array("q")
        bad: list[str] = []
        unknown: Counter[str] = Counter()
        cases: set[bool] = set()
        for number, row in enumerate(rows):
            try:
                self._assert_fits(encode(row, generator).label)
            except BadSampleError as error:
                if len(bad) < SHOWN:
                    bad.append(f"{row.path}: {error}")
                continue
            usable.append(number)
            text = row.text.lower() if lower else row.text
            unknown.update(c for c in text if c not in known)
            if len(cases) < 2:
                cases.update(c.isupper() for c in text if c.isupper() or c.islower())
        left_out = len(rows) - len(usable)
        if len(cases) == 1 and _may_forget_case(self.config, self.charset):
            case = "upper" if cases.pop() else "lower"
            warn(f"all letters of the labels are {case} case, so the network forgets the other; see loss.ignore_case")
        if left_out:
            warn(f"{left_out} of {len(rows)} labels are left out: {'; '.join(bad)}")
        if unknown:
            shown = " ".join(f"{character!r} ({count})" for character, count in unknown.most_common(5))
            warn(f"{unknown.total()} characters of the labels are not in the dictionary and are left out: {shown}")
        lines = rows.take(np.frombuffer(usable, np.int64))
        share = self.config["train"]["rehearsal"]
        return lines.followed_by(self._rehearsed(round(len(lines) * share / (1 - share)))), left_out

    def _rehearsed(self, count: int) -> list[TextLine]:
        """So many lines of `train.rehearsal`, without those that the network cannot learn."""
        encode, generator = line_transforms.encode_label(**self.options), np.random.default_rng(0)
        lines = []
        for line in rendered_lines(count, seed=REHEARSAL):
            with suppress(BadSampleError):
                self._assert_fits(encode(line, generator).label)
                lines.append(line)
        return lines

    def eval_samples(self, warn: Warn) -> Lines:
        """The lines with a character to compare: the others would count as right for an empty prediction."""
        rows = read_lines(self.config["eval"]["dataset"])
        kept = [
            number
            for number, row in enumerate(rows)
            if _truth(row.text, self.config["metric"], self.characters).strip()
        ]
        if not kept:
            raise KitError(
                "ocr.recognition.no-word-evaluation", "no word of the evaluation has a character of the dictionary"
            )
        if len(kept) < len(rows):
            warn(f"evaluation: {len(rows) - len(kept)} of {len(rows)} words are left out: no known character")
        return rows.take(kept)

    def lengths(self, samples: Sequence[TextLine], world: World, warn: Warn) -> NDArray[np.float32] | None:
        """Width over height of each line, if batches are cropped to length buckets. Each rank reads its share.

        The number of characters does not replace the width: on receipts it makes batches a third wider (measured).
        Lines that are squeezed are counted; without buckets, among at most MEASURED lines.
        """
        has_buckets = len(self.buckets) > 1
        if not has_buckets and not line_images.pads(self.config, "train"):
            return None
        measured = samples if has_buckets else samples[:: -(-len(samples) // MEASURED) or 1]
        lengths = np.zeros(len(measured), np.float32)
        first, last = (len(measured) * rank // world.size for rank in (world.rank, world.rank + 1))
        lengths[first:last] = image_file.aspects(measured[first:last])
        lengths = world.all_reduce(lengths)
        if warning := line_images.squeezed(self.config, lengths):
            warn(warning)
        return lengths if has_buckets else None

    def collate(self, rows: Sequence[TextLine]) -> tuple[NDArray[np.float32], Targets]:
        """Images (N, 3, H, W), cropped to the bucket of the widest, and the targets of the head."""
        images = np.ascontiguousarray(stack_images(rows)[..., : self._bucket(rows)])
        return images, self.head.targets([row.label for row in rows], self.longest)

    def _bucket(self, rows: Sequence[TextLine]) -> int:
        """The narrowest bucket that holds the lines and gives the sequence length that their labels need."""
        widest = max(row.columns or self.buckets[-1][0] for row in rows)
        needed = max(self.head.min_length(row.label) for row in rows)
        return next(width for width, length in self.buckets if width >= widest and length >= needed)

    def decode(self, outputs: NDArray[np.float32], samples: Sequence[TextLine]) -> list[Reading]:
        """From probabilities (N, T, classes) to readings."""
        return self._decode(outputs[: len(samples)], self.charset)

    def count(self, sample: TextLine, prediction: Reading) -> WordCounts:
        """The counts of one word."""
        metric = self.config["metric"]
        truth = _truth(sample.text, metric, self.characters)
        read = letters(prediction.text) if metric["ignore_symbol"] else prediction.text
        counted = compare(read, truth, lower=metric["lower"], ignore_space=metric["ignore_space"])
        return counted + unaltered(prediction.text, sample.text)

    def mistake(self, sample: TextLine, prediction: Reading) -> str | None:
        """`path TAB truth TAB reading`, both texts unchanged; None if the reading counts as right."""
        return None if self.count(sample, prediction).right else f"{sample.path}\t{sample.text}\t{prediction.text}"

    def distance(self, counts: WordCounts, prediction: Reading) -> float:
        """The edit distance over the length of the longer text; of equal ones the more confident is a bit further."""
        distance = 1 - counts.similarity
        return 0.999 * distance + 0.001 * prediction.confidence if distance else 0.0

    def picture(self, batch: Batch) -> NDArray[np.uint8]:
        """Every line with the text of its label."""
        texts = [self.charset.decode(list(row.label)) for row in batch.samples]
        return self.labelled(batch, texts)

    def _assert_fits(self, label: text_heads.Label) -> None:
        needed = self.head.min_length(label)
        if needed > self.sequence_length:
            raise BadSampleError(f"the label needs {needed} time steps, the network gives {self.sequence_length}")


def _may_forget_case(config: Config, charset: Charset) -> bool:
    """Whether published weights tell the cases of letters, and labels of one case would train them not to."""
    is_pretrained = bool(config["model"].get("pretrained"))
    return is_pretrained and not config["loss"]["ignore_case"] and any(charset.tells_case())


def _truth(text: str, metric: Mapping[str, Any], characters: str) -> str:
    """What a reading is compared with: with `filter_ood` only the characters of the dictionary."""
    if metric["filter_ood"]:
        text = "".join(c for c in text if c == " " or (c.lower() if metric["lower"] else c) in characters)
    return letters(text) if metric["ignore_symbol"] else text


def _charset_of(config: Config) -> Charset:
    """The dictionary of a configuration, checked against the network's classes and the dictionary of the labels."""
    post, head = config["postprocess"], text_heads.of(config)
    model = config["model"]["head"]
    assert_names(config, postprocess=head.postprocess, loss=head.criterion)
    charset = Charset.load(post["character_dict_path"], use_space_char=post["use_space_char"])
    classes = len(head.classes(charset))
    if model["out_channels"] != classes:
        raise KitError(
            "ocr.recognition.model-head-out",
            "model.head.out_channels is {out_channels}, but the dictionary makes {classes} for {name}",
            fix="set out_channels to {classes}, or postprocess.character_dict_path to the right file",
            out_channels=model["out_channels"],
            classes=classes,
            name=model["name"],
        )
    options = _label_options(config)
    labels = Charset.load(options.get("character_dict_path"), use_space_char=options.get("use_space_char", False))
    if labels != charset:
        raise KitError(
            "ocr.recognition.labels-postprocess-use",
            "the labels and postprocess use different dictionaries",
            fix="see character_dict_path",
        )
    return charset


def _label_options(config: Config) -> dict[str, Any]:
    """The options of the transform that encodes labels in the training pipeline, `max_text_len` always among them."""
    for name, options in config.transforms("train"):
        if name in LABEL_TRANSFORMS:
            return {"max_text_len": line_transforms.MAX_TEXT_LEN[name], **options}
    raise lacks("train", " or ".join(line_transforms.MAX_TEXT_LEN))


def _assert_joins_fit(config: Config, longest: int, min_length: Callable[[text_heads.Label], int], steps: int) -> None:
    """Raises KitError if RecConAug may make a text that is too long for its label or for the network."""
    for name, options in config.transforms("train"):
        joined = options.get("max_text_length", rec_augment.MAX_TEXT_LENGTH)
        if name == "RecConAug" and (joined > longest or min_length(tuple(range(joined))) > steps):
            raise KitError(
                "ocr.recognition.recconaug-max-text",
                "RecConAug.max_text_length is {joined}, max_text_len of the labels {longest}; the "
                "network gives {steps} time steps",
                fix="lower it, or raise max_text_len and the width of image_shape",
                joined=joined,
                longest=longest,
                steps=steps,
            )


def _assert_case(config: Config) -> None:
    """Raises KitError if `loss.ignore_case` is set for a loss that does not support it."""
    if "loss" in config and config["loss"]["ignore_case"] and config["loss"]["name"] != "CTCLoss":
        raise KitError(
            "ocr.recognition.loss-ignore-case",
            "loss.ignore_case is for CTCLoss, and loss.name is {name}",
            name=config["loss"]["name"],
        )


def _assert_max_length(config: Config, longest: int) -> None:
    """Raises KitError if an attention head has another number of time steps than the labels are padded to."""
    steps = config["model"]["head"].get("batch_max_length", longest)
    if steps != longest:
        raise KitError(
            "ocr.recognition.model-head-batch",
            "model.head.batch_max_length is {steps}, max_text_len of the labels {longest}; they must be equal",
            fix="set model.head.batch_max_length to {longest}",
            steps=steps,
            longest=longest,
        )
