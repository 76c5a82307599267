"""The last lines of a log, as the report of a job shows them."""

import subprocess

import pytest

from tests.places import ROOT

LAST = ROOT / "hccl_kit/launch/scripts/common/exit_status.sh"
KEPT = 16384


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b"", b""),
        (b"a\nb\nc", b"b\nc\n"),
        (b"a\nb\n\n", b"b\n\n"),
        (b"x" * KEPT, b"x" * KEPT + b"\n"),
        (b"x" * (KEPT + 1) + b"\nb\n", b"[...] " + b"x" * (KEPT - 3) + b"\nb\n"),
        ("\u4e2d".encode() * 100_000, b"[...] " + ("\u4e2d".encode() * KEPT)[-KEPT:] + b"\n"),
        (b"\0" * 50 + b"a\n", b"a\n"),
    ],
    ids=range(7),
)
def test_a_cut_line_is_marked(text: bytes, shown: bytes) -> None:
    """In the report of Slurm."""
    command = ["bash", "-c", f"set -euo pipefail; . {LAST}; last_lines 2"]
    done = subprocess.run(command, input=text, capture_output=True, check=True, timeout=20)
    assert done.stdout[-KEPT - 9 :] == shown
    assert done.stderr == b""
