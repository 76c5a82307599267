"""Jobs of many servers: the real starter, and light stubs of the agents."""

from pathlib import Path

import pytest

from benchmarks import link_scale
from benchmarks.link_scale import ENDS, measured

MANY = [pytest.param(40), pytest.param(1000, marks=pytest.mark.long)]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("nodes", MANY)
def test_all_servers_start_and_the_job_ends(
    nodes: int, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_scale, "STEADY", 0.1)
    found = measured(tmp_path, nodes, end)
    assert found.middle.mib < 200
    assert found.middle.descriptors < 5 * nodes + 64
