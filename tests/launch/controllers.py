"""What the controllers of numbered pods set in them, as documented by each, for simulated pods."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.launch.manifests import Templates, Value, job_of, templates_in


class PodFacts(NamedTuple):
    """The template of a pod, its fields in Kubernetes, and the variables from its controller."""

    template: str
    fields: Mapping[str, str]
    environ: Mapping[str, str]


def _jobset(name: str, templates: Templates) -> list[PodFacts]:
    """The Job controller sets the number; the JobSet controller labels the pod."""
    ((template, (count, _)),) = templates.items()
    fields = {"metadata.labels['jobset.sigs.k8s.io/jobset-name']": name}
    return [PodFacts(template, fields, {"JOB_COMPLETION_INDEX": str(number)}) for number in range(count)]


def _pytorchjob(name: str, templates: Templates) -> list[PodFacts]:
    """The operator counts pods as ranks: RANK is the number of the pod."""
    kinds = [kind for kind, (count, _) in templates.items() for _ in range(count)]
    job = {
        "PYTHONUNBUFFERED": "0",
        "MASTER_ADDR": f"{name}-master-0",
        "MASTER_PORT": "23456",
        "WORLD_SIZE": str(len(kinds)),
        "PET_MASTER_ADDR": f"{name}-master-0",
        "PET_NNODES": str(len(kinds)),
    }
    return [
        PodFacts(kind, {}, {**job, "RANK": str(number), "PET_NODE_RANK": str(number)})
        for number, kind in enumerate(kinds)
    ]


def _lws(name: str, templates: Templates) -> list[PodFacts]:
    """The pods of the first group; the controller sets three variables in them."""
    ((template, (count, _)),) = templates.items()
    group = {"LWS_LEADER_ADDRESS": f"{name}-0.{name}.default", "LWS_GROUP_SIZE": str(count)}
    return [PodFacts(template, {}, {**group, "LWS_WORKER_INDEX": str(number)}) for number in range(count)]


def _trainjob(name: str, templates: Templates) -> list[PodFacts]:
    """The pods of its JobSet, with the variables that the `torch` policy of the Trainer adds."""
    pods = _jobset(name, templates)
    torch = {
        "PET_NNODES": str(len(pods)),
        "PET_NPROC_PER_NODE": "auto",
        "PET_MASTER_ADDR": f"{name}-node-0-0.{name}",
        "PET_MASTER_PORT": "29400",
    }
    return [
        pod._replace(environ={**pod.environ, **torch, "PET_NODE_RANK": str(number)}) for number, pod in enumerate(pods)
    ]


def _rayjob(_name: str, templates: Templates) -> list[PodFacts]:
    """The variables that `hccl_kit.pod.ray` sets in the pods of Ray's workers."""
    count, _ = templates["cards"]
    variables = {"HCCL_KIT_POD_0": "ray-worker-0"}
    return [PodFacts("cards", {}, {**variables, "HCCL_KIT_POD": str(number)}) for number in range(count)]


INDEX = {
    "rayjob": "HCCL_KIT_POD",
    "jobset": "JOB_COMPLETION_INDEX",
    "lws": "LWS_WORKER_INDEX",
    "pytorchjob": "RANK",
    "trainjob": "JOB_COMPLETION_INDEX",
}
"""The variable with the number of a pod."""
KINDS = sorted(INDEX)
_PODS = {"rayjob": _rayjob, "jobset": _jobset, "lws": _lws, "pytorchjob": _pytorchjob, "trainjob": _trainjob}


def pods_of(kind: str, documents: Sequence[Value]) -> list[PodFacts]:
    """The pods of a job in the order of their numbers."""
    return _PODS[kind](job_of(documents)["metadata"]["name"], templates_in(documents))


def address_of(kind: str, name: str) -> str:
    """The DNS name of pod 0 in the cluster."""
    return {
        "jobset": f"{name}-node-0-0.{name}",
        "lws": f"{name}-0.{name}.default",
        "pytorchjob": f"{name}-master-0",
        "rayjob": "ray-worker-0",
        "trainjob": f"{name}-node-0-0.{name}",
    }[kind]
