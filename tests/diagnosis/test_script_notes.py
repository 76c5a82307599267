"""The notes of our launchers on failed ranks."""

import time
from pathlib import Path

import pytest

from hccl_kit import diagnose
from hccl_kit.diagnosis.report.text import as_text
from hccl_kit.runtime.flight_recorder import recorder
from hccl_kit.runtime.worker_env import LOG_DIR


def left(folder: Path, exits: str) -> str:
    """The diagnosis of a job of two ranks whose script wrote these notes."""
    (folder / "rank_0.log").write_text("working\n")
    (folder / "rank_1.log").write_text("working\n")
    (folder / "launcher_0").write_text(exits)
    return as_text(diagnose([folder]))


@pytest.mark.parametrize("code", [1, 7, 193, 200, 255])
def test_a_rank_that_fails_is_named_with_its_exit_code(tmp_path: Path, code: int) -> None:
    """255 is the exit code of sys.exit(-1), not a signal: Linux has signals up to 64."""
    exits = f"1767225600 exited 1 {code}\n1767225600 ending rank 1 {code}\n1767225601 exited 0 143\n"
    text = left(tmp_path, exits)
    assert text.startswith("first fault:  rank 1")
    assert f"ended with exit code {code} " in text


def test_names_host_and_card_of_a_program_without_recorder(tmp_path: Path) -> None:
    """Also after a restart, whose logs are in a separate folder."""
    (tmp_path / "restart_1").mkdir()
    notes = "1767225600 exited 1 7 5 n1\n1767225600 ending rank 1 7\n1767225601 exited 0 143 4 n1\n"
    assert "first fault:  rank 1 (n1, card 5), " in left(tmp_path / "restart_1", notes)


@pytest.mark.parametrize("has_record", [True, False])
def test_a_kill_has_one_text_and_one_fix_whatever_has_noted_it(tmp_path: Path, has_record: bool) -> None:
    now = int(time.time())
    text = left(tmp_path, f"{now} exited 1 137\n{now} ending rank 1 137\n")
    if has_record:
        for rank in ("0", "1"):
            recorder({LOG_DIR: str(tmp_path), "RANK": rank, "RANK_SIZE": "2"})
        text = as_text(diagnose([tmp_path]))
    assert text.startswith("first fault:  rank 1")
    assert ": was killed by SIGKILL (perhaps by the out-of-memory killer)" in text
    assert "\nfix:          look for the out-of-memory killer on " in text


@pytest.mark.parametrize(("code", "is_crash"), [(139, True), (134, True), (143, False), (7, False)])
def test_a_crash_has_the_variable_that_prints_its_place(tmp_path: Path, code: int, *, is_crash: bool) -> None:
    text = left(tmp_path, f"1767225600 exited 1 {code}\n1767225600 ending rank 1 {code}\n")
    assert ("PYTHONFAULTHANDLER=1" in text) == is_crash


OWN = '  File "/job/train.py", line 7, in <module>\n'
WAIT = '  File "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 1, in wait\n'
INTERRUPTED = "1767225600 ending signal -1 130\n1767225601 exited 0 143 4 n1\n1767225601 exited 1 130 5 n1\n"


def interrupted(folder: Path, *frames: str | None) -> str:
    """A job that was interrupted: each rank has a traceback with these frames, or none."""
    for rank, text in enumerate(frames):
        log = "" if text is None else f"Traceback (most recent call last):\n{text}KeyboardInterrupt\n"
        (folder / f"rank_{rank}.log").write_text(f"step 1\n{log}")
    (folder / "launcher_0").write_text(INTERRUPTED)
    return as_text(diagnose([folder]))


@pytest.mark.parametrize("waiting", [OWN + WAIT, None])
def test_of_an_interrupted_job_the_rank_is_suspected_that_did_not_wait(tmp_path: Path, waiting: str | None) -> None:
    """A rank that waits in native code has no traceback: its launcher ends it. The job may have been well."""
    text = interrupted(tmp_path, waiting, OWN)
    assert text.startswith(
        "first fault:  cannot tell, because the job was interrupted; if it hung, it was at train.py:7 of rank 1"
    )
    assert "\nsuspects:     rank 1 (n1, card 5)\n" in text


@pytest.mark.parametrize("frames", [(OWN, OWN), (OWN + WAIT, OWN + WAIT), (None, None), (OWN + WAIT, OWN, OWN)])
def test_of_an_interrupted_job_whose_ranks_all_did_the_same_none_is_suspected(
    tmp_path: Path, frames: tuple[str | None, ...]
) -> None:
    assert "if it hung" not in interrupted(tmp_path, *frames)


def test_names_an_error_of_the_scheduler_of_msrun(tmp_path: Path) -> None:
    """It runs the program without the variables of a rank; the workers wait for it silently."""
    traceback = "Traceback (most recent call last):\n  File \"train.py\", line 4, in <module>\nKeyError: 'DEVICE_ID'\n"
    (tmp_path / "scheduler.log").write_text(traceback)
    (tmp_path / "worker_0.log").write_text("working\n")
    text = as_text(diagnose([tmp_path]))
    assert "cannot tell, because not a rank but the scheduler of msrun failed: KeyError: 'DEVICE_ID'" in text
    assert f"fix the error that {tmp_path}/scheduler.log:3 reports" in text
