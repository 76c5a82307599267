"""The shipped configurations: each is complete, names the source of its numbers, and matches the code."""

import inspect
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from hccl_kit.ocr import config
from hccl_kit.ocr.config import schema
from tests.places import ROOT, shipped_configs

FOLDER = ROOT / "configs"
SHIPPED = shipped_configs()


@pytest.fixture(scope="module")
def configurations() -> dict[Path, config.Config]:
    return {path: config.load(path) for path in SHIPPED}


def values(name: str) -> config.Config:
    return config.load(FOLDER / f"{name}.yaml")


def test_none_has_an_ineffective_key(configurations: dict[Path, config.Config]) -> None:
    for path, loaded in configurations.items():
        assert loaded["model"]["type"] == path.relative_to(FOLDER).parts[0], path
        assert schema.ineffective(loaded.values) == [], path


def test_the_archive_of_each_defines_the_same_job(configurations: dict[Path, config.Config], tmp_path: Path) -> None:
    for path, loaded in configurations.items():
        (tmp_path / "train_config.yaml").write_text(loaded.to_yaml(), encoding="utf-8")
        assert config.load(tmp_path / "train_config.yaml").digest == loaded.digest, path
        assert "__base__" not in loaded.values, path


def test_each_names_the_source_of_its_numbers() -> None:
    for path in SHIPPED:
        comment = [line for line in path.read_text(encoding="utf-8").split("\n") if line.startswith("#")]
        assert any("MindOCR" in line or "chosen" in line for line in comment), path


def test_all_paths_are_relative_and_the_run_folder_is_unique(configurations: dict[Path, config.Config]) -> None:
    for path, loaded in configurations.items():
        assert loaded["train"]["ckpt_save_dir"] == f"./runs/{path.stem}", path
        assert loaded["eval"]["ckpt_load_path"] is None, path
        assert loaded.weights == Path(f"runs/{path.stem}/best.ckpt"), path
        for section in ("train", "eval"):
            assert loaded[section]["dataset"]["dataset_root"].startswith("./data/"), path


def test_the_sections_of_each_are_consistent(configurations: dict[Path, config.Config]) -> None:
    """The dictionary, the label length and the image size are the same in all of them."""
    for path, loaded in configurations.items():
        training, evaluation = (
            {
                name: options or {}
                for step in loaded[section]["dataset"]["transform_pipeline"]
                for name, options in step.items()
            }
            for section in ("train", "eval")
        )
        kind = loaded["model"]["type"]
        if kind == "det":
            assert_pages_are_consistent(path, training, evaluation)
            continue
        for name in ("RecCTCLabelEncode", "RecAttnLabelEncode", "RecResizeImg", "SVTRRecResizeImg", "NormalizeImage"):
            assert training.get(name) == evaluation.get(name), (path, name)
        if kind == "cls":
            assert training == evaluation, path
            assert training["ClsLabelEncode"]["label_list"] == loaded["postprocess"]["label_list"], path
        else:
            assert_labels_are_consistent(
                path, loaded, training.get("RecCTCLabelEncode") or training["RecAttnLabelEncode"]
            )


def assert_pages_are_consistent(path: Path, training: dict[str, Any], evaluation: dict[str, Any]) -> None:
    assert training["NormalizeImage"] == evaluation["NormalizeImage"], path
    if path.parent.name != "ppocr":
        assert training["NormalizeImage"] == {"mean": "imagenet", "std": "imagenet"}, path
    if "BorderMap" in training:
        assert training["ShrinkBinaryMap"]["shrink_ratio"] == training["BorderMap"]["shrink_ratio"], path


def assert_labels_are_consistent(path: Path, loaded: config.Config, label: dict[str, Any]) -> None:
    post, head = loaded["postprocess"], loaded["model"]["head"]
    assert label["character_dict_path"] == post["character_dict_path"], path
    assert label["use_space_char"] == post["use_space_char"], path
    if path.parent.name != "ppocr":  # published weights read both cases, even if the metric ignores case
        assert label.get("lower", False) == loaded["metric"]["lower"], path
    if post["character_dict_path"] is None:
        more = {"CTCHead": 1, "AttentionHead": 2}[head["name"]]
        assert head["out_channels"] == 36 + post["use_space_char"] + more, path
    assert head.get("batch_max_length", label["max_text_len"]) == label["max_text_len"], path


def test_the_chinese_dictionary_is_set_once() -> None:
    loaded = config.load(FOLDER / "rec/crnn/crnn_resnet34_zh.yaml", ["common.character_dict_path=mine.txt"])
    assert loaded["postprocess"]["character_dict_path"] == "mine.txt"
    assert str(dict(loaded.values)).count("mine.txt") == 4


@pytest.mark.parametrize("path", [path for path in SHIPPED if "https:" in path.read_text("utf-8")], ids=str)
def test_fetched_weights_are_listed_by_rapidocr(path: Path) -> None:
    """With the checksums that the package publishes."""
    try:
        package = metadata.distribution("rapidocr")
    except metadata.PackageNotFoundError:
        pytest.skip("needs rapidocr (extra weights)")
    text = Path(str(package.locate_file("rapidocr/default_models.yaml"))).read_text(encoding="utf-8")
    models = yaml.safe_load(text)["onnxruntime"]
    listed = {
        row["model_dir"]: row["SHA256"]
        for family in models.values()
        for kind in family.values()
        for row in kind.values()
        if isinstance(row, dict) and "SHA256" in row
    }
    model = config.load(path)["model"]
    assert listed[model["pretrained"]] == model["pretrained_sha256"]


