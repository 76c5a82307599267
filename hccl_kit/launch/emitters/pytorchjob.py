"""The PyTorchJob emitter: a Master and Workers with one template; their operator numbers them with RANK.

Source: kubeflow/training-operator, API kubeflow.org/v1 at 2f18ab7a; the variables: pytorch/envvar.go at 5fa872ff.
"""

from __future__ import annotations

from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.emitters.numbered import Kind, Pods, emitter


def suffix(pods: int) -> str:
    """The longest end of the names of pods and services."""
    return f"-worker-{pods}"


def _objects(pods: Pods) -> list[Value]:
    def replicas(count: int) -> Value:
        return {"replicas": count, "restartPolicy": "Never", "template": pods.template()}

    workers = pods.job.pods - 1
    spec = {
        # Otherwise the pods beside a failed one would stay until their ranks time out.
        "runPolicy": {"backoffLimit": 0, "cleanPodPolicy": "Running"},
        "pytorchReplicaSpecs": {"Master": replicas(1), **({"Worker": replicas(workers)} if workers else {})},
    }
    return [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": pods.metadata, "spec": spec}]


emit = emitter(
    Kind(
        name="pytorchjob",
        title="the operator of a PyTorchJob",
        pod_index="RANK",
        address="MASTER_ADDR",
        objects=_objects,
        suffix=suffix,
        framework="pytorch",
        container="pytorch",
        port_name="pytorchjob-port",
    )
)
