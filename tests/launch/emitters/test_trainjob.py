"""The manifest of a TrainJob: the runtime that it names is in the file, and the Trainer accepts it."""

from hccl_kit.launch.emitters import trainjob
from tests.launch.manifests import documents_of
from tests.launch.ways import planned, servers


def test_the_job_refers_to_the_runtime_in_the_file() -> None:
    plan, table = planned(servers(range(2), range(2)))
    runtime, job, _ = documents_of(trainjob.emit(plan, table, image="x", kueue_queue="team"))
    assert job["spec"]["runtimeRef"] == {
        "apiGroup": "trainer.kubeflow.org",
        "kind": runtime["kind"],
        "name": runtime["metadata"]["name"],
    }
    assert job["spec"]["trainer"]["numNodes"] == runtime["spec"]["mlPolicy"]["numNodes"] == 2
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team"}
    assert "labels" not in runtime["metadata"]


def test_the_runtime_meets_the_requirements_of_the_webhook() -> None:
    plan, table = planned(servers(range(2), range(2)))
    runtime, _, _ = documents_of(trainjob.emit(plan, table, image="x"))
    (row,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    assert row["replicas"] == 1
    assert row["template"]["metadata"]["labels"] == {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    (container,) = row["template"]["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "node"
    assert not {"parallelism", "completions"} & row["template"]["spec"].keys()  # the Trainer sets them
