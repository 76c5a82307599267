"""Configurations: what is wrong is named with its line, what is right comes back the same."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hccl_kit.errors import KitError
from hccl_kit.ocr import config
from tests.ocr.programs import CONFIG, ROOT

SHIPPED = sorted((ROOT / "configs").rglob("*.yaml"))
TEXT = CONFIG.read_text(encoding="utf-8")
DEEP = "- " * 6000
"""Deeper than Python's recursion limit, which MindSpore raises to 10000; brackets would take PyYAML quadratic time."""


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


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_configurations_load(path: Path) -> None:
    assert config.load(path)["model"]["type"] == "rec"


def test_defaults_come_from_the_schema(tmp_path: Path) -> None:
    loaded = config.load(written(tmp_path, TEXT.replace("    hidden_size: 48\n", "").replace("  seed: 42\n", "")))
    assert loaded["model"]["neck"]["hidden_size"] == 48
    assert loaded["system"]["seed"] == 42
    assert loaded["train"]["max_steps"] is None
    assert loaded["optimizer"]["momentum"] == 0.9
    assert loaded["system"]["resume"] is False


def test_defaults_do_not_replace_what_is_written() -> None:
    loaded = config.load(CONFIG, ["model.neck.hidden_size=7", "optimizer.momentum=0", "train.clip_grad=False"])
    assert loaded["model"]["neck"]["hidden_size"] == 7
    assert loaded["optimizer"]["momentum"] == 0
    assert loaded["train"]["clip_grad"] is False


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("train.ckpt_save_dir=a=b", "a=b"),
        ("scheduler.lr=1e-3", 0.001),
        ("scheduler.lr=1E1", 10.0),
        ("scheduler.lr=1.5e-3", 0.0015),
        ("scheduler.lr=+2.e-3", 0.002),
        ("train.max_steps=7", 7),
        ("train.max_steps=", None),
        ("eval.ckpt_load_path='1e-3'", "1e-3"),
        ("eval.ckpt_load_path=1e-3x", "1e-3x"),
        (" scheduler.min_lr = 0.5", 0.5),
        ("train.ckpt_save_dir=2026-01-02", "2026-01-02"),
    ],
)
def test_overrides_are_yaml(override: str, value: object) -> None:
    loaded = config.load(CONFIG, [override])
    section, key = override.partition("=")[0].strip().split(".")
    assert loaded[section][key] == value
    assert type(loaded[section][key]) is type(value)


def test_the_last_override_wins() -> None:
    assert config.load(CONFIG, ["system.seed=1", "system.seed=2"])["system"]["seed"] == 2


def test_an_override_reaches_one_place_only() -> None:
    """The dictionary and the batch size are written once in a file and used often, by aliases; those are copies."""
    loaded = config.load(CONFIG, ["postprocess.use_space_char=True"])
    assert loaded["postprocess"]["use_space_char"] is True
    assert loaded["train"]["dataset"]["transform_pipeline"][1]["RecCTCLabelEncode"]["use_space_char"] is False


def test_aliased_sections_are_copies(tmp_path: Path) -> None:
    head, tail = TEXT[: TEXT.rindex("  dataset:")], TEXT[TEXT.rindex("  loader:") :]
    path = written(tmp_path, head.replace("  dataset:", "  dataset: &dataset") + "  dataset: *dataset\n" + tail)
    loaded = config.load(path, ["train.dataset.data_dir=other"])
    assert loaded["train"]["dataset"]["data_dir"] == "other"
    assert loaded["eval"]["dataset"]["data_dir"] == "train"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("batch_size: 32", "batchsize: 32", "eval.loader.batchsize is not a key of this release; did you mean batch"),
        ("scheduler: warmup_cosine_decay", "scheduler: warmup_cosine", "did you mean warmup_cosine_decay?"),
        ("lr: 0.004", "lr: fast", "scheduler.lr: 'fast' is not of type 'number'"),
        ("lr: 0.004", "lr: .nan", "scheduler.lr: nan is not of type 'number'"),
        ("weight_decay: 0.0001", "weight_decay: .inf", "optimizer.weight_decay: inf is not of type 'number'"),
        ("batch_size: 32", "batch_size: 16.0", "eval.loader.batch_size: 16.0 is not of type 'integer'"),
        ("val_interval: 3", "val_interval: True", "system.val_interval: True is not of type 'integer'"),
        ("type: rec\n", "type: det\n", "model.type is 'det'; accepted: rec"),
        ("[32, 100]", "[32, 1]", "transform_pipeline.2.RecResizeImg.image_shape.1: 1 is less than the minimum of 8"),
        ("min_lr: 0.0", "min_lr: -1", "scheduler.min_lr: -1 is less than the minimum of 0"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = TEXT.replace(old, new)
    path = written(tmp_path, text)
    message = refusal(path)
    assert f"{path}:{line_of(text, new.strip())}: " in message
    assert expected in message


def test_every_mistake_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT.replace("mode: 0", "mod: 0").replace("opt: adamw", "opt: lion"))
    assert len(refusal(path).split("\n")) == 2


