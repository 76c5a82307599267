"""torch's recording is written while a process is stuck, removed when it continues, and errors are ignored."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hccl_kit.diagnosis.facts import Traced
from hccl_kit.diagnosis.logs import torch_dump
from hccl_kit.runtime import torch_trace
from hccl_kit.runtime.torch_trace import TorchTrace


class Recorder:
    """A fake of the torch function that counts its calls."""

    def __init__(self, *, groups: bool = True) -> None:
        self.entered, self.asked, self.fails = 1, 0, False
        self.groups = {"0": {"ranks": "[0]"}} if groups else {}

    def __call__(self, **options: bool) -> bytes:
        whole = options.get("includeCollectives", True)
        if self.fails:
            raise RuntimeError("torch has changed")
        self.asked += whole
        status = {"version": "2.10", "pg_config": self.groups, "entered": self.entered}
        return json.dumps({**status, "entries": ["x"]} if whole else status).encode()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_it_is_written_once_and_removed_when_the_job_continues(tmp_path: Path, clock: list[float]) -> None:
    path, recorder = tmp_path / "torch_trace_rank_0.json", Recorder()
    trace = TorchTrace(path, lambda: recorder)
    for passed, there in ((0.0, False), (2.9, False), (3.0, True), (9.0, True)):
        clock[0] = 100 + passed
        trace.look()
        assert path.exists() is there
    assert recorder.asked == 1
    assert json.loads(path.read_bytes())["entries"] == ["x"]
    recorder.entered = 2
    trace.look()
    assert not path.exists()
    clock[0] += 4
    trace.look()
    assert path.exists()
    trace.done()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_is_written_at_once(tmp_path: Path) -> None:
    trace = TorchTrace(tmp_path / "x.json", Recorder)
    trace.failed()
    assert (tmp_path / "x.json").exists()


def test_a_program_without_groups_writes_nothing(tmp_path: Path, clock: list[float]) -> None:
    for dump in (None, Recorder(groups=False)):
        trace = TorchTrace(tmp_path / "x.json", lambda dump=dump: dump)  # type: ignore[misc]
        for passed in (0.0, 9.0):
            clock[0] = 100 + passed
            trace.look()
        trace.failed()
        trace.done()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["torch", "folder", "size"])
def test_errors_are_ignored(tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    recorder = Recorder()
    recorder.fails = where == "torch"
    if where == "size":
        monkeypatch.setattr(torch_trace, "MAX_BYTES", 10)
    trace = TorchTrace(tmp_path / ("no" if where == "folder" else "") / "x.json", lambda: recorder)
    for passed in (0.0, 9.0):
        clock[0] = 100 + passed
        trace.look()
    trace.failed()
    trace.done()
    assert list(tmp_path.iterdir()) == []


def test_a_process_can_end_while_torch_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread in a call of torch holds the lock."""
    monkeypatch.setattr(torch_trace, "PATIENCE", 0.05)
    is_in, may_go = threading.Event(), threading.Event()

    def hangs(**_: bool) -> bytes:
        is_in.set()
        may_go.wait(60)
        return b"{}"

    trace = TorchTrace(tmp_path / "x.json", lambda: hangs)
    thread = threading.Thread(target=trace.look)
    thread.start()
    assert is_in.wait(60)
    ends = threading.Thread(target=trace.failed, daemon=True)
    ends.start()
    ends.join(60)
    assert not ends.is_alive()
    assert thread.is_alive()
    may_go.set()
    thread.join()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.torch
def test_the_recording_of_torch_can_be_read(tmp_path: Path) -> None:
    """The private function of torch exists, and reports a collective that this process is in."""
    pytest.importorskip("torch")
    program = (
        "import sys, torch, torch.distributed as dist\n"
        "from pathlib import Path\n"
        "from hccl_kit.runtime.torch_trace import TorchTrace\n"
        "store = dist.HashStore()\n"
        "dist.init_process_group('gloo', store=store, rank=0, world_size=1)\n"
        "dist.all_reduce(torch.ones(7))\n"
        "TorchTrace(Path(sys.argv[1])).failed()\n"
    )
    path = tmp_path / "torch_trace_rank_0.json"
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=600)
    noted, why = torch_dump.read(path.name, iter([path.read_bytes()]))
    assert why is None
    (traced,) = [one.fact for one in noted if isinstance(one.fact, Traced)]
    assert (traced.group, traced.operator, traced.shape) == ("gloo:0 (default_pg)", "all_reduce", "Float [7]")
