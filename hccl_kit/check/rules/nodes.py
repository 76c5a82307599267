"""HK2: what is checked of version 1.1, which is rare: its addresses, and what its parser refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hccl_kit.base.message import Message
from hccl_kit.base.wording import row
from hccl_kit.check.rule import DUPLICATE, Rule, first_defined, repeated
from hccl_kit.table.bounds import HOST, MAX_DIGITS, MAX_NAME, MAX_SIGNED, MODES, SUB_VERSION, bytes_of
from hccl_kit.table.document import shown
from hccl_kit.table.finding import MISSING, NO_CODE, Finding
from hccl_kit.table.ip import parse_address, usable
from hccl_kit.table.model import RankTable
from hccl_kit.table.products import Product

_OF_A3 = ("device_id", "port", "rank_ip", "sdid")
"""Keys of every rank in a table with `heterog_sub_version`."""


def node_address(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A node or rank address is not valid.

    What:           `node_addr` or `rank_ip` of version 1.1 is not an IPv4 or IPv6 address; `rank_ip` may be empty.
    Why it matters: by these addresses the ranks reach each other; an empty `rank_ip` stands for that of the node.
    Example:        "node_addr": "node0"
    Fix:            write the address; a name is not accepted.
    HCCL:           EI0014, IP "a valid IP address" (R12). For 0.0.0.0, which only one node alone may have, no code.
    """
    named = [((*node.at, "node_addr"), node.id) for node in table.servers]
    named += [((*rank.at, "rank_ip"), rank.ip) for rank in table.every if rank.ip]
    for at, address in named:
        if parse_address(address) is None:
            message = Message(
                "HK234.address",
                '"{key}" is {address}; an IPv4 or IPv6 address without spaces around it is expected',
                key=at[-1],
                address=shown(address),
            )
            yield Finding(message, Message("HK234.fix", "write the address; a name is not accepted"), pointer=at)
    for node in table.servers if len(table.servers) > 1 else ():
        if (parsed := parse_address(node.id)) and not usable(parsed):
            message = Message(
                "HK234.no-address",
                '"node_addr" is {address}, which stands for no address, and the table has several nodes',
                address=shown(node.id),
            )
            hint = Message("HK234.no-address.fix", "write the address of the node")
            yield Finding(message, hint, pointer=(*node.at, "node_addr"), hccl_error=NO_CODE)


def node_table(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A key of version 1.1 has a value that HCCL refuses, or a rank lacks a key of Atlas A3.

    What:           `collective_id` has more than 127 bytes, or `mode` is neither "tcp" nor "rdma". Where the table has
                    `heterog_sub_version`, a rank lacks `device_id`, `port`, `rank_ip`, `sdid`, or on the CPU
                    `bind_device_id`, or its `sdid` or `bind_device_id` is not a whole number of 32 bits. A `device_id`
                    is above 2147483647.
    Why it matters: HCCL refuses the table.
    Example:        "mode": "roce"
    Fix:            write one of the values that the message names, or add the key.
    HCCL:           no code; EI0017 for a key that is missing.
    """
    length = bytes_of(str(table.extra.get("collective_id", "")))
    if length > MAX_NAME:
        message = Message(
            "HK238.collective-id",
            '"collective_id" has {length} bytes; up to {most} are accepted',
            length=length,
            most=MAX_NAME,
        )
        yield Finding(message, pointer=("collective_id",))
    mode = table.extra.get("mode", MODES[0])
    if mode not in MODES:
        message = Message(
            "HK238.mode", '"mode" is {mode}; accepted: {modes}', mode=shown(mode), modes=row(map(shown, MODES))
        )
        yield Finding(message, pointer=("mode",))
    for rank in table.every if SUB_VERSION in table.extra else ():
        has = {*rank.extra, *(["rank_ip"] if rank.ip is not None else ()), *(["device_id"] if rank.id != HOST else ())}
        wanted = (*_OF_A3, "bind_device_id") if rank.id == HOST else _OF_A3
        for key in wanted:
            if key not in has:
                message = Message(
                    "HK238.missing",
                    'the key "{key}" is missing, which "{sub_version}" requires',
                    key=key,
                    sub_version=SUB_VERSION,
                )
                hint = Message("HK238.fix", 'add "{key}" here', key=key)
                yield Finding(message, hint, pointer=rank.at, hccl_error=MISSING)
            elif key in ("sdid", "bind_device_id") and not (
                re.fullmatch(f"-?[0-9]{{1,{MAX_DIGITS}}}", rank.extra[key]) and abs(int(rank.extra[key])) <= MAX_SIGNED
            ):
                message = Message(
                    "HK238.number",
                    '"{key}" is {value}, and a whole number of 32 bits is expected',
                    key=key,
                    value=shown(rank.extra[key]),
                )
                yield Finding(message, pointer=(*rank.at, key))
    for rank in table.every:
        if rank.id > MAX_SIGNED:
            message = Message(
                "HK238.device-id", '"device_id" is {device}; up to {most} is accepted', device=rank.id, most=MAX_SIGNED
            )
            yield Finding(message, pointer=(*rank.at, "device_id"))


def node_twice(table: RankTable, _product: Product) -> Iterator[Finding]:
    """Two nodes have the same address.

    What:           a `node_addr` of version 1.1 that an earlier node of the table has.
    Why it matters: HCCL distinguishes nodes by this address only.
    Example:        the ranks of one host in two entries of `node_list`.
    Fix:            put all ranks of a host into one node, and give every node its own address.
    HCCL:           EI0014, with the misleading variable "IP" (R10).
    """
    for address, at, earlier in repeated((node.id, (*node.at, "node_addr")) for node in table.servers):
        message = Message(
            "HK235.taken", "node address {address} is already taken by another node", address=shown(address)
        )
        hint = Message("HK235.fix", "put all ranks of a host into one node")
        yield Finding(message, hint, pointer=at, related=first_defined(earlier))


def partly_checked(_table: RankTable, _product: Product) -> Iterator[Finding]:
    """A table of version 1.1 is checked only in part.

    What:           every table of version 1.1, whose jobs run on NPUs and CPUs together.
    Why it matters: structure, ranks, addresses and ports are checked; the devices of such a job are not checked for a
                    product, and an empty report would look complete.
    Example:        any document with "version": "1.1"
    Fix:            none is needed.
    HCCL:           does not look at the devices while it reads the table.
    """
    message = Message("HK236.partly", "of a version 1.1 table only structure, ranks, addresses and ports are checked")
    yield Finding(message, pointer=("version",))


RULES = (
    Rule("HK234", "invalid-node-address", node_address, hccl_error="EI0014", kinds=("1.1",), variables=("IP",)),
    Rule("HK235", "duplicate-node", node_twice, hccl_error="EI0014", kinds=("1.1",), variables=DUPLICATE),
    Rule("HK236", "partly-checked-version", partly_checked, severity="note", kinds=("1.1",)),
    Rule("HK238", "invalid-node-table", node_table, kinds=("1.1",)),
)
