"""hccl-kit run --slurm on a real Slurm of two nodes: agents reached by srun, restarts, signals, and nothing left."""

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hccl_kit.runtime.worker_env import WorkerEnv
from hccl_kit.table import formats
from hccl_kit.table.model import RankTable
from tests.lab.slurm import Cluster, cluster, needs_slurm
from tests.launch import jobs
from tests.launch.nodes import table_of
from tests.launch.slurm_jobs import START, make_job
from tests.launch.ways import planned
from tests.places import ROOT
from tests.waiting import PATIENCE, wait_until

pytestmark = needs_slurm
TABLE = table_of(("n2", "n1"))
"""Rank 0 is on n2, although Slurm has n1 first."""
KIT = (sys.executable, "-m", "hccl_kit")


@pytest.fixture(scope="module")
def lab() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


def words(folder: Path, program: str, *options: str, table: RankTable = TABLE, nodes: int = 2) -> list[str]:
    """A job inside an allocation of these nodes, whose ranks record their environment, and then run `program`."""
    (folder / "program.py").write_text(START + program, encoding="utf-8")
    (folder / "table.json").write_text(formats.write(table), encoding="utf-8")
    run = [*KIT, "run", "table.json", "--slurm", *options, "--", sys.executable, "-u", str(folder / "program.py")]
    return ["salloc", f"--nodes={nodes}", "--quiet", *run]


def notes(folder: Path, restart: int = 0) -> list[dict[str, object]]:
    return [json.loads((folder / f"note_{rank}_{restart}").read_text()) for rank in range(4)]


def test_ranks_of_all_nodes_match_the_table(lab: Cluster, tmp_path: Path) -> None:
    environ = {"PYTHONPATH": str(ROOT), "MINE": "a b"}
    done = lab.run(words(tmp_path, ""), folder=tmp_path, environ=environ)
    assert done.returncode == 0, done.stderr
    plan, _ = planned(TABLE)
    found = [WorkerEnv(*note["env"]) for note in notes(tmp_path)]  # type: ignore[misc]
    assert [(env.rank, env.device, env.node) for env in found] == [
        (worker.rank, worker.device, worker.node) for worker in plan.workers
    ]
    assert [note["host"] for note in notes(tmp_path)] == ["n2", "n2", "n1", "n1"]
    for note in notes(tmp_path):
        environ_of = note["environ"]
        assert isinstance(environ_of, dict)
        assert (note["launcher"], environ_of["MINE"], "SLURM_PROCID" in environ_of) == ("script", "a b", False)
    assert "rank 0 is here\n" in done.stdout
    assert (tmp_path / "hccl_logs" / "latest" / "rank_3.log").read_text() == "rank 3 is here\n"


