"""The Slurm launcher: a batch script that starts the ranks with srun. It is meant to be read and edited.

Slurm may allocate the nodes in another order than the table has them, so each task looks which server its node is, and
takes rank and card from the table by its local number. If nodes have different numbers of cards, Slurm starts as many
tasks on each as the largest needs, and the surplus tasks end at once; or the job is heterogeneous, and has none. Under
MPI, Slurm numbers the ranks itself: there a first step asks the nodes, and the tasks are placed by a file of hosts in
the order of the ranks.

It names its own variables `hk_...`, so that none of the user's is replaced in the ranks.
"""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.network import derived_port
from hccl_kit.launch.emitters import servers, slurm_options
from hccl_kit.launch.emitters.slurm_options import Options
from hccl_kit.launch.files import EXECUTABLE, LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.shell import export, fragment, set_unless_set, word, words, wrapped
from hccl_kit.runtime.worker_env import (
    LOG_DIR,
    MISLEADING,
    NAMES,
    PLOGS,
    RANK_TABLE_FILE,
    RESTART,
    RUN_ID,
    SERVER,
    THREADS,
    VISIBLE_DEVICES,
)

(_PORT,) = NAMES["master_port"]
_DRIVER = "/usr/local/Ascend/driver"


def emit(plan: LaunchPlan, table: TableFile, *, hetjob: bool = False, **given: str | None) -> tuple[LaunchFile, ...]:
    """The batch script, which needs the rank table in its folder, on a disk that all nodes share.

    `given` are the OPTIONS of sbatch, srun and pyxis, with underscores; `gres` is per node. Raises KitError if a value
    is not accepted, or two options are mutually exclusive.
    """
    options = slurm_options.checked(plan, given, hetjob=hetjob)
    name = f"slurm{plan.size}p.sbatch"
    return (LaunchFile(name, "\n".join(_script(plan, table, name, options)) + "\n", EXECUTABLE),)


def _script(plan: LaunchPlan, table: TableFile, name: str, options: Options) -> list[str]:
    return [
        "#!/usr/bin/env bash",
        *slurm_options.directives(options),
        *_header(plan, name, options),
        *_table(table, name),
        f'hk_command=({words(plan.command)} "$@")',
        f"unset -v {RESTART}",
        f"[[ -z ${{SLURM_RESTART_COUNT:-}} ]] || export {RESTART}=$SLURM_RESTART_COUNT",
        *set_unless_set(plan.variables),
        *_kit(plan, options),
        *fragment("common/logs", "slurm/run"),
        *_environment(plan),
        *_steps(plan, options),
        *_container(options),
        *_task(plan, options),
        '{ declare -f hk_fail hk_task && echo "hk_task \\"\\$@\\""; } >"$hk_logs/task" || exit 2',
        *(fragment("slurm/hosts") if "mpi" in options.values else ()),
        *_signals(options),
        *fragment("slurm/wait"),
        *_requeue(options),
        'exit "$hk_code"',
    ]


def _header(plan: LaunchPlan, name: str, options: Options) -> list[str]:
    """A comment without text from outside, because sbatch looks for directives in comments."""
    nodes = f"{len(plan.nodes)} nodes" if len(plan.nodes) > 1 else "one node"
    kit = "# If hccl-kit is on PATH of the first node, it starts the ranks and says why they fail; otherwise srun does."
    return [
        f"# Starts ranks 0 to {plan.size - 1} on {nodes}. It is meant to be read and edited.",
        f"#   sbatch [--cpus-per-task=24] {name} [ARGUMENT ...]     arguments are added to the command",
        "# Rank N writes hccl_logs/slurm-JOB/rank_N.log in the current folder, which all nodes share. The first rank",
        "# that fails ends the job, which has its exit code (128 + signal). 0: success, 2: nothing started.",
        *([kit] if options.is_for_kit else []),
        "# shellcheck disable=SC2329 # functions that srun and traps call",
        '[ "${BASH_VERSINFO:-0}" -ge 4 ] || { echo "error: start it with: sbatch $0" >&2; exit 2; } # bash 4.3',
        "hk_fail() { [[ ${SLURM_LOCALID:-0} != 0 ]] || printf '%s\\n' \"${@//[[:cntrl:]]/?}\" >&2; exit 2; }",
    ]


