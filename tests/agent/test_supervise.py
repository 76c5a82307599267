"""Jobs of real processes: success, failure, signals, restarts, and nothing that is left."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hccl_kit.agent.assignment import SCHEDULER, AssignedRank, Limits
from tests.agent.jobs import MARK, STEP, Job, make_job, python_job
from tests.launch.jobs import finish
from tests.places import ROOT
from tests.waiting import has_ended, wait_until

SLEEP = "print('ready'); time.sleep(600)"
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)"
LEAVE_CHILD = (
    f"subprocess.Popen([sys.executable, '-c', '''import signal, time\\n{DEAF}\\ntime.sleep(600)''', __file__]);"
    " time.sleep(0.3)"
)
"""A child of a rank that ignores all signals except SIGKILL."""
RESTARTED = "restart = int(os.environ.get('HCCL_KIT_RESTART', 0))"


def runs(job: Job) -> list[str]:
    return ["", *sorted(path.name for path in job.logs.glob("restart_*"))]


def test_all_ranks_succeed(tmp_path: Path) -> None:
    job = python_job(tmp_path, "print('this is rank', rank)")
    done = job.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert [job.log(rank) for rank in range(4)] == [f"this is rank {rank}\n" for rank in range(4)]
    first, *rest = done.stdout.splitlines()
    assert first.startswith("ranks 0 to 3 on devices 4 5 6 7 of n1, port ")
    assert first.endswith(f", logs in {job.logs}")
    assert rest == ["this is rank 0"]
    assert (job.processes(), job.guards()) == ([], [])


def test_the_first_rank_that_fails_ends_the_job(tmp_path: Path) -> None:
    job = python_job(
        tmp_path, f"if rank != 2: {SLEEP}\nfor n in range(30): print('line', n)\ntime.sleep(0.3); sys.exit(7)"
    )
    done = job.run()
    assert done.returncode == 7
    blank, said, where, *tail = done.stderr.splitlines()
    assert (blank, said) == ("", "error: rank 2 on device 6 of n1 failed with exit code 7")
    assert where == f"  the end of {job.logs}/rank_2.log:"
    assert tail == job.log(2).splitlines()[-20:]
    assert job.processes() == []


def test_a_rank_that_was_killed_comes_before_those_that_fail_at_the_same_moment(tmp_path: Path) -> None:
    """The agent was stopped meanwhile, and sees all of them at once."""
    job = python_job(tmp_path, "print('ready')\nwhile not os.path.exists('go'): time.sleep(0.01)\nsys.exit(5)")
    process = job.start()
    assert wait_until(lambda: job.all_say("ready"))
    os.kill(process.pid, signal.SIGSTOP)
    ((victim, _),) = job.of_rank(3)
    os.kill(victim, signal.SIGKILL)
    (tmp_path / "go").touch()
    assert wait_until(lambda: all(has_ended(pid) for rank in range(4) for pid, _ in job.of_rank(rank)))
    os.kill(process.pid, signal.SIGCONT)
    done = finish(process)
    assert done.returncode == 137
    assert "error: rank 3 on device 7 of n1 failed with exit code 137 (SIGKILL)\n" in done.stderr


def test_a_command_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    done = make_job(tmp_path, ("no-such-program",), ranks=2).run()
    assert done.returncode == 127
    assert "no-such-program" in done.stderr.splitlines()[-1]


def test_a_script_without_its_interpreter_is_reported_with_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("pass", encoding="utf-8")
    done = make_job(tmp_path, ("train.py",), ranks=1).run()
    assert done.returncode == 127
    assert done.stderr.splitlines()[-1].endswith("not on PATH: ./train.py, or python train.py")


def test_ranks_that_ignore_sigterm_are_killed(tmp_path: Path) -> None:
    job = python_job(tmp_path, f"if rank != 0: {DEAF}; {LEAVE_CHILD}; {SLEEP}\ntime.sleep(1); sys.exit(3)", ranks=3)
    assert job.run().returncode == 3
    assert job.processes() == []


@pytest.mark.parametrize("session", ["", ", start_new_session=True"])
def test_processes_that_a_rank_leaves_behind_are_ended(tmp_path: Path, session: str) -> None:
    leave = LEAVE_CHILD.replace("__file__]", f"__file__]{session}")
    job = python_job(tmp_path, f"{leave}; sys.exit(rank)", ranks=2)
    assert job.run().returncode == 1
    assert job.processes() == []


def test_processes_that_a_rank_starts_on_sigterm_are_ended(tmp_path: Path) -> None:
    start = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', __file__], start_new_session=True)"
    hear = f"signal.signal(signal.SIGTERM, lambda *_: ({start}, os._exit(0)))"
    job = python_job(tmp_path, f"if rank == 0: {hear}; {SLEEP}\ntime.sleep(0.5); sys.exit(3)", ranks=2)
    assert job.run().returncode == 3
    assert job.processes() == []


def test_processes_of_other_runs_are_not_ended(tmp_path: Path) -> None:
    job = python_job(tmp_path, SLEEP, ranks=1)
    name = job.assignment.mark.partition("=")[2]
    process = job.start()
    assert wait_until(lambda: job.all_say("ready"))
    others = [
        subprocess.Popen(["sleep", "60"], env={"PATH": os.defpath, **environ})
        for environ in ({MARK: f"{name}1"}, {MARK: name[:-1]}, {f"X{MARK}": name}, {"X": f"{MARK}={name}"})
    ]
    process.terminate()
    assert finish(process).returncode == 143
    assert [other.poll() for other in others] == [None] * len(others)
    for other in others:
        other.kill()
        other.wait()


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143), ("HUP", 129)])
def test_a_signal_reaches_every_rank(tmp_path: Path, name: str, code: int) -> None:
    hear = f"signal.signal(signal.SIG{name}, lambda number, _: (print('heard', number), sys.exit(0)))"
    job = python_job(tmp_path, f"{hear}; {SLEEP}")
    process = job.start()
    assert wait_until(lambda: job.all_say("ready"))
    number = getattr(signal, f"SIG{name}")
    process.send_signal(number)
    done = finish(process)
    assert done.returncode == code
    assert done.stderr == f"ended by SIG{name}; logs in {job.logs}\n"
    assert [job.log(rank) for rank in range(4)] == [f"ready\nheard {number:d}\n"] * 4
    assert job.processes() == []


def test_signals_for_stacks_and_checkpoints_reach_the_ranks_and_end_nothing(tmp_path: Path) -> None:
    program = (
        "signal.signal(signal.SIGUSR1, lambda *_: print('stacks', flush=True))\n"
        "signal.signal(signal.SIGUSR2, lambda *_: sys.exit(0))\n"
        "print('ready', flush=True)\nwhile True: time.sleep(1)"
    )
    job = python_job(tmp_path, program)
    process = job.start()
    assert wait_until(lambda: job.all_say("ready"))
    process.send_signal(signal.SIGUSR1)
    assert wait_until(lambda: job.all_say("stacks"))
    process.send_signal(signal.SIGUSR2)
    assert finish(process).returncode == 0


def test_a_rank_gets_sigint_even_if_the_agent_is_a_background_job(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("grep", "SigIgn", "/proc/self/status"), ranks=1)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert job.run().returncode == 0
    finally:
        signal.signal(signal.SIGINT, before)
    ignored = int(job.log(0).split()[1], 16)
    assert not ignored & (1 << (signal.SIGINT - 1))


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143)])
def test_a_signal_ends_a_rank_that_ignores_it(tmp_path: Path, name: str, code: int) -> None:
    job = python_job(tmp_path, f"{DEAF}; {LEAVE_CHILD}; {SLEEP}", ranks=2)
    process = job.start()
    assert wait_until(lambda: job.all_say("ready"))
    process.send_signal(getattr(signal, f"SIG{name}"))
    assert finish(process).returncode == code
    assert job.processes() == []


def test_a_stopped_rank_is_ended_with_the_job(tmp_path: Path) -> None:
    job = python_job(tmp_path, f"if rank == 0: {SLEEP}\ntime.sleep(1); sys.exit(3)", ranks=2)
    process = job.start()
    assert wait_until(lambda: (job.logs / "rank_0.log").exists() and job.log(0))
    os.kill(job.of_rank(0)[0][0], signal.SIGSTOP)
    assert finish(process).returncode == 3
    assert (job.logs / "launcher_0").read_text().count(" stopped 0\n") == 1
    assert job.processes() == []


@pytest.mark.parametrize("whole_group", [False, True])
def test_the_ranks_end_when_the_agent_is_killed(tmp_path: Path, whole_group: bool) -> None:
    leave = LEAVE_CHILD.replace("__file__]", "__file__], start_new_session=True")
    job = python_job(tmp_path, f"{DEAF}; {leave}; {SLEEP}")
    process = job.start()
    assert wait_until(lambda: job.all_say("ready"))
    if whole_group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    assert finish(process).returncode == -signal.SIGKILL
    assert wait_until(lambda: not job.processes() and not job.guards())


@pytest.mark.parametrize("moment", [0.0, 0.2])
def test_a_signal_during_the_start_leaves_no_process(tmp_path: Path, moment: float) -> None:
    job = python_job(tmp_path, SLEEP)
    process = job.start()
    time.sleep(moment)
    process.terminate()
    assert finish(process).returncode in (143, -signal.SIGTERM)
    assert wait_until(lambda: not job.processes() and not job.guards())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_guard_that_is_killed_or_stopped_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    leave = LEAVE_CHILD.replace("__file__]", "__file__], start_new_session=True")
    job = python_job(tmp_path, f"{leave}; {SLEEP}", ranks=2)
    process = job.start()
    assert wait_until(lambda: job.all_say("ready"))
    (guard,) = job.guards()
    os.kill(guard, number)
    process.terminate()
    assert finish(process).returncode == 143
    assert wait_until(lambda: not job.processes() and not job.guards())


def test_another_guard_takes_the_place_of_one_that_was_killed(tmp_path: Path) -> None:
    job = python_job(tmp_path, f"{DEAF}; {SLEEP}", ranks=2)
    process = job.start()
    assert wait_until(lambda: job.all_say("ready"))
    (guard,) = job.guards()
    os.kill(guard, signal.SIGKILL)
    assert wait_until(lambda: job.guards() not in ([guard], []))
    process.kill()
    finish(process)
    assert wait_until(lambda: not job.processes() and not job.guards())


def test_a_job_that_a_rank_started_ends_with_it(tmp_path: Path) -> None:
    """The guard of the inner job must not be killed with it, or it could not end its ranks."""
    (tmp_path / "inner").mkdir()
    inner = python_job(tmp_path / "inner", SLEEP, ranks=2)
    (tmp_path / "inner.json").write_text(inner.assignment.to_json())
    start = (
        f"subprocess.Popen([sys.executable, '-m', 'tests.agent.alone'], stdin=open({str(tmp_path / 'inner.json')!r}),"
        " start_new_session=True)"
    )
    outer = tmp_path / "outer"
    outer.mkdir()
    job = python_job(outer, f"{start}\nwhile not os.path.exists('go'): time.sleep(0.02)\nsys.exit(3)", ranks=1)
    process = job.start()
    assert wait_until(lambda: inner.all_say("ready"))
    (outer / "go").touch()
    assert finish(process).returncode == 3
    assert wait_until(lambda: not inner.processes() and not inner.guards())


@pytest.mark.parametrize("closed", [1, 2])
def test_a_job_with_closed_descriptors_ends(tmp_path: Path, closed: int) -> None:
    """A supervisor that lost its output once ignored SIGTERM for 46 minutes."""
    job = python_job(tmp_path, "print('here'); sys.exit(7)", ranks=2)
    (tmp_path / "task.json").write_text(job.assignment.to_json())
    command = f'exec <{tmp_path}/task.json; exec "$0" -m tests.agent.alone {closed}>&-'
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = ["bash", "-c", command, sys.executable]
    assert subprocess.run(words, check=False, timeout=60, capture_output=True, env=environ).returncode == 7


def test_the_job_continues_without_a_reader_of_its_output(tmp_path: Path) -> None:
    """`hccl-kit run ... | head -1` or a lost terminal neither ends a training nor changes its exit code."""
    job = python_job(tmp_path, "for n in range(20): print(n); time.sleep(0.02)\nsys.exit(7)", ranks=1)
    process = job.start(stderr=subprocess.DEVNULL)
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 7
    assert job.log(0) == "".join(f"{n}\n" for n in range(20))


def test_a_blocked_reader_does_not_keep_a_failed_job_alive(tmp_path: Path) -> None:
    """As a pager, or Ctrl-S."""
    job = python_job(tmp_path, "for n in range(400): print('x' * 9999)\nsys.exit(7)", ranks=1)
    process = job.start(stderr=subprocess.STDOUT)
    assert process.wait(timeout=60) == 7
    assert job.log(0).count("\n") == 400
    assert process.stdout
    process.stdout.close()


def test_a_slow_reader_gets_the_report_behind_the_output(tmp_path: Path) -> None:
    job = python_job(tmp_path, f"if rank == 1: {SLEEP}\nfor n in range(20000): print('line', n)\nsys.exit(1)", ranks=2)
    process = job.start(stderr=subprocess.STDOUT)
    assert wait_until(lambda: not job.processes())
    time.sleep(0.5)
    done = finish(process)
    screen, end = done.stdout.split("\nerror: rank 0 ", 1)
    assert screen.split("\n", 1)[1] == job.log(0)
    assert end.splitlines()[1:] == [f"  its last lines are above, and in {job.logs}/rank_0.log"]


def test_output_that_was_not_shown_is_counted_and_in_the_log(tmp_path: Path) -> None:
    job = python_job(
        tmp_path, "for n in range(30): print('x' * 99999)\nopen('go', 'w'); time.sleep(1)\nprint('end')", ranks=1
    )
    process = job.start(stderr=subprocess.STDOUT)
    assert wait_until((tmp_path / "go").exists)
    done = finish(process)
    assert " bytes are not shown: the screen was too slow; see the log]" in done.stdout
    assert done.stdout.endswith("end\n")
    assert job.log(0).count("\n") == 31


def test_prefix_shows_the_output_of_every_rank(tmp_path: Path) -> None:
    job = python_job(tmp_path, "print('one'); print('two', end='')", ranks=2, prefix=True)
    done = job.run()
    expected = [f"[n1:{rank}] {word}" for rank in range(2) for word in ("one", "two")]
    assert sorted(done.stdout.splitlines()[1:]) == sorted(expected)


def test_a_failed_group_is_restarted_until_it_succeeds(tmp_path: Path) -> None:
    job = python_job(
        tmp_path,
        f"{RESTARTED}\nprint('start', restart)\nif rank == 1 and restart < 2: time.sleep(0.5); sys.exit(3)",
        ranks=2,
        max_restarts=5,
    )
    began = time.monotonic()
    done = job.run()
    assert done.returncode == 0
    assert time.monotonic() - began > 3  # 1 s, then 2 s
    assert runs(job) == ["", "restart_1", "restart_2"]
    assert [job.log(1, restart) for restart in range(3)] == [f"start {restart}\n" for restart in range(3)]
    assert done.stderr.count("error: rank 1 on device 5 of ") == 2
    assert "\nrestart 1 of 5 in 1 s\n" in done.stderr
    assert "\nrestart 2 of 5 in 2 s\n" in done.stderr
    assert job.processes() == []


def test_restarts_of_an_outer_launcher_are_added_to_the_count(tmp_path: Path) -> None:
    """Slurm requeues a job; the agent that it starts is not the first."""
    program = f"{RESTARTED}\nprint('start', restart)\nsys.exit(restart < 4)"
    job = python_job(tmp_path, program, ranks=1, max_restarts=1, restarts_before=3)
    assert job.run().returncode == 0
    assert (job.log(0), job.log(0, 1)) == ("start 3\n", "start 4\n")


def test_a_group_that_makes_no_progress_is_not_restarted_again(tmp_path: Path) -> None:
    program = f"{RESTARTED}\n{STEP}('7\\n' if restart else '5\\n')\nsys.exit(3)"
    job = python_job(tmp_path, program, ranks=1, max_restarts=9)
    done = job.run()
    assert done.returncode == 3
    assert runs(job) == ["", "restart_1", "restart_2"]
    assert done.stderr.endswith("\ngiving up after restart 2: no progress (step 7, previously step 7)\n")


def test_a_restart_uses_another_port_if_the_old_one_is_in_use(tmp_path: Path) -> None:
    """A process that outlives its rank, or one of another job, may hold it."""
    program = f"{RESTARTED}\nprint(os.environ['MASTER_PORT'])\nsys.exit(restart == 0)"
    job = python_job(tmp_path, program, ranks=1, max_restarts=1)
    process = job.start()
    assert wait_until(lambda: (job.logs / "rank_0.log").exists() and job.log(0))
    with socket.create_server(("", int(job.log(0)))):
        assert finish(process).returncode == 0
    assert job.log(0, 1) != job.log(0)


def test_a_given_port_is_kept(tmp_path: Path) -> None:
    with socket.create_server(("", 0)) as probe:
        port: int = probe.getsockname()[1]
        (tmp_path / "taken").mkdir()
        taken = make_job(tmp_path / "taken", ("true",), ranks=1, port=port).run()
    assert (taken.returncode, taken.stdout) == (1, "")
    assert taken.stderr.startswith(f"error: port {port} cannot be bound on this host")
    program = f"{RESTARTED}\nprint(os.environ['MASTER_PORT'])\nsys.exit(restart == 0)"
    job = python_job(tmp_path, program, ranks=1, max_restarts=1, port=port)
    assert job.run().returncode == 0
    assert (job.log(0), job.log(0, 1)) == (f"{port}\n", f"{port}\n")


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


def test_a_rank_without_progress_ends_the_job_with_the_stacks_of_all_ranks(tmp_path: Path) -> None:
    job = python_job(tmp_path, HANG, ranks=2, heartbeat=3)
    done = job.run()
    assert done.returncode == 124
    assert done.stderr.splitlines()[1] == "error: rank 1 on device 5 of n1 took no step for 3 s after step 2"
    for rank in range(2):
        assert "in wait_for_the_others" in job.log(rank)
    assert "in wait_for_the_others" in done.stderr
    assert job.processes() == []


def test_all_ranks_that_are_stuck_at_the_same_step_are_named(tmp_path: Path) -> None:
    """Only their records, if any, show which of them blocks the others."""
    job = python_job(tmp_path, HANG.replace("rank == 1 and step == 2", "step == 2"), ranks=2, heartbeat=3)
    done = job.run()
    assert done.returncode == 124
    assert done.stderr.splitlines()[1] == "error: ranks 0, 1 of n1 took no step for 3 s after step 2"


def test_the_heartbeat_ignores_ranks_with_progress_without_a_counter_and_that_have_finished(tmp_path: Path) -> None:
    moving = f"for step in range(24):\n    {STEP}(f'{{step}}\\n'); time.sleep(0.25)"
    program = f"if rank == 0: time.sleep(6); sys.exit()\nif rank == 1: {STEP}('9'); sys.exit()\n{moving}"
    done = python_job(tmp_path, program, ranks=3, heartbeat=4).run()
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_that_counts_no_steps_is_said_to_have_no_heartbeat(tmp_path: Path) -> None:
    done = python_job(tmp_path, "time.sleep(4)", ranks=2, heartbeat=1).run()
    assert done.returncode == 0
    assert done.stderr == (
        "note: no rank has counted a step in 1 s; --heartbeat-timeout ends the job only after a step:"
        " hccl_kit.Heartbeat in the program counts them\n"
    )


def test_a_rank_that_returns_124_by_itself_is_not_called_stuck(tmp_path: Path) -> None:
    done = python_job(tmp_path, f"{STEP}('7\\n'); sys.exit(124)", ranks=1).run()
    assert done.returncode == 124
    assert done.stderr.splitlines()[1] == "error: rank 0 on device 4 of n1 failed with exit code 124"


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


@pytest.mark.parametrize(("more", "what"), [("", "last lines are"), ("file", "traceback is")], ids=["log", "file"])
@pytest.mark.parametrize("prefix", [False, True])
def test_an_error_that_was_shown_is_not_repeated(tmp_path: Path, more: str, what: str, prefix: bool) -> None:
    reason = "Traceback ...\nValueError: the reason"
    write = write_error("rank", "1", reason) if more else "pass"
    program = f"if rank > 0: time.sleep(600)\n{write}\nprint({reason!r}, flush=True)\nsys.exit(7)"
    done = python_job(tmp_path, program, ranks=2, prefix=prefix).run(stderr=subprocess.STDOUT)
    assert done.stdout.count("ValueError: the reason") == 1
    assert done.stdout.endswith(f"  its {what} above, and in {tmp_path}/logs/rank_0.log\n")


def test_a_log_begins_again_at_its_limit_and_nothing_newer_is_lost(tmp_path: Path) -> None:
    program = "for n in range(3000): print(n, 'x' * 999)\nprint('the end')"
    job = python_job(tmp_path, program, ranks=1, log_limit=1 << 20)
    assert job.run().returncode == 0
    older, newer = (job.logs / "rank_0.log.1").read_text(), job.log(0)
    assert max(len(older), len(newer)) <= (1 << 20) + (1 << 16)
    lines = (older + newer).splitlines()
    assert lines[-1] == "the end"
    assert [int(line.split()[0]) for line in lines[1:-1]] == list(range(3001 - len(lines) + 1, 3000))


def test_a_full_disk_does_not_stop_the_ranks_and_is_named(tmp_path: Path) -> None:
    mount = [
        "unshare",
        "--mount",
        "bash",
        "-c",
        'mount -t tmpfs -o size=64k none "$1" && exec "$0" -m tests.agent.alone',
    ]
    program = "for n in range(100): print('x' * 4096, flush=True)\nopen('done', 'w'); sys.exit(9)"
    job = python_job(tmp_path, program, ranks=1)
    done = subprocess.run(
        [*mount, sys.executable, job.logs],
        input=job.assignment.to_json(),
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    if "unshare failed" in done.stderr or "mount:" in done.stderr:
        pytest.skip("needs root, and a mount namespace, to fill a disk")
    assert (done.returncode, (tmp_path / "done").exists()) == (9, True)
    assert " bytes of the logs are lost: " in done.stderr
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize("code", [0, 7])
def test_the_job_continues_after_its_log_folder_is_removed(tmp_path: Path, code: int) -> None:
    program = f"print('ready')\nwhile not os.path.exists('go'): time.sleep(0.01)\nsys.exit(rank * {code})"
    job = python_job(tmp_path, program, ranks=2, heartbeat=100)
    process = job.start()
    assert wait_until(lambda: job.all_say("ready"))
    shutil.rmtree(job.logs)
    (tmp_path / "go").touch()
    done = finish(process)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert ("  the log folder was removed: " in done.stderr) == bool(code)


def test_the_notes_of_a_failed_job_can_be_diagnosed(tmp_path: Path) -> None:
    job = python_job(tmp_path, f"if rank == 0: {SLEEP}\ntime.sleep(0.5); sys.exit(7)", ranks=2)
    job.run()
    notes = [line.split(" ", 1)[1] for line in (job.logs / "launcher_0").read_text().splitlines()]
    assert notes == ["exited 1 7 5 n1", "ending rank 1 7", "exited 0 143 4 n1"]


def test_the_port_of_rank_0_is_checked_on_its_server_only(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        job = python_job(tmp_path, "print(os.environ['MASTER_PORT'])", port=taken.getsockname()[1], prefix=True)
        assert job.run().returncode == 1
        others = tuple(rank for rank in job.assignment.ranks if rank.rank != 0)
        done = Job(job.folder, job.assignment._replace(ranks=others)).run()
        assert (done.returncode, done.stdout.count(f"] {taken.getsockname()[1]}\n")) == (0, len(others))


def test_the_scheduler_of_mindspore_is_named_and_needs_no_port(tmp_path: Path) -> None:
    job = python_job(tmp_path, "print('MASTER_PORT' in os.environ); sys.exit(3 if rank < 0 else 0)", port_name="")
    scheduler = AssignedRank(SCHEDULER, 0, {"RANK": "-1"})
    done = Job(
        job.folder, job.assignment._replace(ranks=(scheduler, *job.assignment.ranks), limits=Limits(prefix=True))
    ).run()
    assert done.returncode == 3
    assert done.stdout.startswith("ranks 0 to 3 on devices 4 5 6 7 and the scheduler of n1, ")
    assert "[n1:scheduler] False\n" in done.stdout
    assert f"error: scheduler of n1 failed with exit code 3\n  the end of {job.logs}/scheduler.log:" in done.stderr


def test_ranks_run_on_the_cores_near_their_cards(tmp_path: Path) -> None:
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    tool = tmp_path / "npu-smi"
    tool.write_text(f"#!/bin/sh\necho 'NPU4 X HCCS {last}'\necho 'NPU5 HCCS X {first}'\n")
    tool.chmod(0o755)
    job = python_job(
        tmp_path,
        "print(os.sched_getaffinity(0), os.environ['OMP_NUM_THREADS'])",
        ranks=2,
        environ={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        bind="cores",
        threads_name="OMP_NUM_THREADS",
    )
    done = job.run()
    assert done.returncode == 0, done.stderr
    assert [job.log(rank) for rank in range(2)] == [f"{{{last}}} 1\n", f"{{{first}}} 1\n"]
    assert f", OMP_NUM_THREADS=1, cores {last} {first}" in done.stdout
