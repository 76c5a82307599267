"""HK6: whether the table has the addresses and the super pod ids that the cards have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined, row
from hccl_kit.check.rule import Rule
from hccl_kit.discovery import hccn_conf, hccn_tool, npu_smi
from hccl_kit.discovery.driver_tool import NoAnswerError, query_each
from hccl_kit.preflight.node import CannotTellError, Node
from hccl_kit.preflight.probes import tools
from hccl_kit.preflight.probes.cards import findings_on_cards, here
from hccl_kit.preflight.probes.this_server import plain
from hccl_kit.preflight.rules.driver_access import HCCN_CONF
from hccl_kit.preflight.rules.variable_values import ROCE
from hccl_kit.table.finding import Finding
from hccl_kit.table.hosts import Card
from hccl_kit.table.model import Device

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
)
