"""HK6: /etc/hccn.conf, from which the driver sets up the network ports of the cards when it starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.network import ip_of
from hccl_kit.base.wording import joined
from hccl_kit.check.rule import Rule
from hccl_kit.discovery import hccn_conf, hccn_tool
from hccl_kit.discovery.driver_tool import NoAnswerError, excerpt
from hccl_kit.preflight.node import ATLAS_950, CannotTellError, Node
from hccl_kit.preflight.probes import tools
from hccl_kit.preflight.probes.cards import findings_on_cards, ids_in_dev, need_npu
from hccl_kit.preflight.rules.driver_access import HCCN_CONF
from hccl_kit.table.finding import Finding


def file_unreadable(node: Node) -> Iterator[Finding]:
    """The file `/etc/hccn.conf` cannot be read.

    What:           it is there, but is a folder or a pipe, this user may not read it, or a line is not valid.
    Why it matters: the driver reads it when it starts and sets up the ports of the cards from it; where there is no
                    hccn_tool, it is the only source of their addresses. What it holds was not compared.
    Example:        a folder: docker run -v /etc/hccn.conf:/etc/hccn.conf on a host without the file creates one.
    Fix:            mount or write the file; without rights, run this as root.
    HCCL:           no code.
    """
    need_npu(node)
    if os.path.lexists(node.root / HCCN_CONF):
        try:
            hccn_conf.every_entry(node.root / HCCN_CONF)
        except KitError as error:
            yield Finding(
                error.message,
                Message(
                    "HK643.fix",
                    "mount the file of the host, or set the addresses with hccn_tool -i N -ip -s, which writes it",
                ),
            )


def file_stale(node: Node) -> Iterator[Finding]:
    """An address in `/etc/hccn.conf` is not the one that the port of the card has.

    What:           a line `address_N` or `IPv6address_N` of a card of this machine, in the table or not, has an address
                    that hccn_tool does not print for it.
    Why it matters: the driver sets up the ports from this file when it starts, so the port has the other address after
                    the next restart of the server; and containers without hccn_tool take the address from it.
    Example:        /etc/hccn.conf:4 has 192.168.103.77, the port of card 3 has 192.168.103.101
    Fix:            set the address again, which writes the file: hccn_tool -i 3 -ip -s address 192.168.103.101 netmask
                    255.255.255.0; or remove the line.
    HCCL:           no code; EI0014 or EI0006 after a restart.
    """
    entries = _entries(node)
    if not entries:
        return
    ids = [device_id for device_id in ids_in_dev(node) if device_id in entries]
    there, failures = tools.hccn(node, ids, _addresses)
    if failures and not there:
        raise CannotTellError("HK642.no-answer", "hccn_tool: {reason}", reason=next(iter(failures.values())))
    stale = {}
    for card, addresses in there.items():
        odd = [entry for entry in entries[card] if entry.address not in addresses]
        if odd:
            stale[card] = Message(
                "HK642.stale",
                "{lines}, its port has {addresses}",
                lines=joined(map(_in_words, odd)),
                addresses=joined(addresses) if addresses else Message("HK642.none", "none"),
            )
    yield from findings_on_cards(
        stale,
        Message("HK642.fix", "set the address with hccn_tool -i N -ip -s, which writes the file, or remove the line"),
    )


def _in_words(entry: hccn_conf.Entry) -> Message:
    return Message(
        "HK642.entry", "/{path}:{line} has {address}", path=HCCN_CONF, line=entry.line, address=entry.address
    )


def _entries(node: Node) -> Mapping[int, Sequence[hccn_conf.Entry]]:
    """What the file has for each card; nothing without a file that can be read, which HK643 reports."""
    need_npu(node)
    if node.table.version == ATLAS_950 or not os.path.lexists(node.root / HCCN_CONF):
        return {}
    try:
        return hccn_conf.every_entry(node.root / HCCN_CONF)
    except KitError as error:
        raise CannotTellError("HK642.not-read", "{reason}, see HK643", reason=error.message) from None


def _addresses(query: Callable[..., str]) -> Sequence[hccn_conf.Address]:
    """The addresses of a port; none if the tool says so. Raises NoAnswerError for another answer."""
    answer = query("-ip", "-g")
    if not hccn_tool.is_answer(answer):
        raise NoAnswerError(excerpt(answer))
    return [address for text in hccn_tool.every_address(query) if (address := ip_of(text))]  # dashes: no address


RULES = (
    Rule("HK642", "stale-driver-file", file_stale, needs_server=True),
    Rule("HK643", "unreadable-driver-file", file_unreadable, severity="warning", needs_server=True),
)
