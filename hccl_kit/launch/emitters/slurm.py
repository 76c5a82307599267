"""The Slurm launcher: a batch script that starts the ranks with srun. It is meant to be read and edited.

Slurm may allocate the nodes in another order than the table has them, so each task looks which server its node is, and
takes rank and card from the table by its local number. If nodes have different numbers of cards, Slurm starts as many
tasks on each as the largest needs, and the surplus tasks end at once; or the job is heterogeneous, and has none. Under
MPI, Slurm numbers the ranks itself: there a first step asks the nodes, and the tasks are placed by a file of hosts in
the order of the ranks.

It names its own variables `hk_...`, so that none of the user's is replaced in the ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hccl_kit.base.network import derived_port
from hccl_kit.launch.emitters import servers, slurm_options
from hccl_kit.launch.emitters.slurm_options import Options
from hccl_kit.launch.files import EXECUTABLE, LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.shell import export, fragment, set_unless_set, word, words, wrapped
from hccl_kit.runtime.worker_env import LOG_DIR, MISLEADING, NAMES, RUN_ID, SERVER, VISIBLE_DEVICES

(_PORT,) = NAMES["master_port"]
_DRIVER = "/usr/local/Ascend/driver"
_ASKED = '(($# > 0)) || { for hk_rank in "${!hk_cards[@]}"; do echo "$hk_rank $SLURMD_NODENAME"; done; exit; }'
"""Under MPI, a task without a command prints which ranks its node has."""


def emit(plan: LaunchPlan, table: TableFile, *, hetjob: bool = False, **given: str | None) -> tuple[LaunchFile, ...]:
    """The batch script, which needs the rank table in its folder, on a disk that all nodes share.

    `given` are the OPTIONS of sbatch, srun and pyxis, with underscores; `gres` is per node. Raises KitError if a value
    is not accepted, or two options are mutually exclusive.
    """
    options = slurm_options.checked(plan, given, hetjob=hetjob)
    name = f"slurm{plan.size}p.sbatch"
    lines = ["#!/usr/bin/env bash", *slurm_options.directives(options), *_script(plan, table, name, options)]
    return (LaunchFile(name, "\n".join(lines) + "\n", EXECUTABLE),)


def _script(plan: LaunchPlan, table: TableFile, name: str, options: Options) -> Iterator[str]:
    """The script. Its comment has no text from outside, because sbatch looks for directives in comments."""
    kit = "# If hccl-kit is on PATH of the first node, it starts the ranks and says why they fail; otherwise srun does."
    names = "$SLURMD_NODENAME $HOSTNAME ${HOSTNAME%%.*} $(hostname -I) 127.0.0.1 ::1"
    fix = f"  fix: sbatch --nodelist=..., or {SERVER}=ID for one node"
    return fragment(
        "slurm/script",
        last=str(plan.size - 1),
        nodes=f"{len(plan.nodes)} nodes" if len(plan.nodes) > 1 else "one node",
        name=name,
        about_kit=[kit] if options.is_for_kit else [],
        table=word(table.name),
        checked_table=servers.checked_table(table, "put it where the job is submitted, on a shared disk"),
        command=words(plan.command),
        variables=set_unless_set(plan.variables),
        kit=_kit(plan, options),
        log_folder=fragment("common/logs"),
        cards=[] if plan.limits_cards else servers.all_visible(),
        environment=_environment(plan),
        steps=_steps(plan, options),
        container=_container(options),
        matched=servers.matched(plan, names, fix),
        asked=_ASKED if "mpi" in options.values else (),
        checked_task=_checked_task(options),
        of_rank=_of_rank(plan, options),
        hosts=fragment("slurm/hosts") if "mpi" in options.values else (),
        traps=_traps(options),
        requeue=_requeue(options),
    )


def _kit(plan: LaunchPlan, options: Options) -> Iterable[str]:
    """The same by the kit, where what the user has asked of Slurm does not need srun alone."""
    given = {"--framework": plan.framework, "--max-restarts": options.values.get("max-restarts")}
    more = "".join(f" {name} {value}" for name, value in given.items() if value)
    return fragment("slurm/kit", options=more) if options.is_for_kit else ()


def _environment(plan: LaunchPlan) -> list[str]:
    """What all ranks have in common, which srun passes on to them."""
    first, last = derived_port(0), derived_port(-1)
    default = f"$(({first} + SLURM_JOB_ID % {last - first + 1}))"
    return [
        f"{export(master_addr=word(plan.master))} {_PORT}=${{{_PORT}:-{default}}}",
        wrapped(f"{export(size=str(plan.size), table='$hk_table', run='$hk_run')} {RUN_ID}=$hk_run {LOG_DIR}=$hk_logs"),
    ]


def _steps(plan: LaunchPlan, options: Options) -> list[str]:
    """How srun starts a task for each rank, and under MPI also one on each node."""
    nodes, (tasks, *_) = len(plan.nodes), options.parts
    srun = "srun --kill-on-bad-exit=1 --wait=0 --export=ALL --cpu-bind=none"
    step = f"--nodes={nodes} --ntasks={nodes * tasks} --ntasks-per-node={tasks} --mpi=none"
    each = []
    if options.is_het:
        step = f"--het-group=0-{len(options.parts) - 1} --mpi=none"
    elif "mpi" in options.values:
        step = f"--ntasks={plan.size} --distribution=arbitrary --mpi={options.values['mpi']}"
        each = [wrapped(f"hk_each=({srun} --nodes={nodes} --ntasks={nodes} --ntasks-per-node=1 --mpi=none)")]
    cores = '${SLURM_CPUS_PER_TASK:+"--cpus-per-task=$SLURM_CPUS_PER_TASK"}'
    return [*each, wrapped(f"hk_step=({srun} {step} {cores})")]


def _container(options: Options) -> Iterable[str]:
    """How the ranks run in an image."""
    mounts = words([f"{_DRIVER}:{_DRIVER}:ro", *filter(None, options.values.get("container-mounts", "").split(","))])
    for kind in ("pyxis", "apptainer"):
        if image := options.values.get("container-image" if kind == "pyxis" else "apptainer-image"):
            return ("", *fragment("slurm/mounts", f"slurm/{kind}", mounts=mounts, image=word(image)))
    return ()


def _checked_task(options: Options) -> list[str]:
    """Whether Slurm has given the task a place that its rank can have."""
    if "mpi" in options.values:
        return ['[[ $SLURM_PROCID == "$hk_rank" ]] || hk_fail "error: Slurm made rank $hk_rank task $SLURM_PROCID"']
    return [*fragment("slurm/het")] if options.is_het else []


def _of_rank(plan: LaunchPlan, options: Options) -> list[str]:
    """The variables of a rank."""
    kept = ("OMPI_", "PMIX_") if "mpi" in options.values else ()
    unset = [name for name in (*MISLEADING, SERVER) if not name.startswith(kept)]
    values = {
        "rank": "$hk_rank",
        "local_rank": "$SLURM_LOCALID",
        "local_size": "$hk_size",
        "device": "$SLURM_LOCALID" if plan.limits_cards else "$hk_card",
        "node": "$hk_node",
        **({"visible": "$hk_visible"} if plan.limits_cards else {}),
    }
    return [
        *(servers.visible() if plan.limits_cards else ()),
        wrapped(" ".join(["unset -v", *unset, *(() if plan.limits_cards else [VISIBLE_DEVICES])]), 108),
        wrapped(export(**values), 108),
    ]


def _traps(options: Options) -> list[str]:
    """Signals of the batch script go to all ranks; SIGUSR1 ends a job only if it is asked for."""
    ending = ["HUP", "INT", "TERM", "USR2", *(["USR1"] if options.limit_signal == "USR1" else [])]
    traps = [" && ".join(f"trap 'hk_end {name}' {name}" for name in ending)]
    if "USR1" not in ending:
        traps.append("trap 'scancel --signal=USR1 \"$SLURM_JOB_ID\"' USR1 # ends nothing: ranks write their stacks")
    return traps


def _requeue(options: Options) -> list[str]:
    """A restart, by Slurm's own means: after a failure, and after the signal before the time limit."""
    most, limit = int(options.values.get("max-restarts", "0")), options.limit_signal
    if not most:
        return []
    return [
        f"((hk_code == 0 || ${{SLURM_RESTART_COUNT:-0}} >= {most})) || [[ ${{hk_ended:-{limit}}} != '{limit}' ]] ||",
        '    scontrol requeue "$SLURM_JOB_ID"',
    ]
