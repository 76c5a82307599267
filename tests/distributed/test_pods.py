"""Real ranks in simulated pods: the manifests alone are enough to start the training program."""

import json

import pytest

from hccl_kit.launch.emitters import emit
from tests.distributed.jobs import Job
from tests.launch.manifests import Cluster
from tests.launch.ways import planned, servers
from tests.places import ROOT
from tests.ports import free_port

pytestmark = pytest.mark.train

HERE = {"PYTHONPATH": str(ROOT)}


@pytest.mark.long
def test_trains_with_a_scheduler_and_a_worker_with_two_cards(job: Job) -> None:
    plan, table = planned(servers(range(2)), *job.train("train.max_steps=3"))
    cluster = Cluster(job.folder, emit("ascendjob", plan, table, image="train", product="910"))
    port = free_port()
    pods = [
        cluster.start(kind, {}, HERE | by_the_operator(role, port))
        for kind, role in (("Scheduler", "MS_SCHED"), ("Worker", "MS_WORKER"))
    ]
    for pod in pods:
        done = job.finish(pod)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (job.summary["launcher"], job.summary["world_size"], job.summary["ranks_equal"]) == ("msrun", 2, True)


def by_the_operator(role: str, port: int) -> dict[str, str]:
    return {
        "MS_ROLE": role,
        "MS_SCHED_HOST": "127.0.0.1",
        "MS_SCHED_PORT": str(port),
        "MS_WORKER_NUM": "2",
        "MS_LOCAL_WORKER": "2",
        "MS_NODE_RANK": "0",
        "MS_SERVER_NUM": "0",
    }


@pytest.mark.long
def test_trains_in_two_volcano_pods_with_one_card_each(job: Job) -> None:
    plan, table = planned(servers((0,), (0,)), *job.train("train.max_steps=3"))
    cluster = Cluster(
        job.folder, emit("volcano", plan, table, image="train", product="910", name=f"train{free_port()}")
    )
    hosts = ("127.0.0.1", "127.0.0.2")
    pods = [cluster.start("worker", {"status.hostIP": host}, HERE) for host in hosts]
    listed = [
        {"server_id": host, "device": [{"device_id": "3", "device_ip": f"192.0.2.{rank}", "rank_id": str(rank)}]}
        for rank, host in enumerate(hosts)
    ]
    made = {"status": "completed", "server_list": listed, "server_count": "2", "version": "1.0"}
    Cluster.write(job.folder / "user_serverid_devindex_config", {"hccl.json": json.dumps(made)})
    for pod in pods:
        done = job.finish(pod)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (job.summary["launcher"], job.summary["world_size"], job.summary["ranks_equal"]) == ("script", 2, True)


@pytest.mark.long
def test_trains_in_two_numbered_pods_without_a_table(job: Job) -> None:
    plan, table = planned(servers((0,), (0,)), *job.train("train.max_steps=3"))
    cluster = Cluster(job.folder, emit("lws", plan, table, image="train", name=f"train{free_port()}"))
    group = {"LWS_LEADER_ADDRESS": "localhost", "LWS_GROUP_SIZE": "2"}
    pods = [cluster.start("worker", {}, HERE | group | {"LWS_WORKER_INDEX": str(number)}) for number in range(2)]
    for pod in pods:
        done = job.finish(pod)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (job.summary["launcher"], job.summary["world_size"], job.summary["ranks_equal"]) == ("msrun", 2, True)
