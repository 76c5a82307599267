from pathlib import Path

import pytest

from hccl_kit.agent.job import Job
from hccl_kit.launch import diagnose_logs
from hccl_kit.launch.diagnose_logs import verdict


@pytest.mark.parametrize("answer", ["exec sleep 600", "echo '[]'", "echo '{}'", "exit 1"])
def test_a_verdict_that_is_late_or_strange_stops_no_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setenv("HCCL_KIT_DIAGNOSE", "1")
    monkeypatch.setattr(diagnose_logs, "own_program", lambda *_: ("sh", "-c", answer))
    assert verdict(tmp_path, Job(frozenset({0}))).objection == ""
