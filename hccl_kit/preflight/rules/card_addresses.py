"""HK6: whether the table and /etc/hccn.conf have the addresses, and the table the super pod ids, that the cards have.

From that file the driver sets up the network ports of the cards when it starts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.network import ip_of
from hccl_kit.base.wording import joined, row
from hccl_kit.check.rule import Rule
from hccl_kit.discovery import hccn_conf, hccn_tool, npu_smi
from hccl_kit.discovery.driver_tool import NoAnswerError, excerpt, query_each
from hccl_kit.preflight.node import ATLAS_950, CannotTellError, Node
from hccl_kit.preflight.probes import tools
from hccl_kit.preflight.probes.cards import findings_on_cards, here, ids_in_dev, need_npu
from hccl_kit.preflight.probes.this_server import plain
from hccl_kit.preflight.rules.driver_access import HCCN_CONF
from hccl_kit.preflight.rules.variable_values import ROCE
from hccl_kit.table.finding import Finding
from hccl_kit.table.hosts import Card
from hccl_kit.table.model import Device


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
    there, failures = tools.hccn(node, ids, _of_port)
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


def _of_port(query: Callable[..., str]) -> Sequence[hccn_conf.Address]:
    """The addresses of a port; none if the tool says so. Raises NoAnswerError for another answer."""
    answer = query("-ip", "-g")
    if not hccn_tool.is_answer(answer):
        raise NoAnswerError(excerpt(answer))
    return [address for text in hccn_tool.every_address(query) if (address := ip_of(text))]  # dashes: no address


_NO_ADDRESSES = Message("HK628.no-addresses", "the table has no device_ip for this server")
_GENERATE = Message("HK628.fix", "generate the table again on this server: hccl-gen --help")


def address_differs(node: Node) -> Iterator[Finding]:
    """The device_ip of a card is not the address of its network port.

    What:           `device_ip` in the table is not an address that hccn_tool prints for that card (IPv4, IPv6 and on
                    Atlas A3 that inside the super pod), or /etc/hccn.conf where there is no hccn_tool; or the port
                    has none and the job needs it.
    Why it matters: HCCL opens the port with the address of the table. A table of another machine, or one that was
                    generated before the addresses changed, looks valid and does not work.
    Example:        card 3: the table has 192.168.103.101, its port has 192.168.103.102
    Fix:            generate the table again with hccl-gen on this server, or set the address: hccn_tool -i 3 -ip -s
                    address 192.168.103.101 netmask 255.255.255.0.
    HCCL:           EI0014, "the IP address in the ranktable is inconsistent with the network adapter" (R33); older
                    releases: "ra rdev init failed, ret -17".
    """
    wanted = _addresses(node)
    cards, failures = nic_addresses(node, sorted(wanted))
    odd = [number for number, card in cards.items() if not _overlap(wanted[number], [card.ip])]
    wrong = {
        number: Message(
            "HK628.other-address",
            "the table has {table}, its port has {port}",
            table=row(wanted[number]),
            port=joined(addresses),
        )
        for number, addresses in (_all_addresses(node, odd) if odd else {}).items()
        if not _overlap(wanted[number], addresses)
    }
    if uses_roce(node):
        wrong |= {
            number: Message(
                "HK628.no-address",
                "the table has {table}, its port has no address ({reason})",
                table=row(wanted[number]),
                reason=reason,
            )
            for number, reason in failures.items()
        }
    yield from findings_on_cards(dict(sorted(wrong.items())), _GENERATE)


def sdid_differs(node: Node) -> Iterator[Finding]:
    """The super_device_id of a card is not the one that the driver knows.

    What:           `super_device_id` in the table is not the SDID that npu-smi prints for that card, or npu-smi prints
                    none for it while other cards have one.
    Why it matters: cards of Atlas A3 reach each other by these ids; each process compares its own with the table.
    Example:        card 1: the table has 65537, npu-smi has SDID 4259841, which is that of another server
    Fix:            generate the table again with hccl-gen on this server.
    HCCL:           EI0014, super_device_id, which names the driver's number as the expected one (R32).
    """
    wanted = {device.id: device.sdid for device in _devices(node) if device.sdid is not None}
    ids = [device_id for device_id in here(node) if device_id in wanted]
    if not ids:
        raise CannotTellError("HK629.no-sdid", "the table has no super_device_id for this server")
    tool = tools.need(node, tools.NPU_SMI)

    def question(device_id: int) -> int:
        npu, chip = divmod(device_id, npu_smi.CHIPS)
        return npu_smi.place(node.tools.query(tool, "info", "-t", "spod-info", "-i", str(npu), "-c", str(chip))).sdid

    sdids, failures = query_each(ids, question)
    if not sdids:
        raise CannotTellError("HK629.no-answer", "npu-smi: {reason}", reason=next(iter(failures.values())))
    wrong = {
        number: Message(
            "HK629.other-sdid",
            "the table has super_device_id {table}, npu-smi has SDID {driver}",
            table=wanted[number],
            driver=sdid,
        )
        for number, sdid in sdids.items()
        if sdid != wanted[number]
    }
    wrong |= {
        number: Message("HK629.no-place", "npu-smi reports no place in a super pod ({reason})", reason=reason)
        for number, reason in failures.items()
    }
    yield from findings_on_cards(dict(sorted(wrong.items())), _GENERATE)


def nic_addresses(node: Node, ids: Sequence[int]) -> tuple[dict[int, Card], dict[int, str]]:
    """The addresses of the cards, and why others have none: from hccn_tool, else from /etc/hccn.conf.

    A card with unexpected output of the tool is in neither: HK638 reports it.
    """
    if _has_file_alone(node):
        there = _in_file(node, ids)
        none: str = Message("preflight.none-in-file", "/etc/hccn.conf has none")
        missing = dict.fromkeys([device_id for device_id in ids if device_id not in there], none)
        return {device_id: Card(ip=texts[0]) for device_id, texts in there.items()}, missing
    on_vnic = bool(node.table.super_pods)

    def read(query: Callable[..., str]) -> Card | NoAnswerError:
        try:
            return hccn_tool.card(query, vnic=on_vnic)
        except hccn_tool.NoAddressError as reason:
            return reason

    answers, _ = tools.hccn(node, ids, read)
    cards = {number: answer for number, answer in answers.items() if isinstance(answer, Card)}
    return cards, {number: str(answer) for number, answer in answers.items() if not isinstance(answer, Card)}


def with_address(node: Node) -> tuple[int, ...]:
    """The present cards with a `device_ip` in the table; raises CannotTellError if there is none."""
    ids = here(node)
    cards = tuple(sorted(device.id for device in _devices(node) if device.ip and device.id in ids))
    if not cards:
        raise CannotTellError(_NO_ADDRESSES)
    return cards


def uses_roce(node: Node) -> bool:
    """Whether this job uses the network ports of the cards: between servers, or super pods, or by a variable."""
    groups = node.table.super_pods or node.table.servers
    return asks_for_roce(node) or len(groups) > 1


def asks_for_roce(node: Node) -> bool:
    """Whether a variable asks for the network ports inside a server too."""
    return node.environ.get(ROCE) == "1"


def _addresses(node: Node) -> Mapping[int, Sequence[str]]:
    """The addresses of the table for the present cards; raises CannotTellError if there is none."""
    ids = with_address(node)
    return {
        device.id: [text.strip() for text in device.ip.split(",")]
        for device in _devices(node)
        if device.ip and device.id in ids
    }


def _all_addresses(node: Node, ids: Sequence[int]) -> Mapping[int, Sequence[str]]:
    """Every address of each of these cards."""
    if _has_file_alone(node):
        return _in_file(node, ids)
    on_vnic = bool(node.table.super_pods)
    addresses, _ = tools.hccn(node, ids, lambda query: hccn_tool.every_address(query, vnic=on_vnic))
    return addresses


def _has_file_alone(node: Node) -> bool:
    return tools.find(node, tools.HCCN_TOOL) is None and (node.root / HCCN_CONF).exists()


def _in_file(node: Node, ids: Sequence[int]) -> Mapping[int, Sequence[str]]:
    """What /etc/hccn.conf has for these cards; raises CannotTellError if it cannot be read or names none of them."""
    try:
        there = hccn_conf.every_entry(node.root / HCCN_CONF)
    except KitError as error:
        raise CannotTellError(error.message) from None
    addresses = {number: [entry.text for entry in there[number]] for number in ids if number in there}
    if not addresses:
        raise CannotTellError("HK628.no-card-in-file", "/etc/hccn.conf has no address of a card of the table")
    return addresses


def _devices(node: Node) -> Sequence[Device]:
    return node.server.devices if node.server else ()


def _overlap(some: Sequence[str], others: Sequence[str | None]) -> bool:
    """Whether the two have an address in common, in any spelling and with or without its interface."""
    first, second = ({plain(text.partition("%")[0]) for text in texts if text} for texts in (some, others))
    return not first.isdisjoint(second)


RULES = (
    Rule("HK628", "wrong-device-ip", address_differs, hccl_error="EI0014", needs_server=True),
    Rule("HK629", "wrong-sdid", sdid_differs, hccl_error="EI0014", needs_server=True),
    Rule("HK642", "stale-driver-file", file_stale, needs_server=True),
    Rule("HK643", "unreadable-driver-file", file_unreadable, severity="warning", needs_server=True),
)
