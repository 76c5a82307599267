"""The kinds of jobs whose controllers number the pods: the variables that each sets, and the objects around the pod.

jobset: one indexed Job, whose pods have numbers and names of their own. Source: kubernetes-sigs/jobset, API v1alpha2 at
0336a8fd, and its admission webhook at 01078527; the Job controller of Kubernetes sets JOB_COMPLETION_INDEX.

trainjob: the Kubeflow Trainer makes a JobSet of a TrainingRuntime and a TrainJob, whatever the policy of the runtime
sets (PET_*). The runtime has the whole pod, because a TrainJob cannot add volumes in the same way in all releases.
Source: kubeflow/trainer, API trainer.kubeflow.org/v1alpha1: trainingruntime_types.go at 022656ac, trainjob_types.go at
0015772c, and the admission webhook of runtimes, which asks for the label, the container `node` and one replica.

pytorchjob: a Master and Workers with one template; their operator numbers them with RANK. Source:
kubeflow/training-operator, API kubeflow.org/v1 at 2f18ab7a; the variables: pytorch/envvar.go at 5fa872ff.

lws: a group of pods for a command that serves, from StatefulSets, so they are started again whenever the command ends.
Source: kubernetes-sigs/lws, API leaderworkerset.x-k8s.io/v1 at 024af084; the variables: pkg/utils/pod at 1b17603c.

rayjob: a Ray cluster whose workers are servers with cards. KubeRay starts Ray in the pods, so they have no command of
their own. The entry point, `hccl_kit.pod.ray`, reserves a worker for each server and starts the ranks on it; the
command is in a file, because an entry point is a line of shell. Source: ray-project/kuberay, API ray.io/v1:
rayjob_types.go at 0057210e, raycluster_types.go at 026f1433, and the rule that RayJobs have names of at most 47
characters (utils/validation.go).
"""

from __future__ import annotations

import json
from dataclasses import replace

from hccl_kit.launch.emitters.kubernetes import PodJob, from_field, program_volume
from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.emitters.numbered import Kind, Pods, emitter

TRAINER = "trainer.kubeflow.org/v1alpha1"
RAY_INDEX, RAY_ADDRESS = "HCCL_KIT_POD", "HCCL_KIT_POD_0"
RAY_CARDS = "NPU"
"""The resource name of the cards in Ray, as in Ray's own accelerator support."""


def _job_set(job: Value, restarts: int, metadata: Value | None = None) -> Value:
    """The spec of a JobSet with one Job. If a pod fails, all are ended, and created again at most `restarts` times."""
    whole = {"completionMode": "Indexed", "backoffLimit": 0, **job}
    template = {"metadata": metadata, "spec": whole} if metadata else {"spec": whole}
    return {
        "network": {"enableDNSHostnames": True},
        "failurePolicy": {"maxRestarts": restarts},
        "replicatedJobs": [{"name": "node", "replicas": 1, "template": template}],
    }


def _jobset(pods: Pods) -> list[Value]:
    count = pods.job.pods
    job = {"parallelism": count, "completions": count, "template": pods.template(restart="Never")}
    return [_object("jobset.x-k8s.io/v1alpha2", "JobSet", pods.metadata, _job_set(job, pods.restarts))]


def _trainjob(pods: Pods) -> list[Value]:
    runtime = {"name": f"{pods.job.name}-runtime", "namespace": pods.job.namespace}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    job_set = _job_set({"template": pods.template(restart="Never")}, pods.restarts, {"labels": labels})
    policy = {"numNodes": pods.job.pods}
    refers = {"apiGroup": TRAINER.partition("/")[0], "kind": "TrainingRuntime", "name": runtime["name"]}
    return [
        _object(TRAINER, "TrainingRuntime", runtime, {"mlPolicy": policy, "template": {"spec": job_set}}),
        _object(TRAINER, "TrainJob", pods.metadata, {"runtimeRef": refers, "trainer": policy}),
    ]


def _pytorchjob(pods: Pods) -> list[Value]:
    def replicas(count: int) -> Value:
        return {"replicas": count, "restartPolicy": "Never", "template": pods.template()}

    workers = pods.job.pods - 1
    spec = {
        # Otherwise the pods beside a failed one would stay until their ranks time out.
        "runPolicy": {"backoffLimit": 0, "cleanPodPolicy": "Running"},
        "pytorchReplicaSpecs": {"Master": replicas(1), **({"Worker": replicas(workers)} if workers else {})},
    }
    return [_object("kubeflow.org/v1", "PyTorchJob", pods.metadata, spec)]


