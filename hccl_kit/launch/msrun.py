"""The way out by msrun, MindSpore's own launcher: one script for all nodes, each of which runs it.

msrun gives DEVICE_ID the local index and reads no rank table, so every name of the contract is unset, and cards that
are not 0, 1, ... are made so by VISIBLE_DEVICES. The script mends what msrun does badly when a job ends: it has no exit
code of the rank, waits 30 s for its scheduler, and leaves workers to live on when it is killed.
"""

from __future__ import annotations

import ipaddress
from contextlib import suppress

from hccl_kit.launch import bash_nodes, bash_parts, msrun_parts
from hccl_kit.launch.files import EXECUTABLE, LaunchFile, TableFile
from hccl_kit.launch.mpirun import visible
from hccl_kit.launch.plan import LaunchPlan, Node
from hccl_kit.launch.shell import section, word, words, wrapped
from hccl_kit.worker_env import LOG_DIR, MISLEADING, NAMES, RESTART, RUN_ID, SERVER, VISIBLE_DEVICES

(_PORT,) = NAMES["master_port"]


def emit(plan: LaunchPlan, table: TableFile) -> tuple[LaunchFile, ...]:
    """The script; the plan is one that rules HK5 let pass.

    The rank table gives all nodes a port to agree on; the job does not read it.
    """
    lines = [
        *_header(plan, table),
        *section(bash_parts.START),
        *_job(plan),
        *section(msrun_parts.OPTIONS),
        *_node(plan),
        *section(bash_parts.PORT),
        *_meeting_point(plan, table),
        *section(msrun_parts.LOGS),
        *_environment(),
        *section(msrun_parts.GUARD),
        *section(msrun_parts.MAIN),
    ]
    return (LaunchFile(f"msrun{plan.size}p.sh", "\n".join(lines) + "\n", EXECUTABLE),)


def _header(plan: LaunchPlan, table: TableFile) -> list[str]:
    more: list[str] = []
    where = "this host"
    if len(plan.nodes) > 1:
        where = f"{len(plan.nodes)} hosts"
        more = [
            "#",
            "# Run it on every host, within 300 s. --server ID in front of the arguments, or",
            f"# {SERVER}=ID, says which server of the rank table this one is, where its addresses do not tell.",
        ]
    return [
        "#!/usr/bin/env bash",
        f"# Starts ranks 0 to {plan.size - 1} on {where} by msrun of MindSpore. Written by hccl_kit.",
        "#",
        f"#   bash msrun{plan.size}p.sh [ARGUMENT ...]      the arguments are added to the command below",
        *more,
        "#",
        f"# Made from the rank table with sha256 {table.sha256};",
        "# the job does not read it: under msrun a rank table must not be set.",
        "# Logs go to hccl_logs/RUN/worker_N.log in the current folder, those of msrun beside them. The first rank of",
        f"# this host is shown. {_PORT} is kept where it is set, and must be the same on all hosts.",
        "# The first rank that fails here ends the job here: its traceback comes last, its exit code (128 + signal) is",
        "# the script's. Otherwise 0 is success, 2 could not start, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP.",
        "# Needs bash 4.3, coreutils, grep, iproute2, python 3 and util-linux.",
    ]


def _job(plan: LaunchPlan) -> list[str]:
    return [
        "",
        f"command=({words(plan.command)})",
        f"size={plan.size}",
        f"master={word(plan.master)}",
        f"server=${{{SERVER}:-}}",
        "# shellcheck disable=SC2016  # a program in Python",
        f"worker={word(msrun_parts.WORKER.strip())}",
    ]


def _node(plan: LaunchPlan) -> list[str]:
    """Which node this is, its first rank and its cards."""
    devices = [" ".join(map(str, node.devices)) for node in plan.nodes]
    seen = [visible(node.devices) or "" for node in plan.nodes]
    several = len(plan.nodes) > 1
    return [
        "",
        *(_find_server(plan) if several else _assert_server(plan.nodes[0])),
        "",
        *_array("all_devices", devices),
        *("all_visible=(", *(f'    "{value}"' for value in seen), ")"),  # a comma without quotes looks like a mistake
        'read -ra devices <<<"${all_devices[node]}"',
        "visible=${all_visible[node]}",
        "first=$((node * ${#devices[@]}))",
    ]


def _find_server(plan: LaunchPlan) -> list[str]:
    return [
        *_array("servers", [node.id for node in plan.nodes]),
        *_array("names", ["\n".join(_names(node)) for node in plan.nodes]),
        *section(bash_nodes.FIND_SERVER),
        "",
        "find_server",
    ]


def _assert_server(node: Node) -> list[str]:
    return [
        f"node=0 server_name={word(node.id)}",
        '[[ -z $server || $server == "$server_name" ]] ||',
        '    die "error: the table has no server $server; it has $server_name"',
    ]


def _array(name: str, values: list[str]) -> list[str]:
    return [f"{name}=(", *(f"    {word(value)}" for value in values), ")"]


def _names(node: Node) -> tuple[str, ...]:
    """What a host may call itself: id and address as the table has them, and as the system writes them."""
    found = [node.id, node.address]
    for text in (node.id, node.address):
        with suppress(ValueError):
            found.append(str(ipaddress.ip_address(text)))
    return tuple(dict.fromkeys(found))


def _meeting_point(plan: LaunchPlan, table: TableFile) -> list[str]:
    """Where the scheduler listens. msrun would wait for 600 s where the port is taken."""
    if len(plan.nodes) == 1:
        return ["", "find_python", f"choose_port {_PORT}"]
    # below 32768, from where on the system hands ports out by itself
    default = 20000 + int(table.sha256[:8], 16) % 12000
    return [
        "",
        f': "${{{_PORT}:={default}}}" # from the table: every host finds it without talking',
        f"port=${_PORT}",
        f"if ((node == 0)); then find_python && choose_port {_PORT}; fi",
    ]


def _environment() -> list[str]:
    contract = [name for names in NAMES.values() for name in names]
    return [
        "",
        "# Left over from other ways of starting, these would override what msrun sets.",
        wrapped(" ".join(["unset -v", *MISLEADING, *contract, RUN_ID, RESTART, SERVER])),
        f'[[ -z $visible ]] || export {VISIBLE_DEVICES}="$visible" # msrun counts devices from 0 on',
        f"mark={LOG_DIR}=$logs # in the environment of msrun and of all that it starts, of nobody else",
    ]
