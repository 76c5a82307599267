"""A task of plain srun is a rank: from Slurm's own variables, recorded ones and those of a real srun."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base import hostlist
from hccl_kit.base.errors import KitError
from hccl_kit.runtime.detect import LAUNCHERS, detect
from hccl_kit.runtime.slurm import tasks_of_nodes
from hccl_kit.runtime.worker_env import WorkerEnv
from tests.lab.slurm import Cluster, cluster, needs_slurm
from tests.places import ROOT

BATCH = {
    "SLURM_JOB_ID": "25",
    "SLURM_JOB_NODELIST": "n[1-2]",
    "SLURM_JOB_NUM_NODES": "2",
    "SLURM_LOCALID": "0",
    "SLURM_NODEID": "0",
    "SLURM_NTASKS": "4",
    "SLURM_NPROCS": "4",
    "SLURM_PROCID": "0",
    "SLURM_TASKS_PER_NODE": "2(x2)",
}
"""The variables of the shell of a batch script in version 22.05."""
STEP = {
    **BATCH,
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NODELIST": "n[1-2]",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1",
}
"""The variables of the last of four tasks on two nodes."""
WHO = f"""
import json, os, sys
sys.path.insert(0, {str(ROOT)!r})
from hccl_kit.runtime.detect import detect
found = detect(os.environ)
values = [getattr(found.env, name) for name in found.env.__slots__]
print(json.dumps([found.launcher, os.environ["SLURMD_NODENAME"], *values]))
"""


def read(environ: dict[str, str]) -> WorkerEnv:
    return LAUNCHERS["srun"](environ)


def test_detects_the_last_of_four_tasks() -> None:
    assert detect(STEP).launcher == "srun"
    assert read(STEP) == WorkerEnv(3, 4, 1, 2, 1, "n1", 20775)


def test_the_shell_of_a_batch_script_is_not_a_rank() -> None:
    assert detect(BATCH).launcher == "single"


def test_a_step_of_one_task_is_a_single_process() -> None:
    one = {**STEP, "SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0", "SLURM_STEP_ID": "4294967290"}
    assert read(one) == WorkerEnv(0, 1, 0, 1, 0)


def test_ranks_on_one_node_rendezvous_on_loopback() -> None:
    one = {**STEP, "SLURM_STEP_NODELIST": "n2", "SLURM_STEP_TASKS_PER_NODE": "4", "SLURM_NODEID": "0"}
    assert read(one).master_addr == "127.0.0.1"


def test_steps_and_jobs_have_different_ports() -> None:
    jobs = [{**STEP, "SLURM_JOB_ID": str(job), "SLURM_STEP_ID": str(step)} for job in range(100) for step in range(5)]
    ports = {read(job).master_port for job in jobs}
    assert len(ports) == len(jobs)
    assert ports <= set(range(20000, 32000))


def test_an_exported_rendezvous_address_is_used() -> None:
    found = read({**STEP, "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "12345"})
    assert (found.master_addr, found.master_port) == ("10.0.0.1", 12345)


@given(st.lists(st.integers(1, 16), min_size=1, max_size=40), st.data())
def test_every_task_detects_its_rank(counts: list[int], data: st.DataObject) -> None:
    """Ranks are assigned node by node, Slurm's default; the list of task counts may be partly unfolded."""
    short = ",".join(data.draw(st.sampled_from([str(count), f"{count}(x1)"])) for count in counts)
    assert tasks_of_nodes(short) == tuple(counts)
    hosts = hostlist.fold([f"node{index:03}" for index in range(len(counts))])
    node = data.draw(st.integers(0, len(counts) - 1))
    local = data.draw(st.integers(0, counts[node] - 1))
    size, rank = sum(counts), sum(counts[:node]) + local
    step = {**STEP, "SLURM_STEP_NUM_TASKS": str(size), "SLURM_STEP_TASKS_PER_NODE": short, "SLURM_STEP_NODELIST": hosts}
    found = read({**step, "SLURM_NODEID": str(node), "SLURM_LOCALID": str(local), "SLURM_PROCID": str(rank)})
    assert (found.rank, found.size) == (rank, size)
    if size > 1:
        assert (found.local_rank, found.local_size, found.device) == (local, counts[node], local)
        assert found.master_addr == ("127.0.0.1" if len(counts) == 1 else "node000")


def test_repetitions_of_task_counts_are_expanded() -> None:
    assert tasks_of_nodes("2(x3),1") == (2, 2, 2, 1)


