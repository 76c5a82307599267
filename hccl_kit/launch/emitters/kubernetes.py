"""A job in pods of Kubernetes: a pod for each server of a plan, which starts a rank on each of its cards.

A kind of job is a `Kind`: what its controller sets in the pods, and the objects around them. The kinds share the rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.frameworks import FRAMEWORKS
from hccl_kit.base.network import port_of_digest
from hccl_kit.launch.emitters.hardware import RESOURCE, Hardware, hardware_of
from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.table.document import shown

RING_LABEL = "ring-controller.atlas"
"""The label with the chip type, on the job, its pods and the ConfigMap of the table."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PROGRAM_FOLDER = "/hccl-kit"
PROGRAM, SETTINGS = f"{PROGRAM_FOLDER}/agent.pyz", f"{PROGRAM_FOLDER}/job.json"
_MAX_LABEL = 63


class RankSource(NamedTuple):
    """Where the ranks of a pod come from: ConfigMaps, of which the last has the program, and lines of the comment.

    `env` are variables of the pod, and `table` refers to the ConfigMap of a rank table that it mounts.
    """

    documents: list[Value]
    about: list[str]
    env: Sequence[Value] = ()
    table: Value | None = None


class Kind(NamedTuple):
    """A kind of job: its objects, where a pod without a given table finds its ranks, and names.

    `suffix` is the longest end of the name of a pod. `pod_index`, `address` and `pod_count` are the variables of a pod
    with its number, the address of pod 0 and, if there is one, the number of pods, which its controller, called
    `title`, sets; `env` sets those that it does not. `restarts_all`: after a failure, it can start all pods again.
    `by_product`: the product decides on the cards. `on_hosts`: pods are in the network of their hosts in any case.
    """

    name: str
    objects: Callable[[PodJob, RankSource], list[Value]]
    source: Callable[[PodJob], RankSource]
    suffix: Callable[[int], str] = lambda pods: max("-scheduler-0", f"-worker-{pods}", key=len)
    title: str = ""
    pod_index: str = ""
    address: str = ""
    pod_count: str = ""
    env: tuple[Value, ...] = ()
    framework: str = FRAMEWORKS[0]
    container: str = "ascend"
    port: int = 0
    """The port of rank 0; 0: it follows from the name of the job."""
    port_name: str = "rank-0"
    table_volume: str = "rank-table"
    kubectl: str = ""
    """What kubectl calls it, if that is not its name."""
    restarts_all: bool = True
    by_product: bool = False
    on_hosts: bool = False
    settings: Callable[[PodJob], Mapping[str, Any]] = lambda _: {}
    """Further settings of `hccl_kit.pod`."""
    notes: Callable[[PodJob], Sequence[str]] = lambda _: ()
    """Further lines of the comment."""


@dataclass(frozen=True, slots=True)
class PodJob:
    """A job of this kind; the keywords are options of its launcher, and the product."""

    kind: Kind
    plan: LaunchPlan
    table: TableFile
    _: KW_ONLY
    name: str
    image: str = ""
    namespace: str = "default"
    volumes: str | None = None
    log_volume: str | None = None
    cpus: str | None = None
    memory: str | None = None
    image_has_kit: bool = False
    host_network: bool = False
    fixed_table: bool = False
    product: str | None = None
    resource: str = RESOURCE
    kueue_queue: str | None = None
    kueue_topology: str | None = None
    max_restarts: str | None = None
    table_map: str | None = None

    @property
    def pods(self) -> int:
        """The number of pods with cards."""
        return len(self.plan.nodes)

    @property
    def cards(self) -> int:
        """The cards of each pod (HK530)."""
        return len(self.plan.nodes[0].workers)

    @property
    def framework(self) -> str:
        """The framework of the ranks."""
        return self.plan.framework or self.kind.framework

    @property
    def hardware(self) -> Hardware:
        """The cards. Raises KitError if the product decides on them, and is not known."""
        return hardware_of(self.product) if self.kind.by_product else Hardware(self.resource)

    @property
    def ring(self) -> dict[str, str]:
        """The label with the chip type."""
        return {RING_LABEL: self.hardware.ring} if self.hardware.ring else {}

    @property
    def on_hosts(self) -> bool:
        """Whether pods are in the network of their hosts."""
        return self.host_network or self.kind.on_hosts

    @property
    def restarts(self) -> int:
        """How often the controller starts all pods again."""
        return int(self.max_restarts or 0)

    @property
    def port(self) -> int:
        """The port of rank 0; one that follows from the name differs between jobs that share a host."""
        digest = hashlib.sha256(f"{self.namespace}/{self.name}".encode()).hexdigest()
        return self.plan.master_port or self.kind.port or port_of_digest(digest)

    @property
    def program(self) -> list[str]:
        """The words that start the program of a pod; those of the ranks' command follow."""
        return ["python3", "-I", *(["-m", "hccl_kit.pod"] if self.image_has_kit else [PROGRAM]), SETTINGS]

    @property
    def program_map(self) -> str:
        """The name of the ConfigMap with the program of a pod."""
        return f"{self.name}-start"

    def object(self, version: str, kind: str, spec: Value, labels: Mapping[str, str] | None = None) -> Value:
        """The object of the job, with these labels and that of its queue."""
        queue = {} if self.kueue_queue is None else {QUEUE_LABEL: self.kueue_queue}
        metadata: Value = {"name": self.name, "namespace": self.namespace}
        if every := {**(labels or {}), **queue}:
            metadata["labels"] = every
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def from_field(name: str, path: str) -> Value:
    """A variable with the value of a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def assert_accepted(job: PodJob) -> None:
    """Raises KitError for options that are missing, mutually exclusive, or not for this kind of job."""
    longest = _MAX_LABEL - len(job.kind.suffix(job.pods))
    if len(job.name) > longest:
        raise KitError(
            "launch.kubernetes.name-too-long",
            "--name is {name}; accepted: at most {longest} characters, since pod names start with it",
            name=shown(job.name),
            longest=longest,
        )
    if not job.image:
        raise KitError(
            "launch.kubernetes.container-image-missing",
            "the container image is missing",
            fix="--image REGISTRY/NAME:TAG",
        )
    if job.fixed_table and job.table_map is not None:
        raise KitError(
            "launch.numbered.fixed-table-table",
            "--fixed-table and --table-map are mutually exclusive",
            fix="leave one of them out",
        )
    if job.fixed_table and not job.on_hosts:
        raise KitError(
            "launch.numbered.fixed-table-needs",
            "--fixed-table needs --host-network: a rank table has the addresses of hosts",
        )
    if job.kueue_topology is not None and job.kueue_queue is None:
        raise KitError(
            "launch.kueue.kueue-topology-needs",
            "--kueue-topology needs --kueue-queue: only a job in a queue is placed by Kueue",
        )
    if job.max_restarts is not None and not job.kind.restarts_all:
        raise KitError(
            "launch.numbered.max-restarts-not",
            "--max-restarts is not for --to {kind}: its controller starts single pods again, and the "
            "ranks of the others would wait for them",
            fix="--to jobset, trainjob or rayjob starts all of them",
            kind=job.kind.name,
        )