def steps_of(name: str) -> dict[str, dict[str, Any]]:
    """The transforms of the schema with the rules of their options."""
    steps = {}
    for step, rule in schema.root()["$defs"][name]["properties"].items():
        options: dict[str, Any] = {}
        for chosen in schema.chosen_rules(rule, None):
            options |= chosen.get("properties", {})
        steps[step] = options
    return steps


STEPS = steps_of("det_step") | steps_of("rec_step")


def test_the_schema_and_the_pipeline_have_the_same_transforms_options_and_defaults() -> None:
    pytest.importorskip("cv2")
    from hccl_kit.ocr.data.pipeline import TRANSFORMS  # noqa: PLC0415  # loads numpy and OpenCV

    assert set(STEPS) == set(TRANSFORMS)
    for step, rules in STEPS.items():
        parameters = inspect.signature(TRANSFORMS[step]).parameters
        assert set(rules) == set(parameters), step
        for name, rule in rules.items():
            written = next((row["default"] for row in schema.chosen_rules(rule, None) if "default" in row), None)
            default = parameters[name].default
            if default is not inspect.Parameter.empty and not (default is None and written is None):
                assert written == plain(default), (step, name)


def test_shipped_files_are_plain_yaml_too() -> None:
    for path in SHIPPED:
        assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


NOT_OPTIONS = ("name", "pretrained", "bottleneck_params", "rescale_fields")
"""Keys that name the part, or describe the use of its output."""


def options_of(name: str) -> dict[str, Any]:
    """The options of a part of a network with their defaults, according to the schema."""
    rules = schema.root()["$defs"][name]["properties"]
    return {key: rule for key, rule in rules.items() if key not in NOT_OPTIONS}


@pytest.mark.train
def test_the_schema_and_the_parts_of_the_networks_have_the_same_options() -> None:
    from hccl_kit.ocr.decode.db import db_postprocess  # noqa: PLC0415  # loads OpenCV, as those below
    from hccl_kit.ocr.decode.east import east_postprocess  # noqa: PLC0415
    from hccl_kit.ocr.decode.pse import pse_postprocess  # noqa: PLC0415
    from hccl_kit.ocr.losses.lines import CrossEntropySmooth  # noqa: PLC0415  # loads MindSpore
    from hccl_kit.ocr.losses.pages import (  # noqa: PLC0415  # loads MindSpore, as those below
        AuxDBLoss,
        DBLoss,
        EASTLoss,
        PSEDiceLoss,
    )
    from hccl_kit.ocr.models import cls_mobilenet_v3, crnn, db, east, fpn, mobilenet_v3, network, pse, svtr, tps  # noqa: PLC0415
    from hccl_kit.ocr.models.ppocr import lcnet_v3, lcnet_v4, necks, nrtr, pyramid  # noqa: PLC0415

    rec, cls = (schema.root()["$defs"][f"{name}_model"]["properties"] for name in ("rec", "cls"))
    pairs: list[tuple[dict[str, Any], Callable[..., Any]]] = [
        (options_of("db_postprocess"), db_postprocess),
        (options_of("pse_postprocess"), pse_postprocess),
        (options_of("east_postprocess"), east_postprocess),
        (options_of("db_loss"), DBLoss),
        (options_of("aux_db_loss"), AuxDBLoss),
        (options_of("pse_loss"), PSEDiceLoss),
        (options_of("east_loss"), EASTLoss),
        (options_of("mobilenet_v3"), mobilenet_v3.mobilenet_v3),
        (options_of("svtr_net"), svtr.SvtrShape),
        (options_of("db_fpn"), fpn.FeaturePyramid),
        (options_of("pse_fpn"), pse.PSEFPN),
        (options_of("east_fpn"), east.EASTFPN),
        (options_of("rep_lk_fpn"), pyramid.RepLKFPN),
        (options_of("rse_fpn"), pyramid.RSEFPN),
        (options_of("rep_lk_pan"), pyramid.RepLKPAN),
        (options_of("db_head"), db.DBHead),
        (options_of("pse_head"), pse.PSEHead),
        (options_of("east_head"), east.EASTHead),
        (options_of("cls_loss"), CrossEntropySmooth),
        (cls["head"]["properties"], cls_mobilenet_v3.MobileNetV3Head),
        (options_of("ctc_head"), network.CTCHead),
        (options_of("multi_head"), nrtr.MultiHead),
        (options_of("pplcnet_v4"), lcnet_v4.LineBackbone),
        (options_of("pplcnet_v4"), lcnet_v4.PageBackbone),
        (options_of("pplcnet_v3"), lcnet_v3.LineBackbone),
        (options_of("pplcnet_v3_pages"), lcnet_v3.PageBackbone),
        (options_of("light_svtr"), necks.LightSVTR),
        (options_of("ctc_guide"), necks.CTCGuide),
        (options_of("svtr_encoder"), necks.SVTREncoder),
        (options_of("attention_head"), crnn.AttentionHead),
        (rec["transform"]["properties"], tps.rectifier),
    ]
    for rules, taken in pairs:
        keywords = {p.name: p.default for p in inspect.signature(taken).parameters.values() if p.kind is p.KEYWORD_ONLY}
        assert set(rules) - {"name"} == set(keywords), taken
        for key, default in keywords.items():
            if default not in (None, inspect.Parameter.empty):
                written = next(row["default"] for row in schema.chosen_rules(rules[key], None) if "default" in row)
                assert plain(written) == plain(default), (taken, key)


def plain(value: Any) -> Any:
    return [plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value
