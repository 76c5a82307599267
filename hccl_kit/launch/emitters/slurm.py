"""The Slurm launcher: a batch script that starts the ranks with srun. It is meant to be read and edited.

Slurm may allocate the nodes in another order than the table has them, so a first step asks each node which server it
is, and a task takes rank and card from the table by its node and its local number. If nodes have different numbers of
cards, Slurm starts as many tasks on each as the largest needs, and the surplus tasks end at once; or the job is
heterogeneous, and has none. Under MPI, Slurm numbers the ranks itself: there the tasks are placed by a file of hosts in
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
    table.assert_is_name()
    options = slurm_options.checked(plan, given, hetjob=hetjob)
    name = f"slurm{plan.size}p.sbatch"
    return (LaunchFile(name, "\n".join(_script(plan, table, name, options)) + "\n", EXECUTABLE),)


def _script(plan: LaunchPlan, table: TableFile, name: str, options: Options) -> list[str]:
    return [
        "#!/usr/bin/env bash",
        *slurm_options.directives(options),
        *_header(plan, name, options),
        f"hk_table={word(table.name)} hk_digest={table.sha256}",
        f'hk_command=({words(plan.command)} "$@")',
        *_servers(plan),
        *fragment("slurm/table"),
        "",
        f"unset -v {RESTART}",
        f"[[ -z ${{SLURM_RESTART_COUNT:-}} ]] || export {RESTART}=$SLURM_RESTART_COUNT",
        *set_unless_set(plan.variables),
        *_kit(plan, options),
        *fragment("common/logs", "slurm/run"),
        *_environment(plan),
        *_steps(plan, options),
        *_container(options),
        *fragment("slurm/nodes"),
        *(fragment("slurm/hosts") if "mpi" in options.values else ()),
        *_task(plan, options),
        *_signals(options),
        *list(fragment("slurm/wait"))[1:],
        *_requeue(options),
        'exit "$hk_code"',
    ]


def _header(plan: LaunchPlan, name: str, options: Options) -> list[str]:
    """A comment without text from outside, because sbatch looks for directives in comments."""
    nodes = f"{len(plan.nodes)} nodes" if len(plan.nodes) > 1 else "one node"
    kit = [
        "# If hccl-kit is on PATH of the first node, it starts the ranks, can restart them in this allocation, and",
        "# says why they failed. Otherwise srun starts them, as follows.",
    ]
    return [
        f"# Starts ranks 0 to {plan.size - 1} on {nodes}. It is meant to be read and edited.",
        f"#   sbatch {name} [ARGUMENT ...]     arguments are added to the command",
        "# Rank N writes hccl_logs/slurm-JOB/rank_N.log in the current folder, which all nodes share. The first rank",
        "# that fails ends the job, which has its exit code (128 + signal). 0: success, 2: nothing started.",
        "# Slurm allocates one CPU per rank; more with sbatch --cpus-per-task=24.",
        *(kit if options.is_for_kit else []),
        "# shellcheck disable=SC2329 # functions that srun and traps call",
        '[ "${BASH_VERSINFO:-0}" -ge 4 ] || { echo "error: start it with: sbatch $0" >&2; exit 2; } # bash 4.3',
        "hk_fail() { printf '%s\\n' \"${@//[[:cntrl:]]/?}\" >&2; exit 2; }",
        "",
    ]


def _kit(plan: LaunchPlan, options: Options) -> Iterator[str]:
    """The same by the kit, where what the user has asked of Slurm does not need srun alone."""
    if not options.is_for_kit:
        return
    given = {"--framework": plan.framework, "--max-restarts": options.values.get("max-restarts")}
    more = "".join(f" {name} {value}" for name, value in given.items() if value)
    yield f"if [[ -z ${{{SERVER}:-}} ]] && command -v hccl-kit >/dev/null; then"
    yield f'    exec hccl-kit run "$hk_table" --slurm{more} -- "${{hk_command[@]}}"'
    yield "fi"


def _servers(plan: LaunchPlan) -> Iterator[str]:
    yield "declare -A hk_number # of a server, by each of its names"
    yield "hk_server() { # RANKS CARDS NAME ..."
    yield '    for hk_name in "${@:3}"; do hk_number[$hk_name]=${#hk_ids[@]}; done'
    yield '    hk_ranks+=("$1") hk_cards+=("$2") hk_ids+=("$3")'
    yield "}"
    for node in plan.nodes:
        ranks, cards = (",".join(map(str, numbers)) for numbers in (node.ranks, node.devices))
        yield f"hk_server {ranks} {cards} {words(servers.names(node))}"


def _environment(plan: LaunchPlan) -> list[str]:
    """What all ranks have in common, which srun passes on to them."""
    first, last = derived_port(0), derived_port(-1)
    return [
        "",
        export(size=str(plan.size), table='"$hk_table"'),
        export(run='"$hk_run"') + f' {RUN_ID}="$hk_run" {LOG_DIR}="$hk_logs"',
        *(() if plan.limits_cards else _note()),
        f"export {_PORT}=${{{_PORT}:-$(({first} + SLURM_JOB_ID % {last - first + 1}))}}",
        export(master_addr=word(plan.master)),
    ]


def _note() -> Iterator[str]:
    yield f"[[ -z ${{{VISIBLE_DEVICES}:-}} ]] || # the ranks see all cards, by their numbers in the table"
    yield f'    echo "note: {VISIBLE_DEVICES}=${VISIBLE_DEVICES} is removed; torch needs --framework pytorch" >&2'


def _steps(plan: LaunchPlan, options: Options) -> list[str]:
    """How srun starts a task on each node, and one for each rank."""
    tasks = options.parts[0].tasks
    each = '--nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --mpi=none'
    step = f"--ntasks={len(plan.nodes) * tasks} --ntasks-per-node={tasks} --mpi=none"
    if options.is_het:
        each = step = f"--het-group=0-{len(options.parts) - 1} --mpi=none"
    elif "mpi" in options.values:
        step = f"--ntasks={plan.size} --distribution=arbitrary --mpi={options.values['mpi']}"
    return [
        "",
        "hk_srun=(srun --kill-on-bad-exit=1 --wait=0 --export=ALL --cpu-bind=none)",
        f"hk_each=({each})",
        f'hk_step=({step} ${{SLURM_CPUS_PER_TASK:+"--cpus-per-task=$SLURM_CPUS_PER_TASK"}})',
        *(["unset -v SLURM_HOSTFILE SLURM_NTASKS_PER_NODE"] if "mpi" in options.values else []),
    ]


def _container(options: Options) -> Iterator[str]:
    """How the ranks run in an image."""
    pyxis, apptainer = (options.values.get(f"{name}-image") for name in ("container", "apptainer"))
    image = pyxis or apptainer
    if image is None:
        return
    more = options.values.get("container-mounts", "")
    yield from ("", f"hk_mounts=({words([f'{_DRIVER}:{_DRIVER}:ro', *filter(None, more.split(','))])})")
    yield from list(fragment("slurm/mounts"))[1:]
    if pyxis:
        yield f'hk_step+=(--container-image={word(image)} --container-workdir="$PWD"'
        yield '    --container-mounts="$(IFS=, && echo "${hk_mounts[*]}")")'
    else:
        yield 'hk_command=(apptainer exec "${hk_mounts[@]/#/--bind=}" --pwd="$PWD"'
        yield f'    {word(image)} "${{hk_command[@]}}")'


def _task(plan: LaunchPlan, options: Options) -> list[str]:
    """The function of a task, which becomes a rank."""
    misleading = [name for name in MISLEADING if "mpi" not in options.values or not name.startswith(("OMPI_", "PMIX_"))]
    return [
        "",
        "hk_task() { # COMMAND ... of a rank",
        '    while read -r hk_node hk_number hk_ranks hk_cards && [[ $hk_node != "$SLURMD_NODENAME" ]]; do :; done \\',
        f'        <"${LOG_DIR}/nodes"',
        '    IFS=, read -ra hk_rank_of <<<"$hk_ranks" && IFS=, read -ra hk_card_of <<<"$hk_cards"',
        "    ((SLURM_LOCALID < ${#hk_rank_of[@]})) || exit 0 # another node has more cards",
        "    hk_rank=${hk_rank_of[SLURM_LOCALID]} hk_card=${hk_card_of[SLURM_LOCALID]}",
        f'    exec >>"${LOG_DIR}/rank_$hk_rank.log" 2>&1',
        f'    echo "$hk_rank $hk_card $(uname -n)" >"${LOG_DIR}/task_$SLURM_PROCID" # which rank the task is',
        "    HOSTNAME=$(uname -n) # srun has passed on that of the first node, and what other launchers have left",
        "    " + wrapped(" ".join(["unset -v", *misleading, SERVER]), 108).replace("\n", "\n    "),
        *_checked(options),
        *_cards(plan),
        "    " + export(rank='"$hk_rank"', node='"$hk_number"'),
        "    " + export(local_rank='"$SLURM_LOCALID"', local_size="${#hk_rank_of[@]}"),
        "    " + export(device='"$SLURM_LOCALID"' if plan.limits_cards else '"$hk_card"'),
        f'    export {PLOGS}="${{{PLOGS}:-${LOG_DIR}/plog/$SLURMD_NODENAME}}" # logs of CANN',
        "    hk_threads=$((${SLURM_CPUS_ON_NODE:-$(nproc)} / ${#hk_rank_of[@]}))",
        f'    export {THREADS}="${{{THREADS}:-$((hk_threads > 0 ? hk_threads : 1))}}"',
        "",
        "    # Here is the place for numactl. Slurm may signal the process of the task only: the rank takes its place.",
        '    exec "$@"',
        "}",
    ]


def _checked(options: Options) -> list[str]:
    if "mpi" in options.values:
        return ['    [[ $SLURM_PROCID == "$hk_rank" ]] || hk_fail "error: Slurm made rank $hk_rank task $SLURM_PROCID"']
    if not options.is_het:
        return []
    return [
        '    IFS=, read -ra hk_tasks <<<"$SLURM_GTIDS"',
        "    ((${#hk_tasks[@]} >= ${#hk_rank_of[@]})) || hk_fail \\",
        '        "error: node $SLURMD_NODENAME runs ${#hk_tasks[@]} tasks, its server has ${#hk_rank_of[@]} ranks" \\',
        "        '  fix: request the nodes of the table in its order, hccl-kit launch ... --nodelist LIST'",
    ]


def _cards(plan: LaunchPlan) -> list[str]:
    """Which cards a task sees, whatever the site has set for it."""
    if not plan.limits_cards:
        return [f"    unset -v {VISIBLE_DEVICES}"]
    return [
        f'    [[ ${{{VISIBLE_DEVICES}-$hk_cards}} == "$hk_cards" ]] ||',
        f'        hk_fail "error: {VISIBLE_DEVICES}=${VISIBLE_DEVICES}; the cards of this job are $hk_cards"',
        "    " + export(visible='"$hk_cards"'),
    ]


def _signals(options: Options) -> list[str]:
    """Signals of the batch script go to all ranks; SIGUSR1 ends a job only if it is asked for."""
    ending = ["HUP", "INT", "TERM", "USR2", *(["USR1"] if options.limit_signal == "USR1" else [])]
    traps = [" && ".join(f"trap 'hk_end {name}' {name}" for name in ending)]
    if "USR1" not in ending:
        traps.append("trap 'scancel --signal=USR1 \"$SLURM_JOB_ID\"' USR1 # ends nothing: ranks write their stacks")
    return [
        "",
        "hk_ended=''",
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
