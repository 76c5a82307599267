"""The way out to an AscendJob, whose operator gives every pod its number and its meeting point.

For MindSpore the operator asks for one Scheduler, which has no cards, and sets MS_* in all pods; for PyTorch for one
Master, which has cards like the Workers, and sets torch's names per pod. No rank table is read. What each rank gets
besides, `pod_start` sees to.

Source: Ascend Operator of mind-cluster (2026), its validation of jobs and the environment of pods; user guide 7.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters import kubernetes, manifest
from hccl_kit.launch.emitters.kubernetes import PodJob
from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.files import LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan

PORT = 2222
"""Where the scheduler or the master listens. The workers name another: on the network of one host, two pods with one
port would never share it.
"""


class Framework(NamedTuple):
    """How the operator calls the pod that leads, whether it has cards, and the way of `pod_start`."""

    leader: str
    leader_has_cards: bool
    way: str


FRAMEWORKS: Mapping[str, Framework] = {
    "mindspore": Framework("Scheduler", leader_has_cards=False, way="mindspore"),
    "pytorch": Framework("Master", leader_has_cards=True, way="torch"),
}


def emit(
    plan: LaunchPlan,
    table: TableFile,
    *,
    name: str | None = None,
    image: str = "",
    namespace: str = "default",
    product: str = "910",
    framework: str = "mindspore",
    host_network: bool = False,
) -> tuple[LaunchFile, ...]:
    """The manifest; the plan is one that rules HK5 let pass.

    Of the rank table only the shape is kept: so many servers, so many cards each. KitError where an option is not
    accepted.
    """
    job = kubernetes.pod_job(plan, name=name, image=image, namespace=namespace, product=product)
    if framework not in FRAMEWORKS:
        raise KitError(f"framework {framework!r} is not known; accepted: {', '.join(FRAMEWORKS)}")
    documents = [
        kubernetes.programs(job, FRAMEWORKS[framework].way),
        _job(job, framework, host_network=host_network),
    ]
    file = f"ascendjob{plan.size}p.yaml"
    comment = [
        f"Starts ranks 0 to {plan.size - 1} in {job.shape}. Written by hccl_kit.",
        "",
        f"  kubectl apply -f {file}",
        f"  kubectl get acjob -n {job.namespace} {job.name}",
        "",
        f"Made for as many servers and cards as the rank table with sha256 {table.sha256}",
        "has; the cluster chooses which, and the job does not read the table.",
        "Add volumes for the program and its data where the image does not hold them.",
    ]
    return (LaunchFile(file, manifest.to_yaml(comment, documents)),)


def _job(job: PodJob, framework: str, *, host_network: bool) -> Value:
    row = FRAMEWORKS[framework]
    workers = job.pods - 1 if row.leader_has_cards else job.pods
    replicas = {row.leader: _replicas(job, 1, PORT, has_cards=row.leader_has_cards, host_network=host_network)}
    if workers:
        replicas["Worker"] = _replicas(job, workers, PORT + 1, has_cards=True, host_network=host_network)
    return {
        "apiVersion": "mindxdl.gitee.com/v1",
        "kind": "AscendJob",
        "metadata": {"name": job.name, "namespace": job.namespace, "labels": {"framework": framework, **job.ring}},
        "spec": {
            "schedulerName": "volcano",
            "runPolicy": {"schedulingPolicy": {"minAvailable": workers + 1, "queue": "default"}},
            "successPolicy": "AllWorkers",
            "replicaSpecs": replicas,
        },
    }


def _replicas(job: PodJob, count: int, port: int, *, has_cards: bool, host_network: bool) -> Value:
    spec = kubernetes.pod(job, env=(), port=port, volumes=())
    if has_cards:
        spec = kubernetes.with_cards(job, spec)
    if host_network:
        spec = kubernetes.on_host_network(spec)
    return {
        "replicas": count,
        "restartPolicy": "Never",
        "template": {"metadata": {"labels": kubernetes.card_labels(job) if has_cards else job.ring}, "spec": spec},
    }
