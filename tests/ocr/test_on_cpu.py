"""Training, evaluation and export work without the folder of what is fast on CPUs, and with it switched off."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mindspore import nn, ops

from hccl_kit.ocr import on_cpu
from hccl_kit.ocr.checkpoints.fetch import CACHE
from hccl_kit.ocr.on_cpu import INSTRUCTION_SETS, limit
from hccl_kit.ocr.run.start import DEFAULTS
from tests.ocr.compiler import NEEDS_COMPILER
from tests.ocr.run_tool import CONFIG, OURS
from tests.places import ROOT

SLOWER = "convolutions are computed by MindSpore, which is slower: "


class Network(nn.Cell):
    """A convolution and its normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16))


def is_plain(network: Network) -> bool:
    return isinstance(network.layers[0].conv2d, ops.Conv2D)


def users_programs(package: Path, words: Path, folder: Path, *overrides: str) -> str:
    """What the programs print that train two steps, evaluate and export; `package` is the folder of hccl_kit."""
    environ = {key: value for key, value in os.environ.items() if key not in OURS} | {"PYTHONPATH": str(package)}
    places = [f"{section}.dataset.dataset_root={words}" for section in ("train", "eval")]
    options = ["-o", *places, f"train.ckpt_save_dir={folder}", "train.max_steps=2", *overrides]
    printed = ""
    for verb in (["train"], ["eval", "--engine", "mindspore"], ["export", "--format", "mindir"]):
        done = subprocess.run(
            [sys.executable, "-m", "hccl_kit", *verb, "-c", str(CONFIG), *options],
            cwd=package,
            env=environ,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        printed += done.stdout
    assert {"summary.json", "best.ckpt", "best.mindir"} <= {path.name for path in folder.iterdir()}
    return printed


@pytest.mark.train
def test_the_folder_may_be_removed(words: Path, own_cache: Path, tmp_path: Path) -> None:
    """From an installed package, which holds schemas and configurations."""
    ours = tmp_path / "site" / "hccl_kit"
    shutil.copytree(ROOT / "hccl_kit", ours, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("schemas", "configs"):
        shutil.copytree(ROOT / name, ours / name)
    shutil.rmtree(ours / "ocr" / "cpu")
    printed = users_programs(ours.parent, words, tmp_path / "run")
    assert f"{SLOWER}{ours / 'ocr' / 'cpu'} is not installed" in printed
    assert not (own_cache / "graphs").exists()


@pytest.mark.train
def test_one_key_switches_it_off(words: Path, own_cache: Path, tmp_path: Path) -> None:
    printed = users_programs(ROOT, words, tmp_path / "run", "system.convolutions=plain")
    assert SLOWER not in printed
    assert not (own_cache / "graphs").exists()


@NEEDS_COMPILER
@pytest.mark.parametrize(
    ("keys", "plain"), [({}, False), ({"convolutions": "plain"}, True), ({"mode": 1}, True)], ids=str
)
def test_a_network_is_adapted_as_configured(keys: dict[str, object], plain: bool) -> None:
    network, lines = Network(), list[str]()
    on_cpu.prepare({**DEFAULTS, **keys}, lines.append)
    on_cpu.adapt(network, {**DEFAULTS, **keys})
    assert lines == []
    assert is_plain(network) == plain


def test_without_a_compiler_mindspore_computes_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, lines = Network(), list[str]()
    monkeypatch.setenv(CACHE, str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    on_cpu.prepare(DEFAULTS, lines.append)
    on_cpu.adapt(network, DEFAULTS)
    assert lines == [f"{SLOWER}there is no C++ compiler (c++, g++, clang++) (apt-get install g++)"]
    assert is_plain(network)


def test_with_another_mindspore_it_computes_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    network, lines = Network(), list[str]()
    monkeypatch.setattr("hccl_kit.ocr.cpu.library.installed", lambda: "2.11.0")
    on_cpu.prepare(DEFAULTS, lines.append)
    on_cpu.adapt(network, DEFAULTS)
    assert lines == [f"{SLOWER}the operators are made for MindSpore 2.10.0, and 2.11.0 is installed"]
    assert is_plain(network)


@pytest.mark.parametrize(("plain", "keys"), [(False, {"convolutions": "plain"}), (True, {}), (False, {"mode": 1})])
def test_plain_convolutions_are_limited_to_avx2(
    plain: bool, keys: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setenv(INSTRUCTION_SETS, "")
    monkeypatch.delenv(INSTRUCTION_SETS)
    lines = list[str]()
    on_cpu.prepare({**DEFAULTS, **keys}, lines.append, plain=plain)
    assert os.environ[INSTRUCTION_SETS] == "AVX2"
    assert [line.split(":")[0] for line in lines] == [f"{INSTRUCTION_SETS}=AVX2"]


@pytest.mark.parametrize(
    ("machine", "given", "expected"),
    [("x86_64", {}, "AVX2"), ("x86_64", {INSTRUCTION_SETS: "avx"}, "avx"), ("aarch64", {}, None)],
)
def test_the_limit_of_the_user_stays(
    machine: str, given: dict[str, str], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    environ = dict(given)
    note = limit(environ)
    assert environ.get(INSTRUCTION_SETS) == expected
    assert (note is not None) == (given.get(INSTRUCTION_SETS) != expected)
