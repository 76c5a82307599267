"""Jobs of our batch script on a real Slurm of two nodes: their ranks, their end, and no processes left."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hccl_kit.runtime.worker_env import MISLEADING, PLOGS, THREADS, VISIBLE_DEVICES, WorkerEnv
from tests.lab.slurm import Cluster, cluster, needs_slurm
from tests.launch.slurm_jobs import make_job, two_nodes
from tests.launch.ways import servers
from tests.waiting import wait_until

pytestmark = needs_slurm


@pytest.fixture(scope="module")
def lab() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


def test_every_rank_matches_the_table(lab: Cluster, tmp_path: Path) -> None:
    job = make_job(lab, tmp_path / "a folder", two_nodes(second=(6, 7, 1)))
    words = ["--", "", "a'; echo foo", '"$(id)"', "a\nb", "\n#SBATCH --nodes=9\n", "训练", "*", "\\", "-N9"]
    left_over = dict.fromkeys(
        (*MISLEADING, VISIBLE_DEVICES, "RANK_ID", "WORLD_SIZE", "HCCL_KIT_RESTART", "SLURM_EXPORT_ENV"), "7"
    )
    assert job.run(*words, environ={**left_over, "HOSTNAME": "elsewhere"}) == 0, job.output
    notes = [job.note(rank) for rank in range(job.plan.size)]
    assert [note["host"] for note in notes] == ["n2", "n2", "n1", "n1", "n1"]
    found = [WorkerEnv(*note["env"]) for note in notes]
    (port,) = {env.master_port for env in found}
    table = str(job.folder / "table.json")
    run = next(job.home.glob("hccl_logs/slurm-*")).name
    assert found == [replace(worker, table=table, master_port=port, run=run) for worker in job.plan.workers]
    assert f"note: {VISIBLE_DEVICES}=7 is removed; " in job.output
    assert port in range(20000, 32000)
    for note in notes:
        assert (note["launcher"], note["argv"], note["cwd"]) == ("script", words, str(job.home))
        assert (note["restart"], note["environ"]["HOSTNAME"]) == (None, note["host"])
        assert note["parent"] == "slurmstepd\n"  # whose children get signals; with proctrack/cgroup, only these
        assert not set(note["environ"]) & set(MISLEADING)
    assert "rank 0 is here\n" in job.output
    assert "rank 1 is here" not in job.output
    assert (job.home / "hccl_logs" / "latest" / "rank_4.log").read_text() == "rank 4 is here\n"


def test_ranks_of_torch_see_the_cards_of_their_node_and_share_its_cores(lab: Cluster, tmp_path: Path) -> None:
    job = make_job(lab, tmp_path, two_nodes(second=(0, 6, 7)), framework="pytorch")
    assert job.run(environ={THREADS: ""}) == 0, job.output
    notes = [job.note(rank) for rank in range(job.plan.size)]
    found = [WorkerEnv(*note["env"]) for note in notes]
    assert [(env.visible, env.device, env.node) for env in found] == [
        (worker.visible, worker.device, worker.node) for worker in job.plan.workers
    ]
    share = notes[0]["environ"][THREADS]
    assert int(share) >= 1


def test_visible_cards_that_the_site_sets_must_be_those_of_the_table(lab: Cluster, tmp_path: Path) -> None:
    job = make_job(lab, tmp_path, two_nodes(), framework="pytorch")
    assert job.run(environ={VISIBLE_DEVICES: "4,5"}) == 0, job.output
    assert job.run(environ={VISIBLE_DEVICES: "4"}) == 2
    assert job.last[0] == f"error: {VISIBLE_DEVICES}=4; the cards of this job are 4,5"


def test_a_rank_that_fails_ends_all_ranks(lab: Cluster, tmp_path: Path) -> None:
    failing = "if rank == 3:\n    time.sleep(1)\n    print('this is why')\n    sys.exit(7)\ntime.sleep(120)"
    job = make_job(lab, tmp_path, two_nodes(), failing)
    assert job.run() == 7
    logs = next(job.home.glob("hccl_logs/slurm-*"))
    assert job.last == [
        "error: rank 3 on device 5 of n1 failed with exit code 7",
        f"  the end of {logs}/rank_3.log:",
        "rank 3 is here",
        "this is why",
    ]
    assert job.nothing_left()


def test_a_rank_that_is_killed_is_named_with_its_signal(lab: Cluster, tmp_path: Path) -> None:
    job = make_job(lab, tmp_path, two_nodes(), "if rank == 1: os.kill(os.getpid(), 9)\ntime.sleep(120)")
    assert job.run() == 137
    assert job.last[0] == "error: rank 1 on device 5 of n2 failed with exit code 137 (SIGKILL)"


def test_plogs_have_a_folder_per_node_and_the_note_of_a_failure_is_diagnosed(lab: Cluster, tmp_path: Path) -> None:
    failing = f"print(os.environ[{PLOGS!r}], flush=True)\nif rank == 3: sys.exit(7)\ntime.sleep(120)"
    job = make_job(lab, tmp_path, two_nodes(), failing)
    assert job.run() == 7
    run = (job.home / "hccl_logs" / "latest").resolve()
    logs = [(run / f"rank_{rank}.log").read_text() for rank in (0, 3)]
    assert [log.splitlines()[1] for log in logs] == [f"{run}/plog/n2", f"{run}/plog/n1"]
    done = lab.run([Path(sys.executable).with_name("hccl-kit"), "diagnose", run])
    assert "rank 3" in done.stdout.splitlines()[0], done


def test_scancel_leaves_no_process(lab: Cluster, tmp_path: Path) -> None:
    job = make_job(lab, tmp_path, two_nodes(), "time.sleep(120)")
    number = job.submit()
    assert wait_until(job.all_run)
    lab.run(["scancel", number])
    lab.exit_code(number)
    assert lab.about(number)["JobState"] == "CANCELLED"
    assert job.nothing_left()
    assert job.last[0].startswith("ended by SIGTERM; logs in ")


def test_ranks_can_handle_a_sigterm_to_the_script(lab: Cluster, tmp_path: Path) -> None:
    """As `sbatch --signal=B:TERM@120` sends it."""
    saving = "def save(*_): time.sleep(2); print('saved'); sys.exit()\nsignal.signal(signal.SIGTERM, save)\n"
    job = make_job(lab, tmp_path, two_nodes(), saving + "print('ready', flush=True)\ntime.sleep(120)")
    number = job.submit()
    assert wait_until(lambda: job.all_say("ready"))
    lab.run(["scancel", "--batch", "--signal=TERM", number])
    assert lab.exit_code(number) == 143
    assert job.last[-1].startswith("ended by SIGTERM; logs in ")
    for rank in range(4):
        assert (job.home / "hccl_logs" / "latest" / f"rank_{rank}.log").read_text().endswith("ready\nsaved\n")


def test_a_signal_to_the_job_reaches_every_rank(lab: Cluster, tmp_path: Path) -> None:
    program = "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(0))\nprint('ready', flush=True)\ntime.sleep(120)"
    job = make_job(lab, tmp_path, two_nodes(), program)
    number = job.submit()
    assert wait_until(lambda: job.all_say("ready"))
    lab.run(["scancel", "--signal=USR1", number])
    assert lab.exit_code(number) == 0


def test_a_requeued_job_counts_the_restart(lab: Cluster, tmp_path: Path) -> None:
    job = make_job(lab, tmp_path, two_nodes(), "time.sleep(0 if restart else 120)")
    number = job.submit()
    assert wait_until(job.all_run)
    lab.run(["scontrol", "requeue", number])
    assert lab.exit_code(number) == 0
    assert [job.note(rank, restart=1)["restart"] for rank in range(4)] == ["1"] * 4
    assert [job.note(rank)["restart"] for rank in range(4)] == [None] * 4
    logs = job.home / "hccl_logs" / f"slurm-{number}"
    assert (logs / "restart_1" / "rank_3.log").read_text() == (logs / "rank_3.log").read_text() == "rank 3 is here\n"
    assert job.output.count(f"job {number} on n[1-2], port ") == 2


def test_a_node_outside_the_table_prints_an_error(lab: Cluster, tmp_path: Path) -> None:
    job = make_job(lab, tmp_path, servers((0,), (0,), ids=("n1", "192.0.2.250")))
    assert job.run() == 2
    lines = job.output.splitlines()  # srun's own lines may stand between these
    assert any(line.startswith("error: this host matches 0 servers of the table; it has n2 ") for line in lines)
    assert "  the table has n1, 192.0.2.250" in lines
    assert "  fix: sbatch --nodelist=..., or HCCL_KIT_SERVER=ID for one node" in lines
    assert job.nothing_left()


def test_a_node_is_recognised_by_an_address(lab: Cluster, tmp_path: Path) -> None:
    own = lab.run(["hostname", "-I"]).stdout.split()
    if not own:
        pytest.skip("needs an address besides that of the loopback")
    job = make_job(lab, tmp_path, servers((3,), ids=(own[-1],)))
    assert job.run() == 0, job.output
    assert job.note(0)["env"][4] == 3


def test_this_server_can_be_set_by_a_variable(lab: Cluster, tmp_path: Path) -> None:
    job = make_job(lab, tmp_path, servers((0, 1), ids=("rack 1, left",)))
    assert job.run() == 2
    assert job.run(environ={"HCCL_KIT_SERVER": "rack 1, left"}) == 0, job.output
    assert "HCCL_KIT_SERVER" not in job.note(1)["environ"]


def test_each_node_is_a_server_and_each_server_a_node(lab: Cluster, tmp_path: Path) -> None:
    job = make_job(lab, tmp_path, two_nodes(), "time.sleep(120)")
    assert job.run(environ={"HCCL_KIT_SERVER": "n2"}) == 2
    assert " is a second node of server 0\n" in job.output
    before = job.output.count("rank 0 is here")  # it may have begun before the second node was found
    assert job.run(options=["--nodes=1"]) != 0
    assert job.output.count("rank 0 is here") == before
    assert job.nothing_left()
