"""The RayJob emitter: a Ray cluster whose workers are servers with cards, and an entry point that starts the ranks.

KubeRay starts Ray in the pods, so they have no command of their own. The entry point, `hccl_kit.pod.ray`, reserves a
worker for each server and starts the ranks on it; the command is in a file, because an entry point is a line of shell.

Source: ray-project/kuberay, API ray.io/v1: rayjob_types.go at 0057210e, raycluster_types.go at 026f1433, and the rule
that RayJobs have names of at most 47 characters (utils/validation.go).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hccl_kit.launch.emitters.kubernetes import PodJob, program_volume
from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.emitters.numbered import Kind, Pods, emitter

RESOURCE = "NPU"
"""The resource name of the cards in Ray, as in Ray's own accelerator support."""
GROUP = "cards"
INDEX, ADDRESS = "HCCL_KIT_POD", "HCCL_KIT_POD_0"


def suffix(_pods: int) -> str:
    """The longest end of the name of an object that KubeRay creates."""
    return "-abcde-serve-svc"


def _settings(job: PodJob) -> Mapping[str, Any]:
    return {"ray_resource": RESOURCE, "command": job.command, "pod_index": INDEX, "address": ADDRESS}


def _objects(pods: Pods) -> list[Value]:
    job = pods.job
    resources = json.dumps(json.dumps({RESOURCE: job.cards}))  # KubeRay puts the value into a line of a shell
    workers = {
        "groupName": GROUP,
        "replicas": job.pods,
        "minReplicas": job.pods,
        "maxReplicas": job.pods,
        "rayStartParams": {"resources": resources},
        "template": _without_command(pods.template()),
    }
    cluster = {
        "headGroupSpec": {"rayStartParams": {"dashboard-host": "0.0.0.0"}, "template": {"spec": _head(job)}},  # noqa: S104
        "workerGroupSpecs": [workers],
    }
    spec = {
        "entrypoint": " ".join(job.program),
        "shutdownAfterJobFinishes": True,  # Kueue requires it, and the cards are free again
        **({"backoffLimit": pods.restarts} if pods.restarts else {}),  # each time with a cluster of its own
        "rayClusterSpec": cluster,
    }
    return [{"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": pods.metadata, "spec": spec}]


def _without_command(template: Value) -> Value:
    (container,) = template["spec"]["containers"]
    kept = {key: value for key, value in container.items() if key not in ("command", "args")}
    return {**template, "spec": {**template["spec"], "containers": [kept]}}


def _head(job: PodJob) -> Value:
    """The pod of the head, which has no cards and runs the entry point."""
    ports = {"gcs-server": 6379, "dashboard": 8265, "client": 10001}
    volume, mount = program_volume(job)
    container = {
        "name": "ray-head",
        "image": job.image,
        "imagePullPolicy": "IfNotPresent",
        "ports": [{"containerPort": port, "name": name} for name, port in ports.items()],
        "volumeMounts": [mount],
    }
    return {
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [volume],
    }


emit = emitter(
    Kind(
        name="rayjob",
        title="the entry point of a RayJob",
        pod_index=INDEX,
        address=ADDRESS,
        objects=_objects,
        suffix=suffix,
        restarts_all=True,
        settings=_settings,
        notes=("The image needs Ray. Servers are numbered in the order of their addresses.",),
    )
)
