"""A job of Volcano, whose ranks read a rank table that the cluster writes, or the given one.

The Ascend Operator (earlier the HCCL Controller) fills in the ConfigMap rings-config-NAME when all pods have their
cards; each pod waits for it, finds its host in it and starts a rank on each of its cards. Pods run in the network of
their hosts, because the table has the addresses of hosts.

MindCluster places the pods of a job in a super pod by the annotation hccl/rankIndex. The operator sets it in the pods
of an AscendJob; in those of a job of Volcano, its plugin `hcclrank` does (volcano-sh/volcano, issue 4523).

Source: Ascend Operator and ascend-for-volcano of mind-cluster (2026); user guide 7.3, file hccl.json; Volcano 1.12,
pkg/controllers/job/state/running.go and restarting.go.
"""

from __future__ import annotations

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters.kubernetes import Kind, PodJob, RankSource
from hccl_kit.launch.emitters.manifest import Value, config_map
from hccl_kit.launch.emitters.pod import template
from hccl_kit.launch.emitters.pod_program import KEY, about_selected, by_table

SUPER_PODS = ("a3",)
"""Products whose pods are placed by their annotation hccl/rankIndex."""
INITIALIZING = {KEY: '{"status":"initializing"}'}


def _source(job: PodJob) -> RankSource:
    about = about_selected(job, "its Ascend Operator writes the table that the ranks read.")
    return by_table(job, {"name": _config(job)}, about)


def _config(job: PodJob) -> str:
    """The ConfigMap that the operator writes; it would overwrite the given table under this name."""
    return f"rings-config-{job.name}"


def _objects(job: PodJob, source: RankSource) -> list[Value]:
    if job.restarts and not job.fixed_table:
        raise KitError(
            "launch.volcano.max-restarts-volcano",
            "--max-restarts of --to volcano needs --fixed-table: the table that the cluster writes "
            "is not rewritten after a restart, and pods on other servers would read the old one",
            fix="--to ascendjob, jobset, trainjob or rayjob starts all pods again without a table",
        )
    action = "RestartJob" if job.restarts else "TerminateJob"
    spec = {
        "minAvailable": job.pods,
        "schedulerName": "volcano",
        "queue": "default",
        "policies": [{"events": ["PodFailed", "PodEvicted"], "action": action}],
        # Volcano counts failures: at this one it gives up, instead of starting the pods again.
        **({"maxRetry": job.restarts + 1} if job.restarts else {}),
        **({"plugins": {"hcclrank": []}} if job.product in SUPER_PODS else {}),
        "tasks": [{"name": "worker", "replicas": job.pods, "template": template(job, source, "Never")}],
    }
    made = job.object("batch.volcano.sh/v1alpha1", "Job", spec, job.ring)
    return [made] if job.fixed_table else [config_map(_config(job), job.namespace, INITIALIZING, job.ring), made]


def _notes(job: PodJob) -> list[str]:
    note = "Volcano needs its plugin hcclrank (since August 2025), for the place of a pod in its super pod."
    return [note] if job.product in SUPER_PODS else []


KIND = Kind(
    name="volcano",
    objects=_objects,
    source=_source,
    port_name="ascendjob-port",
    table_volume="ascend-910-config",  # by which the HCCL Controller finds the ConfigMap of a job
    kubectl="vcjob",
    by_product=True,
    on_hosts=True,
    notes=_notes,
)
