"""Recognition: consistent parts of a configuration, usable lines, and the inputs of the loss."""

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.charset import ALPHANUMERIC, Charset
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.loader import Batch
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.data.synthetic.render import rendered_lines
from hccl_kit.ocr.decode.reading import Reading
from hccl_kit.ocr.drawing import HEADER
from hccl_kit.ocr.losses.lines import CaselessCTCLoss
from hccl_kit.ocr.tasks.recognition import Recognition
from hccl_kit.runtime.join import World
from hccl_kit.runtime.worker_env import WorkerEnv
from tests.ocr.data.images import dataset, write_image
from tests.ocr.run_tool import CONFIG
from tests.ocr.tiny import ALONE


def task(loaded: Config, *, steps: int = 8) -> Recognition:
    return Recognition(loaded, height=32, sequence_length=lambda width: steps * width // 100)


def with_text(folder: Path, old: str, new: str, *, count: int = -1) -> Config:
    path = folder / "config.yaml"
    text = CONFIG.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, count), encoding="utf-8")
    return config.load(path)


def train_samples(root: Path, texts: list[str], loaded: Config | None = None) -> tuple[list[str], int, list[str]]:
    """The usable texts, the number of others, and the messages; at most 8 time steps and characters."""
    loaded = loaded or config.load(CONFIG)
    rows = deepcopy(dataset(root, texts))
    for step in rows["transform_pipeline"]:
        if "RecResizeImg" in step:
            step["RecResizeImg"] = {"image_shape": [32, 100], "padding": False}
        if "RecCTCLabelEncode" in step:
            options = dict(loaded.transforms("train"))["RecCTCLabelEncode"]
            step["RecCTCLabelEncode"] |= {key: options[key] for key in ("character_dict_path", "lower")}
    train = {**loaded["train"], "dataset": rows}
    warnings: list[str] = []
    made = replace(loaded, values={**loaded.values, "train": train})
    usable, left_out = task(made).train_samples(warnings.append)
    return [row.text for row in usable], left_out, warnings


def test_rehearsal_adds_rendered_lines_that_the_network_can_learn(tmp_path: Path) -> None:
    """A fifth of all: the same in every run, and none of eval.guard. The others are counted and warned about alone."""
    own = ["AB", "CD", "EF", "GH"] * 10
    loaded = config.load(CONFIG, ["train.rehearsal=0.2"])
    texts, left_out, warnings = train_samples(tmp_path, own, loaded)
    assert texts[:40] == own
    assert texts[40:] == [line.text for line in rendered_lines(10, seed=1) if len(line.text) <= 8]
    assert 0 < len(texts[40:]) <= 10
    assert not set(texts[40:]) & {line.text for line in rendered_lines(200, seed=0) if " " in line.text}
    assert (left_out, warnings) == (0, train_samples(tmp_path, own)[2])


def test_the_shipped_configuration_is_consistent() -> None:
    made = task(config.load(CONFIG), steps=25)
    assert made.charset == Charset(ALPHANUMERIC)
    assert (made.sequence_length, made.longest) == (25, 12)


def line(*label: int, columns: int | None = None) -> TextLine:
    return TextLine(Path(), np.zeros((3, 32, 100), np.float32), label=label, columns=columns)


def test_targets_are_padded_labels_and_their_lengths() -> None:
    made = task(config.load(CONFIG))
    images, (labels, lengths) = made.collate([line(4, 9, columns=10), line(1, 2, 3, columns=10)])
    assert images.shape == (2, 3, 32, 100)
    assert labels.tolist() == [[4, 9] + [0] * 10, [1, 2, 3] + [0] * 9]
    assert lengths.tolist() == [2, 3]
    assert labels.dtype == lengths.dtype == np.int32


@pytest.mark.parametrize(
    ("rows", "width"),
    [
        ([line(1, columns=20), line(1, columns=40)], 40),
        ([line(1, columns=20), line(1, columns=41)], 60),
        ([line(1, columns=99)], 100),
        ([line(1, columns=20), line(1)], 100),  # unknown width
        ([line(*range(11), columns=20)], 60),  # 40 columns give ten steps
        ([line(*[1] * 6, columns=20)], 60),  # five blanks between six that are equal
    ],
)
def test_the_width_of_a_batch_follows_from_its_lines_and_labels(rows: list[TextLine], width: int) -> None:
    made = task(config.load(CONFIG, ["train.loader.bucket_widths=[60, 40]"]), steps=25)
    images, _ = made.collate(rows)
    assert images.shape == (len(rows), 3, 32, width)
    assert images.flags.c_contiguous


