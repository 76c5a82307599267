"""Composition of a configuration: `__base__`, `-o`, and aliases of the values in `common`."""

from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.config import layers
from tests.ocr.config.test_config import DETECTION, refusal
from tests.ocr.config.test_yaml_text import DEEP
from tests.ocr.run_tool import CONFIG

BASE = """\
common:
  size: &size 4
  shape: &shape [8, 16]
a:
  size: *size
  other: 1
  list: [{size: *size}, {shape: *shape}]
b: *size
"""


def file(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def stopped(path: Path) -> str:
    with pytest.raises(KitError) as caught:
        layers.read(path)
    return caught.value.message


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("train.ckpt_save_dir=a=b", "a=b"),
        ("scheduler.lr=1e-3", 0.001),
        ("scheduler.lr=1E1", 10.0),
        ("train.max_steps=7", 7),
        ("train.max_steps=", None),
        ("train.ema=True", True),
        ("train.gradient_accumulation_steps=4", 4),
        ("parallel.strategy=mpi", "mpi"),
        ("parallel.strategy=memory", "memory"),
        ("parallel.strategy=my_package.reduce.mine", "my_package.reduce.mine"),
        ("eval.ckpt_load_path='1e-3'", "1e-3"),
        ("eval.ckpt_load_path=1e-3x", "1e-3x"),
        (" scheduler.min_lr = 0.5", 0.5),
        ("train.ckpt_save_dir=2026-01-02", "2026-01-02"),
    ],
)
def test_overrides_are_yaml_and_may_add_keys(override: str, value: object) -> None:
    loaded = config.load(CONFIG, [override])
    section, key = override.partition("=")[0].strip().split(".")
    assert loaded[section][key] == value
    assert type(loaded[section][key]) is type(value)


def test_the_last_override_wins() -> None:
    assert config.load(CONFIG, ["system.seed=1", "system.seed=2"])["system"]["seed"] == 2


def test_items_of_lists_are_counted_from_0() -> None:
    place = "train.dataset.transform_pipeline.2.RecResizeImg.image_shape"
    steps = config.load(CONFIG, [f"{place}=[32, 128]"])["train"]["dataset"]["transform_pipeline"]
    assert steps[2]["RecResizeImg"] == {"image_shape": [32, 128], "padding": True}
    assert config.load(CONFIG, [f"{place}.1=64"])["train"]["dataset"]["transform_pipeline"][2]["RecResizeImg"] == {
        "image_shape": [32, 64],
        "padding": True,
    }


def test_an_override_may_replace_null_by_a_section() -> None:
    assert config.load(CONFIG, ["model.transform.name=STN_ON"])["model"]["transform"]["num_control_points"] == 20


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("trian.loader.batch_size=3", "trian is not a key of this release; did you mean train?"),
        ("train.batch_size=3", "train.batch_size is not a key of this release; did you mean train.loader.batch_size?"),
        (
            "eval.dataset_root=x",
            "eval.dataset_root is not a key of this release; did you mean eval.dataset.dataset_root?",
        ),
        ("batch_size=3", "batch_size is not a key of this release; did you mean train.loader.batch_size?"),
        ("train.loader.batch_size.x=3", "train.loader.batch_size is a value, not a section"),
        ("train=3", "train is 3; expected a section"),
        ("parallel.strategy=fast", "accepted: auto, framework, memory, mpi, or the dotted path"),
        ("train.dataset.transform_pipeline.9.ToCHWImage=", "transform_pipeline is a list; accepted: 0 to 4"),
        ("train.dataset.transform_pipeline.x=3", "transform_pipeline is a list; accepted: 0 to 4"),
        ("train.dataset.transform_pipeline.٢.x=3", "transform_pipeline is a list; accepted: 0 to 4"),
        ("scheduler.lr=[", "is not valid YAML"),
        ("scheduler.lr=2024-13-45", "scheduler.lr is '2024-13-45'; expected a number"),
        ("scheduler.lr=" + DEEP, "nested too deeply"),
        ("scheduler.lr", "expected key=value"),
        ("", "expected key=value"),
        ("=3", "expected key=value"),
        ("scheduler..lr=3", "expected key=value"),
        ("common.lr=3", "no other section uses an anchor of common.lr, so it has no effect"),
    ],
)
def test_an_invalid_override_is_named(override: str, expected: str) -> None:
    message = refusal(CONFIG, override)
    assert message.startswith(f"-o {override}")
    assert expected in message
    assert len(message.split("\n")) == 1 or "not valid YAML" in message


def test_an_override_changes_only_one_use() -> None:
    """The dictionary and the batch size are defined once and used in several places by aliases, which are copies."""
    loaded = config.load(CONFIG, ["postprocess.use_space_char=True"])
    assert loaded["postprocess"]["use_space_char"] is True
    assert loaded["train"]["dataset"]["transform_pipeline"][1]["RecCTCLabelEncode"]["use_space_char"] is False


