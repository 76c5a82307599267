"""What the manifests for Kubernetes share: names, the pod of a server, and the programs that it runs.

Nothing is passed to a shell: the container runs `pod_start` in Python, which executes the command. All other values are
quoted by the YAML writer.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.frameworks import PYTORCH
from hccl_kit.base.network import port_of_digest
from hccl_kit.base.wording import counted
from hccl_kit.launch.emitters.manifest import Value, config_map, to_yaml, verb
from hccl_kit.launch.files import LaunchFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.shell import source_of
from hccl_kit.runtime.worker_env import LOG_DIR, MISLEADING, NAMES, RESTART, RUN_ID, THREADS
from hccl_kit.table.document import shown

CONTAINER = "ascend"
"""The name of the container that the Ascend Operator looks for."""
PORT_NAME = "ascendjob-port"
RING_LABEL = "ring-controller.atlas"
"""The label with the chip type, on the job, its pods and the ConfigMap of the table."""
JOB_LABEL = "hccl-kit/job"
"""The label of pods with cards, of which a server runs at most one."""
PROGRAM_FOLDER = "/hccl-kit"
_LABEL = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?", re.ASCII)
"""RFC 1035, which services require; RFC 1123 would allow a digit at the start."""
_MAX_LABEL = 63
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}", re.ASCII)


class Hardware(NamedTuple):
    """The resource of the cards; in MindCluster also the value of RING_LABEL and the node label `accelerator-type`."""

    resource: str
    ring: str | None = None
    accelerator: str | None = None


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
    """A job of `pods` pods with `cards` cards each; every rank runs `command`, of `framework`, with `variables`."""

    name: str
    namespace: str
    image: str
    hardware: Hardware
    command: tuple[str, ...]
    pods: int
    cards: int
    variables: tuple[tuple[str, str], ...] = ()
    framework: str | None = None

    @property
    def shape(self) -> str:
        """The pods and their cards in words."""
        return f"{counted(self.pods, 'pod')} with {counted(self.cards, 'card')} each"

    @property
    def ring(self) -> dict[str, str]:
        """The label with the chip type."""
        return {RING_LABEL: self.hardware.ring} if self.hardware.ring else {}

    @property
    def port(self) -> int:
        """A port for rank 0, which follows from the name, so that jobs that share a host differ."""
        return port_of_digest(hashlib.sha256(f"{self.namespace}/{self.name}".encode()).hexdigest())


def hardware_of(product: str | None) -> Hardware:
    """The cards of a product in MindCluster. Raises KitError if it is None, or not known there."""
    accepted = ", ".join(HARDWARE)
    if product is None:
        raise KitError(
            "launch.kubernetes.product-missing",
            "the product is missing: it decides which cards the pods ask for, and on which nodes they run",
            fix="--product NAME; accepted: {accepted}",
            accepted=accepted,
        )
    if product not in HARDWARE:
        raise KitError(
            "launch.kubernetes.product-no-known",
            "product {product!r} has no known resource in Kubernetes; accepted: {accepted}",
            product=product,
            accepted=accepted,
        )
    return HARDWARE[product]


def pod_job(
    plan: LaunchPlan, *, name: str | None, image: str, namespace: str, hardware: Hardware, suffix: str = ""
) -> PodJob:
    """The job of a plan whose nodes have equally many cards (HK530).

    `suffix` is the longest end of a pod's name; without it, that of the Ascend Operator and of Volcano. Raises
    KitError if a name is not accepted.
    """
    name = f"ascend{plan.size}p" if name is None else name
    longest = _MAX_LABEL - len(suffix or max("-scheduler-0", f"-worker-{len(plan.nodes)}", key=len))
    _assert_label("name", name, longest, "pod names start with it")
    _assert_label("namespace", namespace, _MAX_LABEL, "such as default")
    if not image:
        raise KitError(
            "launch.kubernetes.container-image-missing",
            "the container image is missing",
            fix="--image REGISTRY/NAME:TAG",
        )
    if not _IMAGE.fullmatch(image):
        raise KitError(
            "launch.kubernetes.image-not-valid",
            "image {image} is not a valid image name; accepted: REGISTRY/NAME:TAG",
            image=shown(image),
        )
    return PodJob(
        name=name,
        namespace=namespace,
        image=image,
        hardware=hardware,
        command=plan.command,
        pods=len(plan.nodes),
        cards=len(plan.nodes[0].workers),
        variables=plan.variables_of_hccl,
        framework=plan.framework,
    )


def _assert_label(what: str, text: str, longest: int, why: str) -> None:
    if len(text) > longest or not _LABEL.fullmatch(text):
        raise KitError(
            "launch.kubernetes.not-valid",
            "{what} {text} is not valid; accepted: at most {longest} lower-case letters, digits and "
            "hyphens, with a letter first and no hyphen last ({why})",
            what=what,
            text=shown(text),
            longest=longest,
            why=why,
        )


def pod(
    job: PodJob,
    *,
    env: Sequence[Value],
    port: int,
    volumes: Sequence[tuple[Value, str]],
    container: str = CONTAINER,
    port_name: str = PORT_NAME,
) -> Value:
    """The pod of a server, with further variables `env` and further `volumes` with their mount paths.

    The last lines of its log, where `pod_run` reports a failure, are its termination message.
    """
    mounted = [
        ({"name": "hccl-kit", "configMap": {"name": programs_name(job)}}, PROGRAM_FOLDER),
        *volumes,
        ({"name": "ascend-driver", "hostPath": {"path": "/usr/local/Ascend/driver"}}, "/usr/local/Ascend/driver"),
        ({"name": "dshm", "emptyDir": {"medium": "Memory"}}, "/dev/shm"),  # noqa: S108 - for data loaders
    ]
    variables = [*env, *({"name": name, "value": value} for name, value in job.variables)]
    return {
        "automountServiceAccountToken": False,
        "containers": [
            {
                "name": container,
                "image": job.image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["python3", "-Iu", f"{PROGRAM_FOLDER}/start.py"],
                "args": [unexpanded(word) for word in job.command],
                **({"env": variables} if variables else {}),
                "ports": [{"containerPort": port, "name": port_name}],
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "volumeMounts": [{"name": volume["name"], "mountPath": path} for volume, path in mounted],
            }
        ],
        "volumes": [volume for volume, _ in mounted],
    }


def with_cards(job: PodJob, spec: Value) -> Value:
    """The pod with its cards, on another server than the other pods with `card_labels` of the job.

    The container runtime mounts the cards that are listed in its environment. Volcano's plugin for Ascend annotates the
    pod with them; without it, the device plugin sets the variable.
    """
    (container,) = spec["containers"]
    cards = {job.hardware.resource: job.cards}
    visible = from_field("ASCEND_VISIBLE_DEVICES", f"metadata.annotations['{job.hardware.resource}']")
    env = [*container.get("env", ()), *([visible] if job.hardware.ring else ())]
    apart = {"labelSelector": {"matchLabels": {JOB_LABEL: job.name}}, "topologyKey": "kubernetes.io/hostname"}
    node = {"nodeSelector": {"accelerator-type": job.hardware.accelerator}} if job.hardware.accelerator else {}
    return {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
        **node,
        **spec,
        "containers": [
            {
                **container,
                **({"env": env} if env else {}),
                "resources": {"requests": dict(cards), "limits": dict(cards)},
            }
        ],
    }


def card_labels(job: PodJob) -> dict[str, str]:
    """The labels of a pod with cards."""
    return {**job.ring, JOB_LABEL: job.name}


def on_host_network(spec: Value) -> Value:
    """The pod in the network of its host, with the address that HCCL must use."""
    (container,) = spec["containers"]
    env = [*container.get("env", ()), from_field("HCCL_IF_IP", "status.hostIP")]
    return {
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        **spec,
        "containers": [{**container, "env": env}],
    }


def from_field(name: str, path: str) -> Value:
    """A variable with the value of a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def unexpanded(word: str) -> str:
    """A word of the command, escaped for a manifest, in which Kubernetes expands $(NAME) and replaces $$ with $."""
    return word.replace("$", "$$")


