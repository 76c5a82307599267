"""Over several servers, the error of a failed rank is shown once: live if its log is shown, else in the report."""

import subprocess
from pathlib import Path

import pytest

from tests.lab.hosts import Hosts
from tests.launch.jobs import clean_environ, finish
from tests.launch.nodes import python_nodes_job
from tests.launch.payload.test_ssh_start import ssh
from tests.places import ROOT

__all__ = ["ssh"]

REASON = "Traceback ...\nValueError: the reason"
FAIL = f"print({REASON!r}, flush=True)\n"
WRITE = (
    "open(os.environ['HCCL_KIT_LOG_DIR'] + f'/error_{rank}.json', 'w').write(json.dumps("
    f"{{'version': 1, 'rank': rank, 'time': 1, 'traceback': {REASON!r}}}))\n"
)


@pytest.mark.parametrize("together", [True, False])
def test_over_ssh_the_error_is_shown_once(tmp_path: Path, ssh: str, together: bool) -> None:
    program = f"if rank > 0: time.sleep(600)\n{WRITE}{FAIL}sys.exit(7)"
    job = python_nodes_job(tmp_path, Hosts("", tmp_path, ("127.0.0.1", "127.0.0.2")), program)
    process = subprocess.Popen(
        ["bash", job.script, "--ssh"],
        cwd=tmp_path,
        env=clean_environ({"HCCL_KIT_SSH": ssh}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if together else subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    done = finish(process)
    assert done.returncode == 7
    if together:
        assert done.stdout.count(REASON) == 1
        assert f"  its traceback is above, and in {job.logs}/rank_0.log\n" in done.stdout
        assert done.stdout.index(REASON) < done.stdout.index("error: rank 0 on device ")
    else:
        assert f"/rank_0.log:\n{REASON}\n" in done.stderr


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
    """Shared by the reports of bash, Slurm and msrun."""
    command = ["bash", "-c", f"set -euo pipefail; . {LAST}; last_lines 2"]
    done = subprocess.run(command, input=text, capture_output=True, check=True, timeout=20)
    assert done.stdout[-KEPT - 9 :] == shown
    assert done.stderr == b""
