"""The launchers: a row for each, and a module of the same name whose `emit` turns a plan into files."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hccl_kit.launch.files import LaunchFile, TableFile
    from hccl_kit.launch.plan import LaunchPlan


class Option(NamedTuple):
    """A keyword of `emit`, on the command line `--NAME` with hyphens; a flag if it has neither metavar nor choices."""

    name: str
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] | None = None


class Launcher(NamedTuple):
    """A launcher: what it is called in `--to`, and what the user runs next.

    In the next step, {0} is the first file and {1} the secret of the job.
    """

    name: str
    next_step: str
    options: tuple[Option, ...] = ()
    next_step_of_several: str | None = None
    """The next step for several servers, if it is different."""
    reads_table: bool = False
    """The rank table must lie in the same folder as the script."""
    needs_secret: bool = False
    """Scripts on several servers authenticate each other."""
    needs_product: bool = False
    """`emit` takes the product."""

    @property
    def runs_pods(self) -> bool:
        """Whether the ranks run in pods of Kubernetes."""
        return set(_PODS) <= set(self.options)


_PODS = (
    Option("name", "name of the job", "NAME"),
    Option("image", "container image (required)", "IMAGE"),
    Option("namespace", "Kubernetes namespace (default: default)", "NAME"),
)

_FRAMEWORK = Option(
    "framework", "framework (default: mindspore; of a pytorchjob: pytorch)", choices=("mindspore", "pytorch")
)
_HOST_NETWORK = Option("host_network", "run pods in the network of their hosts")
_FIXED_TABLE = Option("fixed_table", "ranks read TABLE; without it, the cluster selects servers and cards")
_NUMBERED = (
    *_PODS,
    _FRAMEWORK,
    _HOST_NETWORK,
    _FIXED_TABLE,
    Option("resource", "resource of the cards (default: huawei.com/Ascend910)", "NAME"),
    Option("kueue_queue", "LocalQueue of Kueue that admits the job", "NAME"),
    Option("table_map", "ConfigMap of the table that the cluster writes, which pods wait for", "NAME"),
)

_ROWS = (
    Launcher(
        "bash",
        "bash {0}",
        next_step_of_several="copy both files to one path on every server, then: bash {0} --ssh",
        reads_table=True,
        needs_secret=True,
    ),
    Launcher("mpirun", "bash {0}"),
    Launcher(
        "msrun",
        "bash {0}",
        next_step_of_several="copy {0} and {1} to one path on every server, then there: bash {0}",
        needs_secret=True,
    ),
    Launcher(
        "slurm",
        "sbatch {0}",
        (
            Option("job_name", "job name in squeue", "NAME"),
            Option("partition", "partition of the job", "NAME"),
            Option("time", "time limit, such as 12:00:00", "LIMIT"),
            Option("gres", "cards to request on each node, such as npu:8", "GRES"),
        ),
        reads_table=True,
    ),
    Launcher(
        "ascendjob",
        "kubectl apply -f {0}",
        (
            *_PODS,
            _FRAMEWORK,
            _HOST_NETWORK,
        ),
        needs_product=True,
    ),
    Launcher(
        "volcano",
        "kubectl apply -f {0}",
        (*_PODS, _FIXED_TABLE),
        needs_product=True,
    ),
    Launcher("jobset", "kubectl apply -f {0}", _NUMBERED),
    Launcher("pytorchjob", "kubectl apply -f {0}", _NUMBERED),
    Launcher("lws", "kubectl apply -f {0}", _NUMBERED),
    Launcher("trainjob", "kubectl apply -f {0}", _NUMBERED),
    Launcher("rayjob", "kubectl apply -f {0}", _NUMBERED),
)

LAUNCHERS: Mapping[str, Launcher] = {row.name: row for row in _ROWS}


def emit(launcher: str, plan: LaunchPlan, table: TableFile, **options: object) -> tuple[LaunchFile, ...]:
    """The files that start `plan`. Raises KitError if an option is not accepted."""
    files: tuple[LaunchFile, ...] = import_module(f"{__name__}.{launcher}").emit(plan, table, **options)
    return files
