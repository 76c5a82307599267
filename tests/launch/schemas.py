"""The published definitions of the fields that our manifests use, as JSON Schema.

Written after the custom resource definitions ascendjobs.mindxdl.gitee.com (v1; mind-cluster, ascend-operator.yaml of
2026) and jobs.batch.volcano.sh (v1alpha1; volcano, batch.volcano.sh_jobs.yaml of 2026), and the pod of core/v1 in them.
Kubernetes drops fields that it does not know without a word, so here they are faults.
"""

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
INT32: Schema = {"type": "integer", "minimum": -(1 << 31), "maximum": (1 << 31) - 1}
BOOLEAN: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "object", "additionalProperties": TEXT}


def record(required: str = "", **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def items(item: Schema) -> Schema:
    return {"type": "array", "items": item}


METADATA = record("name namespace", name=TEXT, namespace=TEXT, labels=TEXTS)
PORT = record("containerPort", containerPort={"type": "integer", "minimum": 1, "maximum": 65535}, name=TEXT)
ENV = record("name", name=TEXT, value=TEXT, valueFrom=record("", fieldRef=record("fieldPath", fieldPath=TEXT)))
QUANTITIES: Schema = {"type": "object", "additionalProperties": {"type": ["integer", "string"]}}
CONTAINER = record(
    "name",
    name={"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63},
    image=TEXT,
    imagePullPolicy={"enum": ["Always", "IfNotPresent", "Never"]},
    command=items(TEXT),
    args=items(TEXT),
    env=items(ENV),
    ports=items({**PORT, "properties": {**PORT["properties"], "name": {"type": "string", "maxLength": 15}}}),
    resources=record("", requests=QUANTITIES, limits=QUANTITIES),
    terminationMessagePolicy={"enum": ["File", "FallbackToLogsOnError"]},
    volumeMounts=items(record("name mountPath", name=TEXT, mountPath=TEXT, readOnly=BOOLEAN)),
)
VOLUME = record(
    "name",
    name=TEXT,
    configMap=record("", name=TEXT, optional=BOOLEAN),
    hostPath=record("path", path=TEXT, type={"enum": ["", "Directory", "DirectoryOrCreate"]}),
    emptyDir=record("", medium=TEXT),
    persistentVolumeClaim=record("claimName", claimName=TEXT, readOnly=BOOLEAN),
)
APART = record("topologyKey", topologyKey=TEXT, labelSelector=record("", matchLabels=TEXTS))
POD = record(
    "containers",
    affinity=record("", podAntiAffinity=record("", requiredDuringSchedulingIgnoredDuringExecution=items(APART))),
    automountServiceAccountToken=BOOLEAN,
    containers=items(CONTAINER),
    dnsPolicy={"enum": ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"]},
    hostNetwork=BOOLEAN,
    nodeSelector=TEXTS,
    restartPolicy={"enum": ["Always", "OnFailure", "Never"]},
    volumes=items(VOLUME),
)
TEMPLATE = record("", metadata=record("", labels=TEXTS, annotations=TEXTS), spec=POD)

BASE64: Schema = {"type": "string", "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"}
CONFIG_MAP = record(
    "apiVersion kind metadata",
    apiVersion={"const": "v1"},
    kind={"const": "ConfigMap"},
    metadata=METADATA,
    data=TEXTS,
    binaryData={"type": "object", "additionalProperties": BASE64},
)
REPLICAS = record(
    "",
    replicas={"type": "integer"},
    restartPolicy={"enum": ["Always", "OnFailure", "Never", "ExitCode"]},
    template=TEMPLATE,
)
ASCEND_JOB = record(
    "apiVersion kind metadata spec",
    apiVersion={"const": "mindxdl.gitee.com/v1"},
    kind={"const": "AscendJob"},
    metadata=METADATA,
    spec=record(
        "replicaSpecs",
        replicaSpecs={"type": "object", "additionalProperties": REPLICAS},
        runPolicy=record(
            "", backoffLimit=INT32, schedulingPolicy=record("", minAvailable={"type": "integer"}, queue=TEXT)
        ),
        schedulerName=TEXT,
        successPolicy=TEXT,
    ),
)
EVENT: Schema = {"enum": ["*", "PodPending", "PodRunning", "PodFailed", "PodEvicted", "Unknown", "TaskCompleted"]}
ACTION: Schema = {
    "enum": [
        *("AbortJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "TerminateJob", "CompleteJob"),
        *("ResumeJob", "SyncJob", "EnqueueJob", "SyncQueue", "OpenQueue", "CloseQueue"),
    ]
}
TASK = record(
    "",
    name={"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63},
    replicas=COUNT,
    template=TEMPLATE,
)
VOLCANO_JOB = record(
    "apiVersion kind metadata spec",
    apiVersion={"const": "batch.volcano.sh/v1alpha1"},
    kind={"const": "Job"},
    metadata=METADATA,
    spec=record(
        "",
        maxRetry=INT32,
        minAvailable=COUNT,
        plugins={"type": "object", "additionalProperties": items(TEXT)},
        policies=items(record("", action=ACTION, event=EVENT, events=items(EVENT))),
        queue=TEXT,
        schedulerName={"type": "string", "maxLength": 63},
        tasks=items(TASK),
    ),
)
BY_KIND = {"ConfigMap": CONFIG_MAP, "AscendJob": ASCEND_JOB, "Job": VOLCANO_JOB}
