"""Metadata of an exported file about images and classes, derived from a configuration."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.data.transforms import normalize
from hccl_kit.ocr.serve import export_metadata
from tests.ocr.run_tool import CONFIG
from tests.places import ROOT

pytestmark = pytest.mark.train

SIZES = {
    "det/dbnet/db_r18_icdar15": (736, 1280),
    "det/dbnet/db_r50_icdar15": (736, 1280),
    "det/dbnet/db_mobilenetv3_icdar15": (736, 1280),
    "det/dbnet/dbpp_r50_icdar15": (1152, 2048),
    "rec/crnn/crnn_icdar15": (32, 100),
    "rec/crnn/crnn_resnet34": (32, 100),
    "rec/crnn/crnn_resnet34_zh": (32, 320),
    "rec/crnn/crnn_small": (32, 100),
    "rec/crnn/crnn_vgg7": (32, 100),
    "rec/svtr/svtr_tiny": (64, 256),
}


def loaded(name: str, *overrides: str) -> config.Config:
    return config.load(ROOT / "configs" / f"{name}.yaml", overrides)


@pytest.mark.parametrize("name", SIZES)
def test_the_size_follows_from_the_pipeline(name: str) -> None:
    assert export_metadata.input_shape(loaded(name), None, 2) == (2, 3, *SIZES[name])


def test_the_size_is_the_result_of_the_transform_for_its_target() -> None:
    step = "eval.dataset.transform_pipeline.2.DetResize"
    for padding in (False, True):
        options = [f"{step}.target_size=[720, 1290]", f"{step}.keep_ratio={padding}", f"{step}.padding={padding}"]
        made = loaded("det/dbnet/db_r18_icdar15", *options)
        assert export_metadata.input_shape(made, None, 1) == (1, 3, 704, 1280)


def test_an_explicit_size_is_accepted() -> None:
    assert export_metadata.input_shape(loaded("det/dbnet/db_r18_icdar15"), (64, 96), 1) == (1, 3, 64, 96)
    assert export_metadata.input_shape(loaded("rec/crnn/crnn_small"), (32, 160), 8) == (8, 3, 32, 160)


@pytest.mark.parametrize(
    ("name", "given", "batch", "message"),
    [
        ("det/dbnet/db_r18_icdar15", (700, 1280), 1, "images of 700 x 1280: the network takes multiples of 32"),
        ("det/dbnet/db_r18_icdar15", (-32, 32), 1, "1 images of -32 x 32"),
        ("det/dbnet/db_r18_icdar15", (32, 32), 10**12, "1000000000000 images of 32 x 32"),
        ("rec/crnn/crnn_small", (48, 160), 1, "--shape 48 160: the evaluation resizes lines to height 32"),
    ],
)
def test_an_unsupported_size_is_refused(name: str, given: tuple[int, int], batch: int, message: str) -> None:
    with pytest.raises(KitError, match=message):
        export_metadata.input_shape(loaded(name), given, batch)


@pytest.mark.parametrize("options", ["padding=False", "target_size=null"])
def test_pages_of_variable_size_need_an_explicit_size(options: str) -> None:
    name, step = "det/dbnet/dbpp_r50_icdar15", "eval.dataset.transform_pipeline.2.DetResize"
    varying = loaded(name, f"{step}.{options}", f"{step}.keep_ratio=True")
    with pytest.raises(KitError, match="pages of different sizes") as caught:
        export_metadata.input_shape(varying, None, 1)
    assert caught.value.hint == "add --shape 736 1280"
    assert export_metadata.input_shape(varying, (64, 64), 1) == (1, 3, 64, 64)


def test_the_size_in_the_hint_is_accepted() -> None:
    wrong = loaded("det/dbnet/db_r18_icdar15")
    with pytest.raises(KitError) as caught:
        export_metadata.input_shape(wrong, (700, 10), 1)
    assert caught.value.hint == "--shape 704 32"
    assert export_metadata.input_shape(wrong, (704, 32), 1) == (1, 3, 704, 32)


def test_metadata_of_a_recognition() -> None:
    facts = export_metadata.facts(config.load(CONFIG))
    assert facts["colours"] == "RGB"
    assert facts["interpolation"] == "INTER_LINEAR"
    values = {key: json.loads(facts[key]) for key in facts.keys() - {"colours", "interpolation"}}
    (resize,) = values.pop("resize")
    assert resize.keys() == {"RecResizeImg"}
    assert resize["RecResizeImg"].items() >= {"image_shape": [32, 100], "padding": True, "min_width": 1}.items()
    assert values == {
        "mean": [127] * 3,
        "std": [127] * 3,
        "padding": {"value": 0, "sides": ["right"], "filled": "before normalising"},
        "postprocess": {"name": "RecCTCLabelDecode", "use_space_char": False},
        "characters": [*"0123456789abcdefghijklmnopqrstuvwxyz", None],
    }


DICTIONARY = {"character_dict_path": "letters.txt"}


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("rec/crnn/crnn_small", {"RecResizeImg": {"image_shape": [32, 100], "padding": False}}, None),
        (
            "rec/crnn/crnn_small",
            {"RecResizeNormForInfer": {"padding": True, "norm_before_pad": True}},
            {"value": 0, "sides": ["right"], "filled": "after normalising"},
        ),
        ("rec/crnn/crnn_small", {"RecResizeNormForInfer": {"keep_ratio": True}}, None),
        (
            "det/dbnet/db_r18_icdar15",
            {"ScalePadImage": {"target_size": [64, 96]}},
            {"value": 0, "sides": ["below", "right"], "filled": "before normalising"},
        ),
        ("det/dbnet/db_r18_icdar15", {"DetResize": {"target_size": [64, 96], "keep_ratio": False}}, None),
        (
            "det/dbnet/db_r18_icdar15",
            {"DetResize": {"target_size": [64, 96], "keep_ratio": False, "padding": True}},
            None,
        ),
        (
            "det/dbnet/db_r18_icdar15",
            {"DetResize": {"target_size": [64, 96], "padding": True}},
            {"value": 0, "sides": ["below", "right"], "filled": "before normalising"},
        ),
        (
            "rec/crnn/crnn_small",
            {"RecResizeImg": {"image_shape": [32, 100], "padding": False, "infer_mode": True, **DICTIONARY}},
            {"value": 0, "sides": ["right"], "filled": "before normalising"},
        ),
    ],
)
def test_metadata_describe_the_padding_of_an_image(
    name: str, options: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    steps = json.dumps([{"DecodeImage": None}, options, {"NormalizeImage": None}, {"ToCHWImage": None}])
    facts = export_metadata.facts(loaded(name, f"eval.dataset.transform_pipeline={steps}"))
    assert json.loads(facts["padding"]) == expected


def test_metadata_name_every_class_of_an_attention_head() -> None:
    loaded = config.load(CONFIG.parents[1] / "rare" / "rare_small.yaml")
    facts = json.loads(export_metadata.facts(loaded)["characters"])
    assert facts == ["<go>", "<stop>", *"0123456789abcdefghijklmnopqrstuvwxyz"]
    assert len(facts) == loaded["model"]["head"]["out_channels"]


def test_metadata_say_that_a_language_model_is_not_in_the_file() -> None:
    for options, said in (("null", False), ("{}", True)):
        facts = export_metadata.facts(config.load(CONFIG, [f"postprocess.language_model={options}"]))
        assert ("language_model" in facts) is said
        assert "language_model" not in json.loads(facts["postprocess"])


def test_metadata_describe_all_transforms_before_the_normalisation() -> None:
    facts = export_metadata.facts(config.load(CONFIG.with_name("crnn_receipts_words.yaml")))
    assert [name for step in json.loads(facts["resize"]) for name in step] == [
        "Rotate90IfVertical",
        "DarkOnLight",
        "RecResizeImg",
    ]


def test_metadata_of_a_detection() -> None:
    facts = export_metadata.facts(loaded("det/dbnet/db_r18_icdar15"))
    assert facts["colours"] == "RGB"
    assert json.loads(facts["mean"]) == [123.675, 116.28, 103.53]
    assert json.loads(facts["std"]) == [58.395, 57.12, 57.375]
    (resize,) = json.loads(facts["resize"])
    assert resize["DetResize"]["target_size"] == [736, 1280]
    assert json.loads(facts["postprocess"])["binary_thresh"] == 0.3
    assert json.loads(facts["postprocess"])["name"] == "DBPostprocess"
    assert "characters" not in facts


@pytest.mark.parametrize(("mode", "swap"), [("BGR", True), ("RGB", False), ("RGB", True), ("BGR", False)])
def test_the_metadata_are_equivalent_to_the_pipeline(mode: str, swap: bool) -> None:
    """An RGB pixel, as decoded, has the same result in both."""
    steps = "eval.dataset.transform_pipeline"
    facts = export_metadata.facts(
        config.load(
            CONFIG,
            [
                f"{steps}.0.DecodeImage.img_mode={mode}",
                f"{steps}.3.NormalizeImage.bgr_to_rgb={swap}",
                f"{steps}.3.NormalizeImage.mean=[1.0, 2.0, 3.0]",
                f"{steps}.3.NormalizeImage.std=[4.0, 5.0, 6.0]",
            ],
        )
    )
    pixel = {"R": 200, "G": 100, "B": 50}
    decoded = np.array([[[pixel[colour] for colour in mode]]], np.uint8)
    apply = normalize(bgr_to_rgb=swap, mean=[1, 2, 3], std=[4, 5, 6])
    expected = apply(TextLine(Path("x"), text="", image=decoded), np.random.default_rng(0)).image
    assert expected is not None
    values = np.array([pixel[colour] for colour in facts["colours"]], np.float32)
    found = (values - json.loads(facts["mean"])) / json.loads(facts["std"])
    np.testing.assert_allclose(found, expected[0, 0], rtol=1e-6)