def test_a_failed_job_starts_again_in_the_allocation(lab: Cluster, tmp_path: Path) -> None:
    failing = "if rank == 2 and not restart: sys.exit(7)\ntime.sleep(0 if restart else 300)"
    done = lab.run(words(tmp_path, failing, "--max-restarts", "1"), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "error: rank 2 on device 0 of n1 failed with exit code 7\n" in done.stderr
    assert [note["restart"] for note in notes(tmp_path, 1)] == ["1"] * 4
    assert wait_until(lambda: jobs.Job(tmp_path, planned(TABLE)[0]).processes() == [])


def test_a_node_takes_the_place_of_a_server_that_the_allocation_lacks(lab: Cluster, tmp_path: Path) -> None:
    (tmp_path / "spares.yaml").write_text("n1: {0: 192.0.2.11, 1: 192.0.2.12}\n")
    spares = ("--spares", "n1", "--inventory", "spares.yaml", "--replace", "gone=n1")
    done = lab.run(words(tmp_path, "", *spares, table=table_of(("n2", "gone"))), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "spare n1 takes the place of server gone; left: none\n" in done.stderr
    assert [note["host"] for note in notes(tmp_path)] == ["n2", "n2", "n1", "n1"]


@pytest.mark.long
@pytest.mark.parametrize("how", ["lose", "cut"])
def test_a_node_that_is_lost_is_named_and_leaves_no_rank(tmp_path: Path, how: str) -> None:
    """Slurm itself notices after minutes."""
    with cluster() as lab:
        process = lab.start(words(tmp_path, "time.sleep(300)", "--max-restarts", "3"), folder=tmp_path)
        assert wait_until(lambda: len(list(tmp_path.glob("note_*"))) == 4)
        getattr(lab, how)("n1")
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 2
        assert "error: server n1 does not answer or was lost: no sign of life in " in err
        assert wait_until(lambda: jobs.Job(tmp_path, planned(TABLE)[0]).processes() == [])


@pytest.mark.long
def test_a_spare_takes_the_place_of_a_node_that_is_lost(tmp_path: Path) -> None:
    (tmp_path / "spares.yaml").write_text("n3: {0: 192.0.2.11, 1: 192.0.2.12}\n")
    command = words(
        tmp_path, "time.sleep(0 if restart else 300)", "--spares", "n3", "--inventory", "spares.yaml", nodes=3
    )
    with cluster(nodes=3) as lab:
        process = lab.start([*command[:2], "--no-kill", *command[2:]], folder=tmp_path)
        assert wait_until(lambda: len(list(tmp_path.glob("note_*"))) == 4)
        lab.lose("n2")
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        assert "spare n3 takes the place of server n2; left: none\n" in err
        assert [note["host"] for note in notes(tmp_path, 1)] == ["n3", "n3", "n1", "n1"]
        assert wait_until(lambda: jobs.Job(tmp_path, planned(TABLE)[0]).processes() == [])


def test_a_signal_ends_the_job_and_leaves_nothing(lab: Cluster, tmp_path: Path) -> None:
    process = lab.start(words(tmp_path, "print('ready', flush=True)\ntime.sleep(300)"), folder=tmp_path)
    assert wait_until(lambda: len(list(tmp_path.glob("note_*"))) == 4)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert wait_until(lambda: lab.jobs() == [])
    assert wait_until(lambda: jobs.Job(tmp_path, planned(TABLE)[0]).processes() == [])


@pytest.mark.parametrize("to", ["--batch", "--full"])
def test_a_signal_before_the_limit_reaches_the_ranks(lab: Cluster, tmp_path: Path, to: str) -> None:
    """Slurm gives it to the script, or to every process: the agents pass it on, and live."""
    job = make_job(lab, tmp_path, TABLE, "signal.signal(signal.SIGUSR2, lambda *_: os._exit(0))\ntime.sleep(300)")
    number = job.submit(environ={"PATH": lab.environ["PATH"]})
    assert wait_until(lambda: len(list(tmp_path.glob("note_*"))) == 4)
    lab.run(["scancel", to, "--signal=USR2", number])
    assert lab.exit_code(number) == 0, job.output


def test_the_batch_script_hands_the_job_to_the_kit(lab: Cluster, tmp_path: Path) -> None:
    failing = "if rank == 3 and not restart: sys.exit(7)\ntime.sleep(0 if restart else 300)"
    job = make_job(lab, tmp_path, TABLE, failing, max_restarts="1")
    assert job.run("--epochs", "3", environ={"PATH": lab.environ["PATH"]}) == 0, job.output
    assert "error: rank 3 on device 1 of n1 failed with exit code 7\n" in job.output
    assert [job.note(rank, restart=1)["argv"] for rank in range(4)] == [["--epochs", "3"]] * 4
    assert lab.about(job.note(0, restart=1)["environ"]["SLURM_JOB_ID"])["Restarts"] == "0"
    assert job.nothing_left()


def test_a_node_is_found_by_an_address(lab: Cluster, tmp_path: Path) -> None:
    own = lab.run(["hostname", "-I"]).stdout.split()
    if not own:
        pytest.skip("needs an address besides that of the loopback")
    command = words(tmp_path, "", table=table_of((own[-1],)))
    command[1] = "--nodes=1"
    done = lab.run(command, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "rank 0 is here\n" in done.stdout


def test_outside_of_an_allocation_the_next_step_is_said(lab: Cluster, tmp_path: Path) -> None:
    done = lab.run(words(tmp_path, "")[3:], folder=tmp_path)
    assert done.returncode == 2
    assert "error: --slurm works inside an allocation of Slurm, and SLURM_JOB_NODELIST is not set\n" in done.stderr
    assert not (tmp_path / "note_0_0").exists()
