"""What the manifests for Kubernetes share: names, the pod of a server, and the program that it runs.

Nothing is passed to a shell: the container runs `hccl_kit.pod` in Python, which executes the command. All other values
are quoted by the YAML writer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hccl_kit.base.errors import KitError
from hccl_kit.base.network import port_of_digest
from hccl_kit.base.wording import counted
from hccl_kit.launch.emitters import pod_options
from hccl_kit.launch.emitters.hardware import Hardware
from hccl_kit.launch.emitters.manifest import Value, to_yaml, verb
from hccl_kit.launch.emitters.pod_options import Volume, mounted
from hccl_kit.launch.files import LaunchFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.table.document import shown

CONTAINER = "ascend"
"""The name of the container that the Ascend Operator looks for."""
PORT_NAME = "ascendjob-port"
RING_LABEL = "ring-controller.atlas"
"""The label with the chip type, on the job, its pods and the ConfigMap of the table."""
JOB_LABEL = "hccl-kit/job"
"""The label of pods with cards, of which a server runs at most one."""
PROGRAM_FOLDER = "/hccl-kit"
PROGRAM, SETTINGS = f"{PROGRAM_FOLDER}/agent.pyz", f"{PROGRAM_FOLDER}/job.json"
TABLE_FOLDER = "/user/serverid/devindex/config"
"""Where the HCCL Controller and the Ascend Operator expect the ConfigMap of the table."""
DRIVER, SHARED_MEMORY = "/usr/local/Ascend/driver", "/dev/shm"  # noqa: S108 - the latter is for data loaders
_RESERVED = (PROGRAM_FOLDER, TABLE_FOLDER, DRIVER, SHARED_MEMORY, pod_options.LOG_FOLDER)
_MAX_LABEL = 63


@dataclass(frozen=True, slots=True)
class PodJob:
    """A job of `pods` pods with `cards` cards each; every rank runs `command`, of `framework`, with `variables`.

    `resources` are processors and memory of a pod with cards. `image_has_kit`: the pods run the kit of the image.
    """

    name: str
    namespace: str
    image: str
    hardware: Hardware
    command: tuple[str, ...]
    pods: int
    cards: int
    variables: tuple[tuple[str, str], ...] = ()
    framework: str | None = None
    volumes: tuple[Volume, ...] = ()
    log_volume: Volume | None = None
    resources: Mapping[str, str] = field(default_factory=dict)
    image_has_kit: bool = False

    @property
    def program(self) -> list[str]:
        """The words that start the program of a pod; those of the ranks' command follow."""
        return ["python3", "-I", *(["-m", "hccl_kit.pod"] if self.image_has_kit else [PROGRAM]), SETTINGS]

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


def pod_job(
    plan: LaunchPlan,
    *,
    hardware: Hardware,
    name: str | None = None,
    image: str = "",
    namespace: str = "default",
    image_has_kit: bool = False,
    volumes: str | None = None,
    log_volume: str | None = None,
    cpus: str | None = None,
    memory: str | None = None,
    suffix: str = "",
) -> PodJob:
    """The job of a plan whose nodes have equally many cards (HK530), with the options of all launchers with pods.

    `suffix` is the longest end of a pod's name; without it, that of the Ascend Operator and of Volcano. Raises
    KitError if an option is not accepted.
    """
    name = f"ascend{plan.size}p" if name is None else name
    longest = _MAX_LABEL - len(suffix or max("-scheduler-0", f"-worker-{len(plan.nodes)}", key=len))
    if len(name) > longest:
        raise KitError(
            "launch.kubernetes.name-too-long",
            "--name is {name}; accepted: at most {longest} characters, since pod names start with it",
            name=shown(name),
            longest=longest,
        )
    if not image:
        raise KitError(
            "launch.kubernetes.container-image-missing",
            "the container image is missing",
            fix="--image REGISTRY/NAME:TAG",
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
        volumes=pod_options.volumes(volumes, _RESERVED),
        log_volume=pod_options.log_volume(log_volume),
        resources={name: text for name, text in (("cpu", cpus), ("memory", memory)) if text is not None},
        image_has_kit=image_has_kit,
    )


