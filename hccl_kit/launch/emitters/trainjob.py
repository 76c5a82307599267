"""The TrainJob emitter: a TrainingRuntime of its own, and a TrainJob that uses it.

The Kubeflow Trainer makes a JobSet of both, so a pod finds its number and the address of pod 0 as in `jobset`, whatever
the policy of the runtime sets (PET_*). The runtime has the whole pod, because a TrainJob cannot add volumes in the same
way in all releases.

Source: kubeflow/trainer, API trainer.kubeflow.org/v1alpha1: trainingruntime_types.go at 022656ac, trainjob_types.go at
0015772c, and the admission webhook of runtimes, which asks for the label, the container `node` and one replica.
"""

from __future__ import annotations

from hccl_kit.launch.emitters import jobset
from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.emitters.numbered import Pods, emitter

VERSION = "trainer.kubeflow.org/v1alpha1"


def _objects(pods: Pods) -> list[Value]:
    runtime = {"name": f"{pods.job.name}-runtime", "namespace": pods.job.namespace}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    job_set = jobset.jobs({"template": pods.template(restart="Never")}, pods.restarts, {"labels": labels})
    policy = {"numNodes": pods.job.pods}
    spec = {
        "runtimeRef": {"apiGroup": VERSION.partition("/")[0], "kind": "TrainingRuntime", "name": runtime["name"]},
        "trainer": policy,
    }
    return [
        {
            "apiVersion": VERSION,
            "kind": "TrainingRuntime",
            "metadata": runtime,
            "spec": {"mlPolicy": policy, "template": {"spec": job_set}},
        },
        {"apiVersion": VERSION, "kind": "TrainJob", "metadata": pods.metadata, "spec": spec},
    ]


emit = emitter(
    jobset.KIND._replace(
        name="trainjob",
        title="the Job controller of a TrainJob",
        objects=_objects,
        container="node",
        notes=("If the TrainJob is refused because its runtime is not known yet, run the command again.",),
    )
)