def programs_name(job: PodJob) -> str:
    """The name of the ConfigMap with the programs of a pod."""
    return f"{job.name}-start"


def programs(job: PodJob, source: str, extra: Mapping[str, str] | None = None, **more: object) -> Value:
    """The ConfigMap with the programs of a pod, the Settings of `pod_start`, and `extra` files."""
    settings: dict[str, object] = {
        "source": source,
        "names": NAMES,
        "unset": [*MISLEADING, RUN_ID, LOG_DIR, RESTART],
        "mark": dict.fromkeys((RUN_ID, *NAMES["run"]), job.name),
        "threads": THREADS,
        "limits_cards": job.framework == PYTORCH,
    }
    if source == "mindspore":  # MindSpore reads MS_*, which the operator sets
        settings |= {"unset": [name for name in MISLEADING if not name.startswith("MS_")], "mark": {}}
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in (settings | more).items())
    return config_map(
        programs_name(job),
        job.namespace,
        {
            "start.json": f"{{\n{lines}\n}}\n",
            "start.py": source_of("pod_start"),
            "run.py": source_of("pod_run"),
            **(extra or {}),
        },
    )


def files(
    plan: LaunchPlan, job: PodJob, documents: Sequence[Value], about: Sequence[str], *, launcher: str, kind: str
) -> tuple[LaunchFile, ...]:
    """The manifest of a job, whose comment says how to use it; `kind` is the name of its kind for kubectl."""
    name = f"{launcher}{plan.size}p.yaml"
    comment = [
        f"Starts ranks 0 to {plan.size - 1} in {job.shape}. Generated by hccl_kit.",
        "",
        f"  kubectl {verb(documents)} -f {name}",
        f"  kubectl get {kind} -n {job.namespace} {job.name}",
        "",
        *about,
        "Add volumes for the program and its data if they are not in the image.",
    ]
    return (LaunchFile(name, to_yaml(comment, documents)),)
