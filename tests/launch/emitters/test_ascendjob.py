"""The manifest of an AscendJob: requirements of the operator and of Kubernetes, and the ranks of its pods."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters import emit as emit_of
from hccl_kit.launch.files import LaunchFile
from hccl_kit.runtime.detect import detect
from hccl_kit.runtime.worker_env import MISLEADING, NAMES
from tests.launch.manifests import Cluster, documents_of, job_of, readable
from tests.launch.pods import HOST, SHOW, command, finish, printed, told
from tests.launch.ways import assert_golden, planned, servers
from tests.waiting import wait_until

TWO = servers(range(4), range(4))
OPTIONS: dict[str, dict[str, Any]] = {
    "mindspore": {},
    "pytorch_host_network": {"framework": "pytorch", "product": "a2", "host_network": True},
    "pytorch_one_server": {"framework": "pytorch"},
}


def emit(*words: str, servers_: int = 2, framework: str | None = None, **options: Any) -> tuple[LaunchFile, ...]:
    table = TWO if servers_ == 2 else servers(range(4))
    plan, file = planned(table, *words, framework=framework)
    return emit_of(
        "ascendjob", plan, file, **{"image": "registry/train:1", "name": "train", "product": "910", **options}
    )


def made(name: str, *words: str) -> tuple[LaunchFile, ...]:
    return emit(*words, servers_=1 if "one_server" in name else 2, **OPTIONS[name])


@pytest.mark.parametrize("name", ["mindspore", "pytorch_host_network"])
def test_files_match_the_golden_files(name: str, request: pytest.FixtureRequest) -> None:
    (file,) = made(name, "python", "train.py", "--lr", "0.1")
    assert_golden(f"ascendjob/{name}", [readable(file)], request)


def test_the_leader_and_the_number_of_pods_are_set() -> None:
    def shape(name: str) -> tuple[dict[str, int], int]:
        spec = job_of(documents_of(made(name)))["spec"]
        replicas = {kind: row["replicas"] for kind, row in spec["replicaSpecs"].items()}
        return replicas, spec["runPolicy"]["schedulingPolicy"]["minAvailable"]

    assert shape("mindspore") == ({"Scheduler": 1, "Worker": 2}, 3)
    assert shape("pytorch_host_network") == ({"Master": 1, "Worker": 1}, 2)
    assert shape("pytorch_one_server") == ({"Master": 1}, 1)


@pytest.mark.parametrize("framework", ["mindspore", "pytorch"])
def test_after_a_failure_volcano_deletes_the_pods_and_the_operator_recreates_them(framework: str) -> None:
    documents = documents_of(emit(framework=framework, max_restarts="3"))
    job = job_of(documents)
    labels = {name: text for name, text in job["metadata"]["labels"].items() if name.startswith("fault-")}
    assert labels == {"fault-scheduling": "grace", "fault-retry-times": "3"}
    assert job["spec"]["runPolicy"]["backoffLimit"] == 3
    assert {row["restartPolicy"] for row in job["spec"]["replicaSpecs"].values()} == {"Never"}
    assert emit(framework=framework, max_restarts="0") == emit(framework=framework)


def test_more_restarts_than_the_label_allows_are_refused() -> None:
    with pytest.raises(KitError, match=r"--max-restarts of --to ascendjob is 101; accepted: 0 to 100$"):
        emit(max_restarts="101")


def mindspore_environ(role: str, node: int = 0) -> dict[str, str]:
    """The variables that the operator sets, and some that may be left over in an image."""
    return {
        "MS_ROLE": role,
        "MS_SCHED_HOST": "10.96.0.7",
        "MS_SCHED_PORT": "2222",
        "MS_WORKER_NUM": "8",
        "MS_LOCAL_WORKER": "4",
        "MS_NODE_RANK": str(node),
        "MS_SERVER_NUM": "0",
        **dict.fromkeys(["RANK_TABLE_FILE", "MASTER_ADDR", "RANK", "DEVICE_ID"], "left"),
    }


def play(files: tuple[LaunchFile, ...], folder: Path, kind: str, environ: Mapping[str, str]) -> Any:
    return finish(Cluster(folder, files).start(kind, {}, environ))


def test_a_worker_starts_a_rank_on_each_of_its_cards(tmp_path: Path) -> None:
    done = play(emit(*command(SHOW)), tmp_path, "Worker", mindspore_environ("MS_WORKER", 1))
    assert (done.returncode, printed(done), done.stderr) == (0, "", "")
    assert sorted(path.stem for path in tmp_path.glob("*.json")) == ["4", "5", "6", "7"]
    for i, rank in enumerate(range(4, 8)):
        environ = told(tmp_path, rank)
        set_ = {name: environ[name] for name in environ if name in mindspore_environ("") or "RANK" in name}
        assert set_ | {"MS_NODE_ID": environ["MS_NODE_ID"]} == {
            **{name: value for name, value in mindspore_environ("MS_WORKER", 1).items() if value != "left"},
            "RANK_ID": str(rank),
            "RANK_SIZE": "8",
            "DEVICE_ID": str(i),
            "MS_NODE_ID": str(rank),
        }
        found = detect(environ)
        assert (found.launcher, found.env.rank, found.env.size, found.env.device) == ("msrun", rank, 8, i)


def test_visible_cards_of_an_image_are_removed_from_a_pod_of_mindspore_with_a_note(tmp_path: Path) -> None:
    given = {**mindspore_environ("MS_WORKER", 1), "ASCEND_RT_VISIBLE_DEVICES": "0,1"}
    done = play(emit(*command(SHOW)), tmp_path, "Worker", given)
    assert (done.returncode, printed(done)) == (0, "")
    assert done.stderr.startswith("note: ASCEND_RT_VISIBLE_DEVICES='0,1' is removed: ")
    assert "ASCEND_RT_VISIBLE_DEVICES" not in told(tmp_path, 4)


def test_the_scheduler_pod_runs_one_process_and_no_rank(tmp_path: Path) -> None:
    program = "import os; print(os.environ['MS_ROLE'], os.environ['RANK_SIZE'], 'RANK_ID' in os.environ)"
    done = play(emit(*command(program)), tmp_path, "Scheduler", mindspore_environ("MS_SCHED"))
    assert done.stdout.startswith(f"the scheduler of {HOST}, ")
    assert (done.returncode, printed(done), done.stderr) == (0, f"[{HOST}:scheduler] MS_SCHED 8 False\n", "")


def test_a_torch_pod_sets_all_variables_for_every_rank(tmp_path: Path) -> None:
    given = {
        "MASTER_ADDR": "10.96.0.7",
        "MASTER_PORT": "2222",
        "WORLD_SIZE": "8",
        "RANK": "1",
        "LOCAL_WORLD_SIZE": "4",
        "LOCAL_RANK": "0,1,2,3",
        **dict.fromkeys(MISLEADING, "7"),
    }
    done = play(emit(*command(SHOW), framework="pytorch"), tmp_path, "Worker", given)
    assert (done.returncode, done.stderr) == (0, "")
    for i, rank in enumerate(range(4, 8)):
        environ = told(tmp_path, rank)
        assert environ.keys() & set(MISLEADING) == set()
        found = detect(environ)
        env = found.env
        assert found.launcher == "script"
        assert (env.rank, env.size, env.local_rank, env.local_size, env.device) == (rank, 8, i, 4, i)
        assert (env.master_addr, env.master_port, env.table) == ("10.96.0.7", 2222, None)
        assert (env.node, env.visible) == (1, "0,1,2,3")
        assert all(environ[name] == str(rank) for name in NAMES["rank"])


def test_without_the_operator_the_pod_prints_an_error(tmp_path: Path) -> None:
    done = play(emit(*command(SHOW)), tmp_path, "Worker", {})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: MS_WORKER_NUM='' is not a number from 0; the Ascend Operator sets it in the pods of an AscendJob\n"
        "  fix: check that the operator is running, and that the container is named ascend\n"
    )


FAIL = """
import os, signal, sys, time
rank = int(os.environ["RANK_ID"])
print("rank", rank, "starts")
if rank == 2:
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(60)
"""


def test_the_first_rank_that_fails_ends_the_pod(tmp_path: Path) -> None:
    done = play(emit(*command(FAIL)), tmp_path, "Worker", mindspore_environ("MS_WORKER"))
    assert done.returncode == 137
    assert f"error: rank 2 on device 2 of {HOST} failed with exit code 137 (SIGKILL)\n" in done.stderr
    assert done.stderr.endswith("rank_2.log:\nrank 2 starts\n")
    assert sorted(printed(done).splitlines()) == [f"[{HOST}:{rank}] rank {rank} starts" for rank in range(4)]


@pytest.mark.long
def test_sigterm_from_kubernetes_ends_all_ranks_of_a_pod(tmp_path: Path) -> None:
    program = (
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN if os.environ['RANK_ID'] == '1' "
        "else signal.SIG_DFL); open(os.environ['RANK_ID'] + '.pid', 'w').write(str(os.getpid())); time.sleep(60)"
    )
    pod = Cluster(tmp_path, emit(*command(program))).start("Worker", {}, mindspore_environ("MS_WORKER"))
    assert wait_until(lambda: len([p for p in tmp_path.glob("*.pid") if p.read_text()]) == 4)
    ranks = [int(path.read_text()) for path in tmp_path.glob("*.pid")]
    pod.send_signal(signal.SIGTERM)
    done = finish(pod)
    assert done.returncode == 143
    assert done.stderr.startswith("ended by SIGTERM; ")
    for rank in ranks:
        with pytest.raises(ProcessLookupError):
            os.kill(rank, 0)


def test_a_missing_program_is_an_error(tmp_path: Path) -> None:
    done = play(emit("/no/such/program"), tmp_path, "Worker", mindspore_environ("MS_WORKER"))
    assert done.returncode == 127
    assert "No such file or directory: '/no/such/program'" in done.stderr
