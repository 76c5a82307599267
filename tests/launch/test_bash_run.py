"""The script of bash, which users read and edit: what it starts, how it ends, and what it refuses."""

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hccl_kit.base.network import port_of_digest
from hccl_kit.launch.emitters import bash
from hccl_kit.launch.emitters.bash import is_unedited
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.nested import STARTING
from hccl_kit.launch.plan import plan
from hccl_kit.runtime.worker_env import LOG_DIR, MISLEADING, NAMES, RANK_TABLE_FILE, RUN_ID, SERVER, WorkerEnv
from tests.launch.jobs import SCRIPT, TABLE, Job, all_ready, clean_environ, finish, make_job, python_job
from tests.launch.ways import assert_shellcheck, fake, planned, servers, write
from tests.ports import free_port
from tests.waiting import wait_until

(PORT,) = NAMES["master_port"]
SLEEP = "print('ready'); time.sleep(600)"
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
TELL = "json.dump(dict(os.environ), sys.stdout)"
LEAVE_CHILD = (
    f"subprocess.Popen([sys.executable, '-c', '''import signal, time\\n{DEAF}\\ntime.sleep(600)''', __file__]);"
    " time.sleep(0.3)"
)
"""A grandchild of the script that ignores SIGTERM."""


def told(job: Job, rank: int = 0) -> dict[str, str]:
    environ: dict[str, str] = json.loads(job.log(rank))
    return environ


def refused(job: Job, *arguments: str, **environ: str) -> str:
    """The error of the script, which must not start anything."""
    done = job.run(*arguments, environ=environ)
    assert (done.returncode, done.stdout) == (2, "")
    assert not list(job.folder.glob("hccl_logs/*"))
    return done.stderr


def test_all_ranks_succeed_and_rank_0_is_shown(tmp_path: Path) -> None:
    job = python_job(tmp_path, "print('this is rank', rank)\nfor n in range(20000): print('line', n)")
    done = job.run()
    assert (done.returncode, done.stderr) == (0, "")
    first, rest = done.stdout.split("\n", 1)
    assert re.fullmatch(rf"ranks 0 to 3 on cards 4 5 6 7, OMP_NUM_THREADS=[0-9]+, logs in {job.logs}", first)
    assert rest == job.log(0)
    assert [job.log(rank).splitlines()[0] for rank in range(4)] == [f"this is rank {rank}" for rank in range(4)]
    assert (tmp_path / "hccl_logs" / "latest").resolve() == job.logs
    assert job.processes() == []


def test_it_is_a_page_without_python_that_shellcheck_accepts(tmp_path: Path) -> None:
    for command in (("python", "a'; echo foo", "a\nb", "训练"), None):
        for number, ids in enumerate((("127.0.0.1",), ("192.0.2.1", "-n'*;"), ("pod 1", "pod 2"))):
            framework = "pytorch" if number == 2 else None
            made = plan(servers(*[(0, 1)] * len(ids), ids=ids), command, framework=framework)
            script = write(tmp_path, bash.emit(made, TableFile("a'b.json", "{}")))
            assert_shellcheck(script)
            lines = script.read_text().splitlines()
            assert len(lines) <= (80 if len(ids) == 1 else 95)
            assert command or not any("python" in line and "fix: " not in line for line in lines)


def test_the_first_rank_that_fails_ends_the_job_and_is_named(tmp_path: Path) -> None:
    follow = "while not os.path.exists('failing'): time.sleep(0.005)"
    job = python_job(
        tmp_path,
        f"if rank == 2:\n    for n in range(30): print('line', n)\n    open('failing', 'w'); sys.exit(7)\n"
        f"{follow}\ntime.sleep(3); sys.exit(5)",
    )
    done = job.run()
    assert done.returncode == 7
    first, *tail = done.stderr.splitlines()
    assert first == f"error: rank 2 on card 6 failed with exit code 7; the end of {job.logs}/rank_2.log:"
    assert tail == job.log(2).splitlines()[-20:]
    assert re.fullmatch(r"[0-9]+ exited 2 7 6 \S+\n", (job.logs / "launcher_0").read_text())
    assert job.processes() == []


