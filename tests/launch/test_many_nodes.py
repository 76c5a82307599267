"""Jobs of many nodes: the real central programs, and light stubs of the nodes."""

from pathlib import Path

import pytest

from benchmarks import link_scale
from benchmarks.link_scale import ENDS, LINKS

MANY = [pytest.param(40), pytest.param(1000, marks=pytest.mark.long)]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("link", sorted(LINKS))
@pytest.mark.parametrize("nodes", MANY)
def test_all_nodes_start_and_are_told_the_end(
    nodes: int, link: str, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_scale, "STEADY", 0.1)
    found = LINKS[link](tmp_path, nodes, end)
    assert found.middle.threads == 1
    assert found.middle.mib < 100
    assert found.middle.descriptors < 5 * nodes + 64