def _table(table: TableFile, name: str) -> list[str]:
    """Find the table, and compare it with the one that the script was made for. Slurm runs a copy of the script."""
    file = word(table.name)
    return [
        r'[[ "${SLURM_JOB_ID:-} ${SLURM_RESTART_COUNT:-0}" =~ ^[1-9][0-9]{0,9}\ (0|[1-9][0-9]{0,5})$ ]] ||',
        "    hk_fail 'error: not started by Slurm' \"  fix: sbatch $0\"",
        'hk_script=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%o) # Slurm runs a copy of it',
        f'for hk_folder in "${{hk_script%%/{name}*}}" "$(dirname -- "$0")" "${{SLURM_SUBMIT_DIR:-.}}"; do',
        f"    [[ ! -f $hk_folder/{file} ]] || break",
        "done",
        f'hk_table=$(readlink -f -- "$hk_folder"/{file})',
        *servers.checked_table(table, "put it where the job is submitted, on a shared disk"),
    ]


def _kit(plan: LaunchPlan, options: Options) -> Iterator[str]:
    """The same by the kit, where what the user has asked of Slurm does not need srun alone."""
    if not options.is_for_kit:
        return
    given = {"--framework": plan.framework, "--max-restarts": options.values.get("max-restarts")}
    more = "".join(f" {name} {value}" for name, value in given.items() if value)
    yield f"[[ -n ${{{SERVER}:-}} ]] || ! command -v hccl-kit >/dev/null ||"
    yield f'    exec hccl-kit run "$hk_table" --slurm{more} -- "${{hk_command[@]}}"'


def _environment(plan: LaunchPlan) -> list[str]:
    """What all ranks have in common, which srun passes on to them."""
    first, last = derived_port(0), derived_port(-1)
    default = f"$(({first} + SLURM_JOB_ID % {last - first + 1}))"
    return [
        *(() if plan.limits_cards else servers.all_visible()),
        f"{export(master_addr=word(plan.master))} {_PORT}=${{{_PORT}:-{default}}}",
        wrapped(f"{export(size=str(plan.size), table='$hk_table', run='$hk_run')} {RUN_ID}=$hk_run {LOG_DIR}=$hk_logs"),
    ]


def _steps(plan: LaunchPlan, options: Options) -> list[str]:
    """How srun starts a task for each rank, and under MPI also one on each node."""
    nodes, tasks = len(plan.nodes), options.parts[0].tasks
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


def _container(options: Options) -> Iterator[str]:
    """How the ranks run in an image."""
    pyxis, apptainer = (options.values.get(f"{name}-image") for name in ("container", "apptainer"))
    image = pyxis or apptainer
    if image is None:
        return
    more = options.values.get("container-mounts", "")
    yield from ("", f"hk_mounts=({words([f'{_DRIVER}:{_DRIVER}:ro', *filter(None, more.split(','))])})")
    yield from fragment("slurm/mounts")
    if pyxis:
        yield f'hk_step+=(--container-image={word(image)} --container-workdir="$PWD"'
        yield '    --container-mounts="$(IFS=, && echo "${hk_mounts[*]}")")'
    else:
        yield 'hk_command=(apptainer exec "${hk_mounts[@]/#/--bind=}" --pwd="$PWD"'
        yield f'    {word(image)} "${{hk_command[@]}}")'