def test_an_override_of_common_changes_all_uses() -> None:
    """MindOCR's users change batch_size like this; in MindOCR it has silently no effect."""
    loaded = config.load(CONFIG, ["common.batch_size=5", "common.max_text_len=9"])
    assert loaded["train"]["loader"]["batch_size"] == loaded["common"]["batch_size"] == 5
    for section in ("train", "eval"):
        assert loaded[section]["dataset"]["transform_pipeline"][1]["RecCTCLabelEncode"]["max_text_len"] == 9


def test_a_use_with_its_own_override_does_not_follow_common() -> None:
    loaded = config.load(CONFIG, ["postprocess.use_space_char=False", "common.use_space_char=True"])
    assert loaded["postprocess"]["use_space_char"] is False
    assert loaded["train"]["dataset"]["transform_pipeline"][1]["RecCTCLabelEncode"]["use_space_char"] is True


def test_uses_are_copies(tmp_path: Path) -> None:
    parts = layers.read(file(tmp_path, "base.yaml", BASE))
    parts.override("common.shape=[1, 2]")
    parts.override("a.list.1.shape.0=3")
    assert parts.values["a"]["list"][1]["shape"] == [3, 2]
    assert parts.values["common"]["shape"] == [1, 2]


def test_a_mistake_in_a_replaced_list_is_reported_at_the_override() -> None:
    override = "train.dataset.transform_pipeline=[{DecodeImage: {img_mode: GREY}}]"
    assert refusal(CONFIG, override).startswith(f"-o {override}: train.dataset.transform_pipeline.0.DecodeImage.img_")


def test_a_mistake_in_common_is_reported_at_its_definition() -> None:
    message = refusal(CONFIG, "common.batch_size=many")
    assert message == "-o common.batch_size=many: train.loader.batch_size is 'many'; expected a whole number"


def test_sections_are_merged_and_lists_replaced(tmp_path: Path) -> None:
    file(tmp_path, "base.yaml", BASE)
    parts = layers.read(file(tmp_path, "top.yaml", "__base__: base.yaml\na:\n  other: 2\n  list: [7]\nc: {d: 3}\n"))
    assert parts.values == {
        "common": {"size": 4, "shape": [8, 16]},
        "a": {"size": 4, "other": 2, "list": [7]},
        "b": 4,
        "c": {"d": 3},
    }


def test_values_of_common_change_uses_in_base_files(tmp_path: Path) -> None:
    file(tmp_path, "base.yaml", BASE)
    file(tmp_path, "middle.yaml", "__base__: base.yaml\ncommon: {size: 5}\na: {other: 2}\n")
    top = file(
        tmp_path, "top.yaml", "__base__: middle.yaml\ncommon: {size: &mine 6, shape: [9]}\nd: *mine\na: {size: 1}\n"
    )
    parts = layers.read(top)
    assert parts.values["a"] == {"size": 1, "other": 2, "list": [{"size": 6}, {"shape": [9]}]}
    assert (parts.values["b"], parts.values["d"]) == (6, 6)
    parts.override("common.size=7")
    assert (parts.values["a"]["size"], parts.values["b"], parts.values["d"]) == (1, 7, 7)
    assert parts.values["a"]["list"] == [{"size": 7}, {"shape": [9]}]


def test_uses_in_a_replaced_list_are_dropped(tmp_path: Path) -> None:
    file(tmp_path, "base.yaml", BASE)
    parts = layers.read(file(tmp_path, "top.yaml", "__base__: base.yaml\na: {list: [1]}\n"))
    parts.override("common.size=7")
    assert parts.values["a"] == {"size": 7, "other": 1, "list": [1]}


def test_several_bases_are_merged_in_order(tmp_path: Path) -> None:
    file(tmp_path, "one.yaml", "a: {x: 1, y: 1}\n")
    file(tmp_path, "two.yaml", "a: {y: 2, z: 2}\n")
    parts = layers.read(file(tmp_path, "top.yaml", "a: {z: 3}\n__base__: [one.yaml, two.yaml]\n"))
    assert parts.values == {"a": {"x": 1, "y": 2, "z": 3}}


def test_every_value_has_its_file_and_line(tmp_path: Path) -> None:
    base = file(tmp_path, "base.yaml", BASE)
    top = file(tmp_path, "top.yaml", "__base__: base.yaml\na:\n  other: 2\ncommon:\n  size: 3\n")
    places = layers.read(top).places
    assert places["a",] == f"{base}:4"
    assert places["a", "other"] == f"{top}:3"
    assert places["a", "size"] == places["b",] == f"{top}:5"
    assert places["a", "list", 1, "shape"] == f"{base}:7"


def test_a_base_path_is_relative_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    file(tmp_path, "base.yaml", "a: 1\n")
    file(tmp_path, "inner/middle.yaml", "__base__: ../base.yaml\n")
    assert layers.read(file(tmp_path, "top.yaml", "__base__: inner/middle.yaml\n")).values == {"a": 1}


