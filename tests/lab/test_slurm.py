"""The cluster: two nodes with names, jobs that run, and nothing left at the end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.slurm import Cluster, cluster, needs_slurm
from tests.places import ROOT
from tests.waiting import wait_until

pytestmark = needs_slurm


@pytest.fixture(scope="module")
def lab() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


def with_folder(folder: Path) -> list[str]:
    """The command lines that contain the folder."""
    return [
        line
        for line in subprocess.check_output(["ps", "-e", "-o", "args"], text=True).splitlines()
        if str(folder) in line
    ]


def test_a_job_runs_on_two_hosts_that_resolve_each_other(lab: Cluster) -> None:
    done = lab.run(["srun", "-N2", "sh", "-c", "hostname; getent hosts n1 n2 >/dev/null"])
    assert (done.returncode, sorted(done.stdout.split())) == (0, ["n1", "n2"])


def test_the_exit_code_of_a_job_is_seen(lab: Cluster, tmp_path: Path) -> None:
    number = lab.submit(["--wrap", "exit 7"], folder=tmp_path)
    assert lab.exit_code(number) == 7
    assert lab.jobs() == []
    with pytest.raises(RuntimeError, match=r"sbatch: .*no-such-partition"):
        lab.submit(["-p", "no-such-partition", "--wrap", "true"])


def test_two_clusters_are_isolated(lab: Cluster) -> None:
    with cluster() as other:
        names = [made.run(["srun", "-N2", "printenv", "SLURM_CONF"]).stdout.split()[0] for made in (lab, other)]
    assert names == [str(made.folder / "slurm.conf") for made in (lab, other)]
    assert lab.run(["srun", "true"]).returncode == 0


def test_nothing_is_left_after_a_failure() -> None:
    with pytest.raises(KeyboardInterrupt), cluster() as made:
        number = made.submit(["-N2", "--wrap", f"srun sleep 60 & srun --overlap setsid sleep 61; : {made.folder}"])
        assert wait_until(lambda: made.about(number)["JobState"] == "RUNNING")
        process = made.start(["srun", "sleep", "62"])
        raise KeyboardInterrupt
    process.communicate(timeout=300)
    assert with_folder(made.folder) == []
    assert not made.folder.exists()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            assert os.fsencode(made.folder) not in path.read_bytes(), path
        except OSError:  # it ended meanwhile
            continue


def test_the_cluster_of_a_killed_process_is_removed() -> None:
    program = (
        "import os, signal\nfrom tests.lab.slurm import cluster\n"
        "with cluster() as lab:\n    print(lab.folder, flush=True)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program], check=False, cwd=ROOT, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    folder = Path(killed.stdout.strip())
    assert with_folder(folder) != []
    with cluster():
        assert with_folder(folder) == []
        assert not folder.exists()
