"""The event files for TensorBoard."""

import resource
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from tensorboardX.proto.event_pb2 import Event

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.run.tensorboard import FOLDER, TensorBoard

ONE_ROW = """
import sys
from pathlib import Path
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.run.tensorboard import TensorBoard
board = TensorBoard(Path(sys.argv[1]), step=0)
board.row({"step": 1, "loss": 0.5})
board.close()
print("torch" in sys.modules)
import torch
"""


def events(folder: Path) -> list[Event]:
    """The records of all files: a length of 8 bytes, 4 bytes of checksum, the event, 4 bytes of checksum."""
    found = []
    for path in sorted((folder / FOLDER).iterdir()):
        data = path.read_bytes()
        while data:
            length = int.from_bytes(data[:8], "little")
            found.append(Event.FromString(data[12 : 12 + length]))
            data = data[16 + length :]
    return found


def test_numbers_become_scalars_of_their_step(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path, step=0)
    board.row({"step": 7, "loss": 0.5, "epoch": 2, "samples_per_s": None, "note": "x"})
    board.picture("first_batch", np.zeros((4, 6, 3), np.uint8), 0)
    board.close()
    written = [(event.step, value.tag) for event in events(tmp_path) for value in event.summary.value]
    assert sorted(written) == [(0, "first_batch"), (7, "epoch"), (7, "loss")]


def test_a_resumed_run_hides_the_steps_that_it_repeats(tmp_path: Path) -> None:
    TensorBoard(tmp_path, step=20).close()
    assert [event.step for event in events(tmp_path) if event.HasField("session_log")] == [21]


def test_a_picture_has_rgb_channel_order(tmp_path: Path) -> None:
    """As expected by TensorBoard; OpenCV has blue first."""
    image = np.zeros((4, 6, 3), np.uint8)
    image[..., 2] = 255
    board = TensorBoard(tmp_path, step=0)
    board.picture("first_batch", image, 0)
    board.close()
    (data,) = (value.image.encoded_image_string for event in events(tmp_path) for value in event.summary.value)
    shown = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    np.testing.assert_array_equal(shown, image)


@pytest.mark.torch
def test_torch_is_not_imported_but_can_be_imported_later(tmp_path: Path) -> None:
    """Importing it takes longer than the first step."""
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", ONE_ROW, tmp_path], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_a_full_disk_is_an_error_of_the_row_that_does_not_fit(tmp_path: Path) -> None:
    """A training must not wait forever for a thread that this error has ended."""
    board = TensorBoard(tmp_path, step=0)
    board.row({"step": 1, "loss": 0.5})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        board.picture("first_batch", np.zeros((4, 6, 3), np.uint8), 0)
        with pytest.raises(KitError, match=r"cannot write into .*tensorboard: File too large"):
            for step in range(1000):
                board.row({"step": step, "loss": 0.5})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    board.close()
