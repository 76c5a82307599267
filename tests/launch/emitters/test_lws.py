"""The manifest of a LeaderWorkerSet: a group that runs and restarts as a unit."""

from pathlib import Path

from hccl_kit.launch.emitters import lws
from tests.launch.controllers import pods_of
from tests.launch.manifests import Cluster, documents_of, job_of
from tests.launch.pods import SHOW, command, finish
from tests.launch.ways import planned, servers


def test_a_pod_leaves_its_restarts_to_the_group() -> None:
    plan, table = planned(servers(range(2), range(2), range(2)))
    (file,) = lws.emit(plan, table, image="x")
    spec = job_of(documents_of([file]))["spec"]
    group = spec["leaderWorkerTemplate"]
    assert (spec["replicas"], group["size"]) == (1, 3)
    assert group["restartPolicy"] == "RecreateGroupOnPodRestart"
    assert "restartPolicy" not in group["workerTemplate"]["spec"]  # a StatefulSet only accepts Always
    assert "# For a command that serves: all pods are started again when the command ends" in file.text


def test_a_group_of_another_size_does_not_start(tmp_path: Path) -> None:
    plan, table = planned(servers(range(2), range(2)), *command(SHOW))
    cluster = Cluster(tmp_path, lws.emit(plan, table, image="x"))
    pod = pods_of("lws", cluster.documents)[1]
    done = finish(cluster.start(pod.template, pod.fields, {**pod.environ, "LWS_GROUP_SIZE": "4"}))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: LWS_GROUP_SIZE=4, and the manifest was written for 2 pod(s)\n"
        "  fix: write the manifest for a rank table of as many servers, instead of changing the number of pods\n"
    )


def test_a_pod_without_the_address_of_its_leader_does_not_start(tmp_path: Path) -> None:
    plan, table = planned(servers(range(2), range(2)), *command(SHOW))
    cluster = Cluster(tmp_path, lws.emit(plan, table, image="x"))
    pod = pods_of("lws", cluster.documents)[1]
    done = finish(cluster.start(pod.template, pod.fields, {**pod.environ, "LWS_LEADER_ADDRESS": ""}))
    assert (done.returncode, done.stderr) == (
        2,
        "error: LWS_LEADER_ADDRESS is not set; the controller of a LeaderWorkerSet sets it to the address of pod 0\n",
    )


def test_a_leader_address_that_does_not_resolve_is_reported(tmp_path: Path) -> None:
    plan, table = planned(servers(range(2), range(2)), *command(SHOW))
    cluster = Cluster(tmp_path, lws.emit(plan, table, image="x"))
    pod = pods_of("lws", cluster.documents)[1]
    environ = {**pod.environ, "LWS_LEADER_ADDRESS": "no such name", "HCCL_KIT_TABLE_TIMEOUT": "0"}
    done = finish(cluster.start(pod.template, pod.fields, environ))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: the address of pod 0, 'no such name', is not known after 0 s: ")
    assert done.stderr.endswith(
        "\n  fix: check that pod 0 was started, and that the cluster has a service for its name\n"
    )
