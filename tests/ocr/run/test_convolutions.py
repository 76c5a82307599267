"""Products or plain convolutions: what is faster here is measured once, and what cannot be measured is said."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from hccl_kit.ocr import config
from hccl_kit.ocr.adapt.instruction_set import VARIABLE
from hccl_kit.ocr.checkpoints.fetch import CACHE
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.run import convolutions
from hccl_kit.ocr.run.convolutions import PLAIN, PRODUCTS, as_products
from tests.ocr.run_tool import CONFIG, OURS
from tests.places import ROOT

Measured = list[tuple[str, int]]


class Machine:
    """Takes these seconds for a step of each way, and remembers what was asked."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.asked: Measured = []
        self.said: list[str] = []

    def __call__(self, _: Config, way: str, cores: int, environ: object) -> float:
        self.asked.append((way, cores))
        return self.seconds[way]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine({PRODUCTS: 0.5, PLAIN: 0.4})
    monkeypatch.setattr(convolutions, "_seconds", made)
    return made


def chosen(machine: Machine, cache: Path, *overrides: str, cores: int = 2) -> bool:
    return as_products(config.load(CONFIG, overrides), cores, {CACHE: str(cache)}, machine.said.append)


def test_the_faster_way_is_chosen_and_remembered(machine: Machine, tmp_path: Path) -> None:
    assert not chosen(machine, tmp_path)
    assert machine.asked == [(PRODUCTS, 2), (PLAIN, 2)]
    machine.seconds = {PRODUCTS: 0.1, PLAIN: 0.4}
    assert not chosen(machine, tmp_path)
    assert len(machine.asked) == 2
    assert [line.partition(":")[0] for line in machine.said] == [
        "measuring which way convolutions are faster on this processor",
        *[f"a step takes 0.5 s with products, 0.4 s with plain convolutions ({file})" for file in kept(tmp_path) * 2],
    ]


def test_the_measurement_of_each_of_our_configurations_is_remembered(machine: Machine, tmp_path: Path) -> None:
    """The note has all that it depends on, which is some KB."""
    for number, file in enumerate(sorted((ROOT / "configs").glob("*/*/*.yaml")), 1):
        loaded = config.load(file)
        for _ in range(2):
            as_products(loaded, 2, {CACHE: str(tmp_path)}, machine.said.append)
        assert len(machine.asked) <= 2 * number, file


def kept(cache: Path) -> list[Path]:
    return sorted((cache / "convolutions").glob("*.json"))


def test_other_cores_batches_and_networks_are_measured_anew(machine: Machine, tmp_path: Path) -> None:
    chosen(machine, tmp_path)
    machine.seconds = {PRODUCTS: 0.3, PLAIN: 0.4}
    assert chosen(machine, tmp_path, cores=1)
    assert chosen(machine, tmp_path, "common.batch_size=7")
    assert chosen(machine, tmp_path, "model.backbone.name=rec_vgg7")
    assert not chosen(machine, tmp_path, "model.pretrained=weights.ckpt", "train.ckpt_save_dir=elsewhere")
    assert len(kept(tmp_path)) == 4


DAMAGED = [
    "",
    "{}",
    "[]",
    "[" * 4000,
    '{"seconds": {"products": "fast", "plain": 1}}',
    '{"seconds": {"products": 1%s, "plain": 1}}' % ("0" * 400),
]


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_note_is_replaced(machine: Machine, tmp_path: Path, content: str) -> None:
    chosen(machine, tmp_path)
    [file] = kept(tmp_path)
    file.write_text(content)
    assert not chosen(machine, tmp_path)
    assert json.loads(file.read_text())["seconds"] == machine.seconds


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("system.convolutions=products", True),
        ("system.convolutions=plain", False),
    ],
)
def test_nothing_is_measured_if_the_user_wants_a_way(
    machine: Machine, tmp_path: Path, override: str, expected: bool
) -> None:
    assert chosen(machine, tmp_path, override) == expected
    assert (machine.asked, machine.said, kept(tmp_path)) == ([], [], [])


def test_nothing_is_measured_where_the_user_has_set_the_instructions(machine: Machine, tmp_path: Path) -> None:
    environ = {CACHE: str(tmp_path), VARIABLE: "AVX512_CORE"}
    assert as_products(config.load(CONFIG), 2, environ, machine.said.append)
    assert machine.asked == []


@pytest.mark.parametrize(
    "error",
    [
        subprocess.TimeoutExpired(["python"], 120),
        subprocess.CalledProcessError(1, ["python"]),
        ValueError("Expecting value"),
        IndexError(),
        OSError(28, "No space left on device"),
    ],
)
def test_where_the_measurement_fails_products_are_the_choice(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> float:
        raise error

    monkeypatch.setattr(convolutions, "_seconds", fail)
    assert chosen(machine, tmp_path)
    assert machine.said[-1].startswith("convolutions were not measured: ")
    assert kept(tmp_path) == []


def test_a_cache_that_is_a_file_is_named(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    assert chosen(machine, tmp_path / "cache")
    assert "Not a directory" in machine.said[-1]


@pytest.mark.parametrize("way", [PRODUCTS, PLAIN])
def test_a_step_is_timed_in_a_process_of_its_own(way: str) -> None:
    backbone = ("model.backbone.name=rec_conv_lines", "model.backbone.channels=[8,16,16,16,16,16]")
    environ = {key: value for key, value in os.environ.items() if key not in OURS}
    settings = config.load(CONFIG, [*backbone, "train.ema=False", "common.batch_size=2"])
    assert 0 < convolutions._seconds(settings, way, 1, environ) < convolutions.TIMEOUT
