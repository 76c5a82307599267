"""Site features on a real Slurm of two nodes: hetjobs, arrays, signals, restarts, MPI, containers, switches."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.place import topology
from hccl_kit.place.topology import Domain
from tests.lab.slurm import Cluster, cluster, needs_slurm
from tests.launch.slurm_jobs import Job, make_job, two_nodes
from tests.launch.ways import fake, servers
from tests.waiting import PATIENCE, wait_until

pytestmark = needs_slurm

SAVES = """
def save(*_): print('saved', flush=True); os._exit(3)
signal.signal(signal.SIGUSR2, save)
print('ready', flush=True)
time.sleep(0 if restart else 300)
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Cluster]:
    with cluster(topology.slurm_topology([Domain("a", ("n1",)), Domain("b", ("n2",))])) as made:
        yield made


def hosts(job: Job) -> list[str]:
    return [job.note(rank)["host"] for rank in range(job.plan.size)]


def test_a_signal_reaches_all_parts_of_a_heterogeneous_job_and_requeues_it(lab: Cluster, tmp_path: Path) -> None:
    table = two_nodes(first=(4, 5), second=(6,))
    parts: dict[str, Any] = {"hetjob": True, "gres": "npu", "nodelist": "n2,n1"}
    job = make_job(lab, tmp_path, table, SAVES, **parts, max_restarts="1", signal="USR2@60")
    number = job.submit()
    assert wait_until(lambda: job.all_say("ready"))
    lab.run(["scancel", "--batch", "--signal=USR2", number])
    assert lab.exit_code(number) == 0, job.output
    assert [job.note(rank, restart=1)["restart"] for rank in range(3)] == ["1"] * 3


def test_tasks_of_an_array_have_separate_folders(lab: Cluster, tmp_path: Path) -> None:
    job = make_job(lab, tmp_path, two_nodes(), array="3,5%1")
    number = job.submit()
    assert wait_until(lambda: not lab.jobs())
    for task in (3, 5):
        assert (job.home / "hccl_logs" / f"slurm-{number}_{task}" / "rank_3.log").read_text() == "rank 3 is here\n"
    assert job.note(3)["environ"]["SLURM_ARRAY_TASK_ID"] == "5"


@pytest.mark.long  # a limit has whole minutes; the next tests send the signal themselves
def test_before_the_time_limit_ranks_save_and_the_job_is_requeued(lab: Cluster, tmp_path: Path) -> None:
    """Slurm itself sends the signal, up to 30 s earlier than requested."""
    job = make_job(lab, tmp_path, two_nodes(), SAVES, time="1", signal="USR2@1", max_restarts="2")
    number = job.submit()
    assert lab.exit_code(number) == 0, job.output
    logs = job.home / "hccl_logs" / f"slurm-{number}"
    assert (logs / "rank_3.log").read_text().endswith("ready\nsaved\n")
    assert [job.note(rank, restart=1)["restart"] for rank in range(4)] == ["1"] * 4
    assert "ended by SIGUSR2; logs in " in job.output
    assert lab.about(number)["Restarts"] == "1"


def test_without_restarts_the_signal_ends_the_job(lab: Cluster, tmp_path: Path) -> None:
    job = make_job(lab, tmp_path, two_nodes(), SAVES)
    number = job.submit()
    assert wait_until(lambda: job.all_say("ready"))
    lab.run(["scancel", "--batch", "--signal=USR2", number])
    assert lab.exit_code(number) == 140
    assert job.last[0].startswith("ended by SIGUSR2; logs in ")


def test_after_a_failure_the_job_is_queued_again(lab: Cluster, tmp_path: Path) -> None:
    program = (
        "if rank != 2: time.sleep(0 if restart == '3' else 300)\n"
        "while not os.path.exists(path.replace('note_2', 'note_3')): time.sleep(0.1)\n"
        "sys.exit(0 if restart == '3' else 7)"
    )
    job = make_job(lab, tmp_path, two_nodes(), program, max_restarts="2")
    assert lab.exit_code(number := job.submit(), seconds=3 * PATIENCE) == 7
    assert lab.about(number)["Restarts"] == "2"
    assert job.output.count("error: rank 2 on device 4 of n1 failed with exit code 7\n") == 3
    assert [job.note(3, restart=restart)["restart"] for restart in range(3)] == [None, "1", "2"]
    assert job.nothing_left()


