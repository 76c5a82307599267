"""`hccl-kit run --ssh` with a fake ssh: every server is this host."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hccl_kit.runtime.worker_env import MISLEADING, WorkerEnv
from hccl_kit.table import formats
from tests.launch.jobs import TABLE, finish
from tests.launch.nodes import FAST, IDS, NodesJob, make_nodes_job, python_nodes_job, table_of
from tests.waiting import wait_until

TELL = "print(json.dumps(dict(os.environ)))"
SLEEP = "print('ready', flush=True); time.sleep(600)"
STEP = "open(os.environ['HCCL_KIT_LOG_DIR'] + f'/step_{rank}', 'w').write"
SHOWN = "error: server 10.9.8.2 does not answer or was lost: "


def run(job: NodesJob, *options: str, environ: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    return finish(job.start(*options, environ=environ))


def without_notes(text: str) -> str:
    """Without the lines that depend on the environment of the tests."""
    return "".join(line for line in text.splitlines(True) if "HK322" not in line and "not passed on" not in line)


def test_every_server_starts_its_ranks(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, TELL)
    done = run(job)
    assert (done.returncode, without_notes(done.stderr)) == (0, "")
    environs = [json.loads(job.log(rank)) for rank in range(4)]
    ranks = [WorkerEnv.from_environ(environ) for environ in environs]
    assert [(env.rank, env.local_rank, env.device, env.size, env.local_size, env.node) for env in ranks] == [
        (0, 0, 0, 4, 2, 0),
        (1, 1, 1, 4, 2, 0),
        (2, 0, 0, 4, 2, 1),
        (3, 1, 1, 4, 2, 1),
    ]
    assert {(env.master_addr, env.master_port) for env in ranks} == {(IDS[0], ranks[0].master_port)}
    assert {environ["RANK_TABLE_FILE"] for environ in environs} == {str(job.logs / TABLE)}
    assert (job.logs / TABLE).read_bytes() == (tmp_path / TABLE).read_bytes()
    assert wait_until(lambda: job.processes() == [])


def test_each_server_binds_its_ranks(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, "print(sorted(os.sched_getaffinity(0)))")
    done = run(job, "--bind", "cores")
    assert done.returncode == 0, done.stderr
    cores = [set(json.loads(job.log(rank))) for rank in range(4)]
    assert cores[:2] == cores[2:]
    assert cores[0] | cores[1] == os.sched_getaffinity(0)
    assert not cores[0] & cores[1] or len(cores[0]) == 1
    assert done.stdout.count(", cores ") == 2


def test_only_rank_0_is_shown_or_all_with_their_server(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, "print('rank', rank, sys.argv[1:])")
    job = NodesJob(tmp_path, (*job.command, "it's", "--ssh"))
    shown = [line for line in run(job).stdout.splitlines() if "rank " in line]
    assert shown == ["rank 0 [\"it's\", '--ssh']"]
    shown = [line for line in run(job, "--prefix").stdout.splitlines() if "rank " in line]
    assert sorted(shown) == [f"[{IDS[rank // 2]}:{rank}] rank {rank} [\"it's\", '--ssh']" for rank in range(4)]


@pytest.mark.parametrize("failing", [0, 3])
def test_the_first_rank_that_fails_ends_the_job_on_all_servers(tmp_path: Path, failing: int) -> None:
    job = python_nodes_job(tmp_path, f"if rank != {failing}: {SLEEP}\ntime.sleep(0.5)\nraise ValueError('the reason')")
    done = run(job)
    assert done.returncode == 1
    assert (
        f"error: rank {failing} on device {failing % 2} of {IDS[failing // 2]} failed with exit code 1\n" in done.stderr
    )
    assert done.stderr.endswith("ValueError: the reason\n")
    assert wait_until(lambda: job.processes() == [])


def test_a_rank_that_fails_after_the_other_server_has_finished_ends_the_job(tmp_path: Path) -> None:
    done = run(python_nodes_job(tmp_path, "if rank > 1: time.sleep(1)\nif rank == 3: sys.exit(255)"))
    assert done.returncode == 255
    assert "error: rank 3 on device 1 of 10.9.8.2 failed with exit code 255\n" in done.stderr


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143), ("HUP", 129), ("KILL", -9)])
def test_a_signal_to_the_starter_ends_all_servers(tmp_path: Path, name: str, code: int) -> None:
    job = python_nodes_job(tmp_path, SLEEP)
    process = job.start("--max-restarts", "3")
    assert wait_until(lambda: job.all_say("ready"))
    process.send_signal(getattr(signal, f"SIG{name}"))
    done = finish(process)
    assert done.returncode == code
    assert "restart" not in done.stderr
    assert wait_until(lambda: job.processes() == [])


def test_all_servers_restart_together_until_there_is_no_progress(tmp_path: Path) -> None:
    (tmp_path / "further").mkdir()
    job = python_nodes_job(
        tmp_path / "further", f"{STEP}(f'{{5 + restart * (rank // 2)}}')\ntime.sleep(0.3)\nif rank == 2: sys.exit(3)"
    )
    done = run(job, "--max-restarts", "2")
    assert done.returncode == 3
    assert [path.name for path in sorted(job.logs.glob("restart_*"))] == ["restart_1", "restart_2"]
    assert without_notes(done.stderr).count("\nerror: rank 2 on device 0 of 10.9.8.2 failed with exit code 3\n") == 3
    (tmp_path / "still").mkdir()
    job = python_nodes_job(tmp_path / "still", f"{STEP}('5')\ntime.sleep(0.3)\nif rank == 2: sys.exit(3)")
    done = run(job, "--max-restarts", "9")
    assert done.returncode == 3
    assert "giving up after restart 1: no progress (step 5, previously step 5)\n" in done.stderr


def test_a_job_that_succeeds_after_a_restart_succeeds(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, "print('start', restart)\nif restart == 0 and rank == 3: sys.exit(9)")
    done = run(job, "--max-restarts", "1")
    assert done.returncode == 0
    assert [job.log(rank, restart=1) for rank in range(4)] == ["start 1\n"] * 4


def test_ranks_without_progress_end_the_job_and_those_behind_are_named(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, f"{STEP}(str(7 - (rank == 3)))\ntime.sleep(600)")
    done = run(job, "--heartbeat-timeout", "2")
    assert done.returncode == 124
    assert "error: rank 3 on device 1 of 10.9.8.2 took no step for 2 s after step 6\n" in done.stderr


def test_a_server_that_does_not_answer_is_named_with_the_reason(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, SLEEP)
    job.lose(IDS[1])
    done = run(job)
    assert done.returncode == 2
    assert f"{SHOWN}ssh: connect to host 10.9.8.2 port 22: No route to host\n" in done.stderr
    assert not [*job.logs.glob("rank_*.log")]


def test_a_server_that_is_lost_later_ends_the_job(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, SLEEP)
    process = job.start("--max-restarts", "3")
    assert wait_until(lambda: job.all_say("ready"))
    job.lose(IDS[1])
    done = finish(process)
    assert done.returncode == 2
    assert SHOWN in done.stderr
    assert wait_until(lambda: job.processes() == [], 20)
    notes = (job.logs / "launcher_0").read_text().splitlines()
    assert [note.partition(" ")[2] for note in notes if " exited " not in note] == [
        "lost 10.9.8.2 2 3",
        "ending gone -1 2",
    ]


SPARE = "10.9.8.3"


def with_spare(job: NodesJob) -> tuple[str, ...]:
    (job.folder / "spares.yaml").write_text(f"{SPARE}: {{0: 192.0.2.201, 1: 192.0.2.202}}\n")
    return ("--spares", SPARE, "--inventory", "spares.yaml")


WHERE = "print(restart, rank, os.environ['SERVER_ADDRESS'], os.environ['MASTER_ADDR'], flush=True)"


@pytest.mark.parametrize("lost", [0, 1])
def test_a_spare_takes_the_place_of_a_lost_server(tmp_path: Path, lost: int) -> None:
    job = python_nodes_job(tmp_path, f"{WHERE}\nprint('ready', flush=True)\nif not restart: time.sleep(600)")
    process = job.start(*with_spare(job))
    assert wait_until(lambda: job.all_say("ready"))
    job.lose(IDS[lost])
    done = finish(process)
    assert done.returncode == 0, done.stderr
    assert f"spare {SPARE} takes the place of server {IDS[lost]}; left: none\n" in done.stderr
    now = [SPARE if number == lost else name for number, name in enumerate(IDS)]
    assert [job.log(rank, restart=1).splitlines()[0] for rank in range(4)] == [
        f"1 {rank} {now[rank // 2]} {now[0]}" for rank in range(4)
    ]
    tables = [json.loads(path.read_text()) for path in job.logs.glob(f"{TABLE[:-5]}-*.json")]
    assert [[server["server_id"] for server in table["server_list"]] for table in tables] == [now]


def test_without_a_spare_that_is_left_the_job_gives_up(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, SLEEP)
    for address in ("10.9.8.2", SPARE):
        job.lose(address)
    done = run(job, *with_spare(job))
    assert done.returncode == 2
    assert done.stderr.endswith("giving up: no spare takes the place of server 10.9.8.3: none is left\n")


VERDICT = ("--max-restarts", "2", "--restart-policy", "verdict")
BROKEN = """
if rank == 3 and not restart:
    time.sleep(0.3)
    print('[ERROR] RUNTIME(7,python):2026-11-20-21:37:51.123.456 [a.cc:1]HBM multi-bit ECC error, device 1')
    sys.exit(1)
