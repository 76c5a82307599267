"""Weights of other programs: matching parameters are loaded, others are reported, all or nothing."""

import json
import os
import struct
from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn
from numpy.typing import NDArray
from safetensors.numpy import save_file

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.adapt import pretrained
from hccl_kit.ocr.models.db import DBHead
from hccl_kit.ocr.models.detector import build
from hccl_kit.ocr.models.fpn import FeaturePyramid
from hccl_kit.ocr.models.network import Network
from tests.ocr.tiny import Normed, values

pytestmark = pytest.mark.train


def write(folder: Path, rows: dict[str, NDArray[np.float32]], form: str) -> Path:
    path = folder / f"weights.{form}"
    if form == "safetensors":
        save_file(rows, path)
    else:  # like files of MindOCR: without a checksum
        ms.save_checkpoint([{"name": name, "data": Tensor(value)} for name, value in rows.items()], str(path))
    return path


@pytest.mark.parametrize("form", ["ckpt", "safetensors"])
def test_every_parameter_is_loaded_by_its_name(tmp_path: Path, form: str) -> None:
    one, two = Normed(), Normed()
    path = write(tmp_path, {**values(one), "moments.head.weight": np.zeros((2, 3), np.float32)}, form)
    unproved = [f"{path} has no checksum, so it cannot be verified"] if form == "ckpt" else []
    assert pretrained.load(path, two, strict=True) == [*unproved, f"{path}: 7 of 7 parameters are taken"]
    for name, value in values(two).items():
        np.testing.assert_array_equal(value, values(one)[name])


@pytest.mark.parametrize("form", ["ckpt", "safetensors"])
def test_mismatched_parameters_are_named(tmp_path: Path, form: str) -> None:
    one, two = Normed(), Normed()
    before, rows = values(two), values(one)
    rows["head.weight"] = np.zeros((5, 3), np.float32)
    del rows["head.bias"]
    path = write(tmp_path, rows, form)
    with pytest.raises(KitError) as caught:
        pretrained.load(path, two, strict=True)
    skipped = ["1 not in the file: head.bias", "1 of another shape: head.weight (5x3 in the file, 2x3 here)"]
    assert caught.value.message.splitlines()[1:] == [f"       {line}" for line in skipped]
    assert caught.value.hint == "model.pretrained_strict: False takes the parameters that fit"
    assert all((value == before[name]).all() for name, value in values(two).items())
    notes = [f"{path}: 5 of 7 parameters are taken", *skipped]
    assert pretrained.load(path, two, strict=False)[-len(notes) :] == notes
    after = values(two)
    assert all((after[name] == (before if name.startswith("head") else rows)[name]).all() for name in after)


def test_a_file_of_another_network_is_refused_even_without_strict(tmp_path: Path) -> None:
    path = write(tmp_path, {f"other.{n}": np.zeros(1, np.float32) for n in range(9)}, "safetensors")
    with pytest.raises(KitError, match=r"7 not in the file: .* and 2 more") as caught:
        pretrained.load(path, Normed(), strict=False)
    assert caught.value.hint is None


@pytest.mark.parametrize("name", ["a.ckpt", "a.safetensors"])
@pytest.mark.parametrize("content", [None, b"", b"damaged" * 100, b"\xff" * 16])
def test_an_invalid_file_is_named(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(KitError, match=str(tmp_path / name)):
        pretrained.load(tmp_path / name, Normed(), strict=True)


@pytest.mark.parametrize("type_", ["F8_E4M3", "F8_E5M2", "BF16"])
def test_a_type_that_numpy_does_not_have_is_named(tmp_path: Path, type_: str) -> None:
    data = bytes(4 if type_ == "BF16" else 2)
    header = json.dumps({"stem.weight": {"dtype": type_, "shape": [2], "data_offsets": [0, len(data)]}}).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)
    with pytest.raises(KitError) as caught:
        pretrained.load(path, Normed(), strict=False)
    assert caught.value.message.startswith(f"{path}: stem.weight is of type {type_}; accepted: BOOL, F16, F32")
    assert "\n" not in caught.value.render().replace("\n  fix: ", "")


