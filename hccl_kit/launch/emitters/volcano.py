"""The Volcano emitter: a job whose ranks read a rank table that the cluster writes, or the given one.

The Ascend Operator (earlier the HCCL Controller) fills in the ConfigMap rings-config-NAME when all pods have their
cards; each pod waits for it, finds its host in it and starts a rank on each of its cards. Pods run in the network of
their hosts, because the table has the addresses of hosts.

MindCluster places the pods of a job in a super pod by the annotation hccl/rankIndex. The operator sets it in the pods
of an AscendJob; in those of a job of Volcano, its plugin `hcclrank` does (volcano-sh/volcano, issue 4523).

Source: Ascend Operator and ascend-for-volcano of mind-cluster (2026); user guide 7.3, file hccl.json; Volcano 1.12,
pkg/controllers/job/state/running.go and restarting.go.
"""

from __future__ import annotations

from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters import kubernetes, manifest, pod_program
from hccl_kit.launch.emitters.hardware import hardware_of
from hccl_kit.launch.emitters.kubernetes import PodJob
from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.files import LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan

VOLUME = "ascend-910-config"
"""The name of the volume by which the HCCL Controller finds the ConfigMap of a job."""
SUPER_PODS = ("a3",)
"""Products whose pods are placed by their annotation hccl/rankIndex."""
INITIALIZING = '{"status":"initializing"}'


def emit(
    plan: LaunchPlan,
    table: TableFile,
    *,
    product: str | None = None,
    fixed_table: bool = False,
    max_restarts: str | None = None,
    **of_pods: Any,
) -> tuple[LaunchFile, ...]:
    """The manifest of a plan that has passed the rules HK5.

    `of_pods` are the options of `kubernetes.pod_job`. With `fixed_table`, the ranks read the given table; otherwise
    only its numbers of servers and cards are used, and the cluster writes one. Raises KitError if an option is not
    accepted, or if pods could not find their host in the table.
    """
    job = kubernetes.pod_job(plan, hardware=hardware_of(product), **of_pods)
    most = int(max_restarts or 0)
    if most and not fixed_table:
        raise KitError(
            "launch.volcano.max-restarts-volcano",
            "--max-restarts of --to volcano needs --fixed-table: the table that the cluster writes "
            "is not rewritten after a restart, and pods on other servers would read the old one",
            fix="--to ascendjob, jobset, trainjob or rayjob starts all pods again without a table",
        )
    # The operator would overwrite the given table under the name that it looks for.
    config = (
        pod_program.given(job, plan, table)
        if fixed_table
        else manifest.config_map(f"rings-config-{job.name}", job.namespace, {pod_program.KEY: INITIALIZING}, job.ring)
    )
    port = plan.master_port or job.port
    is_ranked = product in SUPER_PODS
    vcjob = _job(job, port, config["metadata"]["name"], most, is_ranked=is_ranked)
    program = pod_program.by_table(job, port, key=pod_program.key_of(config))
    documents = [vcjob, config, program] if fixed_table else [config, vcjob, program]
    written = pod_program.about_selected(table, "its Ascend Operator writes the table that the ranks read.")
    about = pod_program.about_given(table) if fixed_table else written
    if is_ranked:
        about.append("Volcano needs its plugin hcclrank (since August 2025), for the place of a pod in its super pod.")
    return kubernetes.files(plan, job, documents, about, launcher="volcano", kind="vcjob")


def _job(job: PodJob, port: int, config: str, most: int, *, is_ranked: bool) -> Value:
    spec = kubernetes.pod(
        job,
        env=[pod_program.env()],
        port=port,
        volumes=[({"name": VOLUME, "configMap": {"name": config}}, pod_program.FOLDER)],
        host_network=True,
    )
    template = {"metadata": {"labels": kubernetes.card_labels(job)}, "spec": {"restartPolicy": "Never", **spec}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": job.name, "namespace": job.namespace, "labels": job.ring},
        "spec": {
            "minAvailable": job.pods,
            "schedulerName": "volcano",
            "queue": "default",
            "policies": [{"events": ["PodFailed", "PodEvicted"], "action": "RestartJob" if most else "TerminateJob"}],
            # Volcano counts failures: at this one it gives up, instead of starting the pods again.
            **({"maxRetry": most + 1} if most else {}),
            **({"plugins": {"hcclrank": []}} if is_ranked else {}),
            "tasks": [{"name": "worker", "replicas": job.pods, "template": template}],
        },
    }