if not restart: time.sleep(600)
"""


@pytest.mark.parametrize("has_spare", [True, False])
def test_by_verdict_a_spare_takes_the_place_of_a_broken_card(tmp_path: Path, *, has_spare: bool) -> None:
    job = python_nodes_job(tmp_path, f"{WHERE}\n{BROKEN}")
    done = run(job, *VERDICT, *(with_spare(job) if has_spare else ()), environ={"HCCL_KIT_DIAGNOSE": "60"})
    assert done.returncode == 0, done.stderr
    assert "rank 3: the memory of the card has errors that cannot be corrected (HBM ECC)" in done.stderr
    assert (f"spare {SPARE} takes the place of server {IDS[1]}; left: none\n" in done.stderr) == has_spare
    assert job.log(3, restart=1) == f"1 3 {SPARE if has_spare else IDS[1]} {IDS[0]}\n"
    assert not list(job.logs.glob("restart_2"))


def test_by_verdict_an_error_of_the_program_ends_the_job_on_all_servers(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, "if rank == 3: raise ValueError('the reason')\ntime.sleep(600)")
    done = run(job, *VERDICT, *with_spare(job), environ={"HCCL_KIT_DIAGNOSE": "60"})
    assert done.returncode == 1
    assert "not restarted: rank 3: ValueError: the reason (at program.py:4)\n" in done.stderr
    assert not list(job.logs.glob("restart_*"))


def test_a_job_may_start_with_a_spare(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, WHERE)
    done = run(job, *with_spare(job), "--replace", f"10.9.8.1={SPARE}")
    assert done.returncode == 0, done.stderr
    assert job.log(0) == f"0 0 {SPARE} {SPARE}\n"


def test_variables_reach_the_ranks_and_no_command_line(tmp_path: Path) -> None:
    given = {"PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True", "HF_HOME": "/data/it's", "LC_ALL": "C.UTF-8"}
    asked = {"OWN": "a\nb 'c' \\x41 %s $HOME \u00e9", "EMPTY": "", "HF_TOKEN": "hf_secret"}
    left = {**dict.fromkeys(MISLEADING, "7"), "WANDB_API_KEY": "secret", "MINE": "1", "HCCL_IF_IP": "10.9.9.9"}
    job = python_nodes_job(tmp_path, TELL)
    done = run(job, "--export", ",".join(asked), "--env", "3:ONLY=3", environ={**given, **asked, **left})
    assert done.returncode == 0, done.stderr
    (note,) = (line for line in done.stderr.splitlines() if "not passed on to the other servers: " in line)
    assert {"MINE", "WANDB_API_KEY"} <= {*note.partition(": not passed on to the other servers: ")[2].split()} | {
        name.strip(",") for name in note.split()
    }
    for rank in range(4):
        environ = json.loads(job.log(rank))
        assert {name: environ.get(name) for name in (given | asked)} == given | asked
        assert not environ.keys() & left.keys()
        assert environ.get("ONLY") == ("3" if rank == 3 else None)
    assert "secret" not in (tmp_path / "bin" / "commands").read_text()


def test_what_export_cannot_pass_on_is_an_error(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, "")
    for option, message in {
        "HF_TOKEN=hf_secret": "--export HF_TOKEN=hf_secret; accepted: names of variables",
        "NOT_SET": "--export NOT_SET: it is not set here",
        "RANK": "--export RANK: a launcher sets or removes it on each server",
    }.items():
        done = run(job, "--export", option, environ={"RANK": "1"})
        assert (done.returncode, f"error: {message}" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "bin" / "commands").exists()


def test_an_address_that_ssh_could_take_for_an_option_is_refused(tmp_path: Path) -> None:
    table = table_of(IDS)
    first, second = table.servers
    for address in ("-oProxyCommand=touch hacked", "a=b", "rack 1", "$(touch hacked)"):
        job = python_nodes_job(tmp_path, "")
        changed = table._replace(servers=(first, second._replace(extra={"host_ip": address})))
        (tmp_path / TABLE).write_text(formats.write(changed), encoding="utf-8")
        done = run(job)
        assert done.returncode == 2
        assert 'add "host_ip", an address of that host' in done.stderr or "host_ip" in done.stderr
        assert not (tmp_path / "bin" / "commands").exists()
    assert not (tmp_path / "hacked").exists()


def test_a_folder_that_another_server_lacks_is_named(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, "")
    done = run(job, environ={"PWD": "/no/such/folder"})
    assert done.returncode == 2
    assert "has no folder /no/such/folder" in done.stderr
    assert "fix: the programs of a job are at the same path on every server\n" in done.stderr


def test_a_server_with_an_old_python_is_refused_by_name(tmp_path: Path) -> None:
    old = tmp_path / "old_python"
    old.write_text('#!/bin/sh\necho "error: $0 of n2 is Python 3.6; accepted: 3.8 and later" >&2; exit 1\n')
    old.chmod(0o755)
    done = run(python_nodes_job(tmp_path, ""), "--python", f"{IDS[1]}={old}")
    assert done.returncode == 2
    assert f"{SHOWN}error: {old} of n2 is Python 3.6; accepted: 3.8 and later\n" in done.stderr


def test_what_a_login_prints_is_left_out(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, "print('rank', rank)")
    loud = tmp_path / "loud"
    loud.write_text(f"#!/bin/sh\necho 'Welcome {{'; echo '[]'; exec {job.environ()['HCCL_KIT_SSH']} \"$@\"\n")
    loud.chmod(0o755)
    done = run(job, environ={"HCCL_KIT_SSH": str(loud)})
    assert done.returncode == 0, done.stderr
    assert "Welcome" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("yes", "it sent "),
        ("head -c 100000000 /dev/zero", "it sent a line of more than 1048576 bytes"),
        ('echo \'{"is": "Ready"}\'; echo \'{"is": "Exited", "rank": -1, "code": 0}\'; sleep 60', "it sent a number"),
        ("echo '{\"is\": \"Ready\"}'; echo '[[[[[['; sleep 60", "it sent "),
        (
            "printf 'no \\033]0;way\\007\\n' >&2; exit 255",
            "no \N{REPLACEMENT CHARACTER}]0;way\N{REPLACEMENT CHARACTER}\n",
        ),
        ("kill -9 $$", "killed by SIGKILL\n"),
    ],
    ids=["endless", "long", "rank", "json", "escapes", "killed"],
)
def test_an_agent_that_is_not_ours_ends_the_job_and_its_words_reach_no_terminal(
    tmp_path: Path, program: str, why: str
) -> None:
    job = python_nodes_job(tmp_path, "")
    hostile = tmp_path / "hostile"
    hostile.write_text(f"#!/bin/sh\n{program}\n")
    hostile.chmod(0o755)
    done = run(job, environ={"HCCL_KIT_SSH": str(hostile)})
    assert done.returncode == 2
    assert f"does not answer or was lost: {why}" in done.stderr, done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_a_starter_without_a_terminal_that_reads_ends_the_job_in_time(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, "if rank == 0: print('x' * 500_000, flush=True)\ntime.sleep(3)")
    process = job.start()
    assert wait_until(lambda: len([*job.logs.glob("rank_*.log")]) == 4)
    out, _ = process.communicate(timeout=120)
    assert (process.returncode, out.count("x")) == (0, 500_000)


def test_output_of_a_rank_is_not_taken_for_a_report(tmp_path: Path) -> None:
    line = json.dumps({"is": "Exited", "rank": 0, "code": 9})
    job = python_nodes_job(tmp_path, f"print({line!r}); print('no line break', end='')")
    done = run(job)
    assert done.returncode == 0
    assert f"{line}\nno line break" in done.stdout


def test_a_dry_run_shows_what_each_rank_gets_and_connects_to_nobody(tmp_path: Path) -> None:
    job = make_nodes_job(tmp_path, ("python", "train.py"))
    done = run(job, "--dry-run")
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("# server")] == [
        f"# server {name}" for name in IDS
    ]
    assert done.stdout.count("python train.py &") == 4
    assert not (tmp_path / "bin" / "commands").exists()
    assert not (tmp_path / "hccl_logs").exists()


def by_hand(job: NodesJob, *options: str) -> "subprocess.Popen[str]":
    words = [sys.executable, "-m", "hccl_kit", "run", TABLE, *options, "--", *job.command]
    return subprocess.Popen(
        words,
        cwd=job.folder,
        env=job.environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_by_hand_each_server_starts_its_own_ranks_and_finds_the_port_alone(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, f"{TELL}\ntime.sleep(0.5)")
    done = [finish(by_hand(job, "--server", name)) for name in IDS]
    assert [one.returncode for one in done] == [0, 0], done
    logs = sorted((tmp_path / "hccl_logs").glob("*/rank_[0-9].log"), key=lambda path: path.name)
    environs = [json.loads(path.read_text()) for path in logs if not path.parent.is_symlink()]
    assert [environ["RANK"] for environ in environs] == ["0", "1", "2", "3"]
    assert len({(environ["MASTER_ADDR"], environ["MASTER_PORT"]) for environ in environs}) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "the table has 2 servers; this starts the ranks of one"),
        (("--server", "10.0.0.9"), "--server 10.0.0.9; the table has 10.9.8.1, 10.9.8.2"),
        (("--server", IDS[0], "--max-restarts", "1"), "--max-restarts with --server: the other servers would not hear"),
        (("--server", IDS[0], "--ssh"), "--ssh starts all servers; --server starts the ranks of one"),
        (("--server", IDS[0], "--spares", "10.0.0.9"), "--spares is for --ssh"),
        (("--ssh", "--replace", "a=b"), "--inventory and --replace need --spares"),
        (("--ssh", "--replace", "a"), "--replace a; accepted: SERVER=SPARE"),
    ],
)
def test_options_that_contradict_each_other_start_nothing(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    job = python_nodes_job(tmp_path, "")
    done = finish(by_hand(job, *options))
    assert done.returncode == 2
    assert f"error: {message}" in done.stderr
    assert not (tmp_path / "hccl_logs").exists()


def test_a_stopped_agent_is_lost_and_ends_its_ranks_when_it_continues(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, SLEEP)
    process = job.start()
    assert wait_until(lambda: job.all_say("ready"))
    agents = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if b"\0hccl_kit.agent\0" in path.read_bytes()
        and b"python3\0-I" in path.read_bytes()
        and f"SERVER_ADDRESS={IDS[1]}".encode() in (path.parent / "environ").read_bytes().split(b"\0")
        and (path.parent / "cwd").readlink() == tmp_path
    ]
    for agent in agents:
        os.kill(agent, signal.SIGSTOP)
    done = finish(process)
    assert done.returncode == 2
    assert f"{SHOWN}no sign of life in " in done.stderr
    for agent in agents:
        os.kill(agent, signal.SIGCONT)
    assert wait_until(lambda: job.processes() == [], 30)


def test_a_limit_of_open_files_that_is_too_low_is_named_before_anything_starts(tmp_path: Path) -> None:
    job = make_nodes_job(tmp_path, ("true",), ids=[f"10.1.0.{number}" for number in range(1, 40)])
    words = ["bash", "-c", 'ulimit -n 100; exec "$@"', "bash", *job.words()]
    done = subprocess.run(words, cwd=tmp_path, env=job.environ(), check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "error: 39 servers need 220 open files; this host allows 100\n" in done.stderr
    assert not (tmp_path / "bin" / "commands").exists()


def test_of_many_servers_the_first_say_what_they_start(tmp_path: Path) -> None:
    job = make_nodes_job(tmp_path, ("true",), ids=[f"10.1.0.{number}" for number in range(1, 11)])
    done = run(job)
    assert done.returncode == 0, done.stderr
    starts = [line.split(",")[0] for line in done.stdout.splitlines() if line.startswith("ranks ")]
    assert sorted(starts) == sorted(f"ranks {2 * n} to {2 * n + 1} on devices 0 1 of 10.1.0.{n + 1}" for n in range(8))
    assert "and 2 more servers\n" in done.stdout


def test_a_failed_job_is_diagnosed_once_and_one_that_the_user_ends_is_not(tmp_path: Path) -> None:
    job = python_nodes_job(tmp_path, "if rank == 3: time.sleep(0.3); raise ValueError('the reason')\ntime.sleep(600)")
    done = run(job, environ={"HCCL_KIT_DIAGNOSE": "60"})
    assert done.stderr.count("first fault:  rank 3 (10.9.8.2, card 1)") == 1, done.stderr
    assert done.stderr.count("ValueError: the reason") == 2
    (tmp_path / "ended").mkdir()
    ended = python_nodes_job(tmp_path / "ended", SLEEP)
    process = ended.start(environ={"HCCL_KIT_DIAGNOSE": "60"})
    assert wait_until(lambda: ended.all_say("ready"))
    process.send_signal(signal.SIGINT)
    assert "first fault" not in finish(process).stderr


def test_a_signal_while_a_spare_waits_for_the_lost_server_ends_the_job_with_its_code(tmp_path: Path) -> None:
    job = replace(python_nodes_job(tmp_path, SLEEP), program=("-c", FAST.replace("0.3", "60")))
    process = job.start(*with_spare(job))
    assert wait_until(lambda: job.all_say("ready"))
    job.lose(IDS[1])
    assert process.stderr
    while not process.stderr.readline().startswith("restarting in 60 s"):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert finish(process).returncode == 130
