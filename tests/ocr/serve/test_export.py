"""Exported files match the outputs of the network, otherwise no file is written."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn, ops
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.base.extra import install_extra
from hccl_kit.ocr import config
from hccl_kit.ocr.checkpoints import checkpoint
from hccl_kit.ocr.models import crnn_small, db, east, pse, tps
from hccl_kit.ocr.models.crnn import build
from hccl_kit.ocr.serve import export, export_metadata
from hccl_kit.ocr.tasks import recipes
from tests.ocr.run_tool import CONFIG, refusals, tool
from tests.places import ROOT, shipped_configs

pytest.importorskip("onnxruntime")  # part of the extra `export`
import onnxruntime

pytestmark = pytest.mark.train
Shape = tuple[int, ...]


def crnn() -> nn.Cell:
    """The smallest network."""
    backbone = {"name": "rec_conv_small", "channels": [4, 4, 8, 8, 8]}
    parts = {"backbone": backbone, "neck": {"hidden_size": 4}, "head": {"out_channels": 5}}
    return crnn_small.build(parts)


def attention() -> nn.Cell:
    """An autoregressive head."""
    backbone = {"name": "rec_conv_small", "channels": [4, 4, 8, 8, 8]}
    head = {"name": "AttentionHead", "out_channels": 5, "hidden_size": 6, "batch_max_length": 3}
    parts = {"backbone": backbone, "neck": {"hidden_size": 4}, "head": head}
    return build(parts, backbone=partial(crnn_small.Features, "rec_conv_small"))


def head_of_db() -> nn.Cell:
    """A head with transposed convolutions."""
    return db.DBHead(8, k=50, bias=False, adaptive=True, k_scales_threshold=False)


class OfOneMap(nn.Cell):
    """Neck and head of a detector, on one map and three reduced versions of it."""

    def __init__(self, neck: nn.Cell, head: nn.Cell) -> None:
        super().__init__()
        self.halve, self.neck, self.head = nn.MaxPool2d(2, 2), neck, head

    def construct(self, x: Tensor) -> Tensor:
        two = self.halve(x)
        four = self.halve(two)
        return self.head(self.neck((x, two, four, self.halve(four))))


def part_of_pse() -> nn.Cell:
    """A part that enlarges maps."""
    return OfOneMap(pse.PSEFPN((8,) * 4, out_channels=4), pse.PSEHead(16, hidden_size=4, out_channels=3))


def part_of_east() -> nn.Cell:
    """A part that enlarges maps in another way."""
    return OfOneMap(east.EASTFPN((8,) * 4, out_channels=4), east.EASTHead(4))


def rectifier() -> nn.Cell:
    """A rectifier with interpolation between pixels, and uneven initial control points."""
    network = tps.rectifier(tps_inputsize=[32, 32], tps_outputsize=[8, 16], num_control_points=4)
    weight = np.random.default_rng(1).normal(0, 0.1, network.stn_head.stn_fc2.weight.shape)
    network.stn_head.stn_fc2.weight.set_data(Tensor(weight.astype(np.float32)))
    return network


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in another folder, because MindSpore leaves a folder `rank_0` if it fails."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (crnn, (2, 3, 32, 64)),
        (attention, (2, 3, 32, 64)),
        (head_of_db, (2, 8, 8, 12)),
        (part_of_pse, (2, 8, 16, 24)),
        pytest.param(part_of_east, (2, 8, 16, 24), marks=pytest.mark.long),
        pytest.param(rectifier, (2, 3, 24, 80), marks=pytest.mark.long),
    ],
)
def test_files_match_the_network(build: Callable[[], nn.Cell], shape: Shape, tmp_path: Path) -> None:
    network = build()
    for name in ("a network.mindir", "a network.onnx"):
        done = export.export(network, shape, tmp_path / name, {})
        assert (done.path, done.inputs) == (tmp_path / name, shape)
        assert done.difference < 1e-4
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a network.mindir", "a network.onnx"]


class Wrong(nn.Cell):
    """Before opset 13, the softmax of ONNX flattens all axes from the given one on."""

    def construct(self, x: Tensor) -> Tensor:
        return ops.abs(ops.log_softmax(x, 1))


class Unknown(nn.Cell):
    """MindSpore cannot export the operator Erf to ONNX."""

    def construct(self, x: Tensor) -> Tensor:
        return ops.abs(ops.erf(x))


class Refused(nn.Cell):
    """MindSpore exports rounding with two inputs, but the ONNX operator has one."""

    def construct(self, x: Tensor) -> Tensor:
        return ops.abs(ops.round(x))


class Infinite(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x / ops.zeros_like(x)


@pytest.mark.parametrize(
    ("network", "code", "message"),
    [
        (Wrong(), 1, "is not written: its outputs differ from the network's by "),
        (Unknown(), 2, "cannot be exported as ONNX: MindSpore cannot export its operator Erf$"),
        (Refused(), 2, "onnxruntime cannot run the file: "),
        (Infinite(), 2, "the outputs of the network are not finite"),
    ],
)
def test_a_wrong_file_does_not_replace_the_old_one(network: nn.Cell, code: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    path.write_text("the old one")
    with pytest.raises(KitError, match=message) as caught:
        export.export(network, (1, 3, 4, 4), path, {})
    assert caught.value.exit_code == code
    assert path.read_text() == "the old one"
    assert [file.name for file in tmp_path.iterdir() if file.suffix] == ["network.onnx"]


@pytest.mark.parametrize(("difference", "accepted"), [(1.5e-4, True), (1e-3, False)])
def test_the_tolerance_allows_the_rounding_of_a_fine_tuned_recogniser(
    difference: float, accepted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recogniser of receipts differs by 1.1e-4 of its largest output at 896 columns."""

    def write(network: nn.Cell, images: NDArray[np.float32], path: Path, *_: object) -> NDArray[np.float32]:
        path.write_bytes(b"a file")
        outputs: NDArray[np.float32] = network(Tensor(images)).asnumpy()
        return outputs + np.float32(difference) * np.abs(outputs).max()

    monkeypatch.setitem(export.WRITERS, ".onnx", write)
    path = tmp_path / "network.onnx"
    if accepted:
        assert export.export(nn.ReLU(), (1, 3, 4, 4), path, {}).difference == pytest.approx(difference, rel=0.01)
    else:
        with pytest.raises(KitError, match=r"its outputs differ from the network's by 1\.0e-03"):
            export.export(nn.ReLU(), (1, 3, 4, 4), path, {})
    assert path.exists() == accepted


