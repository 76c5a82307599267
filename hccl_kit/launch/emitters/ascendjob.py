"""An AscendJob. Its operator sets the number of every pod and the address of rank 0.

For MindSpore, the operator requires one Scheduler without cards, and sets MS_* in all pods; for PyTorch, one Master,
which has cards like the Workers, and it sets the variables of torch per pod. No rank table is read. `hccl_kit.pod` sets
the variables of each rank.

A restart of all pods needs Volcano with its Ascend plugin: it deletes the pods of a job with the label
`fault-scheduling`, up to `fault-retry-times` times after failures of the program, and the operator creates them again.
The operator's `backoffLimit` also bounds the restarts after faults of cards and servers.

Source: Ascend Operator of mind-cluster (2026), its validation of jobs, the environment of pods, the container and the
port that it looks for by their names, and its count of restarts (job.go at 07d2c20f); user guide 7.3, labels of a
PodGroup.
"""

from __future__ import annotations

from hccl_kit.base.errors import KitError
from hccl_kit.base.frameworks import MINDSPORE, PYTORCH
from hccl_kit.launch.emitters.kubernetes import Kind, PodJob, RankSource
from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.emitters.pod import template
from hccl_kit.launch.emitters.pod_program import about_selected, program

MAX_RESTARTS = 100
"""The user guide names 0 to 100 for `fault-retry-times`."""


def _source(job: PodJob) -> RankSource:
    source = "torch" if job.framework == PYTORCH else MINDSPORE
    return RankSource([program(job, source)], about_selected(job, "the job does not read the table."))


def _objects(job: PodJob, source: RankSource) -> list[Value]:
    most, is_torch = job.restarts, job.framework == PYTORCH
    if most > MAX_RESTARTS:
        raise KitError(
            "launch.ascendjob.max-restarts",
            "--max-restarts of --to ascendjob is {number}; accepted: 0 to {most}",
            number=most,
            most=MAX_RESTARTS,
        )
    again = {"fault-scheduling": "grace", "fault-retry-times": str(most)} if most else {}
    workers = job.pods - is_torch

    def replicas(count: int, port: int, *, has_cards: bool = True) -> Value:
        made = template(job, source, port=port, has_cards=has_cards)
        return {"replicas": count, "restartPolicy": "Never", "template": made}

    parts = {"Master" if is_torch else "Scheduler": replicas(1, job.port, has_cards=is_torch)}
    if workers:  # two pods with one port could not share the network of a host
        parts["Worker"] = replicas(workers, job.port + 1)
    spec = {
        "schedulerName": "volcano",
        "runPolicy": {
            **({"backoffLimit": most} if most else {}),
            "schedulingPolicy": {"minAvailable": workers + 1, "queue": "default"},
        },
        "successPolicy": "AllWorkers",
        "replicaSpecs": parts,
    }
    return [job.object("mindxdl.gitee.com/v1", "AscendJob", spec, {"framework": job.framework, **job.ring, **again})]


KIND = Kind(
    name="ascendjob",
    objects=_objects,
    source=_source,
    port=2222,
    port_name="ascendjob-port",
    kubectl="acjob",
    by_product=True,
)