class Joined(nn.Cell):
    """A backbone and a head, like in the networks of the kit."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = Normed()
        self.head = nn.Dense(2, 2)


@pytest.mark.parametrize("prefix", ["", "backbone."])
@pytest.mark.parametrize("form", ["ckpt", "safetensors"])
def test_backbone_weights_are_loaded_with_and_without_the_backbone_prefix(
    tmp_path: Path, form: str, prefix: str
) -> None:
    """MindCV's files have `conv1.weight` where MindOCR's have `backbone.conv1.weight`, and a classifier."""
    one, two = Normed(), Joined()
    head = values(two)["head.weight"].copy()
    rows = {prefix + name: value for name, value in values(one).items()}
    path = write(tmp_path, {**rows, "classifier.weight": np.zeros((9, 3), np.float32)}, form)
    assert (
        pretrained.load(path, two, strict=True, key=pretrained.BACKBONE)[-1] == f"{path}: 7 of 7 parameters are taken"
    )
    after = values(two)
    for name, value in values(one).items():
        np.testing.assert_array_equal(after[f"backbone.{name}"], value)
    np.testing.assert_array_equal(after["head.weight"], head)


STAGES = {"det_resnet18": (2, 2, 2, 2), "det_resnet50": (3, 4, 6, 3)}
WIDTHS = (64, 128, 256, 512)


def norm(channels: int, *, mint: bool) -> dict[str, tuple[int, ...]]:
    of_mint, of_nn = (
        ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"),
        ("gamma", "beta", "moving_mean", "moving_variance"),
    )
    return dict.fromkeys(of_mint if mint else of_nn, (channels,))


def mindcv(name: str, *, mint: bool) -> dict[str, NDArray[np.float32]]:
    """A ResNet of MindCV with the names of its source (mindspore-lab/mindcv, models/resnet.py), with classifier.

    `mint`: as releases since 0.5 name batch normalisations.
    """
    expansion = 1 if name == "det_resnet18" else 4
    cells: dict[str, dict[str, tuple[int, ...]]] = {"conv1": {"weight": (64, 3, 7, 7)}, "bn1": norm(64, mint=mint)}
    before = 64
    for stage, (depth, width) in enumerate(zip(STAGES[name], WIDTHS, strict=True), 1):
        after = expansion * width
        for number in range(depth):
            block = f"layer{stage}.{number}"
            sides = (3, 3) if expansion == 1 else (1, 3, 1)
            channels = (before, *(width for _ in sides[1:]), after)
            for place, side in enumerate(sides):
                cells[f"{block}.conv{place + 1}"] = {"weight": (channels[place + 1], channels[place], side, side)}
                cells[f"{block}.bn{place + 1}"] = norm(channels[place + 1], mint=mint)
            if number == 0 and (stage > 1 or before != after):
                cells[f"{block}.down_sample.0"] = {"weight": (after, before, 1, 1)}
                cells[f"{block}.down_sample.1"] = norm(after, mint=mint)
            before = after
    cells["classifier"] = {"weight": (1000, before), "bias": (1000,)}
    generator = np.random.default_rng(0)
    return {
        f"{cell}.{key}": generator.standard_normal(shape).astype(np.float32)
        for cell, parameters in cells.items()
        for key, shape in parameters.items()
    }


def detector(name: str) -> Network:
    return build(
        {
            "backbone": {"name": name},
            "neck": {"name": "DBFPN", "out_channels": 8, "bias": False, "use_asf": False, "channel_attention": False},
            "head": {"name": "DBHead", "k": 50, "bias": False, "adaptive": False, "k_scales_threshold": False},
        },
        neck=FeaturePyramid,
        head=DBHead,
    )


@pytest.mark.parametrize("mint", [False, True], ids=["nn", "mint"])
@pytest.mark.parametrize("name", sorted(STAGES))
def test_a_backbone_of_mindcv_is_loaded_by_its_names(tmp_path: Path, name: str, mint: bool) -> None:
    given = mindcv(name, mint=mint)
    path = write(tmp_path, given, "ckpt")
    network = detector(name)
    notes = pretrained.load(path, network, strict=True, key=pretrained.BACKBONE)
    assert notes[-2] == f"{path}: 2 are not of this backbone: classifier.bias, classifier.weight"
    count = sum(not name.endswith("num_batches_tracked") for name in given) - 2
    assert notes[-1].endswith(f"{count} of {count} parameters are taken")
    after = values(network)
    np.testing.assert_array_equal(after["backbone.conv1.weight"], given["conv1.weight"])
    second = f"layer2.0.down_sample.1.{'running_var' if mint else 'moving_variance'}"
    np.testing.assert_array_equal(after["backbone.layer2.0.down_sample.1.moving_variance"], given[second])


def test_another_backbone_of_mindcv_is_refused_with_the_differences(tmp_path: Path) -> None:
    path = write(tmp_path, mindcv("det_resnet18", mint=False), "ckpt")
    network = detector("det_resnet50")
    with pytest.raises(KitError, match=r"model\.backbone\.pretrained: .*\n.* not in the file: .*\n.* of another shape"):
        pretrained.load(path, network, strict=True, key=pretrained.BACKBONE)


def test_an_error_about_a_backbone_names_its_key(tmp_path: Path) -> None:
    path = write(tmp_path, {"head.bias": np.zeros(2, np.float32)}, "ckpt")
    with pytest.raises(
        KitError, match=r"model\.backbone\.pretrained: .* does not fit this network:\n *6 not in the file"
    ):
        pretrained.load(path, Joined(), strict=True, key=pretrained.BACKBONE)


@pytest.mark.parametrize("shape", [[1 << 62, 0], [1] * 70])
def test_a_shape_that_numpy_refuses_is_reported_as_damage(tmp_path: Path, shape: list[int]) -> None:
    content = bytes(0 if 0 in shape else 4)
    row = {"dtype": "F32", "shape": shape, "data_offsets": [0, len(content)]}
    head = json.dumps({"a": row}).encode()
    path = tmp_path / "weights.safetensors"
    path.write_bytes(struct.pack("<Q", len(head)) + head + content)
    with pytest.raises(KitError, match="is damaged or not a safetensors file"):
        pretrained.load(path, Normed(), strict=False)


def test_does_not_block_on_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    os.mkfifo(path)
    with pytest.raises(KitError, match="there is no file"):
        pretrained.load(path, Normed(), strict=False)