def test_the_file_is_compared_with_a_faster_form_of_the_network(tmp_path: Path) -> None:
    """If the faster form is another network, no file is written."""
    path = tmp_path / "network.mindir"
    again = nn.SequentialCell(nn.ReLU(), nn.ReLU())
    assert export.export(nn.ReLU(), (1, 3, 4, 4), path, {}, same=again).difference == 0
    path.unlink()
    with pytest.raises(export.DifferenceError):
        export.export(nn.ReLU(), (1, 3, 4, 4), path, {}, same=nn.Sigmoid())
    assert not path.exists()


def test_operators_that_onnx_lacks_are_exported_to_mindir(tmp_path: Path) -> None:
    assert export.export(Unknown(), (1, 3, 4, 4), tmp_path / "network.mindir", {}).difference == 0


def test_an_unsupported_image_size_is_reported(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=r"the network does not accept images of \(1, 3, 8, 8\): "):
        export.export(crnn(), (1, 3, 8, 8), tmp_path / "network.mindir", {})


def test_the_program_exports_both_formats(tmp_path: Path) -> None:
    """As documented in the README; the ONNX file matches the network for other images, and describes their pixels."""
    loaded = config.load(CONFIG)
    network = recipes.network(loaded)
    checkpoint.save(tmp_path / "best.ckpt", network.get_parameters())
    done = tool("export", "-c", CONFIG, "-o", f"eval.ckpt_load_path={tmp_path / 'best.ckpt'}", "--batch", 2)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(": ")[0] for line in lines] == [str(tmp_path / f"best.{kind}") for kind in ("mindir", "onnx")]
    assert all(": 2x3x32x100 -> 2x25x37, largest relative difference " in line for line in lines)
    session = onnxruntime.InferenceSession(tmp_path / "best.onnx", providers=["CPUExecutionProvider"])
    images = np.random.default_rng(5).uniform(-1, 1, (2, 3, 32, 100)).astype(np.float32)
    network.set_train(False)
    found = session.run(["probabilities"], {"images": images})[0]
    ms.set_context(mode=ms.PYNATIVE_MODE)
    expected = network(Tensor(images)).asnumpy()
    ms.set_context(mode=ms.GRAPH_MODE)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert session.get_modelmeta().custom_metadata_map == export_metadata.facts(loaded)


