"""The manifest of a PyTorchJob: the names that its operator requires."""

from hccl_kit.launch.emitters import pytorchjob
from tests.launch.manifests import documents_of, job_of
from tests.launch.ways import planned, servers


def job(count: int) -> dict[str, dict[str, object]]:
    plan, table = planned(servers(*[range(2)] * count))
    found: dict[str, dict[str, object]] = job_of(documents_of(pytorchjob.emit(plan, table, image="x")))["spec"]
    return found


def test_container_and_port_have_the_names_that_the_operator_requires() -> None:
    for replicas in job(3)["pytorchReplicaSpecs"].values():
        assert isinstance(replicas, dict)
        (container,) = replicas["template"]["spec"]["containers"]
        assert container["name"] == "pytorch"
        assert [port["name"] for port in container["ports"]] == ["pytorchjob-port"]


def test_a_failed_pod_ends_the_others_and_is_not_restarted() -> None:
    spec = job(3)
    assert spec["runPolicy"] == {"backoffLimit": 0, "cleanPodPolicy": "Running"}
    counts = {}
    for kind, replicas in spec["pytorchReplicaSpecs"].items():
        assert isinstance(replicas, dict)
        assert replicas["restartPolicy"] == "Never"
        counts[kind] = replicas["replicas"]
    assert counts == {"Master": 1, "Worker": 2}


def test_one_server_needs_no_workers() -> None:
    assert list(job(1)["pytorchReplicaSpecs"]) == ["Master"]
