"""The schema of configurations as a document, and its notes on ineffective keys."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hccl_kit.base import schemas
from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.config import schema
from tests.ocr.config.test_config import DETECTION
from tests.ocr.run_tool import CONFIG
from tests.places import ROOT

DEFINITIONS: dict[str, Any] = dict(schema.root()["$defs"])

MINDOCR_REC = (
    "metric.character_dict_path=a.txt",
    "metric.print_flag=True",
    "loss.pred_seq_len=24",
    "loss.max_label_len=23",
    "loss.batch_size=16",
    "train.dataset_sink_mode=True",
    "train.dataset.output_columns=[image, text_seq]",
    "train.dataset.num_columns_to_net=1",
    "train.dataset.net_input_column_index=[0]",
    "train.dataset.label_column_index=[1]",
    "train.dataset.shuffle=True",
    "train.loader.max_rowsize=12",
    "eval.loader.drop_remainder=True",
    "eval.dataset.num_columns_of_labels=2",
    "model.backbone.pretrained=True",
    "system.amp_level_infer=O2",
    "predict={backend: MindSpore, dataset: {type: PredictDataset}}",
)
MINDOCR_DET = (
    "optimizer.opt=SGD",
    "model.backbone.pretrained=True",
    "loss_scaler.scale_factor=2",
    "train.dataset_sink_mode=True",
    "train.dataset.mindrecord=False",
    "train.dataset.label_file=''",
    "train.dataset.output_columns=[image, binary_map, mask, thresh_map, thresh_mask]",
    "train.dataset.net_input_column_index=[0]",
    "train.dataset.label_column_index=[1, 2, 3, 4]",
    "train.dataset.transform_pipeline.0={Decode: }",
    "train.loader.drop_remainder=True",
    "train.loader.max_rowsize=96",
    "train.loader.num_workers_dataset=10",
    "eval.dataset.transform_pipeline.2.DetResize.limit_type=None",
    "eval.dataset.transform_pipeline.3={Normalize: {mean: [123.675, 116.28, 103.53], std: [58.395, 57.12, 57.375]}}",
    "eval.dataset.transform_pipeline.4={HWC2CHW: }",
    "eval.loader.shuffle=False",
)
MINDOCR_SVTR = (
    "system.amp_level_infer=O2",
    "train.dataset.label_file=null",
    "train.dataset.shuffle=True",
    "train.dataset.filter_max_len=True",
    "train.dataset.filter_zero_text_image=True",
    "train.dataset.extra_count_if_repeat=True",
    "train.dataset.max_text_len=24",
    "train.dataset.character_dict_path=",
    "train.dataset.label_standandize=True",
    "train.loader.using_multiprocess_for_pipeline=False",
    "loss.pred_seq_len=25",
)
MINDOCR_OFF = (
    "metric.print_flag=False",
    "train.dataset_sink_mode=False",
    "train.dataset.mindrecord=False",
    "train.loader.drop_remainder=True",
    "eval.loader.drop_remainder=False",
    "eval.loader.shuffle=False",
    "model.backbone.pretrained=False",
    "metric.character_dict_path=",
)


def test_it_is_a_valid_json_schema() -> None:
    Draft202012Validator.check_schema(schema.root())


def test_every_definition_is_used() -> None:
    text = json.dumps(schemas.load("train_config"))
    assert [name for name in DEFINITIONS if f'"#/$defs/{name}"' not in text] == []


def keys(rule: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for key, inner in rule.get("properties", {}).items():
        yield f"{path}.{key}", inner
        yield from keys(inner, f"{path}.{key}")


ALL = [row for name, rule in DEFINITIONS.items() for row in keys(rule, name)]


def test_every_key_has_a_description() -> None:
    """An empty rule repeats a key that is described elsewhere."""

    def says(rule: dict[str, Any]) -> bool:
        meant = {**DEFINITIONS.get(rule.get("$ref", "").rsplit("/", 1)[-1], {}), **rule}
        return "description" in meant or schema.NO_EFFECT in meant

    assert len(ALL) > 300
    assert [path for path, rule in ALL if rule and not says(rule)] == []


def test_every_default_is_an_accepted_value() -> None:
    rows = [(path, rule) for path, rule in ALL if rule.get("default", {}) != {}]
    wrong = [
        path
        for path, rule in rows
        if not Draft202012Validator({"$defs": DEFINITIONS, **rule}).is_valid(rule["default"])
    ]
    assert len(rows) > 100
    assert wrong == []


def test_every_section_and_list_is_closed_and_bounded() -> None:
    def open_places(rule: Any, path: str) -> Iterator[str]:
        if isinstance(rule, dict):
            chosen = "allOf" in rule or "$ref" in rule or "/if" in path
            if "properties" in rule and not chosen and "additionalProperties" not in rule:
                yield path
            kinds = rule.get("type", [])
            if "array" in kinds and "items" in rule and "maxItems" not in rule:
                yield path
            for key, inner in rule.items():
                yield from open_places(inner, f"{path}/{key}")
        elif isinstance(rule, list):
            for index, inner in enumerate(rule):
                yield from open_places(inner, f"{path}/{index}")

    assert list(open_places(DEFINITIONS, "")) == []


def test_ineffective_keys_of_mindocr_are_accepted_with_one_note() -> None:
    found = schema.ineffective(config.load(CONFIG, MINDOCR_REC).values)
    assert all(line.startswith("no effect: ") for line in found)
    for override in MINDOCR_REC:
        name = override.partition("=")[0]
        assert sum(f" {name}," in line or f" {name}:" in line for line in found) == 1, name
    assert len(found) == len({line.rsplit(": ", 1)[1] for line in found})


def test_files_of_other_mindocr_families_are_accepted() -> None:
    def said(path: Path, overrides: Sequence[str]) -> set[str]:
        lines = schema.ineffective(config.load(path, overrides).values)
        return {name for line in lines for name in line.removeprefix("no effect: ").split(": ")[0].split(", ")}

    assert said(DETECTION, MINDOCR_DET) == {
        "model.backbone.pretrained",
        "train.dataset_sink_mode",
        "train.dataset.output_columns",
        "train.dataset.net_input_column_index",
        "train.dataset.label_column_index",
        "train.loader.max_rowsize",
        "train.loader.num_workers_dataset",
    }
    assert said(ROOT / "configs" / "rec" / "svtr" / "svtr_tiny.yaml", MINDOCR_SVTR) == {
        "system.amp_level_infer",
        "train.dataset.shuffle",
        "train.dataset.max_text_len",
        "train.dataset.label_standandize",
        "loss.pred_seq_len",
    }


@pytest.mark.parametrize(("value", "said"), [("True", True), ("False", False), ("null", False), ("a.ckpt", False)])
def test_a_key_may_be_ineffective_for_a_single_value(value: str, said: bool) -> None:
    found = schema.ineffective(config.load(DETECTION, [f"model.backbone.pretrained={value}"]).values)
    assert any(line.startswith("no effect: model.backbone.pretrained: random weights") for line in found) is said


@pytest.mark.parametrize(("evaluates", "said"), [(True, []), (False, ["train.patience"])])
def test_patience_has_no_effect_without_evaluations(evaluates: bool, said: list[str]) -> None:
    loaded = config.load(CONFIG, ["train.patience=3", f"system.val_while_train={evaluates}"])
    assert [line.split(": ")[1] for line in schema.ineffective(loaded.values)] == said


def test_the_keys_of_mindocrs_data_sets_are_accepted() -> None:
    loaded = config.load(DETECTION, ["train.dataset.use_minddata=True", "eval.dataset.use_minddata=False"])
    lines = schema.ineffective(loaded.values)
    assert [line for line in lines if "use_minddata" in line] == [
        "no effect: train.dataset.use_minddata: one implementation prepares the samples, with the same images"
    ]
    rec = ("filter_max_len", "extra_count_if_repeat", "max_text_len", "filter_zero_text_image", "character_dict_path")
    config.load(
        CONFIG,
        [f"train.dataset.{key}={'a' if key.endswith('path') else 1 if 'text_len' in key else True}" for key in rec],
    )
    resize = "eval.dataset.transform_pipeline.2.DetResize.force_divisible=False"
    assert any("force_divisible" in line for line in schema.ineffective(config.load(DETECTION, [resize]).values))


def test_a_value_equal_to_the_default_is_not_reported() -> None:
    assert schema.ineffective(config.load(CONFIG, MINDOCR_OFF).values) == []


def test_ineffective_defaults_are_not_filled_in() -> None:
    assert "dataset_sink_mode" not in config.load(CONFIG)["train"]


def test_ineffective_options_of_transforms_are_detected() -> None:
    """Also in lists."""
    rule = {"items": {"properties": {"a": {schema.NO_EFFECT: "why"}}}}
    found = list(schema.without_effect([{"a": 1}], rule, ("list",)))
    assert [pointer for pointer, _ in found] == [("list", 0, "a")]


def test_conditions_are_evaluated_like_in_json_schema() -> None:
    conditions = [choice["if"] for rule in (schema.root(), *DEFINITIONS.values()) for choice in choices(rule)]
    values: list[Any] = [{}, {"model": {}}, {"model": {"type": "det"}}, {"type": "RecDataset"}]
    values += [{"name": name} for name in ("SVTRNet", "Img2Seq", "det_resnet18", "")]
    assert len(conditions) > 10
    for condition in conditions:
        for value in values:
            assert schema.holds(condition, value) == Draft202012Validator(condition).is_valid(value)


def choices(rule: Any) -> Iterator[Any]:
    if isinstance(rule, dict):
        yield from rule.get("allOf", ())
        for key, inner in rule.items():
            if key != "allOf":
                yield from choices(inner)


@pytest.mark.parametrize("value", [f"0x{'f' * 300}", f"-0x{'f' * 300}", "1" + "0" * 309])
def test_an_integer_beyond_the_float_range_is_refused(value: str) -> None:
    for key in ("scheduler.num_epochs", "train.loader.batch_size", "system.seed"):
        with pytest.raises(KitError, match=re.escape(key)):
            config.load(CONFIG, [f"{key}={value}"])


def test_a_rectifier_refuses_a_size_that_its_convolutions_cannot_take() -> None:
    with pytest.raises(KitError, match=r"model\.transform\.tps_inputsize\.0 is 16; accepted: at least 32"):
        config.load(ROOT / "configs" / "rec" / "svtr" / "svtr_tiny.yaml", ["model.transform.tps_inputsize=[16, 64]"])
