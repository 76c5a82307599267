"""Checkpoints: reading returns what was written, or an error with the name of the file."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import nn
from mindspore.train.checkpoint_pb2 import Checkpoint

from hccl_kit.base import leftovers, temporary
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.checkpoints import checkpoint
from hccl_kit.ocr.checkpoints.checkpoint import Progress
from tests.ocr.tiny import Normed, values
from tests.places import ROOT

KILLED = """
import os, signal
from pathlib import Path
import mindspore, numpy
from hccl_kit.ocr.checkpoints import checkpoint
Path.chmod = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # what is done next to a checkpoint that is written
checkpoint.save(Path("w.ckpt"), [mindspore.Parameter(numpy.ones(3, numpy.float32), name="a")])
"""
READ = """
import sys
from pathlib import Path
from hccl_kit.base import temporary
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.checkpoints import checkpoint
try:
    checkpoint.load(Path(sys.argv[1]), [])
except KitError as error:
    print(error.message)
"""


def saved(folder: Path, network: nn.Cell, progress: Progress | None = None) -> Path:
    path = folder / "w.ckpt"
    checkpoint.save(path, network.get_parameters(), progress)
    return path


def refusal(path: Path, network: nn.Cell) -> str:
    with pytest.raises(KitError) as caught:
        checkpoint.load(path, network.get_parameters())
    return caught.value.message


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_checkpoint_is_as_private_as_other_files(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        checkpoint.save(tmp_path / "w.ckpt", [ms.Parameter(np.ones(3, np.float32), name="a")])
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    assert (tmp_path / "w.ckpt").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize(
    "progress", [Progress(2**40, 0.1 + 0.2), Progress(), Progress(0, 0.5), Progress(1, 0.0, "00ff" * 16), None]
)
def test_load_restores_what_save_wrote(tmp_path: Path, progress: Progress | None) -> None:
    one, two = Normed(), Normed()
    path = saved(tmp_path, one, progress)
    assert checkpoint.load(path, two.get_parameters()) == (progress or Progress())
    for name, value in values(two).items():
        np.testing.assert_array_equal(value, values(one)[name])
    assert [inner.name for inner in tmp_path.iterdir()] == ["w.ckpt"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_the_previous_file_is_kept_on_request(tmp_path: Path) -> None:
    networks = [Normed() for _ in range(3)]
    for step, network in enumerate(networks):
        checkpoint.save(
            tmp_path / "w.ckpt", network.get_parameters(), Progress(step), previous=tmp_path / "before.ckpt"
        )
    read = Normed()
    for name, step in (("w", 2), ("before", 1)):
        assert checkpoint.load(tmp_path / f"{name}.ckpt", read.get_parameters()).step == step
        assert values(read).keys() == values(networks[step]).keys()
        assert all((value == values(networks[step])[name]).all() for name, value in values(read).items())


def test_mindspore_logs_nothing_about_a_damaged_file(tmp_path: Path) -> None:
    path = saved(tmp_path, Normed())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    done = subprocess.run([sys.executable, "-c", READ, str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "is damaged or not a checkpoint" in done.stdout
    assert done.stderr == ""


def test_every_flipped_byte_is_refused(tmp_path: Path) -> None:
    network = Normed()
    path = saved(tmp_path, network, Progress(5, 0.5))
    data = path.read_bytes()
    for position in range(len(data)):
        path.write_bytes(data[:position] + bytes([data[position] ^ 0x10]) + data[position + 1 :])
        assert f"the checkpoint {path} is damaged or not a checkpoint" in refusal(path, network), position


@pytest.mark.parametrize("progress", [Progress(5, 0.5), None], ids=["resume", "weights"])
def test_every_truncated_file_is_refused(tmp_path: Path, progress: Progress | None) -> None:
    """Also one that only lacks the checksum."""
    network = Normed()
    path = saved(tmp_path, network, progress)
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(checkpoint.DamagedError) as caught:
            checkpoint.load(path, network.get_parameters())
        assert str(path) in caught.value.message, length


@pytest.mark.parametrize("progress", [Progress(5, 0.5), None], ids=["resume", "weights"])
def test_a_flipped_byte_is_refused_even_without_the_checksum(tmp_path: Path, progress: Progress | None) -> None:
    network = Normed()
    path = saved(tmp_path, network, progress)
    data = path.read_bytes()
    data = data[: data.rindex(b"crc_num")]
    for position in range(len(data)):
        path.write_bytes(data[:position] + bytes([data[position] ^ 0x10]) + data[position + 1 :])
        assert f"the checkpoint {path} is damaged or not a checkpoint" in refusal(path, network), position


def test_our_checkpoints_are_recognised_by_their_last_row(tmp_path: Path) -> None:
    """The first row and the checksum are cut off: the rest looks like a file of another program."""
    path = saved(tmp_path, Normed())
    data = path.read_bytes()
    assert data[0] == 0x0A  # a row
    assert data[1] < 0x80  # and its length, in one byte
    path.write_bytes(data[2 + data[1] : data.rindex(b"crc_num")])
    assert "its checksum is cut off" in refusal(path, Normed())


def test_a_file_of_another_program_needs_no_checksum_and_gets_a_note(tmp_path: Path) -> None:
    network, notes = Normed(), list[str]()
    ms.save_checkpoint(network, str(tmp_path / "other.ckpt"))
    assert "head.weight" in checkpoint.read(tmp_path / "other.ckpt", say=notes.append)
    assert notes == [f"{tmp_path / 'other.ckpt'} has no checksum, so it cannot be verified"]
    checkpoint.read(saved(tmp_path, network), say=notes.append)
    assert len(notes) == 1


def test_a_killed_write_leaves_a_file_that_is_swept(tmp_path: Path) -> None:
    """The process is killed when its checkpoint has its temporary name; the program reports this moment."""
    (tmp_path / "program.py").write_text(KILLED)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert len([path for path in tmp_path.iterdir() if path.name.startswith(".")]) == 1
    leftovers.sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]


@pytest.mark.parametrize(
    ("row", "value", "why"),
    [
        ("step", np.int64(-5), "it is of step -5; accepted: 0 or more"),
        ("step", np.float32(1.5), "it is of step 1.5; accepted: 0 or more"),
        ("step", np.zeros(3, np.int64), "hccl_kit.step is not a number"),
        ("best", np.float64("nan"), "hccl_kit.best is not a number"),
        ("job", np.zeros(3, np.uint8), "hccl_kit.job has 3 bytes, a SHA-256 has 32"),
        ("end", np.zeros(3, np.int64), "hccl_kit.end is not a number"),
    ],
)
def test_a_progress_that_no_run_has_is_refused(tmp_path: Path, row: str, value: Any, why: str) -> None:
    network, path = Normed(), tmp_path / "w.ckpt"
    own = {"step": np.int64(3), "best": np.float64(0.5), row: value}
    weights = [{"name": one.name, "data": ms.Tensor(one.asnumpy())} for one in network.get_parameters()]
    own |= {name: np.int64(len(weights)) for name in ("rows", "end") if name != row}
    rows = [*weights, *({"name": f"hccl_kit.{name}", "data": ms.Tensor(one)} for name, one in own.items())]
    ms.save_checkpoint(rows, str(path), crc_check=True)
    assert f"{path} is damaged or not a checkpoint: {why}" in refusal(path, network)


@pytest.mark.parametrize("content", [b"", b"plain text", bytes(1000)])
def test_a_file_that_is_not_a_checkpoint_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "w.ckpt").write_bytes(content)
    assert "w.ckpt is damaged or not a checkpoint" in refusal(tmp_path / "w.ckpt", Normed())


def test_a_complete_file_with_another_name_is_not_called_damaged(tmp_path: Path) -> None:
    """MindSpore reads only names that end in .ckpt, and users keep copies as best.ckpt.bak."""
    copy = saved(tmp_path, Normed()).rename(tmp_path / "w.ckpt.bak")
    assert refusal(copy, Normed()) == f"the checkpoint {copy} has no name that ends in .ckpt"


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.ckpt", Normed()) == f"there is no checkpoint {tmp_path / 'no.ckpt'}"
    assert refusal(tmp_path, Normed()) == f"{tmp_path} is not a file"


@pytest.mark.parametrize("wrong", [np.float32(np.nan), np.float32(-np.inf), np.float64(1e300)], ids=str)
def test_parameters_that_are_not_finite_are_named(tmp_path: Path, wrong: np.generic) -> None:
    path = tmp_path / "w.ckpt"
    rows = [{"name": one.name, "data": ms.Tensor(one.asnumpy())} for one in Normed().get_parameters()]
    rows[1]["data"] = ms.Tensor(np.full(rows[1]["data"].shape, wrong))
    ms.save_checkpoint(rows, str(path))
    assert refusal(path, Normed()) == f"{path}: {rows[1]['name']} holds numbers that are not finite"


def test_missing_parameters_and_wrong_shapes_are_named(tmp_path: Path) -> None:
    network = Normed()
    path = tmp_path / "w.ckpt"
    rows = [parameter for parameter in network.get_parameters() if not parameter.name.startswith("stem.1.g")]
    checkpoint.save(path, rows)
    network.head = nn.Dense(4, 2)
    network.head.weight.name, network.head.bias.name = "head.weight", "head.bias"
    assert refusal(path, network).split("\n       ") == [
        f"{path} does not fit this configuration:",
        "stem.1.gamma is missing",
        "head.weight is (2, 3), the network has (2, 4)",
    ]


def test_a_long_list_of_problems_is_truncated(tmp_path: Path) -> None:
    path = tmp_path / "w.ckpt"
    checkpoint.save(path, [nn.Dense(1, 1).bias])
    lines = refusal(path, Normed()).split("\n       ")
    assert len(lines) == 7
    assert lines[-1] == "and 2 more"


def test_extra_rows_are_accepted(tmp_path: Path) -> None:
    """Weights can be loaded from a checkpoint for resuming."""
    network = Normed()
    path = saved(tmp_path, network, Progress(3))
    assert checkpoint.load(path, list(network.get_parameters())[:2]).step == 3


@pytest.mark.parametrize("name", ["no/w.ckpt", "file/w.ckpt", "folder.ckpt"])
def test_a_checkpoint_that_cannot_be_written_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.ckpt").mkdir()
    with pytest.raises(KitError, match=f"cannot write the checkpoint {tmp_path / name}: "):
        checkpoint.save(tmp_path / name, Normed().get_parameters())
    assert sorted(inner.name for inner in tmp_path.rglob("*")) == ["file", "folder.ckpt"]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    network = Normed()
    path = saved(tmp_path, network, Progress(1))
    temporary.beside(tmp_path / "w", "ckpt").mkdir()
    with pytest.raises(KitError, match="cannot write the checkpoint"):
        saved(tmp_path, network, Progress(2))
    assert checkpoint.load(path, network.get_parameters()).step == 1


def test_values_are_converted_to_the_types_of_the_network(tmp_path: Path) -> None:
    half = ms.Parameter(np.ones(2, np.float16), name="head.bias")
    checkpoint.save(tmp_path / "w.ckpt", [half])
    network = Normed()
    checkpoint.load(tmp_path / "w.ckpt", [network.head.bias])
    assert network.head.bias.dtype == ms.float32
    assert network.head.bias.asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize(
    ("shape", "content", "words"),
    [
        ([400], bytes(16), "a has 16 bytes, and 1600 by its shape and type"),
        ([1 << 40], bytes(16), f"a has 16 bytes, and {4 << 40} by its shape and type"),
        ([2], bytes(16), "a has 16 bytes, and 8 by its shape and type"),
        ([4], bytes(15), "a has 15 bytes, and 16 by its shape and type"),
        ([-4], bytes(16), "a has 16 bytes, and -16 by its shape and type"),
    ],
)
def test_a_row_whose_size_does_not_match_its_shape_is_refused(
    tmp_path: Path, shape: list[int], content: bytes, words: str
) -> None:
    """MindSpore would fill up the missing values."""
    file = Checkpoint()
    row = file.value.add(tag="a")
    row.tensor.dims.extend(shape)
    row.tensor.tensor_type, row.tensor.tensor_content = "Float32", content
    path = tmp_path / "other.ckpt"
    path.write_bytes(file.SerializeToString())
    with pytest.raises(checkpoint.DamagedError, match=words):
        checkpoint.read(path)