@given(st.text(alphabet="12(x),3 ", max_size=12) | st.text(max_size=6))
def test_task_counts_are_parsed_or_refused_for_any_text(text: str) -> None:
    try:
        assert len(tasks_of_nodes(text)) >= 1
    except KitError as error:
        assert "SLURM_STEP_TASKS_PER_NODE" in error.message


@pytest.mark.parametrize("text", ["2(x65537)", "1(x60000),1(x6000)", "1(x999999999)", "2(x0)"])
def test_task_counts_are_limited_before_they_are_expanded(text: str) -> None:
    with pytest.raises(KitError, match="is not a list of counts"):
        tasks_of_nodes(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"SLURM_PROCID": "4"}, "rank 4 is outside 0..3"),
        ({"SLURM_LOCALID": "2"}, "local rank 2 of 2 does not fit"),
        ({"SLURM_NODEID": "2"}, "does not fit 4 tasks, 2 nodes and SLURM_NODEID=2"),
        ({"SLURM_STEP_TASKS_PER_NODE": "2"}, "SLURM_STEP_TASKS_PER_NODE=2 does not fit 4 tasks, 2 nodes"),
        ({"SLURM_STEP_TASKS_PER_NODE": ""}, "SLURM_STEP_TASKS_PER_NODE='' is not a list of counts"),
        ({"SLURM_STEP_NODELIST": "n[1-"}, r"SLURM_STEP_NODELIST='n\[1-': the bracket is not closed"),
        ({"SLURM_STEP_NODELIST": "", "SLURM_JOB_NODELIST": ""}, "SLURM_JOB_NODELIST='': the host list is empty"),
        ({"SLURM_DISTRIBUTION": "arbitrary"}, "with -m arbitrary, rank 0 may be on any node"),
        # MPICH starts one helper on each node with srun, and its ranks inherit the Slurm variables of the helper
        ({"PMI_SIZE": "8"}, "PMI_SIZE=8, but srun started 4 tasks"),
        ({"RANK_SIZE": "8"}, "RANK_SIZE=8, but srun started 4 tasks"),
        ({"WORLD_SIZE": "8", "SLURM_STEP_NUM_TASKS": "1"}, "WORLD_SIZE=8, but srun started 1 tasks"),
    ],
)
def test_inconsistent_variables_are_refused(change: dict[str, str], message: str) -> None:
    with pytest.raises(KitError, match=message):
        detect({**STEP, **change})


@pytest.fixture(scope="module")
def lab() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


def found_by(lab: Cluster, *options: str, **environ: str) -> list[list[object]]:
    """The detected environment of every task, in the order of ranks."""
    done = lab.run(["srun", *options, sys.executable, "-c", WHO], environ=environ)
    assert done.returncode == 0, done.stderr
    return sorted(map(json.loads, done.stdout.splitlines()), key=lambda row: int(row[2]))


@needs_slurm
def test_detects_the_tasks_of_a_real_srun(lab: Cluster) -> None:
    rows = found_by(lab, "-N2", "-n3")
    (port,) = {row[8] for row in rows}
    unset = [None] * 4  # the table, and what only launchers of torch set
    assert rows == [
        ["srun", "n1", 0, 3, 0, 2, 0, "n1", port, *unset],
        ["srun", "n1", 1, 3, 1, 2, 1, "n1", port, *unset],
        ["srun", "n2", 2, 3, 0, 1, 0, "n1", port, *unset],
    ]
    dealt = found_by(lab, "-N2", "-n4", "-m", "cyclic")
    assert [row[1] for row in dealt[:2]] == ["n1", "n2"]
    alone = found_by(lab, "-N1", "-n2", "-w", "n2")
    assert [(row[1], row[7]) for row in alone] == [("n2", "127.0.0.1")] * 2


@needs_slurm
def test_detects_a_step_in_a_larger_job(lab: Cluster, tmp_path: Path) -> None:
    """The batch shell is not a rank, and a step on the second node has its own ranks."""
    (tmp_path / "who.py").write_text(WHO)
    script = tmp_path / "job.sh"
    who = f"{sys.executable} {tmp_path}/who.py"
    script.write_text(f"#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=2\n{who}\nsrun -N1 -n2 -w n2 {who}\n")
    assert lab.exit_code(lab.submit(["--output=out", script], folder=tmp_path)) == 0
    batch, *step = map(json.loads, (tmp_path / "out").read_text().splitlines())
    assert batch[:4] == ["single", "n1", 0, 1]
    assert sorted(row[:4] for row in step) == [["srun", "n2", 0, 2], ["srun", "n2", 1, 2]]
