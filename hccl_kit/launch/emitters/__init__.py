"""The launchers: a row for each, and a function `emit` that turns a plan into files.

It is in a module of the same name; those of controllers that number the pods are in `kinds`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.frameworks import FRAMEWORKS
from hccl_kit.base.wording import row
from hccl_kit.launch.emitters.options import (
    FIXED_TABLE,
    HOST_NETWORK,
    MAX_RESTARTS,
    NUMBERED,
    PODS,
    SLURM,
    VLLM,
    Option,
    assert_accepted,
)

if TYPE_CHECKING:
    from hccl_kit.launch.files import LaunchFile, TableFile
    from hccl_kit.launch.plan import LaunchPlan


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
        return set(PODS) <= set(self.options)


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
        SLURM,
        reads_table=True,
        shows_all_cards=True,
    ),
    Launcher("ascendjob", "kubectl apply -f {0}", (*PODS, HOST_NETWORK, MAX_RESTARTS), needs_product=True),
    Launcher("volcano", "kubectl apply -f {0}", (*PODS, FIXED_TABLE, MAX_RESTARTS), needs_product=True),
    *(
        Launcher(kind, "kubectl apply -f {0}", NUMBERED)
        for kind in ("jobset", "pytorchjob", "lws", "trainjob", "rayjob")
    ),
    Launcher(
        "vllm",
        "bash {0}",
        VLLM,
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


def known_launcher(name: str) -> str:
    """The name of a launcher. Raises KitError if there is none of this name."""
    if name not in LAUNCHERS:
        raise KitError(
            "launch.emitters.not-launcher",
            "{name!r} is not a launcher; accepted: {launchers}",
            name=name[:40],
            launchers=row(LAUNCHERS),
        )
    return name


def emit(launcher: str, plan: LaunchPlan, table: TableFile, **options: object) -> tuple[LaunchFile, ...]:
    """The files that start `plan`.

    Raises KitError if there is no such launcher, an option is not accepted, the plan lacks a command, or the table is
    named with a folder.
    """
    row = LAUNCHERS[known_launcher(launcher)]
    table.assert_is_name()
    if not plan.command and not row.takes_command:
        raise KitError("launch.emitters.no-command", "the plan has no command for the ranks")
    assert_accepted(row.options, options)
    return emitter_of(row)(plan, table, **options)


def emitter_of(row: Launcher) -> Callable[..., tuple[LaunchFile, ...]]:
    """The function `emit` of a launcher, whose module is loaded now."""
    is_kind = row.options is NUMBERED
    module = import_module(f"{__name__}.{'kinds' if is_kind else row.name}")
    function: Callable[..., tuple[LaunchFile, ...]] = module.EMITTERS[row.name] if is_kind else module.emit
    return function
