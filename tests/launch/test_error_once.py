"""The error of a failed rank is shown once: live if its log is shown, otherwise in the report."""

import subprocess
from pathlib import Path

import pytest

from hccl_kit.runtime.worker_env import DIAGNOSE
from tests.lab.hosts import Hosts
from tests.launch.jobs import Job, clean_environ, finish, python_job
from tests.launch.nodes import python_nodes_job
from tests.launch.payload.test_ssh_start import ssh
from tests.launch.test_bash_options import write_error
from tests.places import ROOT

__all__ = ["ssh"]

REASON = "Traceback ...\nValueError: the reason"
FAIL = f"print({REASON!r}, flush=True)\n"
WRITE = f"{write_error('rank', '1', REASON)}\n"
GO = "while not os.path.exists('go'): time.sleep(0.01)\n"


def screen_of(job: Job, *options: str) -> str:
    """The output on a terminal, which receives both streams."""
    done = finish(job.start(*options, stderr=subprocess.STDOUT))
    assert done.returncode == 7
    return done.stdout


@pytest.mark.parametrize("options", [(), ("--prefix",)], ids=["first", "all"])
@pytest.mark.parametrize(("more", "what"), [("", "last lines are"), (WRITE, "traceback is")], ids=["log", "file"])
def test_an_error_that_was_shown_live_is_not_repeated(
    tmp_path: Path, options: tuple[str, ...], more: str, what: str
) -> None:
    job = python_job(tmp_path, f"if rank > 0: time.sleep(600)\n{more}{FAIL}sys.exit(7)", ranks=2)
    screen = screen_of(job, *options)
    assert screen.count("ValueError: the reason") == 1
    shown, report = screen.split("\n\n")
    assert shown.endswith("ValueError: the reason")
    said, where = report.splitlines()
    assert said.startswith("error: rank 0 on device 4 of ")
    assert said.endswith(" failed with exit code 7")
    assert where == f"  its {what} above, and in {job.logs}/rank_0.log"


def test_with_separate_streams_the_report_contains_the_error(tmp_path: Path) -> None:
    done = python_job(tmp_path, f"{WRITE}{FAIL}sys.exit(7)", ranks=1).run()
    assert done.stderr.endswith(f"/rank_0.log:\n{REASON}\n")


def test_the_error_of_a_rank_that_is_not_shown_is_in_the_report(tmp_path: Path) -> None:
    job = python_job(tmp_path, f"if rank == 0: time.sleep(600)\n{WRITE}{FAIL}sys.exit(7)", ranks=2)
    screen = screen_of(job)
    assert screen.endswith(f"  its traceback, from {job.logs}/rank_1.log:\n{REASON}\n")
    assert screen.count(REASON) == 1


def test_an_error_followed_by_other_output_is_repeated_at_the_end(tmp_path: Path) -> None:
    job = python_job(tmp_path, f"{WRITE}{FAIL}print('noise', flush=True)\nsys.exit(7)", ranks=1)
    assert screen_of(job).endswith(f"  its traceback, from {job.logs}/rank_0.log:\n{REASON}\n")


def test_with_prefix_an_error_followed_by_output_of_another_rank_is_repeated(tmp_path: Path) -> None:
    """The other rank writes when it is ended."""
    hear = "signal.signal(signal.SIGTERM, lambda *_: (print('noise', flush=True), os._exit(1)))"
    wait = f"{hear}; open('go', 'w'); time.sleep(600)"
    job = python_job(tmp_path, f"if rank == 1: {wait}\n{GO}{WRITE}{FAIL}time.sleep(0.1); sys.exit(7)", ranks=2)
    assert screen_of(job, "--prefix").endswith(f"  its traceback, from {job.logs}/rank_0.log:\n{REASON}\n")


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


@pytest.mark.parametrize("written", ["log", "file"])
def test_the_report_is_short_even_if_an_error_has_no_line_break(tmp_path: Path, written: str) -> None:
    text = "'x' * 800_000 + 'the end'"
    write = f"print({text}, flush=True)\n" if written == "log" else write_error("rank", "1", "y" * 800_000 + "the end")
    job = python_job(tmp_path, f"if rank == 0: time.sleep(600)\n{write}\nsys.exit(7)", ranks=2)
    report = job.run(environ={DIAGNOSE: "0"}).stderr
    assert report.endswith("the end\n")
    assert "\n[...] " in report
    assert len(report) < 20_000


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