def _task(plan: LaunchPlan, options: Options) -> list[str]:
    """The function of a task, which becomes a rank. Its messages are those of the first task of the node."""
    kept = ("OMPI_", "PMIX_") if "mpi" in options.values else ()
    unset = [name for name in (*MISLEADING, SERVER) if not name.startswith(kept)]
    names = "$SLURMD_NODENAME $HOSTNAME ${HOSTNAME%%.*} $(hostname -I) 127.0.0.1 ::1"
    fix = f"  fix: sbatch --nodelist=..., or {SERVER}=ID for one node"
    values = {
        "rank": "$hk_rank",
        "local_rank": "$SLURM_LOCALID",
        "local_size": "$hk_size",
        "device": "$SLURM_LOCALID" if plan.limits_cards else "$hk_card",
        "node": "$hk_node",
        **({"visible": "$hk_visible"} if plan.limits_cards else {}),
    }
    share = "SLURM_CPUS_ON_NODE > hk_size ? SLURM_CPUS_ON_NODE / hk_size : 1"
    lines = [
        "HOSTNAME=$(uname -n) # srun has passed on that of the first node, and what other launchers have left",
        *servers.matched(plan, names, fix),
        *_asked(options),
        "((SLURM_LOCALID < ${#hk_cards[@]})) || exit 0 # another node has more cards",
        'hk_ranks=("${!hk_cards[@]}") hk_size=${#hk_cards[@]}'
        " hk_rank=${hk_ranks[SLURM_LOCALID]} hk_card=${hk_cards[hk_rank]}",
        f'[[ -r ${RANK_TABLE_FILE} ]] || hk_fail "error: $HOSTNAME does not see ${RANK_TABLE_FILE}"',
        *_checked(options),
        *(servers.visible() if plan.limits_cards else ()),
        wrapped(" ".join(["unset -v", *unset, *(() if plan.limits_cards else [VISIBLE_DEVICES])]), 108),
        wrapped(export(**values), 108),
        f'export {PLOGS}="${{{PLOGS}:-${LOG_DIR}/plog/$SLURMD_NODENAME}}" # logs of CANN',
        f'export {THREADS}="${{{THREADS}:-$(({share}))}}"',
        f'exec >"${LOG_DIR}/rank_$hk_rank.log" || hk_fail "error: $HOSTNAME is a second node of server $hk_node"',
        f'echo "$hk_rank $hk_card $HOSTNAME" >"${LOG_DIR}/task_$SLURM_PROCID" # which rank the task is',
        "# Here is the place for numactl. Slurm may signal the process of the task only: the rank takes its place.",
        'exec "$@" 2>&1',
    ]
    return [
        "hk_task() { # COMMAND ... of a rank; with bash -C, a second node of a server overwrites no log",
        *("    " + line.replace("\n", "\n    ") for line in lines),
        "}",
    ]


def _asked(options: Options) -> Iterator[str]:
    """Under MPI, a task without a command prints which ranks its node has."""
    if "mpi" in options.values:
        yield '(($# > 0)) || { for hk_rank in "${!hk_cards[@]}"; do echo "$hk_rank $SLURMD_NODENAME"; done; exit; }'


def _checked(options: Options) -> list[str]:
    if "mpi" in options.values:
        return ['[[ $SLURM_PROCID == "$hk_rank" ]] || hk_fail "error: Slurm made rank $hk_rank task $SLURM_PROCID"']
    if not options.is_het:
        return []
    return [
        'IFS=, read -ra hk_tasks <<<"$SLURM_GTIDS"',
        "((${#hk_tasks[@]} >= hk_size)) || hk_fail \\",
        '    "error: node $SLURMD_NODENAME runs ${#hk_tasks[@]} tasks, its server has $hk_size ranks" \\',
        "    '  fix: request the nodes of the table in its order, hccl-kit launch ... --nodelist LIST'",
    ]


def _signals(options: Options) -> list[str]:
    """Signals of the batch script go to all ranks; SIGUSR1 ends a job only if it is asked for."""
    ending = ["HUP", "INT", "TERM", "USR2", *(["USR1"] if options.limit_signal == "USR1" else [])]
    traps = [" && ".join(f"trap 'hk_end {name}' {name}" for name in ending)]
    if "USR1" not in ending:
        traps.append("trap 'scancel --signal=USR1 \"$SLURM_JOB_ID\"' USR1 # ends nothing: ranks write their stacks")
    return [
        'hk_end() { hk_ended=$1 && scancel --signal="$1" "$SLURM_JOB_ID"; } # SIGNAL, to all ranks',
        *traps,
    ]


def _requeue(options: Options) -> list[str]:
    """A restart, by Slurm's own means: after a failure, and after the signal before the time limit."""
    most, limit = int(options.values.get("max-restarts", "0")), options.limit_signal
    if not most:
        return []
    return [
        f"((hk_code == 0 || ${{SLURM_RESTART_COUNT:-0}} >= {most})) || [[ ${{hk_ended:-{limit}}} != '{limit}' ]] ||",
        '    scontrol requeue "$SLURM_JOB_ID"',
    ]
