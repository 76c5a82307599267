"""The flight recorder: a small file of fixed size that survives any end of the process and never causes an error."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit import collective, recorded, waiting
from hccl_kit.base.errors import KitError
from hccl_kit.runtime import flight_recorder
from hccl_kit.runtime.failure import record
from hccl_kit.runtime.flight_recorder import ENTRY, HEAD, RING, recorder
from hccl_kit.runtime.heartbeat import Heartbeat
from hccl_kit.runtime.pulse import POINTS
from hccl_kit.runtime.worker_env import LOG_DIR

SIZE = 3 * HEAD + (RING + POINTS) * ENTRY


def environ(folder: Path, rank: int = 3) -> dict[str, str]:
    values = {"RANK_ID": rank, "RANK": rank, "RANK_SIZE": 8, "WORLD_SIZE": 8, "DEVICE_ID": 7}
    return {LOG_DIR: str(folder), **{name: str(value) for name, value in values.items()}}


def rows(folder: Path, rank: int = 3) -> list[dict[str, Any]]:
    """The lines that are not blank; the file has its full size from the start."""
    path = folder / f"facts_{rank}.jsonl"
    assert path.stat().st_size == SIZE
    return [json.loads(line) for line in path.read_text(encoding="ascii").split("\n") if line.strip()]


def entries(folder: Path) -> list[dict[str, Any]]:
    return sorted((row for row in rows(folder) if "n" in row), key=lambda row: row["n"])


def test_the_first_line_identifies_the_rank(tmp_path: Path) -> None:
    before = time.time()
    recorder(environ(tmp_path))
    head = rows(tmp_path)[0]
    assert before <= head.pop("start") <= time.time()
    assert head.pop("host")
    assert head == {"version": 1, "rank": 3, "ranks": 8, "device": 7, "pid": os.getpid()}


def test_a_collective_is_recorded_as_soon_as_it_is_entered(tmp_path: Path) -> None:
    made = recorder(environ(tmp_path))
    made.step = 41
    with made.collective("all_reduce", 4096):
        (entry,) = entries(tmp_path)
        assert entry.pop("begun") <= time.time()
        assert entry == {"n": 1, "op": "all_reduce", "bytes": 4096, "step": 41, "left": None}
    assert entries(tmp_path)[0]["left"] <= time.time()


def test_a_collective_that_fails_is_not_recorded_as_left(tmp_path: Path) -> None:
    made = recorder(environ(tmp_path))
    with pytest.raises(ValueError, match="x"), made.collective("all_reduce"):
        raise ValueError("x")
    assert [(entry["left"], entry["bytes"]) for entry in entries(tmp_path)] == [(None, None)]


def test_the_ring_has_the_last_collectives(tmp_path: Path) -> None:
    made = recorder(environ(tmp_path))
    for _ in range(RING + 10):
        with made.collective("all_reduce", 1):
            pass
    assert [entry["n"] for entry in entries(tmp_path)] == list(range(11, RING + 11))


def test_a_sign_of_life_is_written_whatever_the_rank_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_recorder, "INTERVAL", 0.02)
    heart = Heartbeat.from_environ(environ(tmp_path))
    heart.beat(12)
    with heart.recorder.waiting("data"):
        began = time.time()
        while not (alive := rows(tmp_path)[1])["doing"] or alive["alive"] < began + 0.1:
            assert time.time() < began + 20
            time.sleep(0.01)
    assert (alive["doing"], alive["step"]) == ("data", 12)
    assert abs(alive["since"] - began) < 1


def test_the_end_is_written_once(tmp_path: Path) -> None:
    made = recorder(environ(tmp_path))
    made.ended("ValueError", "a\x1b[2J")
    made.ended("done")
    (end,) = (row for row in rows(tmp_path) if "ended" in row)
    assert (end["ended"], end["message"].isprintable()) == ("ValueError", True)


@pytest.mark.parametrize(
    ("error", "how"),
    [
        (None, "done"),
        (SystemExit(), "done"),
        (SystemExit(0), "done"),
        (SystemExit(3), "SystemExit"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (OSError(28, "No space left on device"), "OSError"),
        (KitError("cannot write"), "KitError"),
    ],
)
def test_a_recorded_block_records_how_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException | None, how: str
) -> None:
    for name, value in environ(tmp_path).items():
        monkeypatch.setenv(name, value)

    def body() -> None:
        with recorded():
            with waiting("data"), collective("all_reduce", 8):
                pass
            if error:
                raise error

    if error is None:
        body()
    else:
        with pytest.raises(type(error)):
            body()
    assert [row["ended"] for row in rows(tmp_path) if "ended" in row] == [how]
    assert [entry["op"] for entry in entries(tmp_path)] == ["all_reduce"]


@given(st.text(max_size=2000), st.text(max_size=100))
def test_any_texts_fit_in_their_lines(tmp_path_factory: pytest.TempPathFactory, text: str, name: str) -> None:
    folder = tmp_path_factory.mktemp("facts")
    made = recorder(environ(folder))
    with made.collective(name, 1 << 61), made.waiting(name):
        made.ended(name or "x", text)
    assert [set(row) for row in rows(folder)][2:] == [{"ended", "message", "time"}, set(entries(folder)[0])]


@pytest.mark.parametrize(
    "values", [{}, {"RANK": "3"}, {LOG_DIR: "", "RANK": "3"}, {LOG_DIR: "/no/such/folder", "RANK": "3"}]
)
def test_without_a_folder_nothing_is_recorded(tmp_path: Path, values: dict[str, str]) -> None:
    before = threading.active_count()
    made = recorder(values)
    with made.collective("all_reduce", 1), made.waiting("data"):
        made.step = 3
    made.ended("done")
    record(ValueError(), environ=values)
    assert threading.active_count() == before


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "facts_3.jsonl").symlink_to(tmp_path / "mine")
    recorder(environ(tmp_path)).ended("done")
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_killed_process_leaves_its_records_and_signals_skip_the_thread(tmp_path: Path) -> None:
    program = (
        "import os, signal, time\nfrom hccl_kit import collective, recorded\n"
        "signal.signal(signal.SIGUSR2, lambda *_: os.write(1, b'heard\\n'))\n"
        "with recorded(), collective('all_reduce', 4096):\n    print('inside', flush=True)\n    time.sleep(600)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environ(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "inside\n"
    process.send_signal(signal.SIGUSR2)
    assert process.stdout.readline() == "heard\n"
    process.kill()
    process.communicate()
    assert [(entry["op"], entry["left"]) for entry in entries(tmp_path)] == [("all_reduce", None)]
    assert not [row for row in rows(tmp_path) if "ended" in row]
