"""The guard of a launch script is killed or stopped: script, guard and watch monitor each other; no rank is left."""

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.launch.jobs import Job, all_ready, clean_environ, finish, guards, python_job
from tests.waiting import wait_until

DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
SLEEP = f"{DEAF}; print('ready'); time.sleep(600)"


def started(job: Job) -> tuple["subprocess.Popen[str]", int]:
    """The script after its ranks have started, and its guard."""
    process = job.start()
    assert wait_until(lambda: all_ready(job))
    (guard,) = guards(job.folder)
    return process, guard


def test_a_guard_that_is_killed_ends_the_job(tmp_path: Path) -> None:
    job = python_job(tmp_path, SLEEP)
    process, guard = started(job)
    os.kill(guard, signal.SIGKILL)
    done = finish(process)
    assert done.returncode == 137
    said = "error: the guard process was killed; the job ended with exit code 137"
    assert done.stderr == f"\n{said}; logs in {job.logs}\n"
    assert wait_until(lambda: job.processes() == [])  # tail checks for the script ten times a second


def test_ranks_can_handle_sigterm_after_the_guard_is_killed(tmp_path: Path) -> None:
    hear = "signal.signal(signal.SIGTERM, lambda *_: (print('heard'), sys.exit(0)))"
    job = python_job(tmp_path, f"{hear}; print('ready'); time.sleep(600)", ranks=2)
    process, guard = started(job)
    os.kill(guard, signal.SIGKILL)
    assert finish(process).returncode == 137
    assert [job.log(rank) for rank in range(2)] == ["ready\nheard\n"] * 2


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143), ("KILL", -9)])
def test_a_signal_after_the_guard_is_killed_leaves_no_rank(tmp_path: Path, name: str, code: int) -> None:
    job = python_job(tmp_path, f"signal.signal(signal.SIGINT, signal.SIG_IGN); {SLEEP}")
    process, guard = started(job)
    os.kill(process.pid, signal.SIGSTOP)  # so that both have ended before the script checks
    os.kill(guard, signal.SIGKILL)
    os.kill(process.pid, getattr(signal, f"SIG{name}"))
    os.kill(process.pid, signal.SIGCONT)
    assert finish(process).returncode in (code, 137)
    assert wait_until(lambda: job.processes() == [])


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143)])
def test_a_stopped_guard_is_continued_at_the_end(tmp_path: Path, name: str, code: int) -> None:
    job = python_job(tmp_path, SLEEP)
    process, guard = started(job)
    os.kill(guard, signal.SIGSTOP)
    os.kill(process.pid, getattr(signal, f"SIG{name}"))
    assert finish(process).returncode == code
    assert wait_until(lambda: job.processes() == [])


def test_a_stopped_guard_is_continued_after_the_script_is_killed(tmp_path: Path) -> None:
    job = python_job(tmp_path, SLEEP)
    process, guard = started(job)
    os.kill(guard, signal.SIGSTOP)
    process.kill()
    try:
        assert finish(process).returncode == -signal.SIGKILL
        assert wait_until(lambda: job.processes() == [])
    finally:
        with suppress(ProcessLookupError):
            os.kill(guard, signal.SIGCONT)


def test_ranks_end_if_all_their_supervisors_are_killed_at_once(tmp_path: Path) -> None:
    """The kernel ends the ranks."""
    job = python_job(tmp_path, SLEEP)
    process, guard = started(job)
    os.kill(guard, signal.SIGKILL)
    os.killpg(process.pid, signal.SIGKILL)
    finish(process)
    assert wait_until(lambda: job.processes() == [])


def test_a_rank_that_fails_after_the_guard_is_killed_ends_the_job(tmp_path: Path) -> None:
    job = python_job(
        tmp_path,
        f"{DEAF}; print('ready')\nwhile rank == 0 or not os.path.exists('go'): time.sleep(0.01)\nsys.exit(7)",
        ranks=2,
    )
    process, guard = started(job)
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(guard, signal.SIGKILL)
    (tmp_path / "go").touch()
    assert wait_until((job.logs / "failed").exists)
    os.kill(process.pid, signal.SIGCONT)
    done = finish(process)
    assert done.returncode in (7, 137)
    assert "error: " in done.stderr
    assert job.processes() == []


def test_a_dead_guard_does_not_prevent_a_restart(tmp_path: Path) -> None:
    program = f"print('ready')\nif os.environ.get('HCCL_KIT_RESTART'): sys.exit(0)\n{SLEEP}"
    job = python_job(tmp_path, program, ranks=2)
    process = job.start("--max-restarts", "1")
    assert wait_until(lambda: all_ready(job))
    (guard,) = guards(job.folder)
    os.kill(guard, signal.SIGKILL)
    done = finish(process)
    assert done.returncode == 0, done.stderr
    assert "restart 1 of 1 in 1 s\n" in done.stderr
    assert job.processes() == []


REUSE = """
cd "$1"
bash "$2" >out 2>&1 &
script=$!
until [[ -s ended ]]; do sleep 0.05; done
read -r number <ended
while kill -0 "$number" 2>/dev/null; do sleep 0.05; done
for _ in {1..50}; do
    echo $((number - 1)) >/proc/sys/kernel/ns_last_pid
    setsid sleep 300 &
    [[ $! != "$number" ]] || break
    kill -s KILL $!
done
[[ $! == "$number" ]] || exit 3
touch go
wait "$script" || exit 4
kill -0 "$number"
"""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root and unshare")
def test_a_process_that_reuses_the_pid_of_a_rank_is_not_killed(tmp_path: Path) -> None:
    """In a PID namespace, where the next PID can be chosen."""
    job = python_job(
        tmp_path,
        "if rank == 1: open('ended', 'w').write(f'{os.getpid()}\\n'); sys.exit()\n"
        "while not os.path.exists('go'): time.sleep(0.05)",
        ranks=2,
    )
    inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    done = subprocess.run(
        [*inside, "bash", "-c", REUSE, "reuse", tmp_path, job.script],
        check=False,
        capture_output=True,
        text=True,
        env=clean_environ(),
        timeout=300,
    )
    if "Operation not permitted" in done.stderr:
        pytest.skip("needs a namespace of process numbers")
    assert done.returncode == 0, done
