"""`hccl-kit run` as a user starts it: the ranks of this server, from a table or from a range of cards."""

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.launch.jobs import clean_environ, finish
from tests.places import ROOT
from tests.waiting import wait_until

TELL = "import json, os; open(f'told_{os.environ[\"RANK\"]}', 'w').write(json.dumps(dict(os.environ)))"
CARDS = ("--devices", "[4,8)", "--simulate")


def start(folder: Path, *words: str, environ: dict[str, str] | None = None, **options: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "hccl_kit", "run", *words],
        cwd=folder,
        env={**clean_environ(environ), "PYTHONPATH": str(ROOT)},
        text=True,
        start_new_session=True,
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


def run(folder: Path, *words: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return finish(start(folder, *words, environ=environ))


def python(program: str) -> tuple[str, ...]:
    return ("--", sys.executable, "-u", "-c", program)


def told(folder: Path) -> list[dict[str, str]]:
    return [json.loads((folder / f"told_{rank}").read_text()) for rank in range(len(list(folder.glob("told_*"))))]


def generated(folder: Path, *words: str) -> Path:
    """A table of hccl-gen."""
    done = subprocess.run(
        [sys.executable, "-m", "hccl_kit", "gen", "--simulate", *words],
        cwd=folder,
        env={**clean_environ(), "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout
    (table,) = folder.glob("hccl_*.json")
    return table


def test_the_cards_of_a_range_run_a_command(tmp_path: Path) -> None:
    done = run(tmp_path, *CARDS, *python(f"{TELL}; print('hello')"))
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert re.fullmatch(
        r"ranks 0 to 3 on devices 4 5 6 7 of \S+, port [0-9]+, OMP_NUM_THREADS=[0-9]+, logs in (\S+)", first
    )
    assert rest == ["hello"]
    environs = told(tmp_path)
    assert [environ["DEVICE_ID"] for environ in environs] == ["4", "5", "6", "7"]
    (run_folder,) = (path for path in (tmp_path / "hccl_logs").iterdir() if not path.is_symlink())
    assert (tmp_path / "hccl_logs/latest").resolve() == run_folder
    table = run_folder / "hccl_4p_4567_127.0.0.1.json"
    assert {environ["RANK_TABLE_FILE"] for environ in environs} == {str(table)}
    assert json.loads(table.read_text())["server_count"] == "1"
    assert sorted(path.name for path in run_folder.glob("rank_*.log")) == [f"rank_{rank}.log" for rank in range(4)]


def test_a_table_of_hccl_gen_is_used_where_it_is(tmp_path: Path) -> None:
    table = generated(tmp_path, "--device_num", "2,3", "--", "true")
    (tmp_path / "elsewhere").mkdir()
    done = run(tmp_path / "elsewhere", str(table), "--log_dir", "a/b", *python(TELL))
    assert done.returncode == 0, done.stderr
    environs = told(tmp_path / "elsewhere")
    assert [environ["RANK_TABLE_FILE"] for environ in environs] == [str(table)] * 2
    assert {environ["HCCL_KIT_LOG_DIR"] for environ in environs} == {str((tmp_path / "elsewhere/a/b/latest").resolve())}


def test_programs_of_torch_see_the_cards_of_the_job(tmp_path: Path) -> None:
    done = run(tmp_path, *CARDS, "--framework", "pytorch", *python(TELL))
    assert (done.returncode, done.stderr) == (0, "")
    assert [(env["ASCEND_RT_VISIBLE_DEVICES"], env["DEVICE_ID"]) for env in told(tmp_path)] == [
        ("4,5,6,7", str(rank)) for rank in range(4)
    ]
    refused = run(
        tmp_path, *CARDS, "--framework", "pytorch", *python(TELL), environ={"ASCEND_RT_VISIBLE_DEVICES": "0,1"}
    )
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "ASCEND_RT_VISIBLE_DEVICES=0,1; the cards of this job are 4,5,6,7" in refused.stderr


def test_a_program_that_imports_torch_sees_the_cards_of_the_job_only(tmp_path: Path) -> None:
    """A program of torch took cards 0 to 3 of another job where the table has 4 to 7, without a word."""
    (tmp_path / "train.py").write_text(f"{TELL}\nif False:\n    import torch\n")
    done = run(tmp_path, *CARDS, "--", sys.executable, "train.py")
    assert (done.returncode, done.stderr) == (
        0,
        "framework: pytorch, since train.py imports torch; --framework names another\n",
    )
    assert [environ["ASCEND_RT_VISIBLE_DEVICES"] for environ in told(tmp_path)] == ["4,5,6,7"] * 4
    named = run(tmp_path, *CARDS, "--framework", "mindspore", "--", sys.executable, "train.py")
    assert named.stderr == ""


def test_without_a_framework_a_note_says_which_cards_torch_would_take(tmp_path: Path) -> None:
    done = run(tmp_path, *CARDS, *python(TELL), environ={"ASCEND_RT_VISIBLE_DEVICES": "4,5,6,7"})
    assert done.returncode == 0
    removed, cards = done.stderr.splitlines()
    assert removed.startswith("note: ASCEND_RT_VISIBLE_DEVICES=4,5,6,7 is removed, because ")
    assert cards.startswith("note: programs of torch would take cards 0, 1, 2, 3 of server ")


def test_variables_are_set_for_every_rank_or_one(tmp_path: Path) -> None:
    given = ("--env", "HCCL_ALGO=ring", "--env", "2:X=a b=c\nd")
    assert run(tmp_path, *CARDS, *given, *python(TELL)).returncode == 0
    assert [environ["HCCL_ALGO"] for environ in told(tmp_path)] == ["ring"] * 4
    assert [environ.get("X") for environ in told(tmp_path)] == [None, None, "a b=c\nd", None]


def test_the_port_of_rank_0_is_that_of_the_user(tmp_path: Path) -> None:
    with socket.create_server(("", 0)) as probe:
        port = str(probe.getsockname()[1])
        taken = run(tmp_path, *CARDS, "--master-port", port, *python(TELL))
    assert (taken.returncode, taken.stdout, told(tmp_path)) == (2, "", [])
    assert f"error: port {port} cannot be bound on this host" in taken.stderr
    for words, environ in ((("--master-port", port), {}), ((), {"MASTER_PORT": port})):
        assert run(tmp_path, *CARDS, *words, *python(TELL), environ=environ).returncode == 0
        assert {each["MASTER_PORT"] for each in told(tmp_path)} == {port}


def test_two_jobs_of_one_host_have_ports_of_their_own(tmp_path: Path) -> None:
    ports = []
    for job in ("0", "1"):
        assert run(tmp_path, *CARDS, "--job", job, *python(TELL)).returncode == 0
        ports.append({(each["MASTER_PORT"], each["HCCL_IF_BASE_PORT"]) for each in told(tmp_path)})
    assert len(ports[0] | ports[1]) == 2


def test_the_rank_that_failed_first_is_named_with_its_code_and_a_diagnosis(tmp_path: Path) -> None:
    program = "import os, sys, time\nif os.environ['RANK'] == '2': raise ValueError('a reason')\ntime.sleep(600)"
    done = run(tmp_path, *CARDS, *python(program), environ={"HCCL_KIT_DIAGNOSE": "60"})
    assert done.returncode == 1
    assert "error: rank 2 on device 6 of " in done.stderr
    _, diagnosis = done.stderr.split("ValueError: a reason\n", 1)
    assert "rank 2" in diagnosis
    assert "diagnos" not in run(tmp_path, *CARDS, *python(program)).stderr  # 0 switches it off, as in these tests


def test_a_failed_job_is_restarted(tmp_path: Path) -> None:
    program = "import os, sys; sys.exit(os.environ.get('HCCL_KIT_RESTART') != '1')"
    done = run(tmp_path, *CARDS, "--max-restarts=2", *python(program))
    assert done.returncode == 0
    assert "restart 1 of 2 in 1 s\n" in done.stderr


VERDICT = ("--max-restarts", "1", "--restart-policy", "verdict")
FAILS = "import os, sys, time\nif os.environ['RANK'] == '2': {error}\ntime.sleep(600)"


@pytest.mark.parametrize(
    ("error", "starts"),
    [
        ("raise ValueError('a reason')", 1),
        ("raise OSError('a reason')", 2),
        ("sys.exit(3)", 2),
        ("os.kill(os.getpid(), 9)", 2),
    ],
)
def test_by_verdict_only_an_error_of_the_program_is_not_tried_again(tmp_path: Path, error: str, starts: int) -> None:
    """Another exception may be that of a disk, a network or a card."""
    program = FAILS.format(error=error)
    done = run(tmp_path, *CARDS, *VERDICT, *python(program), environ={"HCCL_KIT_DIAGNOSE": "60"})
    assert done.stdout.count("ranks 0 to 3 on devices") == starts, done.stderr
    assert done.stderr.count("not restarted: rank 2: ValueError: a reason\n") == (starts == 1)
    assert done.returncode == {"raise": 1, "sys.e": 3, "os.ki": 137}[error[:5]]


def test_a_verdict_needs_a_restart_and_a_diagnosis_and_no_cluster_that_starts_pods(tmp_path: Path) -> None:
    on = {"HCCL_KIT_DIAGNOSE": "60"}
    for words, environ, error in (
        (VERDICT[2:], on, "--restart-policy verdict needs --max-restarts N"),
        (VERDICT, {}, "needs the diagnosis, which HCCL_KIT_DIAGNOSE=0 switches off\n  fix: unset HCCL_KIT_DIAGNOSE"),
        (VERDICT, {**on, "KUBERNETES_SERVICE_HOST": "10.96.0.1"}, "is not for pods: the cluster starts them again"),
    ):
        done = run(tmp_path, *CARDS, *words, *python(TELL), environ=environ)
        assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
        assert error in done.stderr


def test_ctrl_c_ends_the_job(tmp_path: Path) -> None:
    process = start(tmp_path, *CARDS, *python("import time; print('ready'); time.sleep(600)"))
    assert wait_until(lambda: any("ready" in log.read_text() for log in tmp_path.glob("hccl_logs/*/rank_3.log")))
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.returncode == 130
    assert done.stderr.endswith(f"ended by SIGINT; logs in {(tmp_path / 'hccl_logs/latest').resolve()}\n")


def test_a_dry_run_prints_lines_that_a_shell_can_run(tmp_path: Path) -> None:
    shown = run(tmp_path, *CARDS, "--dry-run", "--env", "1:X=a b", "--master-port", "23456", *python(TELL))
    assert (shown.returncode, list(tmp_path.iterdir())) == (0, [])
    environ = {**clean_environ(), "RANK_ID": "99"}
    subprocess.run(["bash", "-euc", f"{shown.stdout}\nwait"], cwd=tmp_path, env=environ, check=True)
    by_shell = told(tmp_path)
    assert [each["RANK_ID"] for each in by_shell] == ["0", "1", "2", "3"]
    assert run(tmp_path, *CARDS, "--env", "1:X=a b", "--master-port", "23456", *python(TELL)).returncode == 0
    folder = str((tmp_path / "hccl_logs/latest").resolve())
    for of_shell, of_run in zip(by_shell, told(tmp_path), strict=True):
        chosen = {"_", "SHLVL", "PWD", "OLDPWD", "PYTHONPATH"}
        moved = {n: v.replace(folder, "RUN").replace(Path(folder).name, "RUN") for n, v in of_run.items()}
        assert {n: v for n, v in of_shell.items() if n not in chosen} == {
            n: v for n, v in moved.items() if n not in chosen
        }


def test_preflight_stops_a_job_that_would_fail(tmp_path: Path) -> None:
    table = generated(tmp_path, "--device_num", "[0,2)", "--", "true")
    done = run(tmp_path, str(table), "--preflight", *python(TELL))
    assert (done.returncode, told(tmp_path), (tmp_path / "hccl_logs").exists()) == (2, [], False)
    assert "error: this server did not pass its checks, so nothing was started\n" in done.stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "error: give a rank table, or --devices\n"),
        (("x.json", "--devices", "[0,2)"), "error: x.json is taken for a rank table, and --devices makes one too"),
        (("--devices", "[0,2)", "python", "x.py"), "a command follows --, as in: hccl-kit run ... -- COMMAND"),
        (("x.json",), "error: cannot read x.json: No such file or directory"),
        (("x.json", "--simulate"), "error: --product and --simulate are for --devices, not for a table"),
        (("--devices", "[2,6)", "--simulate"), 'fix: --devices "[0,4)"'),
        ((*CARDS, "--env", "3X"), "error: --env 3X; accepted: NAME=VALUE, or RANK:NAME=VALUE"),
        ((*CARDS, "--env", "4:X=1"), "error: X is for rank 4; this job has ranks 0 to 3"),
        ((*CARDS, "--env", "RANK_ID=1"), "error: RANK_ID is set by the launcher, for each rank"),
        (("--devices", "[0,2)"), "hccl-gen --hccn-conf FILE    reads a copy of the driver's file"),
        ((*CARDS, "--max-restarts", "x"), "error: --max-restarts must be a whole number from 0 on, got 'x'"),
        ((*CARDS, "--max-restarts", "-1"), "error: --max-restarts must be a whole number from 0 on, got '-1'"),
        ((*CARDS, "--log-dir", "/dev/null/logs"), "fix: --log-dir DIR names another place"),
        ((*CARDS, "--master-port", "70000"), "error: port 70000; accepted: 1 to 65535"),
        (
            (*CARDS, "--max-restart", "1"),
            "error: unrecognized arguments: --max-restart; did you mean --max-restarts?",
        ),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_started(tmp_path: Path, words: tuple[str, ...], error: str) -> None:
    done = run(tmp_path, *words, *python(TELL))
    assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (2, "", [])
    assert error in done.stderr


def test_without_a_command_nothing_is_started(tmp_path: Path) -> None:
    done = run(tmp_path, *CARDS)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "error: no command follows --, and the current folder has no tools/train.py\n" in done.stderr


@pytest.mark.parametrize("command", [("python", "trian.py"), ("./trian.py",), ("python", "-m", "trian")])
def test_a_command_that_is_not_there_is_named_by_the_diagnosis(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = run(tmp_path, *CARDS, "--", *command, environ={"HCCL_KIT_DIAGNOSE": "60"})
    assert done.returncode
    diagnosis = done.stderr.partition("\nfirst fault: ")[2]
    assert "trian" in diagnosis.splitlines()[0]
    assert "fix:          correct the command; every server and every container needs the program" in diagnosis


def test_a_launcher_as_command_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, *CARDS, "--", "torchrun", "--nproc_per_node", "4", "train.py")
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "torchrun" in done.stderr


def test_a_table_of_several_servers_needs_a_way_to_start_them(tmp_path: Path) -> None:
    table = generated(tmp_path, "--device_num", "[0,8)", "--hosts", "10.0.0.[1-2]", "--", "true")
    done = run(tmp_path, str(table), *python(TELL))
    assert done.returncode == 2
    assert "error: the table has 2 servers; this starts the ranks of one\n" in done.stderr
    assert f"or on each server: hccl-kit run {table} --server ID" in done.stderr


def test_a_folder_for_logs_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    done = run(tmp_path, *CARDS, "--log-dir", str(tmp_path / "open" / "logs"), *python(TELL))
    assert (done.returncode, told(tmp_path)) == (2, [])
    assert f"error: every user may write to the folder {tmp_path}/open" in done.stderr
    assert "  fix: chmod o-w " in done.stderr