@pytest.mark.parametrize(
    ("end", "code", "words"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "exit code 137 (SIGKILL)"),
        ("sys.exit(255)", 255, "exit code 255 (SIG"),
        ("print('x' * 800_000 + 'the end', end=''); sys.exit(1)", 1, "exit code 1;"),
    ],
    ids=["killed", "255", "no line break"],
)
def test_exit_codes_are_kept_and_the_report_is_short(tmp_path: Path, end: str, code: int, words: str) -> None:
    done = python_job(tmp_path, f"if rank == 0: time.sleep(600)\n{end}", ranks=2).run()
    assert done.returncode == code
    assert words.removesuffix(" (SIG") in done.stderr
    assert len(done.stderr) < 20_000


def test_a_command_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    done = make_job(tmp_path, ("no-such-program",), ranks=2).run()
    assert done.returncode == 127
    assert "no-such-program" in done.stderr.splitlines()[-1]


def test_what_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    others = f"{DEAF}; {LEAVE_CHILD}; {SLEEP}"
    job = python_job(tmp_path, f"if rank != 0: {others}\ntime.sleep(1); sys.exit(3)", ranks=3)
    assert job.run().returncode == 3
    assert wait_until(lambda: job.processes() == [])


def test_processes_that_a_rank_leaves_behind_are_ended(tmp_path: Path) -> None:
    job = python_job(tmp_path, LEAVE_CHILD, ranks=2)
    assert job.run().returncode == 0
    assert wait_until(lambda: job.processes() == [])


def test_a_rank_that_is_stopped_has_not_failed(tmp_path: Path) -> None:
    go_on = "process = os.getpid()\nif not os.fork(): time.sleep(0.5); os.kill(process, signal.SIGCONT); os._exit(0)\n"
    job = python_job(tmp_path, f"{go_on}os.kill(process, signal.SIGSTOP)\nprint('continued')", ranks=2)
    assert job.run().returncode == 0
    assert [job.log(rank) for rank in range(2)] == ["continued\n"] * 2


@pytest.mark.parametrize("code", [0, 5])
def test_ranks_that_end_at_once_are_all_noticed(tmp_path: Path, code: int) -> None:
    together = "[[ $RANK != 31 ]] || touch go; until [[ -e go ]]; do sleep 0.05; done"
    job = make_job(tmp_path, ("bash", "-c", f"{together}; exit $((RANK == 7 ? {code} : 0))"), ranks=32)
    done = job.run()
    assert (done.returncode, "error: rank 7 on card 11 failed" in done.stderr) == (code, code > 0)
    assert job.processes() == []


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143), ("HUP", 129)])
@pytest.mark.parametrize("whole_group", [False, True])
def test_a_signal_ends_the_job(tmp_path: Path, name: str, code: int, whole_group: bool) -> None:
    hear = "signal.signal(signal.SIGTERM, lambda *_: (print('heard'), sys.exit(0)))"
    job = python_job(tmp_path, f"{hear}; {SLEEP}", ranks=2)
    process = job.start()
    assert wait_until(lambda: all_ready(job))
    (os.killpg if whole_group else os.kill)(process.pid, getattr(signal, f"SIG{name}"))
    assert finish(process).returncode == code
    assert [job.log(rank) for rank in range(2)] == ["ready\nheard\n"] * 2
    assert job.processes() == []


@pytest.mark.parametrize("moment", [0.0, 0.05, 0.1, 0.15, 0.2, 0.3])
def test_a_signal_during_the_start_leaves_no_process(tmp_path: Path, moment: float) -> None:
    job = python_job(tmp_path, SLEEP)
    process = job.start()
    time.sleep(moment)
    process.terminate()
    assert finish(process).returncode in (143, -signal.SIGTERM)
    assert wait_until(lambda: job.processes() == [])


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="ranks outlive a killed script without setpriv")
def test_the_ranks_die_with_a_script_that_is_killed(tmp_path: Path) -> None:
    job = python_job(tmp_path, f"{DEAF}; {SLEEP}")
    process = job.start()
    assert wait_until(lambda: all_ready(job))
    process.kill()
    assert finish(process).returncode == -signal.SIGKILL
    assert wait_until(lambda: job.processes() == [])


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


