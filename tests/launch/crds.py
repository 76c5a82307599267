"""The published definitions of five kinds of jobs, reduced to the fields of our manifests, as JSON Schema.

Only fields that we use are here, with their types and with all other required fields; as the API server does
under strict validation, an unknown field is refused. Written after:

- JobSet: kubernetes-sigs/jobset, config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml, v1alpha2, at 01078527.
- PyTorchJob: kubeflow/training-operator, pkg/apis/kubeflow.org/v1/pytorch_types.go at 2f18ab7a and common_types.go at
  186ac6c6, from which manifests/base/crds/kubeflow.org_pytorchjobs.yaml is generated, v1.
- LeaderWorkerSet: kubernetes-sigs/lws, api/leaderworkerset/v1/leaderworkerset_types.go at 024af084, from which
  config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml is generated, v1.
- TrainingRuntime, TrainJob: kubeflow/trainer, pkg/apis/trainer/v1alpha1/trainingruntime_types.go at 022656ac and
  trainjob_types.go at 0015772c, from which manifests/base/crds/trainer.kubeflow.org_*.yaml are generated.
- RayJob: ray-project/kuberay, ray-operator/apis/ray/v1/rayjob_types.go at 0057210e and raycluster_types.go at 026f1433,
  from which ray-operator/config/crd/bases/ray.io_rayjobs.yaml is generated.
"""

from tests.launch.schemas import BOOLEAN, BY_KIND, COUNT, METADATA, TEMPLATE, TEXT, TEXTS, Schema, items, record

JOB_TEMPLATE = record(
    "",
    metadata=record("", labels=TEXTS),
    spec=record(
        "template",
        parallelism=COUNT,
        completions=COUNT,
        completionMode={"enum": ["Indexed", "NonIndexed"]},
        backoffLimit=COUNT,
        template=TEMPLATE,
    ),
)
JOBSET_SPEC = record(
    "",
    network=record("", enableDNSHostnames=BOOLEAN),
    failurePolicy=record("", maxRestarts=COUNT),
    replicatedJobs=items(record("name template", name=TEXT, replicas=COUNT, template=JOB_TEMPLATE)),
)


PYTORCH_SPEC = record(
    "pytorchReplicaSpecs",
    pytorchReplicaSpecs={
        "type": "object",
        "additionalProperties": record("", replicas=COUNT, restartPolicy=TEXT, template=TEMPLATE),
        "propertyNames": {"enum": ["Master", "Worker"]},
    },
    runPolicy=record("", backoffLimit=COUNT, cleanPodPolicy={"enum": ["All", "Running", "None"]}),
)


LWS_SPEC = record(
    "leaderWorkerTemplate",
    replicas=COUNT,
    leaderWorkerTemplate=record(
        "workerTemplate",
        size=COUNT,
        restartPolicy={"enum": ["Default", "RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None"]},
        workerTemplate=TEMPLATE,
    ),
)


RUNTIME_SPEC = record("", mlPolicy=record("", numNodes=COUNT), template=record("", spec=JOBSET_SPEC))
TRAIN_SPEC = record(
    "runtimeRef",
    runtimeRef=record("name", name=TEXT, apiGroup=TEXT, kind=TEXT),
    trainer=record("", numNodes=COUNT),
)


RAY_GROUP = {"rayStartParams": TEXTS, "template": TEMPLATE}
RAY_SPEC = record(
    "",
    entrypoint=TEXT,
    shutdownAfterJobFinishes=BOOLEAN,
    backoffLimit=COUNT,
    rayClusterSpec=record(
        "headGroupSpec",
        headGroupSpec=record("rayStartParams template", **RAY_GROUP),
        workerGroupSpecs=items(
            record(
                "groupName minReplicas maxReplicas rayStartParams template",
                groupName=TEXT,
                replicas=COUNT,
                minReplicas=COUNT,
                maxReplicas=COUNT,
                **RAY_GROUP,
            )
        ),
    ),
)


def job(version: str, kind: str, spec: Schema) -> Schema:
    """The schema of a whole object."""
    return record(
        "apiVersion kind metadata spec",
        apiVersion={"const": version},
        kind={"const": kind},
        metadata=METADATA,
        spec=spec,
    )


CRDS = {
    "ConfigMap": BY_KIND["ConfigMap"],
    "JobSet": job("jobset.x-k8s.io/v1alpha2", "JobSet", JOBSET_SPEC),
    "LeaderWorkerSet": job("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", LWS_SPEC),
    "RayJob": job("ray.io/v1", "RayJob", RAY_SPEC),
    "TrainingRuntime": job("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", RUNTIME_SPEC),
    "TrainJob": job("trainer.kubeflow.org/v1alpha1", "TrainJob", TRAIN_SPEC),
    "PyTorchJob": job("kubeflow.org/v1", "PyTorchJob", PYTORCH_SPEC),
}
