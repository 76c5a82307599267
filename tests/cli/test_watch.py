"""hccl-kit watch as a user runs it: on a real job with a slow rank, at a terminal, in a pipe, and with bad input."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hccl_kit.base.extra import install_extra
from hccl_kit.base.schemas import load
from tests.launch.jobs import clean_environ, finish, python_job
from tests.places import ROOT
from tests.program import kit
from tests.waiting import PATIENCE, wait_until
from tests.watch.made import HOSTILE, facts, run

KIT = [sys.executable, "-m", "hccl_kit.cli.kit", "watch"]
ENVIRON = {**clean_environ(), "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
PROGRAM = """
from hccl_kit import Heartbeat, collective, recorded, waiting
heartbeat = Heartbeat.from_environ(os.environ)
own = 0.4 if rank == 2 else 0.1
with recorded():
    for step in range(1, int(os.environ["STEPS"]) + 1):
        with waiting("data"):
            time.sleep(0.01)
        time.sleep(own)
        with collective("all_reduce", 4096):
            time.sleep(0.5 - own)
        heartbeat.beat(step, loss=10 / step)
        print("step", step, "done", flush=True)
"""


def watch(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return kit("watch", *arguments, cwd=folder, environ=ENVIRON)


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*KIT, *arguments], cwd=folder, env=ENVIRON, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_real_job_with_a_slow_rank_is_watched_to_its_end(tmp_path: Path) -> None:
    job = python_job(tmp_path, PROGRAM, ranks=3)
    process = job.start(environ={"STEPS": "24", "PYTHONPATH": str(ROOT)})
    assert wait_until(lambda: list((tmp_path / "hccl_logs").glob("latest/facts_2.jsonl")))
    followed = watch(tmp_path, "--interval", "0.5")
    assert finish(process).returncode == 0
    lines = followed.stdout.splitlines()
    assert re.fullmatch("[0-9:]{8} hccl_logs/[0-9A-Za-z-]+: (starting|running), 3 ranks.*", lines[0])
    named = [line for line in lines if " problem: rank 2 (" in line and "slows down the others since step" in line]
    assert "by its compute" in named[-1]
    assert (followed.returncode, followed.stderr) == (1, "")
    once = watch(tmp_path, "--format", "json")
    seen = json.loads(once.stdout)
    Draft202012Validator(load("watch")).validate(seen)
    assert (once.returncode, seen["state"], seen["straggler"]["rank"]) == (1, "done", 2)
    assert [rank["step"] for rank in seen["ranks"]] == [24, 24, 24]
    assert seen["ranks"][2]["last_line"] == "step 24 done"
    slow, other = (seen["ranks"][number]["windows"][0] for number in (2, 0))
    assert slow[4] > other[4], "it computes longer"
    assert slow[5] < other[5], "and waits less for the others"


def test_a_healthy_job_is_exit_0(tmp_path: Path) -> None:
    done = watch(tmp_path, str(run(tmp_path / "run", ended="done")))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("done, 4 ranks, step 40, 4.55 steps/s, loss 1.5") == 2, "a line, and the table at the end"
    assert "slowest: rank 0 (n0, card 0), in compute: 0.11 s a step" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is no hccl_logs/latest here"),
        (["nowhere"], "nowhere is not a folder"),
        (["empty"], "empty has no files of a run"),
        (["a\nb"], "is not a folder"),
        (["run", "empty"], "2 arguments; accepted: RUN"),
        (["run", "--interval", "0"], "--interval must be 0.2 to 86400 seconds, got '0'"),
        (["run", "--interval", "nan"], "--interval must be"),
        (["run", "--html", "page.txt"], "does not end in .html"),
        (["run", "--html", "no/such/page.html"], "--html: the folder no/such does not exist"),
        (["run", "--html", "there.html"], "--html: there.html already exists"),
        (["run", "--ssh"], "--ssh needs a rank table"),
        (["run", "t.json"], "t.json needs --ssh"),
        (["run", "--python", "x"], "need --ssh"),
        (["t.json", "--ssh"], "t.json"),
        (["run", "--format", "xml"], "xml"),
    ],
)
def test_an_input_error_is_one_line_and_a_fix(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "empty").mkdir()
    run(tmp_path / "run")
    (tmp_path / "there.html").write_text("mine")
    done = watch(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr.replace("/tmp", "")
    assert "Traceback" not in done.stderr
    assert (tmp_path / "there.html").read_text() == "mine"


def test_the_last_page_is_that_of_the_ended_job(tmp_path: Path) -> None:
    done = watch(tmp_path, str(run(tmp_path / "run", ended="done")), "--html", "a.html", "--force")
    assert done.returncode == 0
    page = (tmp_path / "a.html").read_text()
    assert "done, 4 ranks" in page
    assert "refresh" not in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "run"]


def test_the_page_reloads_until_ctrl_c(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    folder = run(tmp_path / "run")
    process = start(tmp_path, "run", "--html", "a.html", "--interval", "0.3")
    assert wait_until(page.exists)
    assert 'http-equiv="refresh" content="1"' in page.read_text()
    assert ", updated every 0.3 s while hccl-kit watch runs<" in page.read_text()
    facts(folder, 1, step=4711)
    assert wait_until(lambda: "<td>4711</td>" in page.read_text())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "refresh" not in page.read_text(), "a page that nobody writes again does not reload"
    assert ", no longer updated<" in page.read_text()


def test_a_run_that_is_deleted_while_watched_is_a_note(tmp_path: Path) -> None:
    folder = run(tmp_path / "run")
    process = start(tmp_path, "run", "--interval", "0.3")
    assert process.stdout
    process.stdout.readline()
    for path in folder.iterdir():
        path.unlink()
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    outer, inner = pty.openpty()
    yield outer, inner
    os.close(outer)


def on_terminal(folder: Path, terminal: tuple[int, int], *, seconds: float, code: str | None = None) -> tuple[int, str]:
    """What a watch writes to a terminal until Ctrl-C after `seconds`, or its end."""
    outer, inner = terminal
    command = [*KIT, "run", "--interval", "0.3"] if code is None else [sys.executable, "-c", code]
    environ = {**ENVIRON, "TERM": "xterm", "COLUMNS": "120", "LINES": "30"}
    process = subprocess.Popen(
        command, cwd=folder, env=environ, stdin=inner, stdout=inner, stderr=inner, start_new_session=True
    )
    os.close(inner)
    data, end, is_told = b"", time.monotonic() + PATIENCE, False
    os.set_blocking(outer, False)
    while time.monotonic() < end:
        has_ended = process.poll() is not None  # polled before the read, so that the read gets the last output
        try:
            data += os.read(outer, 1 << 16)
        except BlockingIOError:
            if has_ended:
                break
            time.sleep(0.05)
        except OSError:  # the other end is closed
            break
        if not is_told and data.count(b"4 ranks") >= 2 and seconds:
            process.send_signal(signal.SIGINT)
            is_told = True
    return process.wait(PATIENCE), data.decode("utf-8", "replace")


def test_on_a_terminal_the_screen_is_drawn_and_restored(tmp_path: Path, terminal: tuple[int, int]) -> None:
    folder = run(tmp_path / "run", slow=1)
    facts(folder, 0, doing=HOSTILE[:30])
    (folder / "rank_0.log").write_bytes(HOSTILE.encode("utf-8", "replace"))
    code, text = on_terminal(tmp_path, terminal, seconds=1)
    assert code == 130
    assert text.index("\x1b[?1049h") < text.index("4 ranks") < text.index("\x1b[?1049l"), "the screen is given back"
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l"), "so is the cursor"
    assert "rank 1 (n0, card 1) slows down the others" in text
    assert "\x1b[2J" not in text.replace("\x1b[2J\x1b[H", "").split("\x1b[?1049h")[1].split("says")[-1]
    assert "owned\x07" not in text


def test_without_rich_a_terminal_gets_lines_and_a_hint(tmp_path: Path, terminal: tuple[int, int]) -> None:
    run(tmp_path / "run", ended="done")
    code = "import sys; sys.modules['rich'] = None\nfrom hccl_kit.cli.watch import main; sys.exit(main(['run']))"
    done, text = on_terminal(tmp_path, terminal, seconds=0, code=code)
    assert done == 0
    plain = re.sub(r"\x1b\[[0-9]*m", "", text)
    assert plain.count(f"note: for a table that is refreshed in place: {install_extra('watch')}") == 1
    assert "\x1b[?1049h" not in text


def test_a_closed_pipe_ends_the_program(tmp_path: Path) -> None:
    run(tmp_path / "run")
    with start(tmp_path, "run", "--interval", "0.2") as process:
        assert process.stdout
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE) == 141


def test_a_dump_is_asked_of_the_ranks_of_this_host(tmp_path: Path) -> None:
    facts(tmp_path, 0, ranks=1)
    (tmp_path / "table.json").write_text("{}")
    os.mkfifo(tmp_path / "pipe_0.pipe")
    pipe = os.open(tmp_path / "pipe_0.pipe", os.O_RDONLY | os.O_NONBLOCK)
    done = start(tmp_path, ".", "--dump", "pipe_")
    assert wait_until(lambda: select.select([pipe], [], [], 0)[0] != [] and os.read(pipe, 9) == b"1")
    dump = {"version": "2.4", "entries": [{"profiling_name": "hccl:all_reduce", "collective_seq_id": 7}]}
    (tmp_path / "dump").write_text(json.dumps(dump))
    (tmp_path / "dump").rename(tmp_path / "hccl_trace_rank_0")
    out, errors = done.communicate(timeout=PATIENCE)
    os.close(pipe)
    assert "note: dump: rank 0 in all_reduce 7 of hccl:\n" in f"{out}\n", errors
    assert done.returncode == 0
    for words, error in (
        (
            (".", "--dump", "pipe_"),
            "error: no rank of this host listens at pipe_RANK.pipe\n  fix: start with hccl-kit run",
        ),
        (
            ("table.json", "--ssh", "--dump", "x"),
            "error: --dump asks the ranks of this host\n  fix: run it on each server",
        ),
    ):
        refused = watch(tmp_path, *words)
        assert refused.returncode == 2
        assert error in refused.stderr