def test_the_job_continues_without_a_reader_of_its_output(tmp_path: Path) -> None:
    job = python_job(tmp_path, "for n in range(20): print(n); time.sleep(0.02)", ranks=2)
    process = job.start()
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=300) == 0
    assert process.stderr
    process.stderr.close()
    assert job.log(0) == job.log(1) == "".join(f"{n}\n" for n in range(20))


def test_a_reader_that_does_not_read_does_not_keep_a_failed_job_alive(tmp_path: Path) -> None:
    flood = "for _ in range(3000): print('x' * 99)\ntime.sleep(600)"
    job = python_job(tmp_path, f"if rank == 1: time.sleep(2); sys.exit(7)\n{flood}", ranks=2)
    process = job.start(stderr=subprocess.DEVNULL)
    assert process.wait(timeout=300) == 7  # nobody has read the pipe, which is full
    assert wait_until(lambda: not any("program.py" in line for line in job.processes()))
    assert process.stdout
    process.stdout.close()


def test_a_job_with_closed_descriptors_ends(tmp_path: Path) -> None:
    job = python_job(tmp_path, "sys.exit(rank)", ranks=2)
    closed = ["bash", "-c", 'exec bash "$0" <&- >&- 2>&-', str(job.script)]
    for code in (1, 2):
        done = subprocess.run(closed, cwd=tmp_path, env=clean_environ(), check=False, timeout=300)
        assert done.returncode == code
        assert job.processes() == []
        (tmp_path / TABLE).unlink(missing_ok=True)  # so that the next start is refused


