"""HK2: what is judged of version 1.1, which is rare: its addresses, beside structure and ranks."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.document import shown
from hccl_kit.finding import Finding, Pointer, Related
from hccl_kit.ip import parse_address
from hccl_kit.products import Product
from hccl_kit.rank_table import RankTable


def node_address(table: RankTable, _product: Product) -> Iterator[Finding]:
    """The address of a node or of a rank is none.

    What:           `node_addr` or `rank_ip` of version 1.1 is not an IPv4 or IPv6 address; `rank_ip` may be empty.
    Why it matters: by these addresses the ranks reach each other; an empty `rank_ip` stands for that of the node.
    Example:        "node_addr": "node0"
    Fix:            write the address; a name is none.
    HCCL:           EI0014, IP "a valid IP address" (R12).
    """
    named = [((*node.at, "node_addr"), node.id) for node in table.servers]
    named += [((*rank.at, "rank_ip"), rank.ip) for rank in table.every if rank.ip]
    for at, address in named:
        if parse_address(address) is None:
            message = f'"{at[-1]}" is {shown(address)}; an IPv4 or IPv6 address without spaces around it is expected'
            yield Finding(at, message, "write the address; a name is none")


def node_twice(table: RankTable, _product: Product) -> Iterator[Finding]:
    """Two nodes have one address.

    What:           a `node_addr` of version 1.1 that an earlier node of the table has.
    Why it matters: HCCL tells nodes apart by this address only.
    Example:        the ranks of one host in two entries of `node_list`.
    Fix:            put all ranks of a host into one node, and give every node its own address.
    HCCL:           EI0014, with the misleading variable "IP" (R10).
    """
    first: dict[str, Pointer] = {}
    for node in table.servers:
        at = (*node.at, "node_addr")
        if node.id in first:
            message = f"node address {shown(node.id)} is already taken by another node"
            hint = "put all ranks of a host into one node"
            yield Finding(at, message, hint, (Related(first[node.id], "first defined"),))
        first.setdefault(node.id, at)


def judged_in_part(_table: RankTable, _product: Product) -> Iterator[Finding]:
    """A table of version 1.1 is judged in part.

    What:           every table of version 1.1, whose jobs run on NPUs and CPUs together.
    Why it matters: structure, ranks and addresses are judged; ports, modes and devices of such a job are not, and
                    silence would look like a verdict.
    Example:        any document with "version": "1.1"
    Fix:            none is needed.
    HCCL:           judges all of it.
    """
    message = "of a table of version 1.1 only the structure, the ranks and the addresses are judged"
    yield Finding(("version",), message)
