"""The log folder is removed while the job runs: the job continues, and keeps its exit code without a traceback."""

import shutil
import signal
from pathlib import Path

import pytest

from tests.launch.jobs import all_ready, finish, python_job
from tests.waiting import wait_until

WAIT = "print('ready')\nwhile not os.path.exists('go'): time.sleep(0.01)\n"


@pytest.mark.parametrize("code", [0, 7])
@pytest.mark.parametrize("what", ["hccl_logs", "hccl_logs/latest"])
def test_the_job_continues_after_its_log_folder_is_removed(tmp_path: Path, code: int, what: str) -> None:
    end = f"if rank == 1: sys.exit({code})\nif {code}: time.sleep(600)"
    job = python_job(tmp_path, WAIT + end, ranks=2)
    process = job.start("--heartbeat-timeout", "100")
    assert wait_until(lambda: all_ready(job))
    shutil.rmtree((tmp_path / what).resolve())
    (tmp_path / "go").touch()
    done = finish(process)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "No such file" not in done.stderr
    assert ("error: rank 1 on device 5 of " in done.stderr) == bool(code)
    assert ("  the log folder was removed: " in done.stderr) == bool(code)
    assert job.processes() == []


def test_a_signal_ends_the_job_after_its_log_folder_is_removed(tmp_path: Path) -> None:
    job = python_job(tmp_path, WAIT, ranks=2)
    process = job.start()
    assert wait_until(lambda: all_ready(job))
    shutil.rmtree(job.logs)
    process.send_signal(signal.SIGTERM)
    done = finish(process)
    assert (done.returncode, "Traceback" in done.stderr) == (143, False)


def test_the_job_restarts_with_a_new_log_folder(tmp_path: Path) -> None:
    job = python_job(tmp_path, f"if os.environ.get('HCCL_KIT_RESTART'): sys.exit()\n{WAIT}sys.exit(rank)", ranks=2)
    process = job.start("--max-restarts", "1")
    assert wait_until(lambda: all_ready(job))
    shutil.rmtree(tmp_path / "hccl_logs")
    (tmp_path / "go").touch()
    done = finish(process)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
