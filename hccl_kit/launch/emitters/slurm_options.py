"""The options of Slurm together, and the directives that they become.

Servers with different numbers of cards become the parts of a heterogeneous job, one for each number; otherwise a job
has one part. Source: heterogeneous_jobs of Slurm 22.05 to 25.05.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hccl_kit.base import hostlist
from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import counted
from hccl_kit.launch.plan import LaunchPlan

_OF_SBATCH = ("job-name", "partition", "switches", "time", "signal", "array")
"""Options that become directives as they are."""
_OF_SRUN = {"mpi", "container-image", "apptainer-image", "signal"}
"""Options for which srun starts the ranks itself: its MPI, its containers, its signals to each rank."""


class Options(NamedTuple):
    """What the script and its directives depend on; `parts` are the numbers of the nodes by the tasks on each."""

    values: Mapping[str, str]
    parts: Mapping[int, Sequence[int]]

    @property
    def is_het(self) -> bool:
        """Whether the job is heterogeneous."""
        return len(self.parts) > 1

    @property
    def is_for_kit(self) -> bool:
        """Whether `hccl-kit run --slurm` can start the job: nothing in it is for srun alone."""
        return not self.is_het and not _OF_SRUN & set(self.values)

    @property
    def limit_signal(self) -> str:
        """The signal before the time limit; empty without one."""
        return self.values.get("signal", "").removeprefix("B:").partition("@")[0]


def checked(plan: LaunchPlan, given: Mapping[str, str | None], *, hetjob: bool) -> Options:
    """The options for a plan. Raises KitError if two of them are mutually exclusive."""
    values = {option.replace("_", "-"): value for option, value in given.items() if value is not None}
    _assert_nodes(plan, values)
    _assert_together(values, hetjob=hetjob)
    counts = [len(node.workers) for node in plan.nodes]
    parts: dict[int, list[int]] = {}
    for number, count in enumerate(counts):
        parts.setdefault(count if hetjob else max(counts), []).append(number)
    if hetjob and len(parts) == 1:
        raise KitError(
            "launch.slurm-options.hetjob-servers-different",
            "--hetjob is for servers with different numbers of cards; here each has {tasks}",
            fix="leave it out",
            tasks=counts[0],
        )
    return Options(values, parts)


def directives(options: Options) -> Iterator[str]:
    """The lines for sbatch, part by part."""
    names = hostlist.expand(options.values["nodelist"]) if "nodelist" in options.values else ()
    for number, (tasks, nodes) in enumerate(options.parts.items()):
        if number > 0:
            yield "#SBATCH hetjob"
        yield f"#SBATCH --nodes={len(nodes)}"
        yield f"#SBATCH --ntasks-per-node={tasks}"
        yield "#SBATCH --requeue"
        yield "#SBATCH --open-mode=append"
        for option in _OF_SBATCH:
            if option in options.values:
                value = options.values[option].removeprefix("B:")  # the script passes the signal on, and knows of it
                yield f"#SBATCH --{option}={'B:' if option == 'signal' else ''}{value}"
        if names:
            yield f"#SBATCH --nodelist={hostlist.fold([names[node] for node in nodes])}"
        if "gres" in options.values:
            yield f"#SBATCH --gres={_with_number(options.values['gres'], tasks)}"


def _with_number(gres: str, cards: int) -> str:
    """Add the number of cards to the first name if it has none: Slurm reads `npu` as one card."""
    first, *others = gres.split(",")
    if not first.rpartition(":")[2].isdecimal():
        first = f"{first}:{cards}"
    return ",".join([first, *others])


def _assert_nodes(plan: LaunchPlan, values: Mapping[str, str]) -> None:
    if "nodelist" not in values:
        return
    names = hostlist.expand(values["nodelist"])
    if len(set(names)) != len(plan.nodes) or len(names) != len(plan.nodes):
        raise KitError(
            "launch.slurm-options.nodelist-names-table",
            "--nodelist names {count}, the table has {count_2}; accepted: a node for each server, in "
            "the order of the table",
            count=counted(len(set(names)), "node"),
            count_2=counted(len(plan.nodes), "server"),
        )


def _assert_together(values: Mapping[str, str], *, hetjob: bool) -> None:
    """Raises KitError for options that are mutually exclusive, or that need another one."""
    if hetjob and "array" in values:
        raise KitError(
            "launch.slurm-options.hetjob-array-mutually",
            "--hetjob and --array are mutually exclusive in Slurm",
            fix="leave one of them out",
        )
    if hetjob and "mpi" in values:
        raise KitError(
            "launch.slurm-options.hetjob-mpi-mutually",
            "--hetjob and --mpi are mutually exclusive: Slurm orders ranks within a part only",
            fix="without --hetjob, every node is asked for as many tasks as the largest server has cards",
        )
    if hetjob and re.search(r":[0-9]+(,|$)", values.get("gres", "").partition(",")[0]):
        raise KitError(
            "launch.slurm-options.gres-hetjob-would",
            "--gres {gres} with --hetjob would ask for one number of cards on all nodes",
            fix="--gres {rpartition}, which asks for those of each server",
            gres=values["gres"],
            rpartition=values["gres"].rpartition(":")[0],
        )
    if "container-image" in values and "apptainer-image" in values:
        raise KitError(
            "launch.slurm-options.container-image-pyxis",
            "--container-image (pyxis) and --apptainer-image are mutually exclusive",
            fix="leave one of them out",
        )
    if "container-mounts" in values and not {"container-image", "apptainer-image"} & set(values):
        raise KitError(
            "launch.slurm-options.container-mounts-needs",
            "--container-mounts needs an image",
            fix="--container-image or --apptainer-image",
        )
    if values.get("max-restarts", "0") != "0" and re.match("(B:)?(TERM|INT)@", values.get("signal", "")):
        raise KitError(
            "launch.slurm-options.signal-max-restarts",
            "--signal {signal} with --max-restarts: a job that you cancel gets this signal too, and "
            "would be queued again",
            fix="--signal USR2@SECONDS, or leave --max-restarts out",
            signal=values["signal"],
        )
