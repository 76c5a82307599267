"""Configurations: valid ones are loaded unchanged, mistakes are reported with their line."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.config import layers, schema
from tests.ocr.run_tool import CONFIG
from tests.places import ROOT

TEXT = CONFIG.read_text(encoding="utf-8")
DETECTION = ROOT / "configs" / "det" / "dbnet" / "db_r18_icdar15.yaml"


def refusal(path: Path, *overrides: str) -> str:
    with pytest.raises(KitError) as caught:
        config.load(path, overrides)
    assert caught.value.exit_code == 2
    return caught.value.message


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "config.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if part in line)


def test_defaults_come_from_the_schema(tmp_path: Path) -> None:
    loaded = config.load(written(tmp_path, TEXT.replace("    hidden_size: 48\n", "").replace("  seed: 42\n", "")))
    assert loaded["model"]["neck"]["hidden_size"] == 512
    assert loaded["system"]["seed"] == 42
    assert loaded["train"]["max_steps"] is None
    assert loaded["optimizer"]["momentum"] == 0.9
    assert loaded["system"]["resume"] is False


def test_missing_sections_have_their_defaults() -> None:
    loaded = config.load(CONFIG)
    assert loaded["loss_scaler"] == {"type": "static", "loss_scale": 1.0, "scale_factor": 2.0, "scale_window": 2000}
    assert loaded["parallel"] == {"strategy": "auto"}


def test_a_missing_default_of_mindocr_requires_the_key(tmp_path: Path) -> None:
    """SVTR's prenorm: in MindOCR, a file without it is a different network."""
    text = (CONFIG.parent.parent / "svtr" / "svtr_tiny.yaml").read_text(encoding="utf-8")
    with pytest.raises(KitError, match=r"model\.backbone\.prenorm is missing"):
        config.load(written(tmp_path, text.replace("    prenorm: False\n", "")))


def test_defaults_are_those_of_the_selected_parts() -> None:
    backbone = config.load(DETECTION, ["model.backbone.name=det_mobilenet_v3"])["model"]["backbone"]
    assert backbone["alpha"] == 1.0
    assert backbone["bottleneck_params"] == {"se_version": "SqueezeExciteV2", "always_expand": True}
    assert config.load(DETECTION)["model"]["backbone"] == {"name": "det_resnet18"}
    assert "hidden_size" not in config.load(CONFIG, ["model.neck={name: Img2Seq}"])["model"]["neck"]


def test_defaults_do_not_replace_explicit_values() -> None:
    loaded = config.load(CONFIG, ["model.neck.hidden_size=7", "optimizer.momentum=0", "train.clip_grad=False"])
    assert loaded["model"]["neck"]["hidden_size"] == 7
    assert loaded["optimizer"]["momentum"] == 0
    assert loaded["train"]["clip_grad"] is False


def test_default_values_are_not_shared() -> None:
    """Two configurations have separate copies of a default list."""
    loaded = config.load(CONFIG)
    assert loaded["scheduler"]["milestones"] is not config.load(CONFIG)["scheduler"]["milestones"]


def test_another_network_is_one_sentence(tmp_path: Path) -> None:
    """Its other keys are unknown too, and naming them tells nothing."""
    text = TEXT.replace("name: CTCHead", "name: VisionLANHead\n    other: 1").replace(
        "name: CTCLoss", "name: VisionLANLoss"
    )
    path = written(tmp_path, text)
    message = refusal(path)
    assert message.startswith(
        f"{path}:{line_of(text, 'VisionLANHead')}: this release has no network of type rec with 'Visi"
    )
    assert message.endswith("accepted: model.head.name CTCHead, AttentionHead, MultiHead")
    assert "\n" not in message
    typo = TEXT.replace("name: CTCHead", "name: CTCHaed")
    assert "model.head.name is 'CTCHaed'; accepted: CTCHead" in refusal(written(tmp_path, typo))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("batch_size: 32", "batchsize: 32", "eval.loader.batchsize is not a key of this release; did you mean batch"),
        ("scheduler: warmup_cosine_decay", "scheduler: warmup_cosine", "did you mean warmup_cosine_decay?"),
        ("lr: 0.004", "lr: fast", "scheduler.lr is 'fast'; expected a number"),
        ("lr: 0.004", "lr: .nan", "scheduler.lr is nan; expected a number"),
        ("weight_decay: 0.0001", "weight_decay: .inf", "optimizer.weight_decay is inf; expected a number"),
        ("batch_size: 32", "batch_size: 16.0", "eval.loader.batch_size is 16.0; expected a whole number"),
        ("val_interval: 3", "val_interval: True", "system.val_interval is True; expected a whole number"),
        ("type: rec\n", "type: kie\n", "model.type is 'kie'; accepted: det, rec, cls"),
        ("[32, 100]", "[32, 1]", "transform_pipeline.2.RecResizeImg.image_shape.1 is 1; accepted: at least 8"),
        ("[32, 100]", "[32]", "RecResizeImg.image_shape is [32]; accepted: at least 2 items"),
        ("min_lr: 0.0", "min_lr: -1", "scheduler.min_lr is -1; accepted: at least 0"),
        ("  hidden_size: 48", "  lr: 48", "model.neck.lr is not a key of this release; did you mean scheduler.lr?"),
        ("name: CTCLoss", "name: DBLoss", "loss.name is 'DBLoss'; accepted: CTCLoss"),
        ("          padding: True", "          paddding: True", "paddding is not a key of this release; did you mean"),
        ("          img_mode: BGR", "        img_mode: BGR", "accepted: one step with its options indented below it"),
        ("  mode: 0 #", "  mode: #", "system.mode is null; accepted: 0, 1"),
        (
            "ckpt_save_dir: ./runs/crnn_small",
            "ckpt_save_dir: 7",
            "train.ckpt_save_dir is 7; expected a string; quote it",
        ),
    ],
)
def test_a_mistake_is_named_once_with_its_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = TEXT.replace(old, new, 1)
    assert text != TEXT
    path = written(tmp_path, text)
    message = refusal(path)
    line = line_of(text, "- DecodeImage:" if "img_mode" in new else new.strip().removesuffix(" #"))
    assert message.startswith(f"{path}:{line}: ")
    assert expected in message
    assert len(message.split("\n")) == 1


