"""The manifests of jobs whose controllers number the pods: what each kind has of its own."""

import json
import shlex
from pathlib import Path
from typing import Any

from hccl_kit.launch.emitters import emit
from hccl_kit.launch.files import LaunchFile
from tests.launch.controllers import pods_of
from tests.launch.manifests import Cluster, documents_of, job_of, templates_in
from tests.launch.pods import SHOW, command, finish
from tests.launch.ways import planned, servers


def emitted(kind: str, pods: int, *argv: str, **options: Any) -> tuple[LaunchFile, ...]:
    return emit(kind, *planned(servers(*[range(2)] * pods), *argv), image="x", **options)


def spec_of(kind: str, pods: int, *argv: str, **options: Any) -> dict[str, Any]:
    spec: dict[str, Any] = job_of(documents_of(emitted(kind, pods, *argv, **options)))["spec"]
    return spec


def test_a_pytorchjob_has_the_names_that_its_operator_requires() -> None:
    for replicas in spec_of("pytorchjob", 3)["pytorchReplicaSpecs"].values():
        (container,) = replicas["template"]["spec"]["containers"]
        assert container["name"] == "pytorch"
        assert [port["name"] for port in container["ports"]] == ["pytorchjob-port"]


def test_a_failed_pod_of_a_pytorchjob_ends_the_others_and_is_not_restarted() -> None:
    spec = spec_of("pytorchjob", 3)
    assert spec["runPolicy"] == {"backoffLimit": 0, "cleanPodPolicy": "Running"}
    replicas = spec["pytorchReplicaSpecs"]
    assert {part["restartPolicy"] for part in replicas.values()} == {"Never"}
    assert {kind: part["replicas"] for kind, part in replicas.items()} == {"Master": 1, "Worker": 2}


def test_a_pytorchjob_on_one_server_needs_no_workers() -> None:
    assert list(spec_of("pytorchjob", 1)["pytorchReplicaSpecs"]) == ["Master"]


def test_a_trainjob_refers_to_the_runtime_in_the_file() -> None:
    runtime, job, _ = documents_of(emitted("trainjob", 2, kueue_queue="team"))
    assert job["spec"]["runtimeRef"] == {
        "apiGroup": "trainer.kubeflow.org",
        "kind": runtime["kind"],
        "name": runtime["metadata"]["name"],
    }
    assert job["spec"]["trainer"]["numNodes"] == runtime["spec"]["mlPolicy"]["numNodes"] == 2
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team"}
    assert "labels" not in runtime["metadata"]


def test_the_runtime_of_a_trainjob_meets_the_requirements_of_the_webhook() -> None:
    runtime, _, _ = documents_of(emitted("trainjob", 2))
    (row,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    assert row["replicas"] == 1
    assert row["template"]["metadata"]["labels"] == {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    (container,) = row["template"]["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "node"
    assert not {"parallelism", "completions"} & row["template"]["spec"].keys()  # the Trainer sets them


def test_workers_of_ray_set_no_command_and_declare_their_cards_as_a_resource() -> None:
    spec = spec_of("rayjob", 2)
    (group,) = spec["rayClusterSpec"]["workerGroupSpecs"]
    assert (group["replicas"], group["minReplicas"], group["maxReplicas"]) == (2, 2, 2)
    # KubeRay writes `ray start --resources=VALUE` into a shell.
    assert json.loads(*shlex.split(group["rayStartParams"]["resources"])) == {"NPU": 2}
    (worker,) = group["template"]["spec"]["containers"]
    assert not {"command", "args"} & worker.keys()
    assert spec["shutdownAfterJobFinishes"] is True


def test_the_head_of_ray_has_no_cards_and_runs_the_entry_point() -> None:
    documents = documents_of(emitted("rayjob", 2))
    _, head = templates_in(documents)["head"]
    (container,) = head["spec"]["containers"]
    assert "resources" not in container
    assert container["volumeMounts"] == [{"name": "hccl-kit", "mountPath": "/hccl-kit"}]
    assert job_of(documents)["spec"]["entrypoint"] == "python3 -I /hccl-kit/agent.pyz /hccl-kit/job.json"


def test_the_kit_of_the_image_is_the_entry_point_if_it_is_said_to_be_there() -> None:
    spec = spec_of("rayjob", 1, image_has_kit=True)
    assert spec["entrypoint"] == "python3 -I -m hccl_kit.pod /hccl-kit/job.json"


def test_no_word_of_the_command_is_passed_to_the_shell_of_ray() -> None:
    assert "pwned" not in json.dumps(spec_of("rayjob", 2, "python", "$(touch pwned)", "; touch pwned", "\n"))


def test_a_pod_of_a_group_leaves_its_restarts_to_the_group() -> None:
    (file,) = emitted("lws", 3)
    spec = job_of(documents_of([file]))["spec"]
    group = spec["leaderWorkerTemplate"]
    assert (spec["replicas"], group["size"]) == (1, 3)
    assert group["restartPolicy"] == "RecreateGroupOnPodRestart"
    assert "restartPolicy" not in group["workerTemplate"]["spec"]  # a StatefulSet only accepts Always
    assert "# For a command that serves: all pods are started again when the command ends" in file.text


def start_of_pod_1(folder: Path, **environ: str) -> tuple[int, str, str]:
    """Exit code and output of the second pod of a group, with other variables than those of the controller."""
    cluster = Cluster(folder, emitted("lws", 2, *command(SHOW)))
    pod = pods_of("lws", cluster.documents)[1]
    done = finish(cluster.start(pod.template, pod.fields, {**pod.environ, **environ}))
    return done.returncode, done.stdout, done.stderr


def test_a_group_of_another_size_does_not_start(tmp_path: Path) -> None:
    assert start_of_pod_1(tmp_path, LWS_GROUP_SIZE="4") == (
        2,
        "",
        "error: LWS_GROUP_SIZE=4, and the manifest was written for 2 pod(s)\n"
        "  fix: write the manifest for a rank table of as many servers, instead of changing the number of pods\n",
    )


def test_a_pod_without_the_address_of_its_leader_does_not_start(tmp_path: Path) -> None:
    assert start_of_pod_1(tmp_path, LWS_LEADER_ADDRESS="") == (
        2,
        "",
        "error: LWS_LEADER_ADDRESS is not set; the controller of a LeaderWorkerSet sets it to the address of pod 0\n",
    )


def test_a_leader_address_that_does_not_resolve_is_reported(tmp_path: Path) -> None:
    code, out, error = start_of_pod_1(tmp_path, LWS_LEADER_ADDRESS="no such name", HCCL_KIT_TABLE_TIMEOUT="0")
    assert (code, out) == (2, "")
    assert error.startswith("error: the address of pod 0, 'no such name', is not known after 0 s: ")
    assert error.endswith("\n  fix: check that pod 0 was started, and that the cluster has a service for its name\n")
