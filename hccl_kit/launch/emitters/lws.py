"""The LeaderWorkerSet emitter: a group of pods for a command that serves; its controller numbers the pods of a group.

Its pods come from StatefulSets, so they are started again whenever the command ends.

Source: kubernetes-sigs/lws, API leaderworkerset.x-k8s.io/v1 at 024af084; the variables: pkg/utils/pod at 1b17603c.
"""

from __future__ import annotations

from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.emitters.numbered import Kind, Pods, emitter


def suffix(_pods: int) -> str:
    """The longest end of a label of a pod: a StatefulSet of a group, and the hash of its revision."""
    return "-0-0123456789"


def _objects(pods: Pods) -> list[Value]:
    group = {
        "size": pods.job.pods,
        # Ranks that are left behind by one that is started again would wait for it until they time out.
        "restartPolicy": "RecreateGroupOnPodRestart",
        "workerTemplate": pods.template(),
    }
    spec = {"replicas": 1, "leaderWorkerTemplate": group}
    version = "leaderworkerset.x-k8s.io/v1"
    return [{"apiVersion": version, "kind": "LeaderWorkerSet", "metadata": pods.metadata, "spec": spec}]


emit = emitter(
    Kind(
        name="lws",
        title="the controller of a LeaderWorkerSet",
        pod_index="LWS_WORKER_INDEX",
        address="LWS_LEADER_ADDRESS",
        pod_count="LWS_GROUP_SIZE",
        objects=_objects,
        suffix=suffix,
        notes=(
            "For a command that serves: all pods are started again when the command ends, with or without an error.",
            "Each further replica is a group of as many servers, and a job of its own.",
        ),
    )
)