def test_every_mistake_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT.replace("mode: 0", "mod: 0").replace("opt: adamw", "opt: adan"))
    assert len(refusal(path).split("\n")) == 2


def test_a_long_list_of_mistakes_is_truncated() -> None:
    lines = refusal(CONFIG, *(f"system.unknown{number}=1" for number in range(30))).split("\n")
    assert len(lines) == 21
    assert lines[-1].strip() == "and 10 more"


def test_a_missing_key_is_named_with_its_section(tmp_path: Path) -> None:
    text = TEXT.replace("  opt: adamw\n", "")
    path = written(tmp_path, text)
    assert refusal(path) == f"{path}:{line_of(text, 'optimizer:')}: optimizer.opt is missing"


def test_without_a_model_type_only_that_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT.replace("  type: rec\n", ""))
    assert refusal(path) == f"{path}:{line_of(TEXT, 'model:')}: model.type is missing"
    assert refusal(written(tmp_path, "a: 1")) == f"{path}:1: model is missing"


def test_detection_and_recognition_have_their_own_keys() -> None:
    assert "metric.lower is not a key" in refusal(DETECTION, "metric.lower=True")
    assert "loss.l1_scale is not a key" in refusal(CONFIG, "loss.l1_scale=1")
    other = refusal(CONFIG, "model.backbone.name=det_resnet18")
    assert "no network of type rec with 'det_resnet18'; accepted: model.backbone.name rec_vgg7, " in other
    assert "model.backbone.alpha is not a key" in refusal(DETECTION, "model.backbone.alpha=1")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.yaml") == f"cannot read {tmp_path / 'no.yaml'}: No such file or directory"
    assert refusal(tmp_path) == f"cannot read {tmp_path}: Is a directory"


@given(st.text() | st.text('[]{}&*a:<!"\n -?|>1e.#%@0x_') | st.binary())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_load_raises_only_kit_errors_for_any_text(tmp_path: Path, content: str | bytes) -> None:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    with pytest.raises(KitError):
        config.load(written(tmp_path, data))


wrong = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
sections = st.sampled_from(sorted(yaml.safe_load(TEXT)))
keys = st.sampled_from(["resume", "dataset", "sample_ratios", "opt", "name", "type", "a"])


@given(sections, keys, st.recursive(wrong, lambda inner: st.dictionaries(keys, inner, max_size=3), max_leaves=4))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_value_of_a_section_or_key_ends_in_a_traceback(
    tmp_path: Path, section: str, key: str, value: object
) -> None:
    for changed in ({section: value}, {section: {key: value}}):
        values = yaml.safe_load(TEXT) | changed
        for overrides in ([], [f"{section}.{key}.x.0=1"]):
            try:
                schema.ineffective(config.load(written(tmp_path, yaml.safe_dump(values)), overrides).values)
            except KitError as error:
                assert error.message  # a valid value is fine too


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(inner) for inner in value] if isinstance(value, list) else value


def test_the_digest_does_not_depend_on_key_order_or_file(tmp_path: Path) -> None:
    first = config.load(CONFIG)
    text = yaml.safe_dump(reversed_keys(yaml.safe_load(TEXT)), sort_keys=False)
    assert text.index("eval:") < text.index("system:")
    second = config.load(written(tmp_path, text))
    assert second.digest == first.digest
    assert config.load(CONFIG, ["system.seed=43"]).digest != first.digest
    assert config.load(CONFIG, ["system.seed=42"]).digest == first.digest


