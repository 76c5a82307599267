"""The claim of a folder: one run at a time, until its process ends."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.checkpoints.claim import claim
from tests.places import ROOT

HOLD = """
import sys, time
from pathlib import Path
from hccl_kit.ocr.checkpoints.claim import claim
claim(Path(sys.argv[1]))
print("claimed", flush=True)
time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "one"


def held(folder: Path) -> subprocess.Popen[str]:
    """A process that has claimed the folder."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "claimed\n"
    return process


def test_a_folder_of_a_running_training_is_refused(folder: Path) -> None:
    with held(folder) as process:
        try:
            with pytest.raises(KitError, match=f"another training is writing into {folder}") as caught:
                claim(folder, patience=0.2)
        finally:
            process.kill()
    assert "train.ckpt_save_dir" in (caught.value.hint or "")
    assert list(folder.iterdir()) == []


def test_a_killed_training_leaves_no_claim(folder: Path) -> None:
    with held(folder) as process:
        process.kill()
    claim(folder, patience=0)


def test_a_training_that_is_about_to_end_is_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with held(folder) as process:

        def sleep(_: float) -> None:
            process.kill()
            process.wait()

        monkeypatch.setattr("time.sleep", sleep)
        claim(folder)
        assert process.returncode == -signal.SIGKILL


def test_a_folder_that_cannot_be_created_is_an_error(folder: Path) -> None:
    folder.parent.write_text("a file")
    with pytest.raises(KitError, match=f"cannot write into {folder}: Not a directory"):
        claim(folder)


def test_a_process_may_train_into_its_folder_again(folder: Path) -> None:
    claim(folder)
    claim(folder, patience=0)
