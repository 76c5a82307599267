"""The pod of a server in a manifest.

Nothing is passed to a shell: the container runs `hccl_kit.pod` in Python, which executes the command. All other values
are quoted by the YAML writer.
"""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.launch.emitters import pod_options
from hccl_kit.launch.emitters.kubernetes import PROGRAM_FOLDER, PodJob, RankSource, from_field
from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.emitters.pod_options import Volume, mounted

JOB_LABEL = "hccl-kit/job"
"""The label of pods with cards, of which a server runs at most one."""
TABLE_FOLDER = "/user/serverid/devindex/config"
"""Where the HCCL Controller and the Ascend Operator expect the ConfigMap of the table."""
DRIVER, SHARED_MEMORY = "/usr/local/Ascend/driver", "/dev/shm"  # noqa: S108 - the latter is for data loaders
_RESERVED = (PROGRAM_FOLDER, TABLE_FOLDER, DRIVER, SHARED_MEMORY, pod_options.LOG_FOLDER)


def template(
    job: PodJob, source: RankSource, restart: str | None = None, *, port: int | None = None, has_cards: bool = True
) -> Value:
    """The template of a pod; `restart` is its restart policy, if the kind of job leaves that to the pod.

    `port` is the one that it declares, if that is not the port of rank 0. The last lines of its log, where the agent
    reports a failure, are its termination message.
    """
    volumes, hardware = _volumes(job, source), job.hardware
    cards: Value = {hardware.resource: job.cards}
    cards |= {name: text for name, text in (("cpu", job.cpus), ("memory", job.memory)) if text is not None}
    variables = [*source.env, *_variables(job, has_cards=has_cards)]
    container = {
        "name": job.kind.container,
        "image": job.image,
        "imagePullPolicy": "IfNotPresent",
        "command": job.program,
        "args": [unexpanded(word) for word in job.plan.command],
        **({"env": variables} if variables else {}),
        "ports": [{"containerPort": port or job.port, "name": job.kind.port_name}],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [mount for _, mount in volumes],
        **({"resources": {"requests": cards, "limits": cards}} if has_cards else {}),
    }
    spec = {
        **({"restartPolicy": restart} if restart else {}),
        **({"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if job.on_hosts else {}),
        **(_nodes(job) if has_cards else {}),
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [volume for volume, _ in volumes],
    }
    labels = {"labels": {**job.ring, JOB_LABEL: job.name} if has_cards else job.ring}
    return {"metadata": {**labels, **_annotations(job)}, "spec": spec}


def unexpanded(word: str) -> str:
    """A word of the command, escaped for a manifest, in which Kubernetes expands $(NAME) and replaces $$ with $."""
    return word.replace("$", "$$")


def program_volume(job: PodJob) -> Volume:
    """The ConfigMap with the program of a pod, as a volume."""
    return mounted({"name": "hccl-kit", "configMap": {"name": job.program_map}}, PROGRAM_FOLDER)


def _volumes(job: PodJob, source: RankSource) -> list[Volume]:
    table, logs = source.table, pod_options.log_volume(job.log_volume)
    return [
        program_volume(job),
        *([mounted({"name": job.kind.table_volume, "configMap": table}, TABLE_FOLDER)] if table else []),
        *pod_options.volumes(job.volumes, _RESERVED),
        *([logs] if logs else []),
        mounted({"name": "ascend-driver", "hostPath": {"path": DRIVER}}, DRIVER),
        mounted({"name": "dshm", "emptyDir": {"medium": "Memory"}}, SHARED_MEMORY),
    ]


def _variables(job: PodJob, *, has_cards: bool) -> Iterator[Value]:
    """Those of the job, the cards that the container runtime mounts, and the address of the host, which HCCL must use.

    Volcano's plugin for Ascend annotates the pod with its cards; without it, the device plugin sets the variable.
    """
    yield from ({"name": name, "value": value} for name, value in job.plan.variables_of_hccl)
    if has_cards and job.ring:
        yield from_field("ASCEND_VISIBLE_DEVICES", f"metadata.annotations['{job.hardware.resource}']")
    if job.on_hosts:
        yield from_field("HCCL_IF_IP", "status.hostIP")


def _nodes(job: PodJob) -> Value:
    """Where pods with cards run: on nodes with these, and each on another than those with the JOB_LABEL of the job."""
    apart = {"labelSelector": {"matchLabels": {JOB_LABEL: job.name}}, "topologyKey": "kubernetes.io/hostname"}
    accelerator = job.hardware.accelerator
    node = {"nodeSelector": {"accelerator-type": accelerator}} if accelerator else {}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}, **node}


def _annotations(job: PodJob) -> Value:
    """Where Kueue is to put the pods."""
    if job.kueue_topology is None:
        return {}
    kind, _, label = job.kueue_topology.partition("=")
    return {"annotations": {f"kueue.x-k8s.io/podset-{kind}-topology": label or "true"}}
