"""What our bash script leaves of ranks that failed: each rank is in two files, and counts once."""

from pathlib import Path

import pytest

from hccl_kit import diagnose
from hccl_kit.diagnosis.report.text import as_text


def left(folder: Path, exits: str, failed: str) -> str:
    """What is said of a job of two ranks whose script wrote these notes."""
    (folder / "rank_0.log").write_text("working\n")
    (folder / "rank_1.log").write_text("working\n")
    (folder / "launcher_0").write_text(exits)
    (folder / "failed").write_text(failed)
    return as_text(diagnose([folder]))


@pytest.mark.parametrize("code", [1, 7, 193, 200, 255])
def test_a_rank_that_fails_is_named_with_its_exit_code(tmp_path: Path, code: int) -> None:
    """255 is that of sys.exit(-1): Linux has signals up to 64."""
    exits = f"1767225600 exited 1 {code}\n1767225600 ending rank 1 {code}\n1767225601 exited 0 143\n"
    text = left(tmp_path, exits, f"1 {code}\n0 143\n")
    assert "first fault:  rank 1 " in text
    assert f"ended with exit code {code} " in text


def test_host_and_card_of_a_program_that_records_nothing(tmp_path: Path) -> None:
    """After a restart too, whose logs are in a folder of their own."""
    (tmp_path / "restart_1").mkdir()
    notes = "1767225600 exited 1 7 5 n1\n1767225600 ending rank 1 7\n1767225601 exited 0 143 4 n1\n"
    assert "first fault:  rank 1 (n1, card 5), " in left(tmp_path / "restart_1", notes, "1 7\n0 143\n")


def test_a_signal_is_named(tmp_path: Path) -> None:
    text = left(tmp_path, "1767225600 exited 1 137\n1767225600 ending rank 1 137\n", "1 137\n")
    assert "first fault:  rank 1 " in text
    assert "was killed by signal 9 " in text


def test_an_error_of_the_scheduler_of_msrun(tmp_path: Path) -> None:
    """It runs the program without the variables of a rank; the workers wait for it, and say nothing."""
    traceback = "Traceback (most recent call last):\n  File \"train.py\", line 4, in <module>\nKeyError: 'DEVICE_ID'\n"
    (tmp_path / "scheduler.log").write_text(traceback)
    (tmp_path / "worker_0.log").write_text("working\n")
    (tmp_path / "failed").write_text("scheduler 1\n")
    text = as_text(diagnose([tmp_path]))
    assert "cannot tell, because not a rank but the scheduler of msrun failed: KeyError: 'DEVICE_ID'" in text
    assert f"fix the error that {tmp_path}/scheduler.log:3 reports" in text
