"""Manifests whose controllers number the pods: JobSet, PyTorchJob, LeaderWorkerSet, TrainJob, RayJob.

Of the rank table, only the numbers of servers and cards are used: a pod for each server, whose number gives the ranks
of its cards in `hccl_kit.pod`. With `fixed_table` or `table_map`, the pods find their ranks in a table instead.

A kind of job is a `Kind`: which variables its controller sets, and the objects around the pod. The kinds share the
rest, which is here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.frameworks import FRAMEWORKS, PYTORCH
from hccl_kit.launch.emitters import kubernetes, kueue, pod_options, pod_program, pod_table
from hccl_kit.launch.emitters.hardware import Hardware
from hccl_kit.launch.emitters.kubernetes import CONTAINER, PodJob
from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.files import LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan, assert_ascending
from hccl_kit.table.document import shown

RESOURCE = "huawei.com/Ascend910"
VOLUME = "rank-table"
_NAME = re.compile(rf"(?=.{{1,63}}\Z){pod_options.SUBDOMAIN}", re.ASCII)
"""Names of queues, which stand in a label, and of ConfigMaps."""
_RESOURCE = re.compile(
    rf"(?=.{{1,253}}/){pod_options.SUBDOMAIN}/[A-Za-z0-9]([A-Za-z0-9._-]{{0,61}}[A-Za-z0-9])?", re.ASCII
)


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


class Request(NamedTuple):
    """The input of every function that makes a RankSource."""

    kind: Kind
    plan: LaunchPlan
    table: TableFile
    job: PodJob
    port: int


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
        hardware, suffix = Hardware(_resource(resource)), kind.suffix(len(plan.nodes))
        job = kubernetes.pod_job(plan, hardware=hardware, suffix=suffix, **of_pods)
        job = replace(job, framework=plan.framework or kind.framework)
        request = Request(kind, plan, table, job, plan.master_port or job.port)
        if fixed_table:
            source = _given_table(request)
        elif table_map is not None:
            source = _written_table(request, table_map)
        else:
            source = _number(request)
        pod = kubernetes.pod(
            job,
            env=source.env,
            port=request.port,
            volumes=source.volumes,
            container=kind.container,
            port_name=kind.port_name,
            host_network=host_network,
        )
        annotations = kueue.topology(kueue_topology, has_queue=kueue_queue is not None)
        pods = Pods(job, pod, _queue(kueue_queue), annotations, _restarts(kind, max_restarts))
        documents = [*kind.objects(pods), *source.documents]
        return kubernetes.files(plan, job, documents, [*source.about, *kind.notes], launcher=kind.name, kind=kind.name)

    return emit


def _number(request: Request) -> RankSource:
    """Ranks by the number of the pod."""
    kind, job = request.kind, request.job
    of_kind = {"controller": kind.title, "pod_index": kind.pod_index, "address": kind.address}
    program = pod_program.program(
        job,
        "number",
        port=request.port,
        pod_count=kind.pod_count,
        scheduler=job.framework != PYTORCH,
        **{**kind.settings(job), **of_kind},
    )
    about = pod_table.about_selected(request.table, "the job does not read the table.")
    return RankSource([program], [*kind.env], [], about)


def _given_table(request: Request) -> RankSource:
    """Ranks by the host of the pod in the given table."""
    for node in request.plan.nodes if request.job.framework == PYTORCH else ():
        assert_ascending(node)
    config = pod_table.given(request.job, request.plan, request.table)
    volume = {"name": VOLUME, "configMap": {"name": config["metadata"]["name"]}}
    documents = [config, _table_program(request, pod_table.key_of(config))]
    about = pod_table.about_given(request.table)
    return RankSource(documents, [pod_table.env()], [(volume, pod_table.FOLDER)], about)


def _written_table(request: Request, config: str) -> RankSource:
    """Ranks by the host of the pod in a table that the cluster writes, perhaps after the pods have started."""
    config = _checked("ConfigMap", config, "the name of a ConfigMap")
    pod_table.assert_can_be_written(config, request.table)
    volume = {"name": VOLUME, "configMap": {"name": config, "optional": True}}
    about = [
        *pod_table.about_selected(request.table, "each pod waits for the table that the cluster writes:"),
        f"key {pod_table.KEY} of the ConfigMap {config}.",
    ]
    return RankSource([_table_program(request)], [pod_table.env()], [(volume, pod_table.FOLDER)], about)


def _table_program(request: Request, key: str = pod_table.KEY) -> Value:
    return pod_table.program(request.job, request.port, key=key, **request.kind.settings(request.job))


def _queue(name: str | None) -> dict[str, str]:
    """The labels of a job in a queue."""
    return {} if name is None else {kueue.QUEUE_LABEL: _checked("queue", name, "the name of a LocalQueue")}


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
    return pod_options.restarts(text)


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


def _checked(what: str, text: str, why: str) -> str:
    if not _NAME.fullmatch(text):
        raise KitError(
            "launch.numbered.not-valid",
            "{what} {text} is not valid; accepted: at most 63 lower-case letters, digits, hyphens "
            "and dots, with a letter or digit first and last and beside each dot ({why})",
            what=what,
            text=shown(text),
            why=why,
        )
    return text


def _resource(text: str) -> str:
    if not _RESOURCE.fullmatch(text):
        raise KitError(
            "launch.numbered.resource-not-valid",
            "resource {text} is not valid; accepted: DOMAIN/NAME as in the allocatable resources of "
            "a node, such as {resource}",
            text=shown(text),
            resource=RESOURCE,
        )
    return text
