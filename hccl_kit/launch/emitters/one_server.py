"""The script of one server: a page of bash that users read and edit. `hccl-kit run` does the same, and more.

It names its own variables `hk_...`, so that none of the user's is replaced in the ranks.
"""

from __future__ import annotations

import hashlib

from hccl_kit.base.network import derived_port
from hccl_kit.base.terminal import printable
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.nested.rows import ROWS
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.shell import export, fragment, set_unless_set, word, words, wrapped
from hccl_kit.runtime.worker_env import (
    LOG_DIR,
    MISLEADING,
    NAMES,
    PLOGS,
    RUN_ID,
    SERVER,
    THREADS,
    VISIBLE_DEVICES,
    visible_list,
)

(_PORT,) = NAMES["master_port"]
_SEAL = "# hccl-gen replaces this script if nobody has edited it: "


def script(plan: LaunchPlan, table: TableFile, name: str) -> str:
    """The script that starts `plan`, and is called `name`; the plan has one server. It checks the table first.

    Without a command in the plan, the script takes one as its arguments.
    """
    (node,) = plan.nodes
    lines = [
        *_header(plan, table, name),
        f"hk_cards=({' '.join(map(str, node.devices))}) # of ranks 0, 1, ...",
        f"hk_table={word(table.name)} hk_digest={table.sha256}",
        *_command(plan),
        *fragment("one_server/start"),
        *_environment(plan),
        *fragment("one_server/end"),
        *_ranks(plan),
        *fragment("one_server/wait"),
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
    (node,) = plan.nodes
    cards = ", ".join(map(str, node.devices))
    usage = "[ARGUMENT ...]     arguments are added to the command" if plan.command else "COMMAND ..."
    return [
        "#!/usr/bin/env bash",
        f"# Starts ranks 0 to {plan.size - 1} on cards {cards} of this server. It is meant to be read and edited.",
        f"#   bash {name} {usage}",
        "# Rank N writes hccl_logs/RUN/rank_N.log. The first rank that fails ends the job, which has its exit code",
        "# (128 + signal); 0: all succeeded, 2: nothing started, 130: Ctrl-C, 143: SIGTERM, 129: SIGHUP.",
        f"# Restarts, hangs, the cause of a failure: hccl-kit run {printable(table.name)} -- COMMAND",
        '[ "${BASH_VERSINFO:-0}" -ge 4 ] || { echo "error: start it with bash: bash $0" >&2; exit 2; } # bash 4.3',
        "hk_fail() { printf '%s\\n' \"${@//[[:cntrl:]]/?}\" >&2; exit 2; }",
    ]


def _command(plan: LaunchPlan) -> list[str]:
    lines = [
        "",
        "case ${1%%=*} in # options of hccl-kit run; arguments of such a name follow --",
        "    --) shift ;;",
        "    -h | --help | --max[-_]restarts | --heartbeat[-_]timeout | --log[-_]limit | --prefix | --preflight | \\",
        "        --ssh | --server | --export | --replace)",
        '        hk_fail "error: $1 is an option of hccl-kit run" "  fix: hccl-kit run $hk_table $* -- COMMAND" ;;',
        "esac",
    ]
    if plan.command:
        return [*lines, f'hk_command=({words(plan.command)} "$@")']
    launchers = "|".join(name for row in ROWS if not row.subcommands for name in row.names if "." not in name)
    write = '"  fix: bash $0 python train.py"'
    return [
        *lines,
        'hk_command=("$@")',
        f"(($# > 0)) || hk_fail 'error: no command' {write}",
        f"[[ ${{1##*/}} != @({launchers}) ]] ||",
        f'    hk_fail "error: by $1, each rank would start a whole job" {write}',
    ]


def _environment(plan: LaunchPlan) -> list[str]:
    """What the ranks have in common, under every name that a framework reads."""
    (node,) = plan.nodes
    ranks = len(node.devices)
    cards = visible_list(node.devices)
    first, last = derived_port(0), derived_port(-1)
    if plan.limits_cards:
        visible = [
            f"[[ ${{{VISIBLE_DEVICES}-{cards}}} == {cards} ]] ||",
            f'    hk_fail "error: {VISIBLE_DEVICES}=${VISIBLE_DEVICES}; the cards of this job are {cards}"',
            export("visible", cards),
        ]
    else:
        visible = [
            f"[[ -z ${{{VISIBLE_DEVICES}:-}} ]] || # card numbers count all cards",
            f'    echo "note: {VISIBLE_DEVICES}=${VISIBLE_DEVICES} is removed; torch needs --framework pytorch" >&2',
            f"unset -v {VISIBLE_DEVICES}",
        ]
    of_kit = (f'{RUN_ID}="$hk_run"', f'{LOG_DIR}="$hk_logs"')
    return [
        "",
        "# What other launchers have left goes; then, what all ranks have in common.",
        wrapped(" ".join(["unset -v", *MISLEADING, SERVER])),
        *visible,
        " ".join([export("size", str(ranks)), *_more("local_size", str(ranks)), *_more("node", "0")]),
        " ".join([export("table", '"$hk_table"'), *_more("run", '"$hk_run"'), *of_kit]),
        f'export {PLOGS}="${{{PLOGS}:-$hk_logs/plog}}" # logs of CANN',
        f"hk_threads=$(($(nproc) / {ranks}))",
        f'export {THREADS}="${{{THREADS}:-$((hk_threads > 0 ? hk_threads : 1))}}"',
        *set_unless_set(plan.variables)[2:],
        f"until [[ -n ${{{_PORT}:-}} ]]; do # one that nobody listens on",
        f"    {_PORT}=$(({first} + RANDOM % {last - first + 1}))",
        f'    ! (: <"/dev/tcp/{plan.master}/${_PORT}") 2>/dev/null || {_PORT}=""',
        "done",
        " ".join([export("master_addr", plan.master), _PORT]),
    ]


def _more(field: str, value: str) -> list[str]:
    return [f"{name}={value}" for name in NAMES[field]]


def _ranks(plan: LaunchPlan) -> list[str]:
    (rank, *_) = NAMES["rank"]
    device = '"$hk_rank"' if plan.limits_cards else '"${hk_cards[hk_rank]}"'
    return [
        "",
        'for hk_rank in "${!hk_cards[@]}"; do',
        "    " + " ".join([export("rank", '"$hk_rank"'), *_more("local_rank", '"$hk_rank"')]),
        "    " + export("device", device),
        f"    # Here is the place for variables that depend on ${rank}, and for numactl before the command.",
        '    "${hk_start[@]}" "${hk_command[@]}" >"$hk_logs/rank_$hk_rank.log" 2>&1 &',
        "    hk_pids+=($!)",
        "done",
        f'echo "ranks 0 to {plan.size - 1} on cards ${{hk_cards[*]}}, {THREADS}=${THREADS}, logs in $hk_logs"',
    ]