def test_a_circular_base_is_refused(tmp_path: Path) -> None:
    one = file(tmp_path, "one.yaml", "a: 1\n__base__: two.yaml\n")
    two = file(tmp_path, "two.yaml", "__base__: one.yaml\n")
    assert stopped(one) == f"{one}:2: {two}:1: {one} extends itself"


def test_too_many_base_files_are_refused(tmp_path: Path) -> None:
    """Each twice: 8 files would be read 511 times, and 30 files for hours."""
    for number in range(8):
        file(tmp_path, f"{number}.yaml", f"__base__: [{number + 1}.yaml, {number + 1}.yaml]\n")
    file(tmp_path, "8.yaml", "a: 1\n")
    assert "extends more than 32 files" in stopped(tmp_path / "0.yaml")


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("no.yaml", "1: cannot read {folder}/no.yaml: No such file or directory"),
        ("3", "1: __base__ is 3; accepted: a path or a list of paths"),
        ("[a.yaml, {}]", "1: cannot read"),
        ('"a\\0b"', "1: 'a\\x00b' contains a character that no file name can have"),
        ('"a\\eb"', "1: __base__ is 'a\\x1bb'; accepted"),
        ("''", "1: cannot read {folder}: Is a directory"),
        ("wrong.yaml", "1: {folder}/wrong.yaml:2: a is given twice"),
    ],
)
def test_an_invalid_base_is_reported_with_its_line(tmp_path: Path, base: str, expected: str) -> None:
    file(tmp_path, "wrong.yaml", "a: 1\na: 2\n")
    path = file(tmp_path, "top.yaml", f"__base__: {base}\n")
    assert stopped(path).startswith(f"{path}:{expected.format(folder=tmp_path)}")


def test_other_key_positions_and_spellings_of_mindocr_are_accepted() -> None:
    loaded = config.load(CONFIG, ["model.resume=True", "optimizer.opt=SGD", "train.dataset.sample_ratios=[0.5]"])
    assert loaded["system"]["resume"] is True
    assert "resume" not in loaded["model"]
    assert loaded["optimizer"]["opt"] == "sgd"
    assert loaded["train"]["dataset"]["sample_ratio"] == [0.5]
    assert config.load(DETECTION, ["system=", "model.resume=a.ckpt"])["system"]["resume"] == "a.ckpt"


def test_a_key_at_both_positions_in_one_file_is_refused(tmp_path: Path) -> None:
    file(tmp_path, "both.yaml", f"__base__: {CONFIG}\nmodel:\n  resume: True\nsystem:\n  resume: False\n")
    message = refusal(tmp_path / "both.yaml")
    assert message.endswith("both.yaml:3: model.resume is not a key of this release; did you mean system.resume?")


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["sample_ratio=0.5", "sample_ratios=[0.25]"], [0.25]),
        (["sample_ratios=[0.25]", "sample_ratio=0.5"], 0.5),
    ],
)
def test_the_last_option_applies_to_a_key_with_two_positions(overrides: list[str], expected: object) -> None:
    found = config.load(CONFIG, [f"train.dataset.{option}" for option in overrides])["train"]["dataset"]
    assert found["sample_ratio"] == expected
    assert "sample_ratios" not in found
    assert config.load(CONFIG, ["system.resume=False", "model.resume=True"])["system"]["resume"] is True


@pytest.mark.parametrize(("below", "above"), [("sample_ratio", "sample_ratios"), ("sample_ratios", "sample_ratio")])
def test_a_derived_file_may_override_a_key_by_either_name(tmp_path: Path, below: str, above: str) -> None:
    dataset = "train:\n  dataset:\n    {}: {}\n"
    file(tmp_path, "below.yaml", f"__base__: {CONFIG}\n" + dataset.format(below, 0.5))
    path = file(tmp_path, "above.yaml", "__base__: below.yaml\n" + dataset.format(above, 0.25))
    assert config.load(path)["train"]["dataset"]["sample_ratio"] == 0.25
    message = refusal(path, "train.dataset.sample_ratio=-1")
    assert message.startswith("-o train.dataset.sample_ratio=-1: train.dataset.sample_ratio is -1")


def test_a_derived_file_may_set_a_key_to_null(tmp_path: Path) -> None:
    file(tmp_path, "below.yaml", f"__base__: {CONFIG}\ntrain:\n  max_steps: 7\n")
    text = "__base__: below.yaml\ntrain:\n  max_steps: null\nmodel:\n  pretrained: null\n"
    loaded = config.load(file(tmp_path, "above.yaml", text))
    assert loaded["train"]["max_steps"] is None
    assert loaded["model"]["pretrained"] is None


def test_old_names_of_mindocr_are_mapped_to_current_ones() -> None:
    old = ["loss.name=L1BalancedCELoss", "postprocess={name: DBPostprocess, output_polygon: True}"]
    loaded = config.load(DETECTION, old)
    assert loaded["loss"]["name"] == "DBLoss"
    assert loaded["postprocess"]["box_type"] == "poly"
    old[1] = "postprocess={name: DBPostprocess, output_polygon: False}"
    assert config.load(DETECTION, old)["postprocess"]["box_type"] == "quad"
