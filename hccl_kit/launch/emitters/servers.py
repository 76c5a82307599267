"""Parts of scripts: the servers of a job, the one that a host is, and where rank 0 listens."""

from __future__ import annotations

import ipaddress
from contextlib import suppress

from hccl_kit.base.network import LOOPBACK, derived_port, port_of_digest
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import listed
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan, Node
from hccl_kit.launch.shell import word
from hccl_kit.runtime.worker_env import NAMES, SERVER, VISIBLE_DEVICES

(_PORT,) = NAMES["master_port"]


def this_server(plan: LaunchPlan) -> list[str]:
    """Set hk_node, the number of this server, and hk_cards, the physical ids of its cards by their ranks.

    Of several servers, it is the one of which this host has a name or an address, or that the user names.
    """
    if len(plan.nodes) == 1:
        return [f"hk_node=0 hk_cards=({' '.join(map(str, plan.nodes[0].devices))}) # of ranks 0, 1, ..."]
    ids = printable(listed([node.id for node in plan.nodes], 8))
    return [
        "",
        f"# Which server this host is: {SERVER}, or the one that has a name or address of this host.",
        f'hk_names=("${{{SERVER}:-}}") hk_found=()',
        '[[ -n ${hk_names[0]} ]] || read -ra hk_names -d "" < <(hostname -I; echo "$HOSTNAME ${HOSTNAME%%.*}")',
        'for hk_name in "${hk_names[@]}"; do',
        "    case $hk_name in # hk_found[server], and the cards of its ranks",
        *(
            f"        ({' | '.join(map(word, names(node)))}) hk_found[{i}]=1 hk_cards=({_cards(node)}) ;;&"
            for i, node in enumerate(plan.nodes)
        ),
        "    esac",
        "done",
        "((${#hk_found[@]} == 1)) || hk_fail \\",
        '    "error: this host matches ${#hk_found[@]} servers of the table; it has ${hk_names[*]}" \\',
        f"    {word(f'  the table has {ids}')} '  fix: export {SERVER}=ID, with the one that this host is'",
        "hk_node=${!hk_found[*]}",
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


def port(plan: LaunchPlan, table: TableFile) -> list[str]:
    """Choose the port of rank 0 unless it is set: a free one, or for several servers one that each of them knows."""
    if len(plan.nodes) > 1:
        return [f'{_PORT}="${{{_PORT}:-{port_of_digest(table.sha256)}}}" # by the table, the same on all servers']
    return free_port()


def free_port() -> list[str]:
    """Choose a free port of this host, which has rank 0, unless it is set."""
    first, last = derived_port(0), derived_port(-1)
    return [
        f"until [[ -n ${{{_PORT}:-}} ]]; do # one that nobody listens on",
        f"    {_PORT}=$(({first} + RANDOM % {last - first + 1}))",
        f'    ! (: <"/dev/tcp/{LOOPBACK}/${_PORT}") 2>/dev/null || {_PORT}=""',
        "done",
    ]


def names(node: Node) -> tuple[str, ...]:
    """Its id and address, as in the table and as the system writes them."""
    known = [node.id, node.address]
    for name in known[:2]:
        with suppress(ValueError):
            known.append(str(ipaddress.ip_address(name)))
    return tuple(dict.fromkeys(known))
