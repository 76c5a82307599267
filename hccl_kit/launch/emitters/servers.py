"""Parts of scripts for several servers: the servers, and their rendezvous."""

from __future__ import annotations

import ipaddress
from contextlib import suppress

from hccl_kit.base.network import port_of_digest
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.secret_file import SUFFIX
from hccl_kit.launch.shell import array, fragment, program, word
from hccl_kit.runtime.worker_env import KEY_FILE, LINK_PORT


def described(plan: LaunchPlan) -> list[str]:
    """The arrays `servers` (ids), `names`, `all_ranks` and `all_devices`, with an element for each server."""
    return [
        *array("servers", [node.id for node in plan.nodes]),
        *array("names", ["\n".join(names(node.id, node.address)) for node in plan.nodes]),
        *array("all_ranks", [" ".join(map(str, node.ranks)) for node in plan.nodes]),
        *array("all_devices", [" ".join(map(str, node.devices)) for node in plan.nodes]),
    ]


def names(server: str, address: str) -> tuple[str, ...]:
    """The names of a server: id and address, as in the table and as the system writes them."""
    found = [server, address]
    for text in (server, address):
        with suppress(ValueError):
            found.append(str(ipaddress.ip_address(text)))
    return tuple(dict.fromkeys(found))


def rendezvous(plan: LaunchPlan, table: TableFile) -> list[str]:
    """The functions by which servers find themselves in `described`, start together and agree on the result."""
    return [
        f"master={word(plan.master)}",
        f"rendezvous_port_name={LINK_PORT}",
        f"rendezvous_port=${{{LINK_PORT}:-{rendezvous_port(table)}}}",
        "rendezvous='' token=''",
        "# Both sides of a connection prove that they know this secret, without sending it.",
        f'secret_file=${{{KEY_FILE}:-$(readlink -f -- "${{BASH_SOURCE[0]}}"){SUFFIX}}}',
        f"unset -v {KEY_FILE}",
        *program("rendezvous"),
        *fragment("common/match_server", "common/find_server", "common/rendezvous"),
    ]


def rendezvous_port(table: TableFile) -> int:
    """The port of node 0, which all nodes derive from the table."""
    return port_of_digest(table.sha256)
