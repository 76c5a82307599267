"""The launch script: a bash program that needs nothing of ours, the same file for every server of the job.

Pure: from a plan to the whole text. What depends on the job is written line by line, every word of it through one
gate (`shell.word`). The rest is the shell text in `scripts/`, which uses shell variables only, no name of the contract.
"""

from __future__ import annotations

from hccl_kit.base.terminal import printable
from hccl_kit.launch.emitters import servers
from hccl_kit.launch.files import EXECUTABLE, LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.secret_file import SUFFIX
from hccl_kit.launch.shell import array, export, fragment, program, word, words, wrapped
from hccl_kit.runtime.worker_env import KEY_FILE, LOG_DIR, MISLEADING, NAMES, RESTART, RUN_ID, SERVER

(_PORT,) = NAMES["master_port"]


def emit(plan: LaunchPlan, table: TableFile) -> tuple[LaunchFile, ...]:
    """The launch script; the rank table lies beside it on every server."""
    return (LaunchFile(script_name(plan), script(plan, table), EXECUTABLE),)


def script_name(plan: LaunchPlan) -> str:
    """ascend4p.sh, by the number of ranks."""
    return f"ascend{plan.size}p.sh"


def script(plan: LaunchPlan, table: TableFile) -> str:
    """The whole text of the script that starts `plan`.

    The rank table lies beside the script, which asks for its SHA-256 before it starts anything. KitError where the
    name of the table is a path.
    """
    table.assert_is_name()
    several = len(plan.nodes) > 1
    lines = [
        *_header(plan),
        *fragment("bash/start"),
        *_job(plan, table),
        *fragment("bash/options"),
        *fragment("bash/check_table"),
        *fragment("bash/port"),
        *(_nodes(plan, table) if several else _one_node(plan)),
        *fragment("bash/logs"),
        *_environment(plan),
        *fragment("ranks/guard"),
        *fragment("ranks/notes"),
        *fragment("ranks/run_rank"),
        *fragment("ranks/watch"),
        *fragment("ranks/signals"),
        *fragment("ranks/end"),
        *fragment("bash/main"),
    ]
    return "\n".join(lines) + "\n"


def _header(plan: LaunchPlan) -> list[str]:
    several = len(plan.nodes) > 1
    first = plan.nodes[0]
    where = f"devices {_listed(first.devices)} of this server"
    if several:
        where = f"the cards of {len(plan.nodes)} servers, {printable(first.id)} to {printable(plan.nodes[-1].id)}"
    python = "python 3.8" if several else "a python, where there is one, tests the port"
    return [
        "#!/usr/bin/env bash",
        f"# Starts ranks 0 to {plan.size - 1} on {where}. Written by hccl_kit.",
        "#",
        f"#   bash {script_name(plan)} [OPTION ...] [--] [ARGUMENT ...]     arguments are added to the command below",
        "#",
        "# --max-restarts N         start the ranks again when one fails, from their last checkpoint, N times at most",
        "# --heartbeat-timeout S    end the job, the stacks of all ranks in the logs, when a rank takes no step for S",
        "#                          seconds (a rank that counts its steps, as tools/train.py does)",
        "# --prefix                 show every rank on the screen, with [host:rank] in front, not rank 0 alone",
        "# --log-limit MIB          cut a log that grows beyond, 0 for never (default: 1024)",
        *(_header_of_several(plan) if several else []),
        "#",
        "# The rank table beside this script is checked first. Logs go to hccl_logs/RUN/rank_N.log in the current",
        f"# folder, hccl_logs/latest is the last RUN. {_PORT} is kept where it is set, else a free port is taken.",
        "# The first rank that fails ends the job: its last lines come last, its exit code (128 + signal) is the",
        "# script's. Otherwise 0 is success, 2 could not start, 124 a rank stands still, 130 Ctrl-C, 143 SIGTERM,",
        "# 129 SIGHUP, 137 a process of the script was killed. Nothing that a rank starts outlives the job, unless it",
        "# was given another environment.",
        f"# Needs bash 4.3, coreutils, grep, sed and util-linux; {python}.",
    ]


def _header_of_several(plan: LaunchPlan) -> list[str]:
    return [
        "# --ssh                    start it on every server from here; it must lie at the same path everywhere",
        "#                          (otherwise start it on each, with the same secret beside it everywhere: a file",
        f"#                          {script_name(plan)}{SUFFIX} of mode 600, or {KEY_FILE}=FILE)",
        "# --server ID              which server of the table this one is, where its addresses do not tell;",
        f"#                          {SERVER}=ID says the same",
    ]


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


def _job(plan: LaunchPlan, table: TableFile) -> list[str]:
    return [
        "",
        f"command=({words(plan.command)})",
        f"table_name={word(table.name)}",
        f"table_sha256={table.sha256}",
        f"port_name={_PORT}",
        f"server=${{{SERVER}:-}}",
    ]


def _one_node(plan: LaunchPlan) -> list[str]:
    (node,) = plan.nodes
    return [
        "",
        f"node='' server_name={word(node.id)} servers=({word(node.id)}) token=''",
        f"ranks=({' '.join(map(str, node.ranks))})",
        f"devices=({' '.join(map(str, node.devices))}) # of rank 0, 1, ...",
        *fragment("bash/alone"),
        "[[ -z $over_ssh ]] || die 'error: this job has one server; start the script there'",
        "find_python 6",
    ]


def _nodes(plan: LaunchPlan, table: TableFile) -> list[str]:
    """What tells the nodes apart, and the programs by which they talk."""
    return [
        "",
        *servers.described(plan),
        *array("addresses", [node.address for node in plan.nodes]),
        *servers.linked(plan, table),
        *program("ssh_start"),
        *fragment("nodes/over_ssh"),
        "",
        "find_python 8",
        "need_python",
        '[[ -z $over_ssh ]] || start_over_ssh "$@"',
        "find_server",
        'read -ra ranks <<<"${all_ranks[node]}"',
        'read -ra devices <<<"${all_devices[node]}"',
    ]


def _environment(plan: LaunchPlan) -> list[str]:
    """What the ranks are told, under every name that a framework reads."""
    return [
        "",
        "# Left over from other ways of starting, these would override what is set below.",
        f"earlier_restarts=${{{RESTART}:-0}}",
        "[[ $earlier_restarts =~ ^(0|[1-9][0-9]{0,5})$ ]] || earlier_restarts=0",
        wrapped(" ".join(["unset -v", *MISLEADING, RUN_ID, RESTART, SERVER])),
        "",
        "job_environment() {",
        "    " + export("local_size", '"${#ranks[@]}"'),
        "    " + export("size", str(plan.size)),
        "    " + export("table", '"$table"'),
        "    " + export("master_addr", word(plan.master)),
        "    " + export("master_port", '"$port"'),
        f'    export {LOG_DIR}="$logs"',
        f"    ((attempt + earlier_restarts == 0)) || export {RESTART}=$((attempt + earlier_restarts))",
        "    own_run=$run${node:+.$node}",
        f"    mark={RUN_ID}=$own_run # in the environment of the ranks and of all that they start, of nobody else",
        "}",
        "",
        "rank_environment() { # LOCAL_RANK",
        f'    export {RUN_ID}="$own_run"',
        "    " + export("rank", '"${ranks[$1]}"'),
        "    " + export("local_rank", '"$1"'),
        "    " + export("device", '"${devices[$1]}"'),
        "}",
    ]