def _lws(pods: Pods) -> list[Value]:
    group = {
        "size": pods.job.pods,
        # Ranks that are left behind by one that is started again would wait for it until they time out.
        "restartPolicy": "RecreateGroupOnPodRestart",
        "workerTemplate": pods.template(),
    }
    spec = {"replicas": 1, "leaderWorkerTemplate": group}
    return [_object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", pods.metadata, spec)]


def _rayjob(pods: Pods) -> list[Value]:
    job, (container,) = pods.job, pods.pod["containers"]
    without_command = {name: value for name, value in container.items() if name not in ("command", "args")}
    resources = json.dumps(json.dumps({RAY_CARDS: job.cards}))  # KubeRay puts the value into a line of a shell
    workers = {
        "groupName": "cards",
        "replicas": job.pods,
        "minReplicas": job.pods,
        "maxReplicas": job.pods,
        "rayStartParams": {"resources": resources},
        "template": replace(pods, pod={**pods.pod, "containers": [without_command]}).template(),
    }
    cluster = {
        "headGroupSpec": {"rayStartParams": {"dashboard-host": "0.0.0.0"}, "template": {"spec": _ray_head(job)}},  # noqa: S104
        "workerGroupSpecs": [workers],
    }
    spec = {
        "entrypoint": " ".join(job.program),
        "shutdownAfterJobFinishes": True,  # Kueue requires it, and the cards are free again
        **({"backoffLimit": pods.restarts} if pods.restarts else {}),  # each time with a cluster of its own
        "rayClusterSpec": cluster,
    }
    return [_object("ray.io/v1", "RayJob", pods.metadata, spec)]


def _ray_head(job: PodJob) -> Value:
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
    return {"automountServiceAccountToken": False, "containers": [container], "volumes": [volume]}


def _object(version: str, kind: str, metadata: Value, spec: Value) -> Value:
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


_JOBSET = Kind(
    name="jobset",
    title="the Job controller of a JobSet",
    pod_index="JOB_COMPLETION_INDEX",
    address="MASTER_ADDR",
    env=(
        from_field("JOBSET_NAME", "metadata.labels['jobset.sigs.k8s.io/jobset-name']"),
        {"name": "MASTER_ADDR", "value": "$(JOBSET_NAME)-node-0-0.$(JOBSET_NAME)"},
    ),
    objects=_jobset,
    suffix=lambda pods: f"-node-0-{pods - 1}-abcde",  # the webhook of JobSet allows for it
    restarts_all=True,
)
KINDS = (
    _JOBSET,
    _JOBSET._replace(
        name="trainjob",
        title="the Job controller of a TrainJob",
        objects=_trainjob,
        container="node",
        notes=("If the TrainJob is refused because its runtime is not known yet, run the command again.",),
    ),
    Kind(
        name="pytorchjob",
        title="the operator of a PyTorchJob",
        pod_index="RANK",
        address="MASTER_ADDR",
        objects=_pytorchjob,
        suffix=lambda pods: f"-worker-{pods}",
        framework="pytorch",
        container="pytorch",
        port_name="pytorchjob-port",
    ),
    Kind(
        name="lws",
        title="the controller of a LeaderWorkerSet",
        pod_index="LWS_WORKER_INDEX",
        address="LWS_LEADER_ADDRESS",
        pod_count="LWS_GROUP_SIZE",
        objects=_lws,
        suffix=lambda _: "-0-0123456789",  # in a label: a StatefulSet of a group, and the hash of its revision
        notes=(
            "For a command that serves: all pods are started again when the command ends, with or without an error.",
            "Each further replica is a group of as many servers, and a job of its own.",
        ),
    ),
    Kind(
        name="rayjob",
        title="the entry point of a RayJob",
        pod_index=RAY_INDEX,
        address=RAY_ADDRESS,
        objects=_rayjob,
        suffix=lambda _: "-abcde-serve-svc",  # of an object that KubeRay creates
        restarts_all=True,
        settings=lambda job: {
            "ray_resource": RAY_CARDS,
            "command": job.command,
            "pod_index": RAY_INDEX,
            "address": RAY_ADDRESS,
        },
        notes=("The image needs Ray. Servers are numbered in the order of their addresses.",),
    ),
)
EMITTERS = {kind.name: emitter(kind) for kind in KINDS}
