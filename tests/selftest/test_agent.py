"""The command that an agent reads from its standard input, and its reports on ranks that have ended."""

import asyncio
import json
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hccl_kit.selftest.agent import Agent, Order


def test_reports_the_end_of_a_rank_after_a_failed_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    agent = Agent(Order("gloo", {}, [{"RANK": "0"}, {"RANK": "1"}]))
    ended: Any = SimpleNamespace(returncode=-9)
    agent.processes[1] = ended
    assert (agent.why(0), agent.why(1)) == ("", "killed by SIGKILL")


def test_an_error_that_arrives_in_pieces_is_shown_completely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Python writes the name of an error and its text separately."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    agent = Agent(Order("gloo", {}, [{"RANK": "0"}]))

    async def watched() -> None:
        stderr = asyncio.StreamReader()
        process: Any = SimpleNamespace(stderr=stderr, wait=lambda: asyncio.sleep(0, 1))
        watching = asyncio.create_task(agent.watch(0, [0], process))
        for piece in (b"Traceback\nImport", b"Error: libnothing.so", b": cannot open\n", b"\n"):
            stderr.feed_data(piece)
            await asyncio.sleep(0)
        stderr.feed_eof()
        await watching

    asyncio.run(watched())
    said = json.loads(capfd.readouterr().out)
    assert (said["event"], said["detail"]) == ("gone", "ImportError: libnothing.so: cannot open")


@pytest.mark.parametrize("length", [10, 70, 90, 200])
def test_the_socket_fits_a_path_if_tmpdir_is_long(length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path of a Unix socket has at most 107 bytes."""
    folder = tmp_path / ("x" * length)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    agent = Agent(Order("gloo", {}, []))
    try:
        assert len(os.fsencode(agent.folder / "socket")) <= 107
        assert [agent.folder] == list(folder.iterdir()) or not list(folder.iterdir())
    finally:
        agent.folder.rmdir()
