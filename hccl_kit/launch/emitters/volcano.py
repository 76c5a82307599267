"""The way out to a job of Volcano, whose ranks read a rank table that the cluster writes, or the one given.

The Ascend Operator (earlier the HCCL Controller) fills in the ConfigMap rings-config-NAME when all pods have their
cards; each pod waits for that, finds its host in it and starts a rank on each of its cards. Pods have the network of
their host, since the addresses in the table are those of hosts.

Source: Ascend Operator and ascend-for-volcano of mind-cluster (2026); user guide 7.3, file hccl.json; Volcano 1.12.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json

from hccl_kit.base.errors import KitError
from hccl_kit.base.network import port_of_digest
from hccl_kit.launch.emitters import kubernetes, manifest
from hccl_kit.launch.emitters.kubernetes import TABLE_FOLDER, TABLE_KEY, PodJob
from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.files import LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.runtime.worker_env import SERVER, TABLE_TIMEOUT
from hccl_kit.table.document import shown

VOLUME = "ascend-910-config"
"""By the volume of this name the HCCL Controller finds the ConfigMap of a job."""
INITIALIZING = '{"status":"initializing"}'


def emit(
    plan: LaunchPlan,
    table: TableFile,
    *,
    name: str | None = None,
    image: str = "",
    namespace: str = "default",
    product: str = "910",
    fixed_table: bool = False,
) -> tuple[LaunchFile, ...]:
    """The manifest; the plan is one that rules HK5 let pass.

    With `fixed_table` the ranks read the table that is given; otherwise its shape is kept and the cluster writes one.
    KitError where an option is not accepted, or where the pods could not find themselves in the table.
    """
    job = kubernetes.pod_job(plan, name=name, image=image, namespace=namespace, product=product)
    if fixed_table:
        _assert_usable(plan, table)
    config = _config(job, table if fixed_table else None)
    port = _port(job)
    documents = [
        config,
        kubernetes.programs(
            job, "table", table=f"{TABLE_FOLDER}/{TABLE_KEY}", port=port, server=SERVER, patience=TABLE_TIMEOUT
        ),
        _job(job, port, config["metadata"]["name"]),
    ]
    file = f"volcano{plan.size}p.yaml"
    comment = [
        f"Starts ranks 0 to {plan.size - 1} in {job.shape}. Written by hccl_kit.",
        "",
        f"  kubectl {_verb(documents)} -f {file}",
        f"  kubectl get vcjob -n {job.namespace} {job.name}",
        "",
        *(_of_fixed(table) if fixed_table else _of_written(table)),
        "Add volumes for the program and its data where the image does not hold them.",
    ]
    return (LaunchFile(file, manifest.to_yaml(comment, documents)),)


def _of_fixed(table: TableFile) -> list[str]:
    return [
        f"The ranks read the rank table with sha256 {table.sha256}.",
        "A pod on another server, or with other cards, stops and says so: let the pods run on the servers of the table",
        "only, for instance by a label of theirs under nodeSelector.",
    ]


def _of_written(table: TableFile) -> list[str]:
    return [
        f"Made for as many servers and cards as the rank table with sha256 {table.sha256}",
        "has; the cluster chooses which, and its Ascend Operator writes the table that the ranks read.",
    ]


def _verb(documents: list[Value]) -> str:
    return "create" if max(map(manifest.applied_size, documents)) > manifest.MAX_APPLIED else "apply"


def _config(job: PodJob, table: TableFile | None) -> Value:
    """The table that is given under a name that the operator does not know, for it would write its own over it."""
    if table:
        return manifest.config_map(f"{job.name}-table", job.namespace, {TABLE_KEY: manifest.compact(table.text)})
    return manifest.config_map(f"rings-config-{job.name}", job.namespace, {TABLE_KEY: INITIALIZING}, job.ring)


def _port(job: PodJob) -> int:
    """Where rank 0 listens on its host; below 32768, from where on the system hands ports out by itself."""
    digest = hashlib.sha256(f"{job.namespace}/{job.name}".encode()).hexdigest()
    return port_of_digest(digest)


def _assert_usable(plan: LaunchPlan, table: TableFile) -> None:
    if "server_list" not in json.loads(table.text):
        raise KitError(
            f"{shown(table.name)} has no server_list; a pod reads tables of versions 1.0 and 1.2",
            hint="hccl-kit convert TABLE --to 1.0",
        )
    for node in plan.nodes:
        try:
            ipaddress.ip_address(node.address)
        except ValueError:
            raise KitError(
                f"server {shown(node.id)} has no address; a pod knows its host by address only",
                hint='add "host_ip" to the server in the table',
            ) from None


def _job(job: PodJob, port: int, config: str) -> Value:
    spec = kubernetes.pod(
        job,
        env=[kubernetes.from_field(SERVER, "status.hostIP")],
        port=port,
        volumes=[({"name": VOLUME, "configMap": {"name": config}}, TABLE_FOLDER)],
    )
    spec = kubernetes.on_host_network(kubernetes.with_cards(job, spec))
    template = {"metadata": {"labels": kubernetes.card_labels(job)}, "spec": {"restartPolicy": "Never", **spec}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": job.name, "namespace": job.namespace, "labels": job.ring},
        "spec": {
            "minAvailable": job.pods,
            "schedulerName": "volcano",
            "queue": "default",
            # A job that is restarted could read the table of the time before.
            "policies": [{"events": ["PodFailed", "PodEvicted"], "action": "TerminateJob"}],
            "tasks": [{"name": "worker", "replicas": job.pods, "template": template}],
        },
    }
