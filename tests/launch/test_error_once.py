"""The error of a failed rank is shown once: live if its log is shown, otherwise in the report."""

import subprocess
from pathlib import Path

import pytest

from tests.lab.hosts import Hosts
from tests.launch.jobs import Job, clean_environ, finish, python_job
from tests.launch.nodes import python_nodes_job
from tests.launch.payload.test_ssh_start import ssh
from tests.launch.test_bash_options import write_error

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
