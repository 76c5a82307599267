"""A job under the launch script, from start to end: success, failure, signals, and no processes left."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from hccl_kit.runtime.worker_env import RUN_ID
from tests.launch.jobs import all_ready, clean_environ, finish, make_job, python_job
from tests.waiting import wait_until

SLEEP = "print('ready'); time.sleep(600)"
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)"
LEAVE_CHILD = (
    f"subprocess.Popen([sys.executable, '-c', '''import signal, time\\n{DEAF}\\ntime.sleep(600)''', __file__]);"
    " time.sleep(0.3)"
)
"""A grandchild of the script that ignores all signals except SIGKILL."""


def test_all_ranks_succeed(tmp_path: Path) -> None:
    job = python_job(tmp_path, "print('this is rank', rank)")
    done = job.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert [job.log(rank) for rank in range(4)] == [f"this is rank {rank}\n" for rank in range(4)]
    first, *rest = done.stdout.splitlines()
    assert re.fullmatch(
        rf"ranks 0 to 3 on devices 4 5 6 7 of \S+, port [0-9]+, OMP_NUM_THREADS=[0-9]+, logs in {job.logs}", first
    )
    assert rest == ["this is rank 0"]
    assert job.processes() == []


def test_all_output_of_rank_0_is_shown(tmp_path: Path) -> None:
    job = python_job(tmp_path, "for n in range(20000): print('line', n, 'of rank', rank)", ranks=2)
    done = job.run()
    assert done.stdout.split("\n", 1)[1] == job.log(0)
    assert job.log(0).count("\n") == 20000


def test_the_last_lines_of_the_failed_rank_come_last_on_a_slow_terminal(tmp_path: Path) -> None:
    job = python_job(tmp_path, f"if rank == 1: {SLEEP}\nfor n in range(50000): print('line', n)\nsys.exit(1)", ranks=2)
    process = job.start(stderr=subprocess.STDOUT)
    assert wait_until(lambda: any(job.folder.glob("hccl_logs/*/failed")))
    time.sleep(0.5)  # the pipe is full; any writer may be the first when it is read
    done = finish(process)
    screen, end = done.stdout.split("\nerror: rank 0 ", 1)
    assert screen.split("\n", 1)[1] == job.log(0)
    assert end.splitlines()[1:] == [f"  its last lines are above, and in {job.logs}/rank_0.log"]


def test_arguments_are_added_to_the_command(tmp_path: Path) -> None:
    job = python_job(tmp_path, "print(sys.argv[1:])", ranks=1)
    assert job.run("--config", "other file.yaml").stdout.endswith("\n['--config', 'other file.yaml']\n")


def test_the_first_rank_that_fails_ends_the_job(tmp_path: Path) -> None:
    job = python_job(
        tmp_path, f"if rank != 2: {SLEEP}\nfor n in range(30): print('line', n)\ntime.sleep(0.3); sys.exit(7)"
    )
    done = job.run()
    assert done.returncode == 7
    blank, said, where, *tail = done.stderr.splitlines()
    assert blank == ""
    assert re.fullmatch(r"error: rank 2 on device 6 of \S+ failed with exit code 7", said)
    assert where == f"  the end of {job.logs}/rank_2.log:"
    assert tail == job.log(2).splitlines()[-20:]
    assert job.processes() == []


def test_the_first_rank_to_fail_is_named_and_not_later_ones(tmp_path: Path) -> None:
    follow = "while not os.path.exists('failing'): time.sleep(0.005)"
    job = python_job(
        tmp_path, f"if rank == 3: open('failing', 'w'); os._exit(7)\n{follow}\ntime.sleep(0.02); os._exit(5)"
    )
    done = job.run()
    assert done.returncode == 7
    assert "error: rank 3 on device 7" in done.stderr


def test_the_exit_code_of_a_killed_rank_is_128_plus_its_signal(tmp_path: Path) -> None:
    job = python_job(tmp_path, f"if rank != 1: {SLEEP}\nos.kill(os.getpid(), signal.SIGKILL)")
    done = job.run()
    assert done.returncode == 137
    assert "failed with exit code 137 (SIGKILL)\n" in done.stderr
    assert job.processes() == []


def test_a_killed_helper_process_ends_the_job(tmp_path: Path) -> None:
    job = python_job(tmp_path, f"if rank == 1: os.kill(os.getppid(), signal.SIGKILL)\n{SLEEP}", ranks=2)
    done = job.run()
    assert done.returncode == 137
    assert done.stderr.endswith(f"\nerror: a rank was lost, exit code 137; logs in {job.logs}\n")
    assert job.processes() == []


@pytest.mark.parametrize("code", [0, 3])
def test_a_job_ends_even_if_wait_misses_the_end_of_a_rank(tmp_path: Path, code: int) -> None:
    """`wait -n` of bash 5.2 misses a process that ends at the moment of the call; here it never returns."""
    (tmp_path / "bash_env").write_text("""wait() {
    while [[ $* == -n ]]; do sleep 1; done
    builtin wait "$@"
}""")
    job = python_job(tmp_path, f"time.sleep(0.5); sys.exit({code})", ranks=2)
    assert job.run(environ={"BASH_ENV": str(tmp_path / "bash_env")}).returncode == code
    assert job.processes() == []


def test_exit_codes_beyond_signals_are_kept(tmp_path: Path) -> None:
    done = python_job(tmp_path, "sys.exit(255)", ranks=1).run()
    assert done.returncode == 255
    assert done.stderr.splitlines()[1].endswith("failed with exit code 255")


def test_a_command_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    done = make_job(tmp_path, ("no-such-program",), ranks=2).run()
    assert done.returncode == 127
    assert "no-such-program" in done.stderr.splitlines()[-1]


def test_ranks_that_ignore_sigterm_are_killed_within_two_seconds(tmp_path: Path) -> None:
    others = f"{DEAF}; {LEAVE_CHILD}; {SLEEP}"
    job = python_job(tmp_path, f"if rank != 0: {others}\ntime.sleep(1); sys.exit(3)", ranks=3)
    done = job.run()
    assert done.returncode == 3
    assert job.processes() == []


def test_processes_that_a_rank_leaves_behind_are_ended(tmp_path: Path) -> None:
    job = python_job(tmp_path, LEAVE_CHILD, ranks=2)
    assert job.run().returncode == 0
    assert job.processes() == []


def test_processes_that_left_the_session_of_their_rank_are_ended(tmp_path: Path) -> None:
    leave = LEAVE_CHILD.replace("__file__]", "__file__], start_new_session=True")
    job = python_job(tmp_path, f"{leave}; sys.exit(rank)", ranks=2)
    assert job.run().returncode == 1
    assert job.processes() == []


def test_processes_that_a_rank_starts_on_sigterm_are_ended(tmp_path: Path) -> None:
    start = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', __file__], start_new_session=True)"
    hear = f"signal.signal(signal.SIGTERM, lambda *_: ({start}, os._exit(0)))"
    job = python_job(tmp_path, f"if rank == 0: {hear}; {SLEEP}\ntime.sleep(0.5); sys.exit(3)", ranks=2)
    assert job.run().returncode == 3
    assert job.processes() == []


def test_a_job_that_a_rank_started_ends_with_it(tmp_path: Path) -> None:
    """The guard of the inner job must not be killed with it, or it could not end its ranks."""
    (tmp_path / "inner").mkdir()
    inner = python_job(tmp_path / "inner", SLEEP, ranks=2)
    start = f"subprocess.Popen(['bash', {str(inner.script)!r}], cwd={str(inner.folder)!r}, start_new_session=True)"
    job = python_job(tmp_path, f"{start}\nwhile not os.path.exists('go'): time.sleep(0.02)\nsys.exit(3)", ranks=1)
    process = job.start()
    assert wait_until(lambda: all_ready(inner))
    (tmp_path / "go").touch()
    assert finish(process).returncode == 3
    assert wait_until(lambda: job.processes() == [])


def test_processes_of_other_runs_are_not_ended(tmp_path: Path) -> None:
    job = python_job(tmp_path, SLEEP, ranks=1)
    process = job.start()
    assert wait_until(lambda: all_ready(job))
    run = job.logs.name
    others = [
        subprocess.Popen(["sleep", "60"], env=clean_environ(environ))
        for environ in ({RUN_ID: f"{run}1"}, {RUN_ID: run[:-1]}, {f"X{RUN_ID}": run}, {"X": f"{RUN_ID}={run}"})
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
    assert wait_until(lambda: all_ready(job))
    number = getattr(signal, f"SIG{name}")
    process.send_signal(number)
    done = finish(process)
    assert done.returncode == code
    assert done.stderr == f"ended by SIG{name}; logs in {job.logs}\n"
    assert [job.log(rank) for rank in range(4)] == [f"ready\nheard {number:d}\n"] * 4
    assert done.stdout.endswith(f"\nready\nheard {number:d}\n")
    assert job.processes() == []


old_env = pytest.mark.skipif(
    subprocess.run(["env", "--default-signal=INT", "true"], check=False, capture_output=True).returncode != 0,
    reason="env of coreutils before 8.31: a rank that does not ask for SIGINT is ended by SIGTERM",
)


@old_env
def test_ctrl_c_raises_keyboard_interrupt_in_every_rank(tmp_path: Path) -> None:
    job = python_job(tmp_path, SLEEP, ranks=2)
    process = job.start()
    assert wait_until(lambda: all_ready(job))
    process.send_signal(signal.SIGINT)
    assert finish(process).returncode == 130
    assert all("KeyboardInterrupt" in job.log(rank) for rank in range(2))


@old_env
def test_a_rank_gets_sigint_even_if_the_script_is_a_background_job(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("grep", "SigIgn", "/proc/self/status"), ranks=1)
    subprocess.run(["bash", "-c", 'bash "$0" & wait', job.script], cwd=tmp_path, env=clean_environ(), check=True)
    ignored = int(job.log(0).split()[1], 16)
    assert not ignored & (1 << (signal.SIGINT - 1))
    assert not ignored & (1 << (signal.SIGQUIT - 1))


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143)])
def test_a_signal_ends_a_rank_that_ignores_sigint(tmp_path: Path, name: str, code: int) -> None:
    job = python_job(tmp_path, f"{DEAF}; {LEAVE_CHILD}; {SLEEP}", ranks=2)
    process = job.start()
    assert wait_until(lambda: all_ready(job))
    process.send_signal(getattr(signal, f"SIG{name}"))
    assert finish(process).returncode == code
    assert job.processes() == []


def test_a_signal_to_the_process_group_as_sent_by_a_terminal(tmp_path: Path) -> None:
    job = python_job(tmp_path, SLEEP)
    process = job.start()
    assert wait_until(lambda: all_ready(job))
    os.killpg(process.pid, signal.SIGTERM)
    assert finish(process).returncode == 143
    assert job.processes() == []
    # The parents of the ranks outlived them, so no zombie was left to init.
    assert sorted((job.logs / "failed").read_text().splitlines()) == [f"{rank} 143" for rank in range(4)]


@pytest.mark.parametrize("moment", [0.0, 0.05, 0.1, 0.15, 0.2, 0.3])
def test_a_signal_during_the_start_leaves_no_process(tmp_path: Path, moment: float) -> None:
    job = python_job(tmp_path, SLEEP)
    process = job.start()
    time.sleep(moment)
    process.terminate()
    assert finish(process).returncode in (143, -signal.SIGTERM)
    assert wait_until(lambda: job.processes() == [])


@pytest.mark.parametrize("whole_group", [False, True])
def test_the_ranks_end_when_the_script_is_killed(tmp_path: Path, whole_group: bool) -> None:
    job = python_job(tmp_path, f"{DEAF}; {SLEEP}")
    process = job.start()
    assert wait_until(lambda: all_ready(job))
    if whole_group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    assert finish(process).returncode == -signal.SIGKILL
    assert wait_until(lambda: job.processes() == [])


def test_the_job_continues_without_a_reader_of_its_output(tmp_path: Path) -> None:
    """`bash ascend4p.sh | head -1` or a lost terminal does not end a training."""
    job = python_job(tmp_path, "for n in range(20): print(n); time.sleep(0.02)", ranks=2)
    process = job.start()
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=20) == 0
    assert process.stderr
    process.stderr.close()
    assert job.log(0) == job.log(1) == "".join(f"{n}\n" for n in range(20))


MEET = """
import socket
size, port = int(os.environ['WORLD_SIZE']), int(os.environ['MASTER_PORT'])
if rank == 0:
    with socket.create_server((os.environ['MASTER_ADDR'], port)) as server:
        peers = [server.accept()[0] for _ in range(size - 1)]
    total = sum(int(peer.recv(9)) for peer in peers)
    for peer in peers:
        peer.sendall(str(total).encode())
else:
    for _ in range(200):
        try:
            peer = socket.create_connection((os.environ['MASTER_ADDR'], port))
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
    peer.sendall(str(rank).encode())
    total = int(peer.recv(9))
print('sum of ranks', total)
"""


def test_ranks_rendezvous_at_the_port(tmp_path: Path) -> None:
    job = python_job(tmp_path, MEET)
    assert job.run().returncode == 0
    assert {job.log(rank) for rank in range(4)} == {"sum of ranks 6\n"}


TORCH = """
import torch, torch.distributed as dist
dist.init_process_group('gloo')
total = torch.tensor([dist.get_rank()])
dist.all_reduce(total)
print('rank', dist.get_rank(), 'of', dist.get_world_size(), 'sum', total.item())
dist.destroy_process_group()
"""


@pytest.mark.torch
def test_a_torch_program_forms_its_group(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    job = python_job(tmp_path, TORCH, ranks=2)
    # Under torchrun, torch would wait for an agent; our script starts none.
    done = job.run(environ={"TORCHELASTIC_USE_AGENT_STORE": "True"})
    assert done.returncode == 0, done.stderr
    assert [job.log(rank).splitlines()[-1] for rank in range(2)] == [f"rank {rank} of 2 sum 1" for rank in range(2)]