def pod(
    job: PodJob,
    *,
    port: int,
    env: Sequence[Value] = (),
    volumes: Sequence[tuple[Value, str]] = (),
    container: str = CONTAINER,
    port_name: str = PORT_NAME,
    has_cards: bool = True,
    host_network: bool = False,
) -> Value:
    """The pod of a server, with further variables `env` and further `volumes` with their mount paths.

    The last lines of its log, where the agent reports a failure, are its termination message.
    """
    every, cards = _volumes(job, volumes), {job.hardware.resource: job.cards, **job.resources}
    variables = [*env, *_variables(job, has_cards=has_cards, host_network=host_network)]
    return {
        **({"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if host_network else {}),
        **(_nodes(job) if has_cards else {}),
        "automountServiceAccountToken": False,
        "containers": [
            {
                "name": container,
                "image": job.image,
                "imagePullPolicy": "IfNotPresent",
                "command": job.program,
                "args": [unexpanded(word) for word in job.command],
                **({"env": variables} if variables else {}),
                "ports": [{"containerPort": port, "name": port_name}],
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "volumeMounts": [mount for _, mount in every],
                **({"resources": {"requests": cards, "limits": cards}} if has_cards else {}),
            }
        ],
        "volumes": [volume for volume, _ in every],
    }


def _volumes(job: PodJob, further: Sequence[tuple[Value, str]]) -> list[Volume]:
    return [
        program_volume(job),
        *(mounted(volume, path) for volume, path in further),
        *job.volumes,
        *([job.log_volume] if job.log_volume else []),
        mounted({"name": "ascend-driver", "hostPath": {"path": DRIVER}}, DRIVER),
        mounted({"name": "dshm", "emptyDir": {"medium": "Memory"}}, SHARED_MEMORY),
    ]


def _variables(job: PodJob, *, has_cards: bool, host_network: bool) -> Iterator[Value]:
    """Those of the job, the cards that the container runtime mounts, and the address of the host, which HCCL must use.

    Volcano's plugin for Ascend annotates the pod with its cards; without it, the device plugin sets the variable.
    """
    yield from ({"name": name, "value": value} for name, value in job.variables)
    if has_cards and job.hardware.ring:
        yield from_field("ASCEND_VISIBLE_DEVICES", f"metadata.annotations['{job.hardware.resource}']")
    if host_network:
        yield from_field("HCCL_IF_IP", "status.hostIP")


def _nodes(job: PodJob) -> Value:
    """Where pods with cards run: on nodes with these, and each on another than those with `card_labels` of the job."""
    apart = {"labelSelector": {"matchLabels": {JOB_LABEL: job.name}}, "topologyKey": "kubernetes.io/hostname"}
    node = {"nodeSelector": {"accelerator-type": job.hardware.accelerator}} if job.hardware.accelerator else {}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}, **node}


def card_labels(job: PodJob) -> dict[str, str]:
    """The labels of a pod with cards."""
    return {**job.ring, JOB_LABEL: job.name}


def from_field(name: str, path: str) -> Value:
    """A variable with the value of a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def unexpanded(word: str) -> str:
    """A word of the command, escaped for a manifest, in which Kubernetes expands $(NAME) and replaces $$ with $."""
    return word.replace("$", "$$")


def program_name(job: PodJob) -> str:
    """The name of the ConfigMap with the program of a pod."""
    return f"{job.name}-start"


def program_volume(job: PodJob) -> Volume:
    """The ConfigMap with the program of a pod, as a volume."""
    return mounted({"name": "hccl-kit", "configMap": {"name": program_name(job)}}, PROGRAM_FOLDER)


def files(
    plan: LaunchPlan, job: PodJob, documents: Sequence[Value], about: Sequence[str], *, launcher: str, kind: str
) -> tuple[LaunchFile, ...]:
    """The manifest of a job, whose comment says how to use it; `kind` is the name of its kind for kubectl.

    The program of the pods is the last of the documents.
    """
    name = f"{launcher}{plan.size}p.yaml"
    comment = [
        f"Starts ranks 0 to {plan.size - 1} in {job.shape}. Generated by hccl_kit.",
        "",
        f"  kubectl {verb(documents)} -f {name}",
        f"  kubectl get {kind} -n {job.namespace} {job.name}",
        "",
        *about,
        *_about_volumes(job),
    ]
    return (LaunchFile(name, to_yaml(comment, documents)),)


def _about_volumes(job: PodJob) -> list[str]:
    program = [] if job.volumes else ["The program and its data are in the image; --volumes adds claims and folders."]
    logs = (
        f"Logs of ranks and drivers are in {pod_options.LOG_FOLDER}/{job.name}, with a folder for each pod."
        if job.log_volume
        else "Logs of ranks and drivers are lost with the pods; --log-volume keeps them."
    )
    return [*program, logs]
