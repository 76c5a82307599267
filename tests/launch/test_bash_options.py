"""The options of the script: restarts, heartbeat, prefix, log limits, help; and its final output."""

import os
import signal
import socket
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from hccl_kit.runtime.worker_env import RESTART
from tests.launch.jobs import Job, finish, make_job, python_job
from tests.waiting import wait_until

STEP = "open(os.environ['HCCL_KIT_LOG_DIR'] + f'/step_{rank}', 'w').write"
"""The heartbeat, as written by a program without our package."""
RESTARTED = f"restart = int(os.environ.get('{RESTART}', 0))"


def runs(job: Job) -> list[str]:
    return ["", *sorted(path.name for path in job.logs.glob("restart_*"))]


def test_a_failed_group_is_restarted_until_it_succeeds(tmp_path: Path) -> None:
    job = python_job(
        tmp_path, f"{RESTARTED}\nprint('start', restart)\nif rank == 1 and restart < 2: sys.exit(3)", ranks=2
    )
    began = time.monotonic()
    done = job.run("--max-restarts", "5")
    assert done.returncode == 0
    assert time.monotonic() - began > 3  # 1 s, then 2 s
    assert runs(job) == ["", "restart_1", "restart_2"]
    for restart, run in enumerate(runs(job)):
        assert (job.logs / run / "rank_1.log").read_text() == f"start {restart}\n"
    assert done.stderr.count("error: rank 1 on device 5 of ") == 2
    assert "\nrestart 1 of 5 in 1 s\n" in done.stderr
    assert "\nrestart 2 of 5 in 2 s\n" in done.stderr
    assert job.processes() == []


def test_the_number_of_restarts_is_limited(tmp_path: Path) -> None:
    job = python_job(tmp_path, "sys.exit(4)", ranks=1)
    done = job.run("--max-restarts", "1")
    assert done.returncode == 4
    assert runs(job) == ["", "restart_1"]
    assert done.stderr.endswith("/restart_1/rank_0.log:\n")


def test_restarts_of_an_outer_launcher_are_added_to_the_count(tmp_path: Path) -> None:
    """Slurm requeues a job; the script that it starts is not the first."""
    job = python_job(tmp_path, f"{RESTARTED}\nprint('start', restart)\nsys.exit(restart < 4)", ranks=1)
    assert job.run("--max-restarts", "1", environ={RESTART: "3"}).returncode == 0
    assert job.log(0) == "start 3\n"
    assert (job.logs / "restart_1" / "rank_0.log").read_text() == "start 4\n"


def test_a_start_that_fails_with_exit_code_2_is_not_repeated(tmp_path: Path) -> None:
    job = python_job(tmp_path, "sys.exit(2)", ranks=1)
    assert job.run("--max-restarts", "5").returncode == 2
    assert runs(job) == [""]


def test_a_group_that_makes_no_progress_is_not_restarted_again(tmp_path: Path) -> None:
    job = python_job(tmp_path, f"{RESTARTED}\n{STEP}('7\\n' if restart else '5\\n')\nsys.exit(3)", ranks=2)
    done = job.run("--max-restarts", "9")
    assert done.returncode == 3
    assert runs(job) == ["", "restart_1", "restart_2"]
    assert done.stderr.endswith("\ngiving up after restart 2: no progress (step 7, previously step 7)\n")


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143), ("HUP", 129)])
def test_a_signal_ends_the_wait_for_a_restart(tmp_path: Path, name: str, code: int) -> None:
    job = python_job(tmp_path, "sys.exit(3)", ranks=1)
    process = job.start("--max-restarts", "9")
    assert process.stderr
    while process.stderr.readline() != "restart 2 of 9 in 2 s\n":
        assert process.poll() is None
    process.send_signal(getattr(signal, f"SIG{name}"))
    done = finish(process)
    assert done.stderr == f"ended by SIG{name}; logs in {job.logs}/restart_1\n"
    assert done.returncode == code
    assert runs(job) == ["", "restart_1"]
    assert job.processes() == []
    assert of_session(process.pid) == []  # the command line of the sleep does not contain the job folder