REUSE = """
cd "$1"
bash "$2" >out 2>&1 &
script=$!
until [[ -s ended ]]; do sleep 0.05; done
read -r number <ended
while kill -0 "$number" 2>/dev/null; do sleep 0.05; done
sleep 5 # numbers do not come round before the script looks again
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


def test_every_rank_gets_its_planned_environment(tmp_path: Path) -> None:
    job = python_job(tmp_path, TELL)
    assert job.run().returncode == 0
    environs = [told(job, rank) for rank in range(4)]
    (port,) = {int(environ[PORT]) for environ in environs}
    expected = [
        replace(worker, master_port=port, table=str(tmp_path / TABLE), run=job.logs.name) for worker in job.plan.workers
    ]
    assert [WorkerEnv.from_environ(environ) for environ in environs] == expected
    # Both names of every field are set, not only one of them.
    assert all(
        environ.items() >= worker.to_environ().items() for environ, worker in zip(environs, expected, strict=True)
    )
    assert 20000 <= port < 32000
    assert {(environ[RUN_ID], environ[LOG_DIR]) for environ in environs} == {(job.logs.name, str(job.logs))}


def test_variables_of_the_user_are_not_replaced(tmp_path: Path) -> None:
    """The supervisor that this script replaced used these names itself."""
    names = ("run", "logs", "table", "node", "port", "command", "ranks", "devices", "code", "rank", "server", "i")
    given = dict.fromkeys(names, "mine")
    job = python_job(tmp_path, TELL, ranks=1)
    assert job.run(environ=given).returncode == 0
    assert told(job).items() >= given.items()
    assert [name for name in told(job) if name.startswith("hk_")] == []


def test_leftovers_of_other_launchers_do_not_reach_a_rank(tmp_path: Path) -> None:
    job = python_job(tmp_path, TELL, ranks=1)
    removed = {*MISLEADING, "NPROC_PER_NODE", "OMPI_COMM_WORLD_RANK", "ACCELERATE_TORCH_DEVICE"}
    left_over = dict.fromkeys(removed, "1") | {name: "99" for key in ("rank", "size", "device") for name in NAMES[key]}
    assert job.run(environ=left_over).returncode == 0
    assert not told(job).keys() & removed
    assert WorkerEnv.from_environ(told(job)).size == 1


def test_a_port_that_the_user_has_set_is_kept(tmp_path: Path) -> None:
    port = str(free_port())
    job = python_job(tmp_path, TELL, ranks=1)
    assert job.run(environ={PORT: port}).returncode == 0
    assert told(job)[PORT] == port


def test_it_runs_in_the_current_folder_with_the_table_next_to_it(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home of -scripts'", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    make_job(home, ("env",), ranks=1)
    (home / TABLE).rename(home / "real.json")
    (home / TABLE).symlink_to("real.json")  # torch_npu ignores a table that is a link
    subprocess.run(
        ["bash", f"../{home.name}/{SCRIPT}"], cwd=elsewhere, env=clean_environ(), check=True, capture_output=True
    )
    log = next(elsewhere.glob("hccl_logs/*/rank_0.log")).read_text()
    assert f"{RANK_TABLE_FILE}={home / 'real.json'}\n" in log
    assert f"PWD={elsewhere}\n" in log


def test_another_table_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("true",))
    assert hashlib.sha256((tmp_path / TABLE).read_bytes()).hexdigest() in job.script.read_text()
    with (tmp_path / TABLE).open("a") as file:
        file.write("\n")
    said = f"error: {tmp_path / TABLE} is not the table of this script\n  fix: restore it, or run hccl-gen again\n"
    assert refused(job) == said
    (tmp_path / TABLE).unlink()
    assert refused(job).endswith(said)


@pytest.mark.parametrize(
    "option",
    [
        *("--max-restarts", "--max_restarts=3", "--heartbeat-timeout", "--heartbeat_timeout", "--log-limit"),
        *("--prefix", "--preflight", "--ssh", "--server=1", "--export", "--replace", "--help", "-h"),
    ],
)
def test_an_option_of_run_is_refused_with_its_line(tmp_path: Path, option: str) -> None:
    job = make_job(tmp_path, ("printf", "<%s>"), ranks=1)
    fix = f"  fix: hccl-kit run {tmp_path / TABLE} {option} 3 -- COMMAND"
    assert refused(job, option, "3") == f"error: {option} is an option of hccl-kit run\n{fix}\n"
    assert job.run("--", option, "3").stdout.endswith(f"<{option}><3>")


def test_without_a_command_it_takes_one_as_its_arguments(tmp_path: Path) -> None:
    job = make_job(tmp_path, None, ranks=2)
    assert "\x1b" not in refused(job, "--help=\x1b[31m")
    fix = f"  fix: bash {job.script} COMMAND, or hccl-kit run {tmp_path / TABLE}"
    assert refused(job) == f"error: no command\n{fix} -- COMMAND\n"
    assert refused(job, "--anything", "3") == f"error: no command\n{fix} --anything 3 -- COMMAND\n"
    assert job.run("--", "printf", "%s", "x").stdout.endswith("x")
    shutil.rmtree(tmp_path / "hccl_logs")
    for launcher in STARTING:
        for start in ("", "/usr/bin/", "python -u -m "):
            said = refused(job, *f"{start}{launcher} train.py".split())
            assert said.startswith(f"error: by {launcher}, each rank would start a whole job\n")
    assert "error: by accelerate launch" in refused(job, "accelerate", "launch", "--num_processes", "10", "train.py")
    assert job.run("printf", "%s", "a b").returncode == 0
    assert [job.log(rank) for rank in range(2)] == ["a b"] * 2
    accelerate = fake(tmp_path, "accelerate", "exit 0")
    assert job.run(str(accelerate), "launch", "--num_processes=1", "train.py").returncode == 0


@pytest.mark.skipif(shutil.which("dash") is None, reason="dash is not installed")
def test_another_shell_prints_that_bash_is_needed(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("true",))
    done = subprocess.run(["dash", job.script], check=False, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, f"error: start it with bash: bash {job.script}\n")
    posix = ["bash", "--posix", str(job.script)]
    done = subprocess.run(posix, check=False, cwd=tmp_path, env=clean_environ(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a folder to another user")
def test_a_log_folder_of_another_user_than_that_of_the_current_folder_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("true",), ranks=1)
    logs = tmp_path / "hccl_logs"
    logs.mkdir()
    for owner, log_owner, said in (
        (0, 0, ""),
        (4711, 4711, ""),
        (4711, 0, ""),
        (0, 4711, f"error: another user owns {logs}\n"),
    ):
        os.chown(tmp_path, owner, 0)
        os.chown(logs, log_owner, 0)
        done = job.run()
        assert (done.returncode, done.stderr) == (2 if said else 0, said)


def test_a_run_has_a_new_folder_that_only_its_user_can_enter(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("true",), ranks=1)
    for _ in range(2):
        assert job.run().returncode == 0
    logs = tmp_path / "hccl_logs"
    runs = [path for path in logs.iterdir() if not path.is_symlink()]
    assert [path.stat().st_mode & 0o777 for path in (logs, *runs)] == [0o700] * 3
    (tmp_path / "other").mkdir()
    blocked = make_job(tmp_path / "other", ("true",), ranks=1)
    (tmp_path / "other" / "hccl_logs").write_text("")
    done = blocked.run()
    assert (done.returncode, done.stdout) == (2, "")
    assert "failed to create directory" in done.stderr


def test_a_script_that_was_edited_is_told_from_one_that_was_not(tmp_path: Path) -> None:
    text = make_job(tmp_path, ("true",)).script.read_text()
    assert is_unedited(text)
    for edited in (text.replace("true", "false"), text + "\n", text[:-2] + "\n", text.rpartition("#")[0], "", "#"):
        assert not is_unedited(edited)


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
    for _ in range(2000):
        try:
            peer = socket.create_connection((os.environ['MASTER_ADDR'], port))
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
    peer.sendall(str(rank).encode())
    total = int(peer.recv(9))
print('sum of ranks', total)
"""