def test_a_cancelled_job_is_not_restarted(lab: Cluster, tmp_path: Path) -> None:
    job = make_job(lab, tmp_path, two_nodes(), "time.sleep(300)", max_restarts="3", signal="USR2@60")
    number = job.submit()
    assert wait_until(job.all_run)
    lab.run(["scancel", number])
    lab.exit_code(number)
    assert lab.about(number)["JobState"] == "CANCELLED"
    assert lab.about(number)["Restarts"] == "0"
    assert job.nothing_left()


PMIX = Path("/usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so")
"""The library that the pmix plugin of Debian's Slurm opens."""
needs_pmix = pytest.mark.skipif(not PMIX.exists(), reason="needs PMIx: apt-get install libpmix2 libpmix-dev")
MPI = [pytest.param("pmi2", "PMI_RANK"), pytest.param("pmix", "PMIX_RANK", marks=needs_pmix)]


@pytest.mark.parametrize(("mpi", "own"), MPI)
def test_mpi_ranks_match_the_table(lab: Cluster, tmp_path: Path, mpi: str, own: str) -> None:
    """By default, Slurm would begin at n1, and give it as many tasks as n2."""
    job = make_job(lab, tmp_path, two_nodes(first=(4, 5), second=(6,)), mpi=mpi)
    assert job.run() == 0, job.output
    found = [job.note(rank)["environ"] for rank in range(3)]
    assert [(one["RANK_ID"], one["SLURM_PROCID"], one[own]) for one in found] == [(n, n, n) for n in "012"]
    assert hosts(job) == ["n2", "n2", "n1"]


SUMS = """
from mpi4py import MPI
world = MPI.COMM_WORLD
assert (world.Get_rank(), world.Get_size()) == (rank, 3)
print("sum", world.allreduce(10 ** rank), flush=True)
"""


@needs_pmix
def test_ranks_that_call_mpi_connect_over_pmix(lab: Cluster, tmp_path: Path) -> None:
    """With MPI from the package index, which includes its own PMIx, newer than that of Slurm."""
    pytest.importorskip("mpi4py.MPI")
    job = make_job(lab, tmp_path, two_nodes(first=(4, 5), second=(6,)), SUMS, mpi="pmix")
    assert job.run() == 0, job.output
    assert job.all_say("sum 111")


def test_under_mpi_a_node_outside_the_table_prints_an_error(lab: Cluster, tmp_path: Path) -> None:
    job = make_job(lab, tmp_path, servers((0,), (0,), ids=("n1", "192.0.2.250")), mpi="pmi2")
    assert job.run() == 2
    assert job.last[0].startswith("error: this host matches 0 servers of the table; it has n2 ")
    assert job.nothing_left()


def test_apptainer_runs_each_rank(lab: Cluster, tmp_path: Path) -> None:
    """A fake apptainer records its options and runs the command."""
    seen = 'for last; do :; done; printf "%s\\n" "$@" >"$0.$SLURM_PROCID"\n'
    fake(tmp_path, "apptainer", seen + 'while [[ $1 != *.sif ]]; do shift; done; shift; exec "$@"')
    job = make_job(
        lab, tmp_path, two_nodes(), apptainer_image="images/train.sif", container_mounts="/data:/mnt/data:ro"
    )
    path = f"{tmp_path}/bin:{lab.environ['PATH']}"
    assert job.run("a b", "", environ={"PATH": path}) == 0, job.output
    words = (tmp_path / "bin" / "apptainer.0").read_text().split("\n")
    driver = "/usr/local/Ascend/driver"
    mounts = [f"{driver}:{driver}:ro", "/data:/mnt/data:ro", f"{job.home}:{job.home}", f"{tmp_path}:{tmp_path}"]
    assert words[: words.index("images/train.sif")] == [
        "exec",
        *(f"--bind={mount}" for mount in mounts),
        f"--pwd={job.home}",
    ]
    assert job.note(3)["argv"] == ["a b", ""]


def test_slurm_reads_the_topology_of_an_inventory(lab: Cluster, tmp_path: Path) -> None:
    """Each node is a separate super pod: a job of two nodes on one switch waits, on two switches it runs."""
    shown = lab.run(["scontrol", "show", "topology"]).stdout
    assert re.findall(r"SwitchName=(\S+) Level=(\d)", shown) == [("sp-a", "0"), ("sp-b", "0"), ("all", "1")]
    job = make_job(lab, tmp_path, two_nodes(), switches="2")
    number = job.submit()
    assert lab.exit_code(number) == 0, job.output
    assert hosts(job) == ["n2", "n2", "n1", "n1"]
    assert lab.about(number)["Switches"].startswith("2@")
    assert job.note(0)["environ"]["SLURM_TOPOLOGY_ADDR"] == "all.sp-b.n2"
