"""Exported files are cached by name and shape, written if they are missing or damaged, and the oldest are removed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from hccl_kit.base.errors import KitError

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from hccl_kit.ocr.serve import onnx_runner  # noqa: E402  # imports onnxruntime
from hccl_kit.ocr.serve.onnx_runner import OnnxRunner  # noqa: E402


class Doubling:
    """Writes files that double images, and counts them."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def __call__(self, shape: Sequence[int], path: Path) -> None:
        self.shapes.append(tuple(shape))
        value, sides = onnx.helper.make_tensor_value_info, ["n", 3, "h", "w"]
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("Add", ["x", "x"], ["y"])],
            "test",
            [value("x", onnx.TensorProto.FLOAT, sides)],
            [value("y", onnx.TensorProto.FLOAT, sides)],
        )
        made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(made, path)


def assert_doubles(runner: OnnxRunner, *shape: int) -> None:
    images = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    assert (runner.of_shape(shape)(images) == 2 * images).all()


@pytest.mark.parametrize(("any_size", "files"), [(True, ["a.onnx"]), (False, ["a_1_3_4_4.onnx", "a_2_3_4_8.onnx"])])
def test_a_file_is_written_once(tmp_path: Path, any_size: bool, files: list[str]) -> None:
    export = Doubling()
    for _ in range(2):
        runner = OnnxRunner(tmp_path / "onnx", "a", export, any_size=any_size, batches=1)
        for _ in range(2):
            assert_doubles(runner, 1, 3, 4, 4)
            assert_doubles(runner, 2, 3, 4, 8)
    assert sorted(path.name for path in (tmp_path / "onnx").iterdir()) == files
    assert export.shapes == [(1, 3, 4, 4), (2, 3, 4, 8)][: len(files)]


def test_a_folder_writable_by_others_is_refused(tmp_path: Path) -> None:
    """Otherwise their file would read the images of this user."""
    Doubling()((1, 3, 4, 4), tmp_path / "a.onnx")
    tmp_path.chmod(0o777)
    with pytest.raises(KitError, match="others may write into"):
        OnnxRunner(tmp_path, "a", Doubling(), any_size=True, batches=1).of_shape((1, 3, 4, 4))


def test_a_damaged_file_is_written_again(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(b"damaged")
    export = Doubling()
    assert_doubles(OnnxRunner(tmp_path, "a", export, any_size=True, batches=1), 1, 3, 4, 4)
    assert export.shapes == [(1, 3, 4, 4)]


def test_the_least_recently_used_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_runner, "KEPT", 2)
    export = Doubling()
    for number, name in enumerate("ab"):
        OnnxRunner(tmp_path, name, export, any_size=True, batches=1).of_shape((1, 3, 4, 4))
        os.utime(tmp_path / f"{name}.onnx", (number, number))
    OnnxRunner(tmp_path, "a", export, any_size=True, batches=1).of_shape((1, 3, 4, 4))  # used again
    OnnxRunner(tmp_path, "c", export, any_size=True, batches=1).of_shape((1, 3, 4, 4))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.onnx", "c.onnx"]


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    runner = OnnxRunner(tmp_path / "file" / "onnx", "a", Doubling(), any_size=True, batches=1)
    with pytest.raises(KitError, match="cannot write "):
        runner.of_shape((1, 3, 4, 4))
