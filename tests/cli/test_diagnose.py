"""hccl-kit diagnose as a user runs it."""

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from random import Random

import jsonschema
import pytest

from benchmarks.planted_programs import killed_in_training
from benchmarks.plogs import Plogs, new_job
from hccl_kit.cli import diagnose
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis
from hccl_kit.table.model import RankTable
from tests.browser import CHROMIUM, browser
from tests.diagnosis.report.diagnoses import cannot_tell, port_taken
from tests.places import ROOT
from tests.program import kit
from tests.tables import text, value
from tests.waiting import wait_until

SCHEMA = json.loads((ROOT / "schemas" / "diagnosis.schema.json").read_text())
Judged = list[tuple[list[Path], RankTable | None]]
LINE = "[INFO] HCCL(7,python3):2025-11-20-21:37:51.000.000 [op_base.cc:1] [7]Entry-HcclCommDestroy\n"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plog-7_1.log").write_text(LINE)
    (tmp_path / "job.json").write_text(text())
    return tmp_path


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Judged:
    """The arguments of the calls of the diagnosis, which is replaced by that of a port in use."""
    given: Judged = []

    def answer(logs: list[Path], table: RankTable | None, *_: object) -> tuple[Diagnosis, None]:
        given.append((logs, table))
        return port_taken(), None

    monkeypatch.setattr(diagnose, "diagnosis_of", answer)
    return given


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return kit("diagnose", *arguments, cwd=cwd)


def test_a_first_fault_is_exit_0(desk: Path, judged: Judged, capsys: pytest.CaptureFixture[str]) -> None:
    assert diagnose.main(["plog-7_1.log"]) == 0
    assert capsys.readouterr().out.startswith(
        "first fault:  rank 27 (10.0.0.4, card 3), 2025-11-20 21:37:51: could not listen"
    )
    assert judged == [([Path("plog-7_1.log")], None)]


