"""A page of bash that users read and edit. `hccl-kit run` does the same, and more.

A script of several servers is started on each of them and knows nothing of the others. Scripts name their own variables
`hk_...`, so that none of the user's is replaced in the ranks.
"""

from __future__ import annotations

import hashlib

from hccl_kit.base.terminal import printable
from hccl_kit.launch.emitters import servers
from hccl_kit.launch.files import EXECUTABLE, LaunchFile, TableFile
from hccl_kit.launch.nested import STARTING
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.shell import alternatives, export, fragment, set_unless_set, word, words, wrapped
from hccl_kit.runtime.worker_env import (
    LOG_DIR,
    MISLEADING,
    NAMES,
    PLOGS,
    RUN_ID,
    SERVER,
    THREADS,
    VISIBLE_DEVICES,
)

(_PORT,) = NAMES["master_port"]
_SEAL = "# hccl-gen replaces this script if nobody has edited it: "
_OPTIONS = (
    "-h|--help|--max?restarts|--heartbeat?timeout|--log?limit|--prefix|--preflight|--ssh|--server|--export|--replace"
)
"""Of `hccl-kit run`, as patterns."""


def emit(plan: LaunchPlan, table: TableFile) -> tuple[LaunchFile, ...]:
    """The launch script, which needs the rank table in its folder, on every server."""
    name = f"ascend{plan.size}p.sh"
    return (LaunchFile(name, script(plan, table, name), EXECUTABLE),)


def script(plan: LaunchPlan, table: TableFile, name: str) -> str:
    """The script that starts `plan`, and is called `name`. It checks the table first.

    Without a command in the plan, the script takes one as its arguments.
    """
    lines = [
        *_header(plan, table, name),
        "",
        *fragment("common/begin"),
        f'hk_table=$(readlink -f -- "$(dirname -- "$0")"/{word(table.name)})',
        *servers.checked_table(table, "restore it, or run hccl-gen again"),
        *_command(plan),
        *servers.this_server(plan),
        *fragment("common/logs", "common/run"),
        "",
        *_environment(plan, table),
        "",
        *fragment("common/end"),
        *_ranks(plan),
        *fragment("bash/wait"),
    ]
    text = "\n".join(lines) + "\n"
    return f"{text}{_SEAL}{_digest(text)}\n"


def is_unedited(text: str) -> bool:
    """Whether a script is as this module wrote it, for any table."""
    body, seal, digest = text.rpartition(_SEAL)
    return bool(seal) and digest == f"{_digest(body)}\n"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _header(plan: LaunchPlan, table: TableFile, name: str) -> list[str]:
    usage = "[ARGUMENT ...]     arguments are added to the command" if plan.command else "COMMAND ..."
    codes = "(128 + signal); 0: all succeeded, 2: nothing started, 130: Ctrl-C, 143: SIGTERM, 129: SIGHUP."
    kit = f"hccl-kit run {printable(table.name)}"
    if len(plan.nodes) == 1:
        cards = ", ".join(map(str, plan.nodes[0].devices))
        where, start = f"cards {cards} of this server", f"bash {name} {usage}"
        ends = "the job, which has its exit code"
        more = [f"# Restarts, hangs, the cause of a failure: {kit} -- COMMAND"]
    else:
        where, start = f"{len(plan.nodes)} servers", f"bash {name} {usage} (on every server)"
        ends = "those of its server, which has its exit code"
        more = [
            "# The other servers end by the time-outs of HCCL, after half an hour and more.",
            f"# All servers by one command, restarts, spares: {kit} --ssh -- COMMAND",
        ]
    return [
        "#!/usr/bin/env bash",
        f"# Starts ranks 0 to {plan.size - 1} on {where}. It is meant to be read and edited.",
        f"#   {start}",
        f"# Rank N writes hccl_logs/RUN/rank_N.log. The first rank that fails ends {ends}",
        f"# {codes}",
        *more,
    ]


