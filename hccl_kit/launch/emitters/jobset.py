"""The JobSet emitter: one indexed Job, whose pods have numbers and names of their own.

Source: kubernetes-sigs/jobset, API v1alpha2 at 0336a8fd, and its admission webhook at 01078527; the Job controller of
Kubernetes sets JOB_COMPLETION_INDEX.
"""

from __future__ import annotations

from hccl_kit.launch.emitters.kubernetes import from_field
from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.emitters.numbered import Kind, Pods, emitter

JOB = "node"
_ADDRESS = (
    from_field("JOBSET_NAME", "metadata.labels['jobset.sigs.k8s.io/jobset-name']"),
    {"name": "MASTER_ADDR", "value": f"$(JOBSET_NAME)-{JOB}-0-0.$(JOBSET_NAME)"},
)
"""The variables of a pod by which it knows the name of pod 0."""


def jobs(job: Value, restarts: int, metadata: Value | None = None) -> Value:
    """The spec of a JobSet with one Job. If a pod fails, all are ended, and created again at most `restarts` times."""
    whole = {"completionMode": "Indexed", "backoffLimit": 0, **job}
    template = {"metadata": metadata, "spec": whole} if metadata else {"spec": whole}
    return {
        "network": {"enableDNSHostnames": True},
        "failurePolicy": {"maxRestarts": restarts},
        "replicatedJobs": [{"name": JOB, "replicas": 1, "template": template}],
    }


def suffix(pods: int) -> str:
    """The longest end of a pod's name, which the webhook of JobSet allows for."""
    return f"-{JOB}-0-{pods - 1}-abcde"


def _objects(pods: Pods) -> list[Value]:
    count = pods.job.pods
    job = {"parallelism": count, "completions": count, "template": pods.template(restart="Never")}
    spec = jobs(job, pods.restarts)
    return [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": pods.metadata, "spec": spec}]


KIND = Kind(
    name="jobset",
    title="the Job controller of a JobSet",
    pod_index="JOB_COMPLETION_INDEX",
    address="MASTER_ADDR",
    env=_ADDRESS,
    objects=_objects,
    suffix=suffix,
    restarts_all=True,
)
emit = emitter(KIND)