def of_session(leader: int) -> list[str]:
    """The names of the processes in a session, except its leader."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
        except OSError:  # it ended meanwhile
            continue
        if int(rest.split()[3]) == leader and int(path.parent.name) != leader:
            found.append(name)
    return found


def test_a_restart_uses_another_port_if_the_old_one_is_in_use(tmp_path: Path) -> None:
    """A process that outlives its rank, or one of another job, may hold it."""
    job = python_job(tmp_path, f"{RESTARTED}\nprint(os.environ['MASTER_PORT'])\nsys.exit(restart == 0)", ranks=1)
    process = job.start("--max-restarts", "1")
    assert wait_until((job.folder / "hccl_logs/latest/failed").exists)
    with socket.create_server(("", int(job.log(0)))):
        done = finish(process)
    assert done.returncode == 0, done.stderr
    assert (job.logs / "restart_1" / "rank_0.log").read_text() != job.log(0)


def test_a_restart_keeps_an_explicit_port(tmp_path: Path) -> None:
    with socket.create_server(("", 0)) as probe:
        port = str(probe.getsockname()[1])
    job = python_job(tmp_path, f"{RESTARTED}\nprint(os.environ['MASTER_PORT'])\nsys.exit(restart == 0)", ranks=1)
    assert job.run("--max-restarts", "1", environ={"MASTER_PORT": port}).returncode == 0
    assert {job.log(0), (job.logs / "restart_1" / "rank_0.log").read_text()} == {f"{port}\n"}


HANG = f"""
import faulthandler
faulthandler.register(signal.SIGUSR1, all_threads=True)
def wait_for_the_others():
    time.sleep(60)
for step in range(5):
    {STEP}(f'{{step}}\\n'); time.sleep(0.1)
    if rank == 1 and step == 2: wait_for_the_others()
