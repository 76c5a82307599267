"""hccl-kit preflight --all with many servers: bounded connections, a short report, and a clean end after Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.preflight_scale import FAKE, answer, most_at_once
from benchmarks.table_shapes import CARDS, host, servers
from hccl_kit.remote.asking import AT_ONCE
from tests.cli.test_preflight import clean_environ
from tests.waiting import wait_until

MANY = [pytest.param(150), pytest.param(1000, marks=pytest.mark.long)]
PATIENCE = 600.0
"""Seconds; shorter than the timeout for a server, so that no server times out on a busy machine."""
END = 120.0
"""Seconds to end after Ctrl-C; it normally takes two."""


def start(folder: Path, count: int, kind: str, fake: str = FAKE) -> "subprocess.Popen[str]":
    """Starts the program with a table of `count` servers."""
    (folder / "table.json").write_text(json.dumps(servers(count * CARDS)))
    (folder / "ssh").write_text(fake)
    (folder / "ssh").chmod(0o755)
    options = ("--all", "--server", host(0), "--timeout", "3000")
    return subprocess.Popen(
        [sys.executable, "-m", "hccl_kit", "preflight", "table.json", *options],
        cwd=folder,
        env=clean_environ() | {"HCCL_KIT_SSH": str(folder / "ssh"), "ANSWERS": kind},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("count", MANY)
def test_the_report_on_many_servers_is_short(count: int, tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text(json.dumps(servers(2 * CARDS)))
    (tmp_path / "answer.json").write_text(answer(tmp_path / "table.json", tmp_path))
    for kind in ("other", "dead"):
        (tmp_path / "count").write_text("")
        out, err = start(tmp_path, count, kind).communicate(timeout=PATIENCE)
        lines = out.splitlines()
        assert (len(lines) < 60, err) == (True, ""), out
        answered = count if kind == "other" else 1
        assert lines[-1].startswith(f"{answered} of {count} servers answered: ")
        assert most_at_once(tmp_path / "count") <= AT_ONCE
        text = " did not answer: ssh: connect to host ADDRESS port 22: No route to host"
        assert sum(text in line for line in lines) == (kind == "dead")


@pytest.mark.parametrize("count", MANY)
def test_an_interrupt_leaves_no_connection(count: int, tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    def left() -> list[str]:
        """Connections that still run; waits, because a killed process may take long to end on a busy machine."""
        started = pids.read_text().split() if pids.exists() else []
        return [pid for pid in started if Path(f"/proc/{pid}").exists()]

    with start(tmp_path, count, "alike", f"#!/bin/sh\necho $$ >>{pids}\nexec sleep 600\n") as process:
        try:
            assert wait_until(lambda: pids.exists() and len(pids.read_text().splitlines()) == AT_ONCE, seconds=PATIENCE)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=END)
            assert (process.returncode, err) == (130, "interrupted\n")
            assert wait_until(lambda: not left())
        finally:
            process.kill()
            for pid in left():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
    assert len(pids.read_text().split()) == AT_ONCE, "no further connection was made"