finite = st.floats(min_value=1e-300, max_value=100)
odd = st.sampled_from(["1e-3", "1E5", "+1.e-3", "null", "True", "~", "=", "0x1", " ", "12:30:00", "2026-01-02"])
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1) | odd


@given(save=texts, load=texts, rate=finite, decay=finite, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_archive_starts_the_same_job(
    tmp_path: Path, save: str, load: str, rate: float, decay: float, seed: int
) -> None:
    values = yaml.safe_load(TEXT)
    values["train"]["ckpt_save_dir"], values["eval"]["ckpt_load_path"] = save, load
    values["scheduler"]["lr"], values["optimizer"]["weight_decay"] = rate, decay
    values["system"]["seed"] = seed
    one = config.Config(values, "memory")
    again = config.load(written(tmp_path, one.to_yaml()))
    assert again["train"]["ckpt_save_dir"] == save
    assert again["scheduler"]["lr"] == rate
    twice = config.load(written(tmp_path, again.to_yaml()))
    assert twice.digest == again.digest
    assert twice.values == again.values


def test_an_archive_refuses_overrides_of_common(tmp_path: Path) -> None:
    """The archive has no anchors any more: an override without effect must not be ignored silently."""
    archive = written(tmp_path, config.load(CONFIG).to_yaml())
    assert "so it has no effect" in refusal(archive, "common.batch_size=3")


def test_the_size_of_a_file_is_limited(tmp_path: Path) -> None:
    path = written(tmp_path, "a: " + "x" * layers.MAX_BYTES)
    assert f"is larger than {layers.MAX_BYTES} bytes" in refusal(path)


MINE = "__base__: base.yaml\ntrain:\n  ckpt_save_dir: runs/mine\n"
OF_BASE = "  ckpt_load_path: runs/crnn_small/best.ckpt\n"


@pytest.mark.parametrize("named", ["", OF_BASE], ids=["not named", "named by the base"])
@pytest.mark.parametrize(
    ("own", "options", "wanted"),
    [
        ("", (), "runs/mine/best.ckpt"),
        (f"eval:\n{OF_BASE}", (), "runs/crnn_small/best.ckpt"),
        ("eval:\n  ckpt_load_path: other.ckpt\n", (), "other.ckpt"),
        ("", ("train.ckpt_save_dir=runs/third",), "runs/third/best.ckpt"),
        ("", ("eval.ckpt_load_path=runs/crnn_small/best.ckpt",), "runs/crnn_small/best.ckpt"),
    ],
)
def test_weights_are_those_of_the_training_of_this_configuration(
    tmp_path: Path, named: str, own: str, options: tuple[str, ...], wanted: str
) -> None:
    """Not those of the one that it extends, nor any other best.ckpt beside it; those that it names in any case."""
    (tmp_path / "base.yaml").write_text(TEXT.replace("\neval:\n", f"\neval:\n{named}"), encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(MINE + own, encoding="utf-8")
    (tmp_path / "best.ckpt").write_text("of nobody knows what")
    assert config.load(tmp_path / "mine.yaml", options).weights == Path(wanted)
    assert config.load(tmp_path / "base.yaml").weights == Path("runs/crnn_small/best.ckpt")


def test_the_weights_of_an_archive_are_those_in_its_folder(tmp_path: Path) -> None:
    """Also if the folder was moved, and another training writes to the old place."""
    archive = tmp_path / "train_config.yaml"
    archive.write_text(config.load(CONFIG).of_run().to_yaml(), encoding="utf-8")
    assert config.load(archive).weights == tmp_path / "best.ckpt"
    assert config.load(archive, ["train.ckpt_save_dir=runs/third"]).weights == Path("runs/third/best.ckpt")


def test_a_configuration_that_has_its_folder_from_another_knows_it(tmp_path: Path) -> None:
    base = written(tmp_path, TEXT)
    (tmp_path / "mine.yaml").write_text(f"__base__: {base.name}\n", encoding="utf-8")
    assert config.load(tmp_path / "mine.yaml").shares_folder_with == str(base)
    assert config.load(tmp_path / "mine.yaml", ["train.ckpt_save_dir=mine"]).shares_folder_with is None
    assert config.load(base).shares_folder_with is None


def test_the_archive_of_a_run_evaluates_the_weights_of_the_run() -> None:
    """Even if its folder is moved, and whatever weights the original file names."""
    loaded = config.load(CONFIG, ["eval.ckpt_load_path=mine.ckpt"])
    assert loaded.of_run()["eval"]["ckpt_load_path"] is None
    assert loaded["eval"]["ckpt_load_path"] == "mine.ckpt"