class Part(World):
    """A rank whose sums are its own values."""

    def all_reduce(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return values


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_lines_are_grouped_by_shape_if_batches_differ_in_width(tmp_path: Path, size: int) -> None:
    """Regardless of their text; each rank reads the shapes of its part, and all ranks get all shapes."""
    widths = (30, 10, 50, 20)
    for width in widths:
        write_image(tmp_path / f"{width}.png", 0, width=width)
    rows = [TextLine(tmp_path / f"{width}.png", text="a" * (60 - width)) for width in widths]
    ranks = [Part(WorkerEnv(rank, size, rank, size, rank), "mpirun", "CPU") for rank in range(size)]
    assert task(config.load(CONFIG)).lengths(rows, ranks[0], lambda _: None) is None
    made = task(config.load(CONFIG, ["train.loader.bucket_widths=[40]"]))
    parts = np.stack([part for rank in ranks if (part := made.lengths(rows, rank, lambda _: None)) is not None])
    assert parts.sum(axis=0).tolist() == [3, 1, 5, 2]
    shares = [4 * (rank + 1) // size - 4 * rank // size for rank in range(size)]
    assert np.count_nonzero(parts, axis=1).tolist() == shares


@pytest.mark.parametrize("buckets", ["[40]", "null"])
def test_lines_that_are_too_long_for_the_images_are_counted(tmp_path: Path, buckets: str) -> None:
    """Images are 32 x 100; these lines are 10 pixels high, so that 31 columns become 99."""
    for width in (31, 33, 60):
        write_image(tmp_path / f"{width}.png", 0, width=width)
    rows = [TextLine(tmp_path / f"{width}.png") for width in (31, 33, 60)]
    warnings: list[str] = []
    task(config.load(CONFIG, [f"train.loader.bucket_widths={buckets}"])).lengths(rows, ALONE, warnings.append)
    assert [warning.partition("; ")[0] for warning in warnings] == [
        "2 of 3 lines are squeezed: at a height of 32 they are wider than 100 pixels, the widest 192"
    ]
    task(config.load(CONFIG)).lengths(rows[:1], ALONE, warnings.append)
    assert len(warnings) == 1


@pytest.mark.parametrize(
    "option", ["train.loader.bucket_widths=[40]", "train.loader.stretch=[0.8, 1.2]", "eval.loader.bucket_widths=[40]"]
)
def test_lines_without_padding_have_one_width(option: str) -> None:
    options = [option, f"{option.partition('.')[0]}.dataset.transform_pipeline.2.RecResizeImg.padding=False"]
    with pytest.raises(KitError, match=f"^{option.partition('=')[0]} needs a resizing with padding: True"):
        task(config.load(CONFIG, options))


@pytest.mark.parametrize(
    ("longest", "steps", "fits"), [(12, 25, True), (13, 25, False), (12, 11, False), (11, 11, True)]
)
def test_joined_lines_fit_the_label_length_and_the_network(longest: int, steps: int, fits: bool) -> None:
    joins = f"train.dataset.transform_pipeline.0={{RecConAug: {{max_text_length: {longest}}}}}"
    if fits:
        task(config.load(CONFIG, [joins]), steps=steps)
        return
    with pytest.raises(KitError, match=f"max_text_length is {longest}, max_text_len of the labels 12; .* {steps} time"):
        task(config.load(CONFIG, [joins]), steps=steps)


def test_lines_of_ppocr_are_padded_with_zeros_up_to_the_bucket_of_the_widest() -> None:
    """Height 48, ratio kept, (pixel / 255 - 0.5) / 0.5 and then zeros, like the input of PP-OCR's networks."""
    size = {"target_height": 48, "target_width": 320, "padding": True, "norm_before_pad": True}
    steps: list[dict[str, Any]] = [
        {"DecodeImage": {"img_mode": "BGR"}},
        {"RecCTCLabelEncode": {"max_text_len": 12}},
        {"RecResizeNormForInfer": {**size, "mean": [127.5] * 3, "std": [127.5] * 3}},
        {"ToCHWImage": None},
    ]
    pipelines = [f"{part}.dataset.transform_pipeline={json.dumps(steps)}" for part in ("train", "eval")]
    loaded = config.load(CONFIG, [*pipelines, "train.loader.bucket_widths=[96, 160, 240]"])
    made = Recognition(loaded, height=48, sequence_length=lambda width: width // 8)
    lines = [TextLine(Path("x"), np.full((20, width, 3), 255, np.uint8), text="ab") for width in (30, 60)]
    images, _ = made.collate([pipeline(steps)(line, np.random.default_rng(0)) for line in lines])
    assert images.shape == (2, 3, 48, 160)
    assert (images[0, ..., :72] == 1).all()
    assert (images[0, ..., 72:] == 0).all()
    assert (images[1, ..., :144] == 1).all()
    assert (images[1, ..., 144:] == 0).all()
    assert [width for width, _ in made.buckets] == [96, 160, 240, 320]


def test_lines_are_padded_if_resizing_is_not_configured() -> None:
    resizing = "train.dataset.transform_pipeline.2={RecResizeImg: {image_shape: [32, 100]}}"
    made = task(config.load(CONFIG, ["train.loader.bucket_widths=[40]", resizing]))
    assert [width for width, _ in made.buckets] == [40, 100]


def test_unusable_labels_are_counted_and_named(tmp_path: Path) -> None:
    usable, left_out, [warning] = train_samples(tmp_path, ["good", "...", "waytoolong", "aaaaa", "abcdefgh", "fine"])
    assert usable == ["good", "abcdefgh", "fine"]
    assert left_out == 3
    assert warning.startswith("3 of 6 labels are left out: ")
    assert "no character of '...' is in the dictionary" in warning
    assert "'waytoolong' has 10 characters, max_text_len is 8" in warning
    assert "the label needs 9 time steps, the network gives 8" in warning


def test_characters_that_the_dictionary_lacks_are_counted(tmp_path: Path) -> None:
    _, left_out, [warning] = train_samples(tmp_path, ["a-b-c", "A!", "fine"])
    assert left_out == 0
    assert warning.startswith("3 characters of the labels are not in the dictionary")
    assert warning.endswith("'-' (2) '!' (1)")


def test_the_number_of_classes_must_match_the_dictionary() -> None:
    loaded = config.load(CONFIG, ["model.head.out_channels=36"])
    with pytest.raises(KitError, match="out_channels is 36, but the dictionary makes 37 for CTCHead"):
        task(loaded)


ATTENTION = [
    "common.num_classes=38",
    "model.head={name: AttentionHead, out_channels: 38, hidden_size: 8, batch_max_length: 12}",
    "postprocess.name=RecAttnLabelDecode",
    "loss.name=AttentionLoss",
]
"""Overrides that give the small CRNN an attention head."""


def test_targets_of_an_attention_head_are_the_labels_between_bos_and_eos() -> None:
    """For any width: a time step per character is not needed."""
    made = task(config.load(CONFIG, [*ATTENTION, "train.loader.bucket_widths=[40, 60]"]), steps=10)
    images, targets = made.collate([line(4, 9, columns=40), line(1, 1, 1, columns=10)])
    assert images.shape == (2, 3, 32, 40)
    [tokens] = targets
    assert tokens.tolist() == [[0, 6, 11, 1] + [0] * 10, [0, 3, 3, 3, 1] + [0] * 9]
    assert tokens.dtype == np.int32
    [reading] = made.decode(np.eye(38, dtype=np.float32)[tokens[:1, 1:]], [TextLine(Path())])
    assert reading == Reading("49", 1.0)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("loss.name=CTCLoss", "loss.name is CTCLoss; AttentionHead needs AttentionLoss"),
        ("postprocess.name=RecCTCLabelDecode", "postprocess.name is RecCTCLabelDecode; AttentionHead needs Rec"),
        ("common.max_text_len=13", "batch_max_length is 12, max_text_len of the labels 13; they must be equal"),
        ("model.head.out_channels=37", "out_channels is 37, but the dictionary makes 38 for AttentionHead"),
    ],
)
def test_the_parts_of_an_attention_head_must_be_consistent(change: str, expected: str) -> None:
    with pytest.raises(KitError, match=expected):
        task(config.load(CONFIG, [*ATTENTION, change]))


def test_ignore_case_is_refused_for_other_losses_than_ctc() -> None:
    with pytest.raises(KitError, match=r"ignore_case is for CTCLoss, and loss\.name is AttentionLoss"):
        task(config.load(CONFIG, [*ATTENTION, "loss.ignore_case=True"]))


@pytest.mark.parametrize("lower", [True, False])
def test_labels_in_original_case_may_determine_the_case(tmp_path: Path, lower: bool) -> None:
    dictionary = tmp_path / "dict.txt"
    dictionary.write_text("a\nA")
    loaded = with_text(tmp_path, "lower: True", f"lower: {lower}")
    values = [f"common.character_dict_path={dictionary}", "common.num_classes=3", "loss.ignore_case=True"]
    loss = task(config.load(Path(loaded.source), values)).loss()
    assert isinstance(loss, CaselessCTCLoss)
    assert loss.tells_case.asnumpy().tolist() == [not lower, False, False]


@pytest.mark.parametrize(
    ("labels", "values", "lower", "case"),
    [
        (("AB", "BA"), ("model.pretrained=w.ckpt",), False, "upper"),
        (("ab", "ba"), ("model.pretrained=w.ckpt",), False, "lower"),
        (("AB", "ba"), ("model.pretrained=w.ckpt",), True, "lower"),  # lower: True makes labels of one case
        (("AB", "ba"), ("model.pretrained=w.ckpt",), False, None),
        (("AB", "BA"), ("model.pretrained=w.ckpt", "loss.ignore_case=True"), False, None),
        (("AB", "BA"), (), False, None),  # from scratch, there is nothing to forget
    ],
)
def test_labels_of_one_case_make_published_weights_forget_the_other(
    tmp_path: Path, labels: tuple[str, ...], values: tuple[str, ...], lower: bool, case: str | None
) -> None:
    """Exact case of other words fell from 78 % to 48 %, while the log showed a gain."""
    dictionary = tmp_path / "dict.txt"
    dictionary.write_text("a\nA\nb\nB")
    path = with_text(tmp_path, "lower: True", f"lower: {lower}").source
    size = [f"common.character_dict_path={dictionary}", "common.num_classes=5"]
    _, _, warnings = train_samples(tmp_path, list(labels), config.load(Path(path), [*size, *values]))
    told = f"all letters of the labels are {case} case, so the network forgets the other; see loss.ignore_case"
    assert warnings == ([told] if case else [])


def test_labels_and_decoder_must_use_one_dictionary(tmp_path: Path) -> None:
    (tmp_path / "dict.txt").write_text("\n".join(reversed(ALPHANUMERIC)))
    loaded = config.load(CONFIG, [f"postprocess.character_dict_path={tmp_path / 'dict.txt'}"])
    with pytest.raises(KitError, match="different dictionaries"):
        task(loaded)


def test_a_space_adds_one_class(tmp_path: Path) -> None:
    loaded = with_text(tmp_path, "&use_space_char False", "&use_space_char True")
    with pytest.raises(KitError, match="the dictionary makes 38"):
        task(loaded)


def test_a_training_needs_labels(tmp_path: Path) -> None:
    text = CONFIG.read_text(encoding="utf-8")
    start, end = text.index("      - RecCTCLabelEncode"), text.index("      - RecResizeImg")
    loaded = with_text(tmp_path, text[start:end], "", count=1)
    with pytest.raises(
        KitError, match=r"train\.dataset\.transform_pipeline lacks RecCTCLabelEncode or RecAttnLabelEncode"
    ):
        task(loaded)


@pytest.mark.parametrize(
    ("old", "new", "count", "expected"),
    [
        ("[32, 100]", "[48, 100]", -1, r"\[48, 100\]; rec_conv_small takes images 32 high"),
        ("[32, 100]", "[32, 200]", 1, r"are \[32, 200\] in train and \[32, 100\] in eval"),
    ],
)
def test_images_must_have_the_height_of_the_network(
    tmp_path: Path, old: str, new: str, count: int, expected: str
) -> None:
    loaded = with_text(tmp_path, old, new, count=count)
    with pytest.raises(KitError, match=expected):
        task(loaded)


def test_a_pipeline_without_a_resize_is_refused(tmp_path: Path) -> None:
    text = CONFIG.read_text(encoding="utf-8")
    start, end = text.rindex("      - RecResizeImg"), text.rindex("      - NormalizeImage")
    path = tmp_path / "config.yaml"
    path.write_text(text[:start] + text[end:], encoding="utf-8")
    with pytest.raises(
        KitError, match=r"eval\.dataset\.transform_pipeline lacks a transform that resizes, such as RecResizeImg"
    ):
        task(config.load(path))


def test_a_batch_is_drawn_with_its_label_texts() -> None:
    made = task(config.load(CONFIG))
    images = np.random.default_rng(0).standard_normal((2, 3, 32, 100)).astype(np.float32)
    lines = [TextLine(Path(), label=label) for label in ((10, 11), (12,))]
    drawn, other = (
        made.picture(Batch(images, (), tuple(rows))) for rows in (lines, [lines[0], replace(lines[1], label=(13,))])
    )
    assert drawn.shape == other.shape
    first, second = np.vsplit((drawn != other)[HEADER:], 2)
    assert not first.any()
    assert second.any()


def test_mistakes_are_those_of_the_metric() -> None:
    made = task(config.load(CONFIG))
    sample = TextLine(Path("a.png"), text="Word")
    assert made.mistake(sample, Reading("word", 1.0)) is None  # metric.lower
    assert made.mistake(sample, Reading("wo rd", 1.0)) is None  # metric.ignore_space
    assert made.mistake(sample, Reading("words", 1.0)) == "a.png\tWord\twords"


@pytest.mark.parametrize(("ignored", "right"), [(True, 1.0), (False, 0.0)])
def test_symbols_may_be_ignored_in_the_comparison(ignored: bool, right: float) -> None:
    loaded = config.load(CONFIG, [f"metric.ignore_symbol={ignored}", "metric.filter_ood=False"])
    made = task(loaded)
    assert made.count(TextLine(Path(), text="it's"), Reading("i-ts", 1.0)).right == right
    assert made.mistake(TextLine(Path("a"), text="it's"), Reading("its!", 1.0)) == (
        None if ignored else "a\tit's\tits!"
    )
