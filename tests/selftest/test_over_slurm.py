"""Two nodes of a private Slurm, inside an allocation."""

from pathlib import Path

import pytest

import hccl_kit
from tests.lab.slurm import cluster, needs_slurm
from tests.places import ROOT
from tests.selftest.jobs import PATIENCE, PROGRAM, report
from tests.waiting import wait_until

pytestmark = [needs_slurm, pytest.mark.train, pytest.mark.long]


def test_runs_inside_an_allocation(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    made = [hccl_kit.generate(name, [(0, f"192.168.100.{place}")]) for place, name in enumerate(("n1", "n2"), 1)]
    (tmp_path / "job.json").write_text(hccl_kit.to_text(hccl_kit.merge(made)))
    options = ["--slurm", "--quick", "--backend", "gloo", "--format", "json"]
    with cluster() as slurm:
        words = ["salloc", "--nodes=2", "--quiet", *PROGRAM, str(tmp_path / "job.json"), *options]
        done = slurm.run(words, environ={"PYTHONPATH": str(ROOT)}, folder=tmp_path, seconds=PATIENCE)
        assert wait_until(lambda: slurm.jobs() == [], 30)
    document = report(done)
    assert document["faults"] == []
    assert [link["ranks"] for link in document["links"]] == [[0, 1]]
    assert [card["server"] for card in document["cards"]] == ["n1", "n2"]
