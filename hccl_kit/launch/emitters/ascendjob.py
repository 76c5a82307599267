"""The AscendJob emitter. The operator of an AscendJob sets the number of every pod and the address of rank 0.

For MindSpore, the operator requires one Scheduler without cards, and sets MS_* in all pods; for PyTorch, one Master,
which has cards like the Workers, and it sets the variables of torch per pod. No rank table is read. `hccl_kit.pod` sets
the variables of each rank.

A restart of all pods needs Volcano with its Ascend plugin: it deletes the pods of a job with the label
`fault-scheduling`, up to `fault-retry-times` times after failures of the program, and the operator creates them again.
The operator's `backoffLimit` also bounds the restarts after faults of cards and servers.

Source: Ascend Operator of mind-cluster (2026), its validation of jobs, the environment of pods and its count of
restarts (job.go at 07d2c20f); user guide 7.3, labels of a PodGroup.
"""

from __future__ import annotations

from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.base.frameworks import MINDSPORE, PYTORCH
from hccl_kit.launch.emitters import kubernetes, pod_program
from hccl_kit.launch.emitters.hardware import hardware_of
from hccl_kit.launch.emitters.kubernetes import PodJob
from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.files import LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan

PORT = 2222
"""The port of the scheduler or the master, unless the plan has one. Workers declare another: two pods with one port
could not share the network of a host.
"""
MAX_RESTARTS = 100
"""The user guide names 0 to 100 for `fault-retry-times`."""


def emit(
    plan: LaunchPlan,
    table: TableFile,
    *,
    product: str | None = None,
    host_network: bool = False,
    max_restarts: str | None = None,
    **of_pods: Any,
) -> tuple[LaunchFile, ...]:
    """The manifest of a plan that has passed the rules HK5.

    `of_pods` are the options of `kubernetes.pod_job`. Of the rank table, only the numbers of servers and cards are
    used. Raises KitError if an option is not accepted.
    """
    job = kubernetes.pod_job(plan, hardware=hardware_of(product), **of_pods)
    most = int(max_restarts or 0)
    if most > MAX_RESTARTS:
        raise KitError(
            "launch.ascendjob.max-restarts",
            "--max-restarts of --to ascendjob is {number}; accepted: 0 to {most}",
            number=most,
            most=MAX_RESTARTS,
        )
    documents = [
        _job(job, plan.master_port or PORT, most, host_network=host_network),
        pod_program.program(job, "torch" if job.framework == PYTORCH else MINDSPORE),
    ]
    about = pod_program.about_selected(table, "the job does not read the table.")
    return kubernetes.files(plan, job, documents, about, launcher="ascendjob", kind="acjob")


def _job(job: PodJob, port: int, most: int, *, host_network: bool) -> Value:
    is_torch = job.framework == PYTORCH
    again = {"fault-scheduling": "grace", "fault-retry-times": str(most)} if most else {}
    limit = {"backoffLimit": most} if most else {}
    workers = job.pods - is_torch
    leader = _replicas(job, 1, port, has_cards=is_torch, host_network=host_network)
    replicas = {"Master" if is_torch else "Scheduler": leader}
    if workers:
        replicas["Worker"] = _replicas(job, workers, port + 1, has_cards=True, host_network=host_network)
    return {
        "apiVersion": "mindxdl.gitee.com/v1",
        "kind": "AscendJob",
        "metadata": {
            "name": job.name,
            "namespace": job.namespace,
            "labels": {"framework": job.framework or MINDSPORE, **job.ring, **again},
        },
        "spec": {
            "schedulerName": "volcano",
            "runPolicy": {**limit, "schedulingPolicy": {"minAvailable": workers + 1, "queue": "default"}},
            "successPolicy": "AllWorkers",
            "replicaSpecs": replicas,
        },
    }


def _replicas(job: PodJob, count: int, port: int, *, has_cards: bool, host_network: bool) -> Value:
    spec = kubernetes.pod(job, port=port, has_cards=has_cards, host_network=host_network)
    return {
        "replicas": count,
        "restartPolicy": "Never",
        "template": {"metadata": {"labels": kubernetes.card_labels(job) if has_cards else job.ring}, "spec": spec},
    }