def test_a_missing_key_is_named_with_its_section(tmp_path: Path) -> None:
    text = TEXT.replace("  opt: adamw\n", "")
    path = written(tmp_path, text)
    assert refusal(path) == f"{path}:{line_of(text, 'optimizer:')}: optimizer.opt is missing"


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("train.loader.batchsize=3", "train.loader.batchsize is not a key of this release; did you mean batch_size?"),
        ("trian.loader.batch_size=3", "trian is not a key of this release; did you mean train?"),
        ("train.loader.batch_size=three", "'three' is not of type 'integer'"),
        ("train.loader.batch_size.x=3", "batch_size is a value, not a section"),
        ("train=3", "train: 3 is not of type 'object'"),
        ("optimizer.opt=adm", "accepted: sgd, momentum, adam, adamw; did you mean adam?"),
        ("scheduler.lr=[", "is not YAML"),
        ("scheduler.lr=2024-13-45", "cannot be read"),
        ("scheduler.lr=" + DEEP, "nested too deeply"),
        ("scheduler.lr", "expected key=value"),
        ("", "expected key=value"),
        ("=3", "expected key=value"),
        ("scheduler..lr=3", "expected key=value"),
        ("common.batch_size=3", "this would change nothing"),
    ],
)
def test_a_wrong_override_is_named(override: str, expected: str) -> None:
    message = refusal(CONFIG, override)
    assert message.startswith(f"-o {override}")
    assert expected in message


def alias_bomb(link: str) -> str:
    """Nine levels of ten aliases: a billion values in a few hundred bytes."""
    lines = ["a: &a {x: 1}"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        aliases = ", ".join([f"*{before}"] * 10)
        lines.append(f"{name}: &{name} " + link.format(f"[{aliases}]"))
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (alias_bomb("{0}"), "config.yaml holds more than 100000 values"),
        (alias_bomb("{{<<: {0}}}"), "config.yaml holds more than 100000 values"),
        ("a: &a [*a]", "nested too deeply"),
        (DEEP, "nested too deeply"),
        ("a: " + "x" * config.MAX_BYTES, f"is larger than {config.MAX_BYTES} bytes"),
        (TEXT.encode("utf-16"), "is not UTF-8"),
        (b"a: \xff", "is not UTF-8: byte 3"),
        ("", "holds no sections"),
        ("- 1", "holds no sections"),
        ("a: [", "is not YAML"),
        ("a: 1\n---\nb: 2", "is not YAML"),
        ("a: !!python/object/apply:os.system ['true']", "is not YAML"),
        ("a: 2024-13-45", "cannot be read"),
        ("a: !!int ''", "cannot be read"),
        ("a: 1\nb: 2\na: 3", "config.yaml:3: a is given twice, first in line 1"),
        ("a: {b: 1, b: 1}", "config.yaml:1: b is given twice, first in line 1"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, content: str | bytes, expected: str) -> None:
    assert expected in refusal(written(tmp_path, content))


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.yaml") == f"cannot read {tmp_path / 'no.yaml'}: No such file or directory"
    assert refusal(tmp_path) == f"cannot read {tmp_path}: Is a directory"


@given(st.text() | st.text('[]{}&*a:<!"\n -?|>1e.#%@0x_') | st.binary())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_load_is_total(tmp_path: Path, content: str | bytes) -> None:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    with pytest.raises(KitError):
        config.load(written(tmp_path, data))


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(inner) for inner in value] if isinstance(value, list) else value


def test_the_digest_knows_neither_order_nor_file(tmp_path: Path) -> None:
    first = config.load(CONFIG)
    text = yaml.safe_dump(reversed_keys(yaml.safe_load(TEXT)), sort_keys=False)
    assert text.index("eval:") < text.index("system:")
    second = config.load(written(tmp_path, text))
    assert second.digest == first.digest
    assert config.load(CONFIG, ["system.seed=43"]).digest != first.digest
    assert config.load(CONFIG, ["system.seed=42"]).digest == first.digest


finite = st.floats(min_value=1e-300, max_value=100)
odd = st.sampled_from(["1e-3", "1E5", "+1.e-3", "null", "True", "~", "=", "0x1", " ", "12:30:00", "2026-01-02"])
texts = st.text(min_size=1) | odd


@given(save=texts, load=texts, rate=finite, decay=finite, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