def test_no_first_fault_is_exit_1(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(diagnose, "diagnosis_of", lambda *_: (cannot_tell(), None))
    assert diagnose.main(["plog-7_1.log"]) == 1
    assert diagnose.main(["plog-7_1.log", "--format", "json"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("first fault:  cannot tell, because logs of 10.0.0.4 are missing\n")
    told = json.loads(out[out.index("{") :])
    assert (told["certainty"], told["first_fault"]) == ("cannot_tell", None)


BUS_ERROR = "*** SIGBUS received at time=1763674671 on cpu 133 ***\n"


@pytest.mark.parametrize("others", ["", LINE])
def test_the_only_root_error_is_the_first_fault_if_the_logs_show_no_other(others: str, tmp_path: Path) -> None:
    (tmp_path / "engine.log").write_text(others + BUS_ERROR)
    done = run("engine.log", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(r"first fault:  an unknown rank: a process got a bus error .*\nfix: .*--shm-size", done.stdout)
    assert (
        "\n\nthe most telling line is in engine.log:\n"
        "A process got a bus error: usually the shared memory of the container (/dev/shm)\nis full\n"
        f"line:        {1 + bool(others)}: {BUS_ERROR}"
    ) in done.stdout


def test_the_most_telling_line_is_explained_if_the_logs_show_no_more(tmp_path: Path) -> None:
    (tmp_path / "engine.log").write_text("EE1002: Stream synchronize timeout. reason=[stream sync timeout]\n")
    done = run("engine.log", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("first fault:  cannot tell, because the errors of these logs are ")
    assert "\n\nthe most telling line is in engine.log:\n" in done.stdout


@pytest.mark.parametrize("arguments", [["--mask"], ["--format", "json"], ["--html", "page.html"]])
def test_other_forms_name_the_root_error_without_its_page(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "engine.log").write_text(BUS_ERROR)
    done = run("engine.log", *arguments, cwd=tmp_path)
    assert done.returncode == 0
    assert "a process got a bus error" in done.stdout
    assert "most telling" not in done.stdout


def test_an_explanation_has_no_control_characters(tmp_path: Path) -> None:
    name = "worker\x1b[31m.log"
    (tmp_path / name).write_text("\x1b]0;x\x07" + BUS_ERROR)
    done = run(name, cwd=tmp_path)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout


def test_the_table_is_found_among_the_logs(desk: Path, judged: Judged) -> None:
    (desk / "error_3.json").write_text('{"message": "x"}')
    assert diagnose.main(["error_3.json", "job.json", "plog-7_1.log"]) == 0
    [(logs, table)] = judged
    assert table
    assert logs == [Path("error_3.json"), Path("plog-7_1.log")]
    assert table.world_size == 8


def test_without_logs_the_last_run_of_this_folder_is_read(
    desk: Path, judged: Judged, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder = desk / "hccl_logs" / "run-2"
    run_folder.mkdir(parents=True)
    (run_folder / "rank_0.log").write_text(LINE)
    (desk / "hccl_logs" / "latest").symlink_to("run-2")
    assert diagnose.main(["job.json"]) == 0
    [(logs, table)] = judged
    assert table
    assert logs == [Path("hccl_logs", "run-2")]
    assert capsys.readouterr().err == "logs: hccl_logs/run-2, the last run here\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["job.json"], "there is no hccl_logs/latest here"),
        (["job.json", "other.json", "plog-7_1.log"], "two rank tables: job.json, other.json; a job has one"),
        (["plog-7_1.log", "--html", "plog-7_1.log"], "--html 'plog-7_1.log' does not end in .html"),
        (["plog-7_1.log", "--html", "no/such.html"], "--html: the folder no does not exist"),
        (["plog-7_1.log", "--ssh"], "--ssh needs a rank table that lists the servers"),
        (["plog-7_1.log", "--remote-folder", "x"], "--ssh-option and --remote-folder need --ssh"),
        (["job.json", "--ssh", "--timeout", "0"], "--timeout must be greater than 0 seconds, got 0"),
        (["none.log"], "cannot read none.log: No such file or directory"),
    ],
)
def test_an_error_is_exit_2(arguments: list[str], told: str, desk: Path) -> None:
    (desk / "other.json").write_text(text())
    done = run(*arguments, cwd=desk)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert told in done.stderr


def test_the_html_page_is_written_in_addition_to_the_text(
    desk: Path, judged: Judged, capsys: pytest.CaptureFixture[str]
) -> None:
    assert diagnose.main(["plog-7_1.log", "--html", "r.html", "--format", "json"]) == 0
    printed = capsys.readouterr()
    jsonschema.validate(json.loads(printed.out), SCHEMA)
    assert printed.err == "wrote: r.html\n"
    assert 'id="timeline"' in (desk / "r.html").read_text()


def test_an_html_page_of_another_program_is_not_overwritten(
    desk: Path, judged: Judged, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "r.html").write_text("mine")
    assert diagnose.main(["plog-7_1.log", "--html", "r.html"]) == 2
    assert (desk / "r.html").read_text() == "mine"
    assert "--force overwrites it" in capsys.readouterr().err
    assert diagnose.main(["plog-7_1.log", "--html", "r.html", "--force"]) == 0
    assert "rank 27" in (desk / "r.html").read_text()


def test_a_mask_hides_names_in_every_form(desk: Path, judged: Judged, capsys: pytest.CaptureFixture[str]) -> None:
    assert diagnose.main(["plog-7_1.log", "--mask", "--html", "r.html"]) == 0
    assert diagnose.main(["plog-7_1.log", "--mask", "--format", "json"]) == 0
    every = capsys.readouterr().out + (desk / "r.html").read_text()
    assert "rank 27" in every
    assert "10.0.0" not in every


def test_the_collected_archive_is_private_and_overwrites_nothing_unasked(
    desk: Path, judged: Judged, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(diagnose, "parts_of", lambda _: [{}])  # starts MindSpore and mpirun, as `hccl-kit report` does
    assert diagnose.main(["plog-7_1.log", "--collect", "a.tar.gz"]) == 0
    assert (desk / "a.tar.gz").stat().st_mode & 0o777 == 0o600
    assert "wrote: a.tar.gz" in capsys.readouterr().err
    assert diagnose.main(["plog-7_1.log", "--collect", "a.tar.gz"]) == 2
    assert "a.tar.gz already exists" in capsys.readouterr().err
    assert diagnose.main(["plog-7_1.log", "--collect", "a.tar.gz", "--force"]) == 0


def test_colors_are_only_used_on_terminals(
    desk: Path, judged: Judged, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert diagnose.main(["plog-7_1.log"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("\x1b[31mfirst fault:")
    assert lines[2].startswith("\x1b[1mcascade:\x1b[0m ")


@pytest.mark.parametrize("kind", ["binary", "nul", "empty", "words", "fifo", "loop", "dangling", "folder", "device"])
def test_an_input_that_is_not_a_log_is_one_error_line(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    if kind == "binary":
        path.write_bytes(bytes(range(256)) * 4000)
    elif kind == "nul":
        path.write_bytes(b"\0" * 1_000_000)
    elif kind == "empty":
        path.touch()
    elif kind == "words":
        path.write_text("nothing of HCCL\n" * 1000)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to("x.log")
    elif kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "folder":
        path.mkdir()
        (path / "self").symlink_to(".")
        (path / "self.log").symlink_to("self.log")
    name = "/dev/zero" if kind == "device" else "x.log"
    done = run(name, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    errors = done.stderr.splitlines()
    assert errors[0].startswith("error: ")
    assert all(line.startswith("  fix: ") for line in errors[1:])
    assert len(errors) <= 2
    assert done.stderr.replace("\n", "").isprintable()


STRANGE = {
    "100 MB": "x" * 100_000_000,
    "brackets": "[" * 3_000_000 + "]" * 3_000_000,
    "numbers": "1." * 3_000_000,
    "escapes": "\x1b[2J\0" * 9,
}


@pytest.mark.parametrize("kind", STRANGE)
def test_an_unusual_line_does_not_break_the_diagnosis(kind: str, tmp_path: Path) -> None:
    line = STRANGE[kind]
    head = "[ERROR] HCCL(7,python3):2025-11-20-21:37:51.000.000 [op_base.cc:1] [7]"
    known = LINE.replace("CommDestroy", "AllReduce: tag[1], count[8], data_type[float32]")
    (tmp_path / "plog-7_1.log").write_text(f"{known}{head}{line}\n{line}\n{known}")
    done = run("plog-7_1.log", cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.startswith("first fault:  ")
    assert done.stdout.replace("\n", "").isprintable()
    assert len(done.stdout) < 10_000


def test_diagnoses_a_job_of_two_servers_and_writes_the_page(tmp_path: Path) -> None:
    logs = Plogs(new_job(Random(7), 16), Random(7))
    planted = killed_in_training(logs, Random(7))
    logs.write(tmp_path / "logs")
    done = run("logs", "--html", "report.html", cwd=tmp_path)
    [culprit] = planted.culprits
    rank = logs.job.ranks[culprit]
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"first fault:  rank {culprit} ({rank.host}, card {rank.card}), ")
    assert done.stderr == "wrote: report.html\n"
    told = json.loads(run("logs", "--format", "json", cwd=tmp_path).stdout)
    jsonschema.validate(told, SCHEMA)
    assert (told["first_fault"]["rank"], told["first_fault"]["server"]) == (culprit, rank.host)
    assert len(told["cascade"]) == 15
    with tarfile.open(tmp_path / "logs.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "logs", "logs")
    packed = run("logs.tar.gz", cwd=tmp_path).stdout
    assert packed.split("\n")[:2] == done.stdout.split("\n")[:2]
    if CHROMIUM:
        with browser() as page:
            page.open(tmp_path / "report.html")
            assert page.count("#timeline .row") == 16
            assert page.value("document.querySelector('#timeline .culprit').textContent").startswith(f"rank {culprit} ")
            assert page.complaints == []


SSH = """#!/bin/bash
while [ "$1" != -- ]; do shift; done
HOME=$PWD/servers/$2 exec bash -c "$3"
"""


def test_logs_of_the_servers_of_the_table_are_read_over_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Plogs(new_job(Random(8), 16), Random(8))
    [culprit] = killed_in_training(logs, Random(8)).culprits
    (tmp_path / "job.json").write_text(json.dumps(value(2, 8)).replace('"10.0.0.', '"10.20.0.'))
    logs.write(tmp_path / "servers")
    for server in (0, 1):
        folder = tmp_path / "servers" / logs.job.ranks[server * 8].folder
        home = tmp_path / "servers" / f"10.20.0.{server + 1}" / "ascend"
        folder.rename(tmp_path / "moved")
        home.mkdir(parents=True)
        (tmp_path / "moved").rename(home / "log")
    (tmp_path / "ssh").write_text(SSH)
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("HCCL_KIT_SSH", str(tmp_path / "ssh"))
    monkeypatch.delenv("ASCEND_PROCESS_LOG_PATH", raising=False)
    done = run("job.json", "--ssh", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"first fault:  rank {culprit} (10.20.0.{culprit // 8 + 1}, card {culprit % 8}), ")
    silent = run("job.json", "--ssh", "--remote-folder", "/nowhere", cwd=tmp_path)
    assert silent.returncode == 2
    assert "the logs of 10.20.0.1 cannot be read" in silent.stderr


def test_ctrl_c_ends_the_connections_to_silent_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.json").write_text(json.dumps(value(2, 8)))
    (tmp_path / "ssh").write_text(f"#!/bin/sh\necho $$ >>{tmp_path}/pids\nexec sleep 600\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("HCCL_KIT_SSH", str(tmp_path / "ssh"))
    command = [sys.executable, "-m", "hccl_kit", "diagnose", "job.json", "--ssh"]
    pids = tmp_path / "pids"
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert wait_until(lambda: pids.exists() and len(pids.read_text().splitlines()) == 2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert [pid for pid in pids.read_text().split() if Path(f"/proc/{pid}").exists()] == []