wait_for_the_others()
"""


def test_all_ranks_that_are_stuck_at_the_same_step_are_named(tmp_path: Path) -> None:
    """Only their records, if any, show which of them blocks the others."""
    job = python_job(tmp_path, HANG.replace("rank == 1 and step == 2", "step == 2"), ranks=2)
    done = job.run("--heartbeat-timeout", "3")
    assert done.returncode == 124
    error = done.stderr.splitlines()[1]
    assert error.startswith("error: ranks 0, 1 of ")
    assert error.endswith(" took no step for 3 s after step 2")


def test_a_rank_without_progress_ends_the_job_with_the_stacks_of_all_ranks(tmp_path: Path) -> None:
    job = python_job(tmp_path, HANG, ranks=2)
    done = job.run("--heartbeat-timeout", "3")
    assert done.returncode == 124
    error = done.stderr.splitlines()[1]
    assert error.startswith("error: rank 1 on device 5 of ")
    assert error.endswith(" took no step for 3 s after step 2")
    for rank in range(2):
        assert "in wait_for_the_others" in job.log(rank)
    assert "in wait_for_the_others" in done.stderr
    assert job.processes() == []


def test_a_rank_that_returns_124_by_itself_is_not_called_stuck(tmp_path: Path) -> None:
    step = "open(os.environ['HCCL_KIT_LOG_DIR'] + '/step_0', 'w').write('7\\n')"
    done = python_job(tmp_path, f"{step}; sys.exit(124)", ranks=1).run()
    assert done.returncode == 124
    assert "error: rank 0 on device 4 of " in done.stderr
    assert " failed with exit code 124\n" in done.stderr


def test_the_heartbeat_ignores_ranks_with_progress_and_ranks_without_a_counter(tmp_path: Path) -> None:
    moving = f"for step in range(12):\n    {STEP}(f'{{step}}\\n'); time.sleep(0.25)"
    job = python_job(tmp_path, f"if rank == 0: time.sleep(3); sys.exit()\n{moving}", ranks=2)
    done = job.run("--heartbeat-timeout", "2")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_heartbeat_ignores_a_rank_that_has_finished(tmp_path: Path) -> None:
    job = python_job(
        tmp_path,
        f"{STEP}('9\\n')\nif rank == 0: os.remove(os.environ['HCCL_KIT_LOG_DIR'] + '/step_0'); time.sleep(4)",
        ranks=2,
    )
    assert job.run("--heartbeat-timeout", "2").returncode == 0


@pytest.mark.parametrize("value", ["x", "a[$(touch hacked)]", "1" * 9])
def test_an_invalid_restart_count_is_ignored(tmp_path: Path, value: str) -> None:
    job = python_job(tmp_path, f"print(os.environ.get('{RESTART}'))", ranks=1)
    assert job.run(environ={RESTART: value}).returncode == 0
    assert job.log(0) == "None\n"
    assert not (tmp_path / "hacked").exists()


def test_prefix_shows_the_output_of_every_rank(tmp_path: Path) -> None:
    job = python_job(tmp_path, "print('one'); print('two')", ranks=2)
    done = job.run("--prefix")
    host = os.uname().nodename
    expected = [f"[{host}:{rank}] {word}" for rank in range(2) for word in ("one", "two")]
    assert sorted(done.stdout.splitlines()[1:]) == sorted(expected)


def test_a_log_is_truncated_at_its_size_limit(tmp_path: Path) -> None:
    job = python_job(tmp_path, "for n in range(30): print('x' * 99999); time.sleep(0.1)\nprint('the end')", ranks=1)
    done = job.run("--log-limit", "1")
    assert done.returncode == 0
    assert (job.logs / "rank_0.log").stat().st_size < 2.5 * 2**20
    assert (job.logs / "rank_0.log.1").stat().st_size < 2.5 * 2**20
    assert job.log(0).endswith("the end\n")
    assert done.stdout.endswith("the end\n")


def test_the_latest_run_has_a_symbolic_link(tmp_path: Path) -> None:
    job = python_job(tmp_path, "print('here')", ranks=1)
    job.run()
    assert (tmp_path / "hccl_logs" / "latest" / "rank_0.log").read_text() == "here\n"


def test_help_prints_the_header_of_the_script(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("touch", "started"), ranks=2)
    done = job.run("--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Starts ranks 0 to 1 on devices 4, 5 of this server. Generated by hccl_kit.\n\n")
    assert "--max-restarts N" in done.stdout
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("option", ["--max-restarts", "--heartbeat-timeout", "--log-limit"])
@pytest.mark.parametrize("value", ["", "-1", "x", "1.5", "08", "99999999", "a[$(touch hacked)]"])
def test_an_option_that_is_not_a_number_is_refused(tmp_path: Path, option: str, value: str) -> None:
    done = make_job(tmp_path, ("true",), ranks=1).run(option, value)
    assert done.returncode == 2
    assert done.stderr == f"error: {option} is '{value}'; accepted: a number from 0 to 9999999\n"
    assert not (tmp_path / "hacked").exists()


def test_an_option_and_its_value_may_be_joined_by_an_equals_sign(tmp_path: Path) -> None:
    job = python_job(tmp_path, "print(sys.argv[1:]); sys.exit(4)", ranks=1)
    done = job.run("--max-restarts=1", "--log-limit=2", "--replace=x", "--log-limit=3")
    assert done.returncode == 4
    assert runs(job) == ["", "restart_1"]
    assert done.stdout.count("['--replace=x', '--log-limit=3']") == 2  # this job has no spares
    assert job.run("--max-restarts=").stderr.startswith("error: --max-restarts is ''; accepted: ")


def test_an_option_without_its_value_is_refused(tmp_path: Path) -> None:
    done = make_job(tmp_path, ("true",), ranks=1).run("--max-restarts")
    assert (done.returncode, done.stderr) == (2, "error: --max-restarts needs a value\n")


def test_options_for_several_servers_are_refused_for_one_server(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("true",), ranks=1)
    (server,) = {node.id for node in job.plan.nodes}
    assert job.run("--ssh").stderr == "error: this job has one server; start the script there\n"
    assert job.run("--server", "x").stderr == f"error: the table has no server x; it has {server}\n"
    assert job.run("--server", server).returncode == 0


def test_arguments_after_two_dashes_are_passed_to_the_command(tmp_path: Path) -> None:
    job = python_job(tmp_path, "print(sys.argv[1:])", ranks=1)
    assert job.run("--", "--prefix", "--", "--ssh").stdout.endswith("\n['--prefix', '--', '--ssh']\n")


def write_error(rank: str, when: str, text: str) -> str:
    return (
        f"open(os.environ['HCCL_KIT_LOG_DIR'] + f'/error_{{{rank}}}.json', 'w').write(json.dumps("
        f"{{'version': 1, 'rank': {rank}, 'time': {when}, 'traceback': {text!r}}}))"
    )


@pytest.mark.parametrize(
    ("hear", "code"), [("signal.signal(signal.SIGTERM, lambda *_: sys.exit(6))", 6), ("pass", 5)], ids=["own", "ended"]
)
def test_the_earliest_recorded_error_is_shown(tmp_path: Path, hear: str, code: int) -> None:
    """Both fail; the victim exits first. The signal that ends the slower one is not its exit code."""
    write = write_error("rank", "100 - rank", "Traceback ...\nValueError: the reason")
    wait = "while not os.path.exists(os.environ['HCCL_KIT_LOG_DIR'] + '/error_1.json'): time.sleep(0.02)"
    job = python_job(
        tmp_path,
        f"if rank == 0:\n    {wait}\nelse:\n    {hear}\n{write}\nprint('noise')\ntime.sleep(60 * rank)\nsys.exit(5)",
        ranks=2,
    )
    done = job.run()
    assert done.returncode == code
    assert "error: rank 1 on device 5 of " in done.stderr
    assert done.stderr.endswith(
        f"  its traceback, from {job.logs}/rank_1.log:\nTraceback ...\nValueError: the reason\n"
    )


def test_a_killed_rank_is_named_although_other_ranks_recorded_errors(tmp_path: Path) -> None:
    job = python_job(
        tmp_path,
        "if rank == 0: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"signal.signal(15, lambda *_: ({write_error('rank', '1', 'RuntimeError: a peer is gone')}, os._exit(1)))\n"
        "time.sleep(60)",
        ranks=2,
    )
    done = job.run()
    assert done.returncode == 137
    assert "error: rank 0 on device 4 of " in done.stderr


@pytest.mark.parametrize("text", ["", "{", "[]", '{"time": "x"}', "\0" * 100, "9" * 3_000_000])
def test_a_damaged_error_file_is_ignored(tmp_path: Path, text: str) -> None:
    write = f"open(os.environ['HCCL_KIT_LOG_DIR'] + '/error_0.json', 'w').write({text[:1]!r} * {len(text)})"
    job = python_job(tmp_path, f"{write}\nprint('the log')\nsys.exit(3)", ranks=1)
    done = job.run()
    assert done.returncode == 3
    assert done.stderr.endswith("rank_0.log:\nthe log\n")


needs_tmpfs = pytest.mark.skipif(
    os.geteuid() != 0
    or subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], check=False, capture_output=True
    ).returncode
    != 0,
    reason="needs root, and a mount namespace, to fill a disk",
)


@needs_tmpfs
def test_a_full_log_disk_is_named_and_ends_the_job(tmp_path: Path) -> None:
    job = python_job(tmp_path, "for n in range(100): print('x' * 4096, flush=True)\ntime.sleep(30)", ranks=2)
    mount = 'mkdir hccl_logs && mount -t tmpfs -o size=64k none hccl_logs && exec bash "$0"'
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", mount, job.script],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 1
    assert "  the disk of the logs is full or cannot be written: " in done.stderr
    assert job.processes() == []


def test_ranks_killed_at_any_moment_leave_no_process(tmp_path: Path) -> None:
    for number, moment in enumerate((0.0, 0.02, 0.05, 0.1, 0.2, 0.4)):
        folder = tmp_path / str(number)
        folder.mkdir()
        job = python_job(folder, "print('ready'); time.sleep(60)")
        process = job.start()
        assert wait_until(partial(victims, job))
        time.sleep(moment)
        for victim in victims(job)[-1:]:
            os.kill(victim, 9)
        assert process.communicate(timeout=20)[1]
        assert process.returncode == 137
        assert job.processes() == []


def victims(job: Job) -> list[int]:
    """The ranks that have started the program."""
    program = os.fsencode(job.folder / "program.py")
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if program in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:  # it ended meanwhile
            continue
    return found