def _command(plan: LaunchPlan) -> list[str]:
    """Set hk_command, from the plan or from the arguments. Options of `hccl-kit run` are refused."""
    options = "${*:+ $*}" if len(plan.nodes) == 1 else " --ssh"
    run = f"hccl-kit run $hk_table{options} -- COMMAND"
    if plan.command:
        return [
            "case ${1%%=*} in # arguments of such a name follow --",
            "    --) shift ;;",
            f"    {_OPTIONS})",
            f'        hk_fail "error: $1 is an option of hccl-kit run" "  fix: {run}" ;;',
            "esac",
            f'hk_command=({words(plan.command)} "$@")',
        ]
    return [
        "[[ ${1:-} != -- ]] || shift",
        f"[[ ${{1:--}} != -* ]] || hk_fail 'error: no command' \"  fix: bash $0 COMMAND, or {run}\"",
        f'hk_launchers="^(.* -m )?(\\\n{alternatives(STARTING)}) "',
        '[[ "${*##*/} " =~ $hk_launchers && "$* " != *accelerate*" --num"[-_]processes[\\ =]"1 "* ]] && hk_fail \\',
        '    "error: by ${BASH_REMATCH[2]}, each rank would start a whole job" "  fix: bash $0 python train.py"',
        'hk_command=("$@")',
    ]


def _environment(plan: LaunchPlan, table: TableFile) -> list[str]:
    """What the ranks have in common, under every name that a framework reads."""
    several = len(plan.nodes) > 1
    ranks = "${#hk_cards[@]}" if several else str(plan.size)
    node = '"$hk_node"' if several else "0"
    run = table.sha256[:8] if several else '"$hk_run"'  # the same on all servers
    common = export(
        size=str(plan.size),
        local_size=f'"{ranks}"' if several else ranks,
        node=node,
        table='"$hk_table"',
        run=run,
        **({"visible": '"$hk_visible"'} if plan.limits_cards else {}),
    )
    return [
        "# What other launchers have left goes; then, what all ranks have in common.",
        *(servers.visible() if plan.limits_cards else servers.all_visible()),
        wrapped(" ".join(["unset -v", *MISLEADING, SERVER, *(() if plan.limits_cards else [VISIBLE_DEVICES])])),
        *set_unless_set(plan.variables),
        f"{export(master_addr=word(plan.master))} {servers.port(table if len(plan.nodes) > 1 else None)}",
        wrapped(f'{common} {RUN_ID}="$hk_run" {LOG_DIR}="$hk_logs"'),
        f'export {PLOGS}="${{{PLOGS}:-$hk_logs/plog}}" # logs of CANN',
        f'export {THREADS}="${{{THREADS}:-$(($(nproc) > {ranks} ? $(nproc) / {ranks} : 1))}}"',
    ]


def _ranks(plan: LaunchPlan) -> list[str]:
    (rank, *_) = NAMES["rank"]
    device = '"${#hk_pids[@]}"' if plan.limits_cards else '"${hk_cards[hk_rank]}"'
    return [
        "hk_code=0 hk_failed='' hk_signal='' hk_ranks=(\"${!hk_cards[@]}\")",
        "trap hk_end EXIT && trap 'hk_code=129' HUP && trap 'hk_code=130' INT && trap 'hk_code=143' TERM",
        "hk_start=(setpriv --pdeathsig KILL setsid) # a rank dies with this script, and leads a process group",
        '"${hk_start[@]}" true 2>/dev/null || hk_start=(setsid)',
        'for hk_rank in "${hk_ranks[@]}"; do',
        "    " + export(rank='"$hk_rank"', local_rank='"${#hk_pids[@]}"', device=device),
        f"    # Here is the place for variables that depend on ${rank}, and for numactl before the command.",
        '    "${hk_start[@]}" "${hk_command[@]}" >"$hk_logs/rank_$hk_rank.log" 2>&1 &',
        "    hk_pids[hk_rank]=$! hk_running[hk_rank]=$!",
        "done",
        f'echo "ranks ${{hk_ranks[0]}} to $hk_rank on cards ${{hk_cards[*]}}, {THREADS}=${THREADS}, logs in $hk_logs"',
    ]
