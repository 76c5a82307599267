"""The launchers: a row for each, and a function `emit` that turns a plan into files.

It is in a module of the same name; those of controllers that number the pods are in `kinds`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.frameworks import FRAMEWORKS
from hccl_kit.base.message import Message
from hccl_kit.base.wording import row

if TYPE_CHECKING:
    from hccl_kit.launch.files import LaunchFile, TableFile
    from hccl_kit.launch.plan import LaunchPlan


class Option(NamedTuple):
    """A keyword of `emit`, on the command line `--NAME` with hyphens; a flag if it has neither metavar nor choices."""

    name: str
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    settles: str | None = None
    """The id of the HK5 rule whose finding this option resolves."""


class Launcher(NamedTuple):
    """A launcher: what it is called in `--to`, and what the user runs next.

    In the next step, {0} is the first file.
    """

    name: str
    next_step: str
    options: tuple[Option, ...] = ()
    next_step_of_several: str | None = None
    """The next step for several servers, if it is different."""
    reads_table: bool = False
    """The rank table must lie in the same folder as the script."""
    needs_product: bool = False
    """`emit` takes the product."""
    frameworks: tuple[str, ...] = FRAMEWORKS
    """Those whose programs it starts."""
    shows_all_cards: bool = False
    """Ranks see all cards of their server unless the framework is PyTorch."""
    takes_command: bool = False
    """The script takes the command as its arguments if the plan has none; `hccl-kit run` starts it too."""
    prints_plan: bool = False
    """Without a folder to write to, the last file is printed and nothing is written."""

    @property
    def runs_pods(self) -> bool:
        """Whether the ranks run in pods of Kubernetes."""
        return set(_PODS) <= set(self.options)


_PODS = (
    Option("name", "name of the job (default: ascend4p for 4 cards)", "NAME"),
    Option("image", "container image (required)", "IMAGE"),
    Option("namespace", "Kubernetes namespace (default: default)", "NAME"),
    Option("volumes", "claims or host folders to mount, CLAIM:/data,/models:/models:ro", "LIST"),
    Option("log_volume", "claim or host folder for the logs (default: they are lost with the pods)", "SOURCE"),
    Option("cpus", "processors of a pod, such as 64 (default: no limit)", "N"),
    Option("memory", "memory of a pod with its /dev/shm, such as 512Gi (default: no limit)", "SIZE"),
    Option("image_has_kit", "run the hccl-kit of the image, which must have this version"),
)

_HOST_NETWORK = Option("host_network", "run pods in the network of their hosts")
_FIXED_TABLE = Option(
    "fixed_table", "ranks read TABLE; without it, the cluster selects servers and cards", settles="HK532"
)
_MAX_RESTARTS = Option(
    "max_restarts",
    "start the job again after a failure, at most N times (default: 0); pytorchjob and lws refuse it",
    "N",
)
_NUMBERED = (
    *_PODS,
    _HOST_NETWORK,
    _FIXED_TABLE,
    Option("resource", "resource of the cards (default: huawei.com/Ascend910)", "NAME"),
    Option("kueue_queue", "LocalQueue of Kueue that admits the job", "NAME"),
    Option("kueue_topology", "where Kueue puts the pods: required=LABEL, preferred=LABEL or unconstrained", "LEVEL"),
    _MAX_RESTARTS,
    Option("table_map", "ConfigMap into which the cluster writes the table; pods wait for it", "NAME"),
)

_ROWS = (
    Launcher("bash", "bash {0}", reads_table=True, shows_all_cards=True, takes_command=True),
    Launcher("mpirun", "bash {0}"),
    Launcher(
        "msrun",
        "bash {0}",
        next_step_of_several="copy {0} to every server, then there: bash {0}",
        frameworks=("mindspore",),
    ),
    Launcher(
        "slurm",
        "sbatch {0}",
        (
            Option("job_name", "job name in squeue", "NAME"),
            Option("partition", "partition of the job", "NAME"),
            Option("nodelist", "nodes of the servers, in the order of the table", "LIST"),
            Option("switches", "take nodes that are on at most N switches of topology.conf", "N[@TIME]"),
            Option("time", "time limit, such as 12:00:00", "LIMIT"),
            Option("signal", "signal to the ranks before the time limit, such as USR2@120", "SIG@SECONDS"),
            Option("array", "submit a job array, such as 0-9%%1", "LIST"),
            Option("gres", "cards of each node, by their name in Slurm here, such as npu or npu:8", "GRES"),
            Option("hetjob", "heterogeneous job, for servers with different numbers of cards", settles="HK521"),
            _MAX_RESTARTS,
            Option("mpi", "type for srun --mpi, such as pmix, for ranks that call MPI", "TYPE"),
            Option("container_image", "run the ranks in this image with pyxis and enroot", "IMAGE"),
            Option("apptainer_image", "run the ranks in this image with apptainer", "IMAGE"),
            Option("container_mounts", "further folders to mount, SOURCE:TARGET[:ro],...", "LIST"),
        ),
        reads_table=True,
        shows_all_cards=True,
    ),
    Launcher("ascendjob", "kubectl apply -f {0}", (*_PODS, _HOST_NETWORK, _MAX_RESTARTS), needs_product=True),
    Launcher("volcano", "kubectl apply -f {0}", (*_PODS, _FIXED_TABLE, _MAX_RESTARTS), needs_product=True),
    *(
        Launcher(kind, "kubectl apply -f {0}", _NUMBERED)
        for kind in ("jobset", "pytorchjob", "lws", "trainjob", "rayjob")
    ),
    Launcher(
        "vllm",
        "bash {0}",
        (
            Option(
                "tensor_parallel_size", "cards of one copy of the model (default: those of the smallest server)", "N"
            ),
            Option("nic", "network interface (default: the one with the address of the server)", "NAME"),
        ),
        next_step_of_several="copy {0} to every server, then there: bash {0}",
        prints_plan=True,
        frameworks=(),
    ),
)

LAUNCHERS: Mapping[str, Launcher] = {row.name: row for row in _ROWS}
PLACES: Mapping[str, tuple[str, ...]] = {
    "on servers": tuple(row.name for row in _ROWS if not row.runs_pods and not row.prints_plan),
    "in Kubernetes": tuple(row.name for row in _ROWS if row.runs_pods),
    "to serve": tuple(row.name for row in _ROWS if row.prints_plan),
}
"""The names of the launchers, grouped as --help lists them."""


_CLUSTER = Message("launch.emitters.not-launcher.cluster", "--to volcano, ascendjob or jobset: what the cluster runs")
_TORCH = Message(
    "launch.emitters.not-launcher.torch", "hccl-kit run TABLE -- COMMAND sets what torchrun would set for each rank"
)
_OTHER_NAMES: Mapping[str, Message] = {
    "ssh": Message("launch.emitters.not-launcher.ssh", "hccl-kit run TABLE --ssh -- COMMAND starts the ranks over ssh"),
    **dict.fromkeys(("accelerate", "deepspeed", "torchrun"), _TORCH),
    **dict.fromkeys(("k8s", "kubectl", "kubernetes"), _CLUSTER),
    **{
        name: Message("launch.emitters.not-launcher.fix", "did you mean --to {launcher}?", launcher=launcher)
        for launcher, names in {
            "bash": ("sh", "shell", "script"),
            "mpirun": ("mpi", "mpiexec", "openmpi"),
            "slurm": ("sbatch", "srun"),
            "rayjob": ("ray", "kuberay"),
        }.items()
        for name in names
    },
}
"""What people call a way to start a job, and what it is here."""


def known_launcher(name: str) -> str:
    """The name of a launcher. Raises KitError if there is none of this name."""
    if name not in LAUNCHERS:
        raise KitError(
            "launch.emitters.not-launcher",
            "{name!r} is not a launcher; accepted: {launchers}",
            hint=_OTHER_NAMES.get(name.lower()),
            name=name[:40],
            launchers=row(LAUNCHERS),
        )
    return name


def emit(launcher: str, plan: LaunchPlan, table: TableFile, **options: object) -> tuple[LaunchFile, ...]:
    """The files that start `plan`.

    Raises KitError if there is no such launcher, an option is not accepted, or the plan lacks a command.
    """
    row = LAUNCHERS[known_launcher(launcher)]
    if not plan.command and not row.takes_command:
        raise KitError("launch.emitters.no-command", "the plan has no command for the ranks")
    return emitter_of(row)(plan, table, **options)


def emitter_of(row: Launcher) -> Callable[..., tuple[LaunchFile, ...]]:
    """The function `emit` of a launcher, whose module is loaded now."""
    is_kind = row.options is _NUMBERED
    module = import_module(f"{__name__}.{'kinds' if is_kind else row.name}")
    function: Callable[..., tuple[LaunchFile, ...]] = module.EMITTERS[row.name] if is_kind else module.emit
    return function
