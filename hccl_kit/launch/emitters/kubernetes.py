"""What the manifests for Kubernetes share: names, the pod of a server, the programs that it carries, the text.

No word of the user reaches a shell: the container runs `pod_start` in Python, which starts the command as it is. All
else is a value that the YAML writer quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import counted
from hccl_kit.launch.emitters.manifest import Value, config_map
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.runtime.worker_env import LOG_DIR, MISLEADING, NAMES, RESTART, RUN_ID
from hccl_kit.table.document import shown

CONTAINER = "ascend"
"""The operator looks for a container of this name."""
RING_LABEL = "ring-controller.atlas"
"""Tells the kind of chip; on job, pods and the ConfigMap of the table."""
JOB_LABEL = "hccl-kit/job"
"""Of the pods with cards; a server takes one of them."""
TABLE_FOLDER = "/user/serverid/devindex/config"
TABLE_KEY = "hccl.json"
PROGRAM_FOLDER = "/hccl-kit"
_LABEL = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?", re.ASCII)
"""RFC 1035, which services ask for; RFC 1123 would let a name begin with a digit."""
_MAX_LABEL = 63
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}", re.ASCII)


class Hardware(NamedTuple):
    """How MindCluster calls a product: the resource, the value of RING_LABEL, the node label `accelerator-type`."""

    resource: str
    ring: str
    accelerator: str | None


HARDWARE: Mapping[str, Hardware] = {
    "910": Hardware("huawei.com/Ascend910", "ascend-910", "module"),
    "a2": Hardware("huawei.com/Ascend910", "ascend-910b", "module-910b-8"),
    "a2-box16": Hardware("huawei.com/Ascend910", "ascend-910b", "module-910b-16"),
    "a3": Hardware("huawei.com/Ascend910", "ascend-910b", "module-a3-16"),
    "300i-duo": Hardware("huawei.com/Ascend310P", "ascend-310P", None),
}
"""By product. Source: MindCluster 7.3, scheduling user guide, parameters of the YAML files."""


@dataclass(frozen=True, slots=True)
class PodJob:
    """A job of `pods` pods with `cards` cards each; every rank runs `command`."""

    name: str
    namespace: str
    image: str
    hardware: Hardware
    command: tuple[str, ...]
    pods: int
    cards: int

    @property
    def shape(self) -> str:
        """As a person would say it."""
        return f"{counted(self.pods, 'pod')} with {counted(self.cards, 'card')} each"

    @property
    def ring(self) -> dict[str, str]:
        """The label that tells the kind of chip."""
        return {RING_LABEL: self.hardware.ring}


def pod_job(plan: LaunchPlan, *, name: str | None, image: str, namespace: str, product: str) -> PodJob:
    """The job that starts `plan`, whose nodes have equally many cards (HK530); KitError where a name is not allowed."""
    if product not in HARDWARE:
        raise KitError(f"how Kubernetes calls product {product!r} is not known; accepted: {', '.join(HARDWARE)}")
    name = name or f"ascend{plan.size}p"
    longest = _MAX_LABEL - max(len("-scheduler-0"), len(f"-worker-{len(plan.nodes)}"))
    _assert_label("name", name, longest, "the pods are called after it")
    _assert_label("namespace", namespace, _MAX_LABEL, "such as default")
    if not image:
        raise KitError("the image of the containers is missing", hint="--image REGISTRY/NAME:TAG")
    if not _IMAGE.fullmatch(image):
        raise KitError(f"image {shown(image)} is no name of an image; accepted: REGISTRY/NAME:TAG")
    return PodJob(name, namespace, image, HARDWARE[product], plan.command, len(plan.nodes), len(plan.nodes[0].workers))


def _assert_label(what: str, text: str, longest: int, why: str) -> None:
    if len(text) > longest or not _LABEL.fullmatch(text):
        raise KitError(
            f"{what} {shown(text)} is not accepted: a letter, then at most {longest - 1} letters, digits and hyphens, "
            f"all lower case, no hyphen at the end ({why})"
        )


def pod(job: PodJob, *, env: Sequence[Value], port: int, volumes: Sequence[tuple[Value, str]]) -> Value:
    """The pod of a server: `env` besides what each gets; `volumes` with their places besides those that each has.

    The last lines of its log, where `pod_run` says who failed, are shown as the reason of its end.
    """
    mounted = [
        ({"name": "hccl-kit", "configMap": {"name": programs_name(job)}}, PROGRAM_FOLDER),
        *volumes,
        ({"name": "ascend-driver", "hostPath": {"path": "/usr/local/Ascend/driver"}}, "/usr/local/Ascend/driver"),
        ({"name": "dshm", "emptyDir": {"medium": "Memory"}}, "/dev/shm"),  # noqa: S108 - as the data loaders want it
    ]
    return {
        "automountServiceAccountToken": False,
        "containers": [
            {
                "name": CONTAINER,
                "image": job.image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["python3", "-Iu", f"{PROGRAM_FOLDER}/start.py"],
                "args": [unexpanded(word) for word in job.command],
                **({"env": list(env)} if env else {}),
                "ports": [{"containerPort": port, "name": "ascendjob-port"}],
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "volumeMounts": [{"name": volume["name"], "mountPath": place} for volume, place in mounted],
            }
        ],
        "volumes": [volume for volume, _ in mounted],
    }


def with_cards(job: PodJob, spec: Value) -> Value:
    """The pod with its cards, on a server of its own among those of the job with cards, which have `card_labels`.

    Its environment says which cards these are; the container runtime mounts them by that.
    """
    (container,) = spec["containers"]
    cards = {job.hardware.resource: job.cards}
    visible = from_field("ASCEND_VISIBLE_DEVICES", f"metadata.annotations['{job.hardware.resource}']")
    apart = {"labelSelector": {"matchLabels": {JOB_LABEL: job.name}}, "topologyKey": "kubernetes.io/hostname"}
    node = {"nodeSelector": {"accelerator-type": job.hardware.accelerator}} if job.hardware.accelerator else {}
    return {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
        **node,
        **spec,
        "containers": [
            {
                **container,
                "env": [*container.get("env", ()), visible],
                "resources": {"requests": dict(cards), "limits": dict(cards)},
            }
        ],
    }


def card_labels(job: PodJob) -> dict[str, str]:
    """The labels of a pod with cards."""
    return {**job.ring, JOB_LABEL: job.name}


def on_host_network(spec: Value) -> Value:
    """The pod with the network of its host; HCCL would not know by itself which of its addresses to take."""
    (container,) = spec["containers"]
    env = [*container.get("env", ()), from_field("HCCL_IF_IP", "status.hostIP")]
    return {
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        **spec,
        "containers": [{**container, "env": env}],
    }


def from_field(name: str, path: str) -> Value:
    """A variable with what Kubernetes knows of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def unexpanded(word: str) -> str:
    """A word of the command as it has to stand in a manifest: Kubernetes reads $(NAME) and makes one $ of two."""
    return word.replace("$", "$$")


def programs_name(job: PodJob) -> str:
    """Of the ConfigMap with the programs that a pod runs."""
    return f"{job.name}-start"


def programs(job: PodJob, way: str, **more: object) -> Value:
    """The ConfigMap with the programs that a pod runs, and what they are told: Settings of `pod_start`."""
    settings: dict[str, object] = {
        "way": way,
        "names": NAMES,
        "unset": [*MISLEADING, RUN_ID, LOG_DIR, RESTART],
        "mark": {RUN_ID: job.name},
    }
    if way == "mindspore":  # the operator's MS_* lead; a rank of its scheduler is told no contract
        settings |= {"unset": [name for name in MISLEADING if not name.startswith("MS_")], "mark": {}}
    told = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in (settings | more).items())
    return config_map(
        programs_name(job),
        job.namespace,
        {"start.json": f"{{\n{told}\n}}\n", "start.py": _source("pod_start"), "run.py": _source("pod_run")},
    )


def _source(module: str) -> str:
    return files("hccl_kit.launch.payload").joinpath(f"{module}.py").read_text(encoding="utf-8")