def test_ranks_meet_at_the_port(tmp_path: Path) -> None:
    job = python_job(tmp_path, MEET)
    assert job.run().returncode == 0
    assert {job.log(rank) for rank in range(4)} == {"sum of ranks 6\n"}


IDS = ("127.0.0.1", "127.0.0.2")
PROGRAM = "import json, os, signal, socket, subprocess, sys, time\nrank = int(os.environ['RANK'])\n"


def by_hand(folder: Path, program: str, *devices: tuple[int, ...], ids: Sequence[str] = IDS) -> list[Job]:
    """A job of two servers that is started in a folder for each, as on two hosts without a common disk."""
    (folder / "program.py").write_text(PROGRAM + program)
    command = (sys.executable, "-u", str(folder / "program.py"))
    made, table = planned(servers(*devices or ((4, 5), (0, 1)), ids=ids), *command)
    jobs = [Job(folder / name, made) for name in ids]
    for job in jobs:
        job.folder.mkdir()
        (job.folder / table.name).write_text(table.text)
        job.script.write_text(bash.script(made, table, SCRIPT))
    return jobs


def test_servers_that_are_started_by_hand_meet_at_the_first_of_them(tmp_path: Path) -> None:
    jobs = by_hand(tmp_path, MEET)
    port = str(free_port())
    started = [job.start(environ={SERVER: name, PORT: port}) for job, name in zip(jobs, IDS, strict=True)]
    assert [finish(process).returncode for process in started] == [0, 0]
    assert [jobs[rank // 2].log(rank) for rank in range(4)] == ["sum of ranks 6\n"] * 4


def test_every_rank_of_several_servers_gets_its_planned_environment(tmp_path: Path) -> None:
    jobs = by_hand(tmp_path, TELL, (6, 4, 5), (0,))
    digest = hashlib.sha256((jobs[0].folder / TABLE).read_bytes()).hexdigest()
    for job, node, name in zip(jobs, jobs[0].plan.nodes, IDS, strict=True):
        done = job.run(environ={SERVER: name})
        assert (done.returncode, done.stderr) == (0, "")
        told_ranks = [told(job, rank) for rank in node.ranks]
        port = port_of_digest(digest)
        expected = [
            replace(worker, table=str(job.folder / TABLE), run=digest[:8], master_port=port) for worker in node.workers
        ]
        assert [WorkerEnv.from_environ(environ) for environ in told_ranks] == expected
        assert {environ[RUN_ID] for environ in told_ranks} == {job.logs.name}
        assert done.stdout.startswith(f"ranks {node.ranks[0]} to {node.ranks[-1]} on cards ")


def test_a_rank_that_fails_ends_those_of_its_server_only(tmp_path: Path) -> None:
    jobs = by_hand(tmp_path, f"if rank == 3: time.sleep(1); sys.exit(7)\n{SLEEP}")
    first, second = (job.start(environ={SERVER: name}) for job, name in zip(jobs, IDS, strict=True))
    done = finish(second)
    assert done.returncode == 7
    assert done.stderr.startswith("error: rank 3 on card 1 failed with exit code 7; the end of ")
    assert re.fullmatch(r"[0-9]+ exited 3 7 1 \S+\n", (jobs[1].logs / "launcher_1").read_text())
    assert first.poll() is None
    first.terminate()
    assert finish(first).returncode == 143
    assert [job.processes() for job in jobs] == [[], []]


def test_a_host_that_is_not_one_server_of_the_table_is_refused(tmp_path: Path) -> None:
    (job, *_) = by_hand(tmp_path, "", ids=("203.0.113.1", "203.0.113.2"))
    table = (
        "  the table has 203.0.113.1, 203.0.113.2\n  fix: export HCCL_KIT_SERVER=ID, with the one that this host is\n"
    )
    said = refused(job)
    assert said.startswith("error: this host matches 0 servers of the table; it has ")
    assert said.endswith(f" {socket.gethostname()} {socket.gethostname().partition('.')[0]}\n{table}")
    said = f"error: this host matches 0 servers of the table; it has 203.0.113.*\n{table}"
    assert refused(job, **{SERVER: "203.0.113.*"}) == said


def test_a_host_with_the_addresses_of_two_servers_is_refused(tmp_path: Path) -> None:
    (job, *_) = by_hand(tmp_path, "", ids=("203.0.113.1", "203.0.113.2"))
    fake(tmp_path, "hostname", "echo 203.0.113.2 203.0.113.1")
    environ = {"PATH": f"{tmp_path / 'bin'}:{clean_environ()['PATH']}"}
    assert refused(job, **environ).startswith("error: this host matches 2 servers of the table; it has 203.0.113.2 ")
    assert job.run(environ={**environ, SERVER: "203.0.113.2"}).returncode == 0


def test_an_option_is_refused_with_the_command_for_several_servers(tmp_path: Path) -> None:
    (job, *_) = by_hand(tmp_path, "")
    for option in ("--ssh", "--max-restarts=3", "--server"):
        assert refused(job, option, "x").endswith(f"\n  fix: hccl-kit run {job.folder / TABLE} --ssh -- COMMAND\n")


def test_a_script_of_several_servers_takes_a_command_as_its_arguments(tmp_path: Path) -> None:
    made = plan(servers((0,), (0,), ids=IDS), None)
    (tmp_path / TABLE).write_text("{}")
    write(tmp_path, bash.emit(made, TableFile(TABLE, "{}"))).rename(tmp_path / SCRIPT)
    job = Job(tmp_path, made)
    fix = f"  fix: bash {job.script} COMMAND, or hccl-kit run {tmp_path / TABLE} --ssh -- COMMAND\n"
    assert refused(job, **{SERVER: IDS[1]}) == f"error: no command\n{fix}"
    assert job.run("printf", "%s", "a b", environ={SERVER: IDS[1]}).returncode == 0
    assert job.log(1) == "a b"


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
