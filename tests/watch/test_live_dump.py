"""Dumps that running ranks write when they are asked through their pipes; the ranks are processes without torch."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.watch import live_dump

RANK = """
import json, os, sys, time
stem, rank, dump, sequence, state, group = sys.argv[1:]
os.mkfifo(f"{stem}{rank}.pipe")
pipe = os.open(f"{stem}{rank}.pipe", os.O_RDONLY | os.O_NONBLOCK)
print("ready", flush=True)
entry = {"process_group": ["0", group], "profiling_name": "hccl:all_reduce", "input_sizes": [[4]],
         "input_dtypes": ["Float"], "time_created_ns": 10**18, "collective_seq_id": int(sequence), "state": state}
while not os.read(pipe, 128):
    time.sleep(0.05)
if dump:
    with open(f"{dump}.new", "w") as file:
        text = json.dumps({"version": "2.4", "pg_config": {"0": {"ranks": "[0, 1, 2]"}}, "entries": [entry]})
        file.write(text[:100] if group == "cut" else text)
    os.rename(f"{dump}.new", dump)
time.sleep(600)
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Starts a rank that has a pipe, and dumps into the folder of the run if it is asked."""
    processes: list[subprocess.Popen[bytes]] = []

    def start_rank(rank: int, sequence: int, state: str, group: str = "default_pg", *, dumps: bool = True) -> None:
        dump = str(tmp_path / f"hccl_trace_rank_{rank}") if dumps else ""
        words = [sys.executable, "-c", RANK, str(tmp_path / "pipe_"), str(rank), dump, str(sequence), state, group]
        processes.append(subprocess.Popen(words, stdout=subprocess.PIPE))
        output = processes[-1].stdout
        assert output
        assert output.readline() == b"ready\n"

    yield start_rank
    for process in processes:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.communicate()


def test_running_ranks_say_in_which_collective_they_are(tmp_path: Path, start: Callable[..., None]) -> None:
    (tmp_path / "hccl_trace_rank_0").write_text("an old dump")
    start(0, 2706, "scheduled")
    start(1, 2706, "started")
    start(2, 2705, "completed")
    assert [str(note) for note in live_dump.notes(tmp_path, str(tmp_path / "pipe_"))] == [
        "dump: ranks 0, 1 in all_reduce 2706 of hccl:0 (default_pg)",
        "dump: rank 2 after all_reduce 2705 of hccl:0 (default_pg)",
    ]


def test_a_rank_that_does_not_dump_is_named(
    tmp_path: Path, start: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_dump, "SECONDS", 0.5)
    start(7, 1, "started", dumps=False)
    (late,) = live_dump.notes(tmp_path, str(tmp_path / "pipe_"))
    assert str(late).startswith("no dump of rank 7 within 0.5 s: ")


def test_what_is_no_pipe_of_a_rank_is_not_written_to(tmp_path: Path) -> None:
    """A file, a link to one, and a pipe that nobody reads, which would stop a program that opens it."""
    (tmp_path / "pipe_0.pipe").write_text("a file")
    (tmp_path / "pipe_1.pipe").symlink_to(tmp_path / "pipe_0.pipe")
    os.mkfifo(tmp_path / "pipe_2.pipe")
    os.mkfifo(tmp_path / "other_3.pipe")
    with pytest.raises(KitError, match=r"no rank of this host listens at .*pipe_RANK\.pipe"):
        live_dump.notes(tmp_path, str(tmp_path / "pipe_"))
    assert (tmp_path / "pipe_0.pipe").read_text() == "a file"


@pytest.mark.parametrize(("others", "ranks"), [((), "rank 0"), ((1,), "ranks 0, 1")])
def test_a_dump_that_cannot_be_read_is_no_statement(
    tmp_path: Path, start: Callable[..., None], others: tuple[int, ...], ranks: str
) -> None:
    start(0, 7, "started", "cut")
    for rank in others:
        start(rank, -1, "started")
    assert [str(note) for note in live_dump.notes(tmp_path, str(tmp_path / "pipe_"))] == [
        f"dump: {ranks} unknown: the dump is incomplete, or cannot be read"
    ]


def test_a_hostile_text_of_a_dump_reaches_no_terminal(tmp_path: Path, start: Callable[..., None]) -> None:
    start(0, 1, "started", "\x1b]0;owned\x07")
    (note,) = live_dump.notes(tmp_path, str(tmp_path / "pipe_"))
    assert str(note).startswith("dump: rank 0 in all_reduce 1 of hccl:0 (")
    assert str(note).isprintable()