def test_the_example_has_the_readings_of_the_program(words: Path, tmp_path: Path) -> None:
    """With onnxruntime and OpenCV only; these weights read nonsense, but different nonsense from each image."""
    network = recipes.network(config.load(CONFIG))
    generator = np.random.default_rng(1)
    for weight in network.get_parameters():
        if weight.ndim > 1:
            scale = 3 / np.sqrt(np.prod(weight.shape[1:]))
            weight.set_data(Tensor(generator.normal(0, scale, weight.shape).astype(np.float32)))
    checkpoint.save(tmp_path / "best.ckpt", network.get_parameters())
    weights = f"eval.ckpt_load_path={tmp_path / 'best.ckpt'}"
    done = tool("export", "-c", CONFIG, "-o", weights, "--format", "onnx")
    assert done.returncode == 0, done.stderr
    paths = sorted((words / "test").iterdir())
    done = tool("predict", "-c", CONFIG, "-o", weights, "--images", *paths)
    assert done.returncode == 0, done.stderr
    ours = [line.split("\t")[:2] for line in done.stdout.splitlines()]
    assert len({text for _, text in ours}) == len(paths) == 20
    program = ROOT / "examples" / "read_onnx.py"
    command = [sys.executable, "-I", *map(str, (program, tmp_path / "best.onnx", *paths))]
    theirs = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert [line.split("\t") for line in theirs.splitlines()] == ours


def test_a_path_with_a_suffix_is_one_file_and_force_overwrites_it(tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "best.ckpt", recipes.network(config.load(CONFIG)).get_parameters())
    (tmp_path / "x.onnx").write_text("old")
    command = ("-c", CONFIG, "-o", f"eval.ckpt_load_path={tmp_path / 'best.ckpt'}", "--output", tmp_path / "x.onnx")
    done = tool("export", *command, "--force")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best.ckpt", "x.onnx"]


def test_an_unusable_output_path_is_reported_at_once(tmp_path: Path) -> None:
    for name in ("best.ckpt", "best.onnx"):
        (tmp_path / name).write_text("mine")
    command = ("export", "-c", CONFIG, "-o", "eval.ckpt_load_path=best.ckpt")
    output = ("--output", "best.onnx")
    *existing, both = refusals(
        (*command, "--format", "onnx"), (*command, *output), (*command, *output, "--format", "both")
    )
    for errors in existing:
        assert "error: --output: best.onnx already exists" in errors
    assert "error: --output best.onnx names one file of format onnx, and --format is both" in both
    assert (tmp_path / "best.onnx").read_text() == "mine"


WITHOUT_ONNX = f"""
import runpy, sys
class Hiding:
    def __init__(self, finder): self.finder = finder
    def find_spec(self, name, *rest): return None if name.startswith("onnx") else self.finder.find_spec(name, *rest)
sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
runpy.run_path({str(ROOT / "tools" / "export.py")!r}, run_name="__main__")
"""


def test_missing_packages_are_named() -> None:
    command = [sys.executable, "-c", WITHOUT_ONNX, "-c", str(CONFIG), "--output", "best"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 2
    assert "onnx and onnxruntime cannot be imported" in done.stderr
    assert install_extra("export") in done.stderr


SHIPPED = [str(path.relative_to(ROOT / "configs")) for path in shipped_configs()]


@pytest.mark.long
@pytest.mark.parametrize("name", SHIPPED)
def test_every_configuration_can_be_exported_to_both_formats(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With initial weights; some make a network so steep that rounding changes its outputs by a thousandth."""
    monkeypatch.chdir(ROOT)  # the paths of dictionaries are relative to it
    path = ROOT / "configs" / name
    dictionary = tmp_path / "dictionary.txt"
    dictionary.write_text("".join(f"{chr(0x4E00 + number)}\n" for number in range(6623)), encoding="utf-8")
    loaded = config.load(path, [f"postprocess.character_dict_path={dictionary}"] if name.endswith("_zh.yaml") else [])
    ms.set_seed(1)
    network = recipes.network(loaded)
    shape = export_metadata.input_shape(loaded, (64, 96) if loaded["model"]["type"] == "det" else None, 1)
    facts, order = export_metadata.facts(loaded), export_metadata.order(loaded)
    for suffix in (".mindir", ".onnx"):
        done = export.export(network, shape, tmp_path / f"network{suffix}", facts, order)
        assert done.difference < 1e-3
