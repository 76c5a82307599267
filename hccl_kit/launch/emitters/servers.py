"""Parts of scripts: the servers of a job, the one that a host is, its cards, and where rank 0 listens."""

from __future__ import annotations

import ipaddress
from contextlib import suppress

from hccl_kit.base.network import derived_port, port_of_digest
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import listed
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan, Node
from hccl_kit.launch.shell import word
from hccl_kit.runtime.worker_env import NAMES, SERVER, VISIBLE_DEVICES

(_PORT,) = NAMES["master_port"]


def checked_table(table: TableFile, fix: str) -> list[str]:
    """Compare the file hk_table with the table that the script was made for."""
    return [
        f'[[ $(sha256sum <"$hk_table") == "{table.sha256} "* ]] || hk_fail \\',
        f"    \"error: $hk_table is not the table of this script\" '  fix: {fix}'",
    ]


def this_server(plan: LaunchPlan) -> list[str]:
    """Set hk_node, the number of this server, and hk_cards, the physical ids of its cards by their ranks."""
    if len(plan.nodes) == 1:
        return [f"hk_node=0 hk_cards=({' '.join(map(str, plan.nodes[0].devices))}) # of ranks 0, 1, ..."]
    fix = f"  fix: export {SERVER}=ID, with the one that this host is"
    comment = f"# Which server this host is: {SERVER}, or the one that has a name or address of this host."
    return ["", comment, *matched(plan, "$(hostname -I) $HOSTNAME ${HOSTNAME%%.*}", fix), ""]


def matched(plan: LaunchPlan, names_of_host: str, fix: str) -> list[str]:
    """The same for the server that the user names, or the only one of which this host has a name or an address."""
    ids = printable(listed([node.id for node in plan.nodes], 8))
    known = ["|".join(map(word, names(node))) for node in plan.nodes]
    return [
        f'hk_names=" ${{{SERVER}:-{names_of_host}}} "',
        *(
            f'[[ $hk_names == *" "@({known[number]})" "* ]] && hk_nodes+=({number}) hk_cards=({_cards(node)})'
            for number, node in enumerate(plan.nodes)
        ),
        "((${#hk_nodes[@]} == 1)) || hk_fail \\",
        '    "error: this host matches ${#hk_nodes[@]} servers of the table; it has${hk_names% }" \\',
        f"    {word(f'  the table has {ids}')} {word(fix)}",
        "hk_node=${hk_nodes[0]}",
    ]


def _cards(node: Node) -> str:
    """The elements of an array whose indices are ranks."""
    first = node.ranks[0]
    if node.ranks == tuple(range(first, first + len(node.ranks))):
        return f"[{first}]=" + " ".join(map(str, node.devices))
    return " ".join(f"[{rank}]={card}" for rank, card in zip(node.ranks, node.devices, strict=True))


def visible() -> list[str]:
    """Set hk_visible, the list of the cards in hk_cards, which is refused if the user has set another."""
    return [
        'hk_visible=$(IFS=,; echo "${hk_cards[*]}")',
        f'[[ ${{{VISIBLE_DEVICES}-$hk_visible}} == "$hk_visible" ]] ||',
        f'    hk_fail "error: {VISIBLE_DEVICES}=${VISIBLE_DEVICES}; the cards of this job are $hk_visible"',
    ]


def all_visible() -> list[str]:
    """Say that the ranks see all cards, if the user has set a list, which is removed."""
    return [
        f"[[ -z ${{{VISIBLE_DEVICES}:-}} ]] || # the ranks see all cards, by their numbers in the table",
        f'    echo "note: {VISIBLE_DEVICES}=${VISIBLE_DEVICES} is removed; torch needs --framework pytorch" >&2',
    ]


def port(table: TableFile | None = None) -> str:
    """The assignment of the port of rank 0 if it is not set: any one, or that of the table, which all servers know.

    It may be in use; `hccl-kit run` looks for a free one.
    """
    first, last = derived_port(0), derived_port(-1)
    default = port_of_digest(table.sha256) if table else f"$(({first} + RANDOM % {last - first + 1}))"
    return f'{_PORT}="${{{_PORT}:-{default}}}"'


def names(node: Node) -> tuple[str, ...]:
    """Its id and address, as in the table and as the system writes them."""
    known = [node.id, node.address]
    for name in known[:2]:
        with suppress(ValueError):
            known.append(str(ipaddress.ip_address(name)))
    return tuple(dict.fromkeys(known))
