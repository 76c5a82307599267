"""The files of a run: a log for each rank, and the files of the job from rank 0."""

import json
import resource
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import cv2
import numpy as np
import pytest
from tensorboardX.proto.event_pb2 import Event

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.run.log import EVENTS, RunLog, TensorBoard


def opened(folder: Path, rank: int = 0, *, resumed: bool = False) -> RunLog:
    log = RunLog(folder, rank)
    log.open(resumed=resumed)
    return log


def speak(folder: Path, rank: int) -> None:
    log = RunLog(folder, rank)
    log.say("hello")
    assert list(folder.glob("*")) == []  # nothing is written before it is opened
    log.open()
    log.warn("odd")
    log.metrics({"step": 1})
    log.metrics({"step": 2})
    log.write("summary.json", "{}")
    log.close()


def test_rank_0_writes_every_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "run"
    speak(folder, 0)
    assert {path.name for path in folder.iterdir()} == {"log_0.txt", "metrics.jsonl", "summary.json"}
    assert [json.loads(line)["step"] for line in (folder / "metrics.jsonl").read_text().splitlines()] == [1, 2]
    lines = (folder / "log_0.txt").read_text().splitlines()
    assert [line.split(" ", 2)[2] for line in lines] == ["INFO hello", "WARNING warning: odd"]
    assert capsys.readouterr().out == "hello\nwarning: odd\n"


def test_rank_1_writes_its_own_log_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    speak(tmp_path, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["log_1.txt"]
    assert "hello" in (tmp_path / "log_1.txt").read_text()
    assert capsys.readouterr() == ("", "")


def test_a_second_log_writes_each_line_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    speak(tmp_path / "one", 0)
    speak(tmp_path / "two", 0)
    assert capsys.readouterr().out.count("hello") == 2
    assert (tmp_path / "one" / "log_0.txt").read_text().count("hello") == 1


def written(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("resumed", [True, False])
def test_only_a_resumed_run_appends_to_existing_files(tmp_path: Path, resumed: bool) -> None:
    speak(tmp_path, 0)
    log = opened(tmp_path, resumed=resumed)
    assert (tmp_path / "summary.json").exists() is resumed
    log.metrics({"step": 3})
    log.close()
    steps = [json.loads(line)["step"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert steps == ([1, 2, 3] if resumed else [3])
    assert ("hello" in (tmp_path / "log_0.txt").read_text()) is resumed


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KitError, match=r"cannot write into .*file/run: Not a directory") as caught:
        RunLog(tmp_path / "file" / "run", 0)
    assert caught.value.hint == "see train.ckpt_save_dir"


def test_entries_after_a_checkpoint_are_removed(tmp_path: Path) -> None:
    log = opened(tmp_path)
    rows: list[dict[str, float]] = [{"step": 1, "loss": 2}, {"step": 2, "loss": 1}, {"step": 2, "best": 1}, {"step": 3}]
    for row in rows:
        log.metrics(row)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 1, "lo')  # the process was killed here
    log.rewind(2)
    assert written(tmp_path) == rows[:3]
    log.rewind(0)
    assert written(tmp_path) == []
    log.close()


def test_an_evaluation_that_is_repeated_after_a_resume_replaces_its_line(tmp_path: Path) -> None:
    rows: list[dict[str, float]] = [{"step": 1, "loss": 2}, {"step": 1, "best": 1}, {"step": 2, "loss": 1}]
    for row in rows:
        (log := opened(tmp_path, resumed=True)).metrics(row)
        log.close()
    for best in (2, 3):
        log = opened(tmp_path, resumed=True)
        log.rewind(2)
        log.evaluation({"step": 2, "best": best})
        log.close()
        assert written(tmp_path) == [*rows, {"step": 2, "best": best}]


def test_warnings_of_a_run_that_never_wrote_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rank 0 has printed its own."""
    for rank in range(2):
        log = RunLog(tmp_path, rank)
        log.say("hello")
        log.warn("odd")
        log.close()
    assert (list(tmp_path.iterdir()), capsys.readouterr()) == ([], ("hello\nwarning: odd\n", "warning: odd\n"))


def test_without_entries_after_a_checkpoint_nothing_is_removed(tmp_path: Path) -> None:
    for rank in range(2):
        log = opened(tmp_path, rank)
        log.rewind(0)
        log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log_0.txt", "log_1.txt", "tensorboard"]


def test_a_full_or_closed_standard_output_does_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w", encoding="utf-8", buffering=1) as full:
        monkeypatch.setattr("sys.stdout", full)
        speak(tmp_path / "full", 0)
        monkeypatch.setattr("sys.stdout", None)
        speak(tmp_path / "closed", 0)
        with suppress(OSError):
            full.close()
    for name in ("full", "closed"):
        assert len((tmp_path / name / "log_0.txt").read_text().splitlines()) == 2
    assert capsys.readouterr().err == ""


def test_events_that_cannot_be_written_at_the_end_are_a_warning(tmp_path: Path) -> None:
    """The end may be that of a failed training, whose error is to be seen."""
    log = opened(tmp_path)
    log.rewind(0)
    shutil.rmtree(tmp_path / "tensorboard")
    log.close()
    assert f"warning: cannot write into {tmp_path / 'tensorboard'}" in (tmp_path / "log_0.txt").read_text()


ONE_ROW = """
import sys
from pathlib import Path
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.run.log import TensorBoard
board = TensorBoard(Path(sys.argv[1]), step=0)
board.row({"step": 1, "loss": 0.5})
board.close()
print("torch" in sys.modules)
import torch
"""


def events(folder: Path) -> list[Event]:
    """The records of all files: a length of 8 bytes, 4 bytes of checksum, the event, 4 bytes of checksum."""
    found = []
    for path in sorted((folder / EVENTS).iterdir()):
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
