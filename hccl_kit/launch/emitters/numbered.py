"""Manifests whose controllers number the pods: JobSet, PyTorchJob, LeaderWorkerSet, TrainJob, RayJob.

Of the rank table, only the numbers of servers and cards are used: a pod for each server, whose number gives the ranks
of its cards in `hccl_kit.pod`. With `fixed_table` or `table_map`, the pods find their ranks in a table instead.

A kind of job is a `Kind`: which variables its controller sets, and the objects around the pod. The kinds share the
rest, which is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.frameworks import FRAMEWORKS, PYTORCH
from hccl_kit.launch.emitters import kubernetes, pod_program
from hccl_kit.launch.emitters.hardware import Hardware
from hccl_kit.launch.emitters.kubernetes import CONTAINER, PodJob
from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.files import LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan, assert_ascending

RESOURCE = "huawei.com/Ascend910"
VOLUME = "rank-table"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


@dataclass(frozen=True, slots=True)
class Pods:
    """What the objects of a job are made of: the spec of a `pod` and its `annotations`, the `labels` of the job, and
    how often its controller starts it again.
    """

    job: PodJob
    pod: Value
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    restarts: int

    @property
    def metadata(self) -> Value:
        """Name, namespace and labels of the job."""
        names = {"name": self.job.name, "namespace": self.job.namespace}
        return {**names, "labels": dict(self.labels)} if self.labels else names

    def template(self, restart: str | None = None) -> Value:
        """The template of a pod; `restart` is its restart policy, if the kind of job leaves that to the pod."""
        spec = {"restartPolicy": restart, **self.pod} if restart else self.pod
        annotations = {"annotations": dict(self.annotations)} if self.annotations else {}
        return {"metadata": {"labels": kubernetes.card_labels(self.job), **annotations}, "spec": spec}


class Kind(NamedTuple):
    """A kind of job whose controller numbers the pods.

    `pod_index`, `address` and `pod_count` are the variables of a pod with its number, the address of pod 0 and, if
    there is one, the number of pods; `env` sets those that the controller does not. `suffix` is the longest end of the
    name of a pod. `restarts_all`: after a failure, the controller can start all pods again.
    """

    name: str
    title: str
    pod_index: str
    address: str
    objects: Callable[[Pods], list[Value]]
    suffix: Callable[[int], str]
    pod_count: str = ""
    env: tuple[Value, ...] = ()
    framework: str = FRAMEWORKS[0]
    container: str = CONTAINER
    port_name: str = "rank-0"
    notes: tuple[str, ...] = ()
    restarts_all: bool = False
    settings: Callable[[PodJob], Mapping[str, Any]] = lambda _: {}
    """Further settings of `hccl_kit.pod`."""


class RankSource(NamedTuple):
    """Where the ranks of a pod come from: ConfigMaps, variables and volumes of the pod, and lines of the comment."""

    documents: list[Value]
    env: list[Value]
    volumes: list[tuple[Value, str]]
    about: list[str]


def emitter(kind: Kind) -> Callable[..., tuple[LaunchFile, ...]]:
    """The function `emit` of a kind of job."""

    def emit(
        plan: LaunchPlan,
        table: TableFile,
        *,
        host_network: bool = False,
        resource: str = RESOURCE,
        kueue_queue: str | None = None,
        kueue_topology: str | None = None,
        max_restarts: str | None = None,
        fixed_table: bool = False,
        table_map: str | None = None,
        **of_pods: Any,
    ) -> tuple[LaunchFile, ...]:
        """The manifest of a plan that has passed the rules HK5; `of_pods` are the options of `kubernetes.pod_job`.

        Raises KitError if an option is not accepted.
        """
        if fixed_table:
            _assert_host_network(table_map, host_network=host_network)
        hardware, suffix = Hardware(resource), kind.suffix(len(plan.nodes))
        job = kubernetes.pod_job(plan, hardware=hardware, suffix=suffix, **of_pods)
        job = replace(job, framework=plan.framework or kind.framework)
        port = plan.master_port or job.port
        source = _source(kind, job, port, plan, table, table_map=table_map, fixed_table=fixed_table)
        pod = kubernetes.pod(
            job,
            env=source.env,
            port=port,
            volumes=source.volumes,
            container=kind.container,
            port_name=kind.port_name,
            host_network=host_network,
        )
        queue = {} if kueue_queue is None else {QUEUE_LABEL: kueue_queue}
        pods = Pods(job, pod, queue, _topology(kueue_topology, kueue_queue), _restarts(kind, max_restarts))
        documents = [*kind.objects(pods), *source.documents]
        return kubernetes.files(plan, job, documents, [*source.about, *kind.notes], launcher=kind.name, kind=kind.name)

    return emit


def _source(
    kind: Kind, job: PodJob, port: int, plan: LaunchPlan, table: TableFile, *, table_map: str | None, fixed_table: bool
) -> RankSource:
    """Ranks by the number of the pod, or by its host in a table: the given one, or one that the cluster writes."""
    settings = dict(kind.settings(job))
    if not fixed_table and table_map is None:
        settings |= {"controller": kind.title, "pod_index": kind.pod_index, "address": kind.address}
        settings |= {"pod_count": kind.pod_count, "scheduler": job.framework != PYTORCH}
        about = pod_program.about_selected(table, "the job does not read the table.")
        return RankSource([pod_program.program(job, "number", port=port, **settings)], [*kind.env], [], about)
    if table_map is None:
        for node in plan.nodes if job.framework == PYTORCH else ():
            assert_ascending(node)
        config = pod_program.given(job, plan, table)
        documents, key, about = [config], pod_program.key_of(config), pod_program.about_given(table)
        reference = {"name": config["metadata"]["name"]}
    else:
        pod_program.assert_can_be_written(table_map, table)
        documents, key, reference = [], pod_program.KEY, {"name": table_map, "optional": True}
        about = [
            *pod_program.about_selected(table, "each pod waits for the table that the cluster writes:"),
            f"key {key} of the ConfigMap {table_map}.",
        ]
    documents.append(pod_program.by_table(job, port, key=key, **settings))
    volume = {"name": VOLUME, "configMap": reference}
    return RankSource(documents, [pod_program.env()], [(volume, pod_program.FOLDER)], about)


def _topology(level: str | None, queue: str | None) -> dict[str, str]:
    """The annotations of pods in a queue of Kueue, which say where they have to be. Raises KitError without a queue."""
    if level is None:
        return {}
    if queue is None:
        raise KitError(
            "launch.kueue.kueue-topology-needs",
            "--kueue-topology needs --kueue-queue: only a job in a queue is placed by Kueue",
        )
    kind, _, label = level.partition("=")
    return {f"kueue.x-k8s.io/podset-{kind}-topology": label or "true"}


def _restarts(kind: Kind, text: str | None) -> int:
    """How often the controller starts all pods again."""
    if text is None:
        return 0
    if not kind.restarts_all:
        raise KitError(
            "launch.numbered.max-restarts-not",
            "--max-restarts is not for --to {kind}: its controller starts single pods again, and the "
            "ranks of the others would wait for them",
            fix="--to jobset, trainjob or rayjob starts all of them",
            kind=kind.name,
        )
    return int(text)


def _assert_host_network(table_map: str | None, *, host_network: bool) -> None:
    if table_map is not None:
        raise KitError(
            "launch.numbered.fixed-table-table",
            "--fixed-table and --table-map are mutually exclusive",
            fix="leave one of them out",
        )
    if not host_network:
        raise KitError(
            "launch.numbered.fixed-table-needs",
            "--fixed-table needs --host-network: a rank table has the addresses of hosts",
        )
