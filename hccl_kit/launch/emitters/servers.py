"""What a script of several servers is told of them: who they are, and where they meet."""

from __future__ import annotations

import ipaddress
from contextlib import suppress

from hccl_kit.base.network import port_of_digest
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan, Node
from hccl_kit.launch.secret_file import SUFFIX
from hccl_kit.launch.shell import array, fragment, program, word
from hccl_kit.runtime.worker_env import KEY_FILE, LINK_PORT


def described(plan: LaunchPlan) -> list[str]:
    """An element for each server in the arrays `servers` (ids), `names`, `all_ranks` and `all_devices`."""
    return [
        *array("servers", [node.id for node in plan.nodes]),
        *array("names", ["\n".join(names(node)) for node in plan.nodes]),
        *array("all_ranks", [" ".join(map(str, node.ranks)) for node in plan.nodes]),
        *array("all_devices", [" ".join(map(str, node.devices)) for node in plan.nodes]),
    ]


def names(node: Node) -> tuple[str, ...]:
    """What a host may call itself: id and address as the table has them, and as the system writes them."""
    found = [node.id, node.address]
    for text in (node.id, node.address):
        with suppress(ValueError):
            found.append(str(ipaddress.ip_address(text)))
    return tuple(dict.fromkeys(found))


def linked(plan: LaunchPlan, table: TableFile) -> list[str]:
    """The functions `find_server`, `meet`, `tell` and `judged`, and what they need besides `described`, `table_sha256`,
    `server` and the functions of PORT and NOTES.
    """
    return [
        f"master={word(plan.master)}",
        f"link_port_name={LINK_PORT}",
        f"link_port=${{{LINK_PORT}:-{link_port(table)}}}",
        "link='' token=''",
        "# Both sides of a connection prove that they know this secret, without saying it.",
        f'secret_file=${{{KEY_FILE}:-$(readlink -f -- "${{BASH_SOURCE[0]}}"){SUFFIX}}}',
        f"unset -v {KEY_FILE}",
        *program("rendezvous"),
        *fragment("nodes/find_server"),
        *fragment("nodes/rendezvous"),
    ]


def link_port(table: TableFile) -> int:
    """A port that all nodes find without talking; below 32768, from where on the system hands ports out by itself."""
    return port_of_digest(table.sha256)
