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


def test_a_signal_is_named(tmp_path: Path) -> None:
    text = left(tmp_path, "1767225600 exited 1 137\n1767225600 ending rank 1 137\n", "1 137\n")
    assert "first fault:  rank 1 " in text
    assert "was killed by signal 9 " in text
