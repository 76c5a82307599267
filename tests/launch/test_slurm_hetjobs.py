"""Heterogeneous jobs on a real Slurm of two nodes: each node has the cards of its server."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.slurm import Cluster, cluster, needs_slurm
from tests.launch.slurm_jobs import make_job, two_nodes
from tests.launch.test_slurm_sites import hosts

pytestmark = needs_slurm


@pytest.fixture(scope="module")
def lab() -> Iterator[Cluster]:
    with cluster(starts_hetjobs=True) as made:
        yield made


def test_a_heterogeneous_job_requests_the_cards_of_each_node(lab: Cluster, tmp_path: Path) -> None:
    table = two_nodes(first=(4, 5), second=(6, 7, 1))
    job = make_job(lab, tmp_path, table, hetjob=True, gres="npu", nodelist="n2,n1")
    number = job.submit("--epochs", "3")
    assert lab.exit_code(number) == 0, job.output
    assert hosts(job) == ["n2", "n2", "n1", "n1", "n1"]
    assert [job.note(rank)["environ"]["DEVICE_ID"] for rank in range(5)] == ["4", "5", "6", "7", "1"]
    assert job.note(4)["argv"] == ["--epochs", "3"]
    shown = lab.run(["scontrol", "show", "job", number]).stdout
    assert re.findall(r"TresPerNode=(\S+)", shown) == ["gres:npu:2", "gres:npu:3"]


def test_a_node_with_fewer_tasks_than_ranks_is_refused(lab: Cluster, tmp_path: Path) -> None:
    job = make_job(lab, tmp_path, two_nodes(first=(4,), second=(6, 7)), hetjob=True, gres="npu", nodelist="n1,n2")
    assert job.run() == 2
    assert job.last[0] == "error: node n1 runs 1 tasks, its server has 2 ranks"
