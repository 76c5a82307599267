"""HK6: whether the table has the addresses and the super pod ids that the cards have."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping, Sequence

from hccl_kit.discovery import hccn_conf, hccn_tool, npu_smi
from hccl_kit.discovery.ask import NoAnswerError, ask_each
from hccl_kit.discovery.host import Card
from hccl_kit.errors import KitError
from hccl_kit.preflight import asked
from hccl_kit.preflight.cards import folded, here
from hccl_kit.preflight.mounts import HCCN_CONF
from hccl_kit.preflight.node import CannotTellError, Fault, Node
from hccl_kit.rank_table import Device

_NO_ADDRESSES = "the table has no device_ip for this server"


def address_differs(node: Node) -> Iterator[Fault]:
    """The device_ip of a card is not the address of its network port.

    What:           `device_ip` in the table is another address than hccn_tool gives for that card, or /etc/hccn.conf
                    where there is no hccn_tool; or the port has none and the job needs it.
    Why it matters: HCCL opens the port with the address of the table. A table of another machine, or one that was made
                    before the addresses were set anew, looks sound and starts nothing.
    Example:        card 3: the table has 192.168.103.101, its port has 192.168.103.102
    Fix:            make the table anew with hccl-gen on this server, or set the address: hccn_tool -i 3 -ip -s address
                    192.168.103.101 netmask 255.255.255.0.
    HCCL:           EI0014, "the IP address in the ranktable is inconsistent with the network adapter" (R33); older
                    releases: "ra rdev init failed, ret -17".
    """
    wanted = _addresses(node)
    found, failures = nic_addresses(node, sorted(wanted))
    says = {
        device_id: f"the table has {', '.join(wanted[device_id])}, its port has {card.ip}"
        for device_id, card in found.items()
        if not any(_same(text, card.ip) for text in wanted[device_id])
    }
    if uses_roce(node):
        says |= {
            device_id: f"the table has {', '.join(wanted[device_id])}, its port has no address ({why})"
            for device_id, why in failures.items()
        }
    yield from folded(dict(sorted(says.items())), "make the table anew on this server: hccl-gen --help")


def sdid_differs(node: Node) -> Iterator[Fault]:
    """The super_device_id of a card is not the one that the driver knows.

    What:           `super_device_id` in the table is another number than the SDID that npu-smi gives for that card.
    Why it matters: cards of Atlas A3 reach each other by these ids; each process compares its own with the table.
    Example:        card 1: the table has 65537, npu-smi has SDID 4259841, which is that of another server
    Fix:            make the table anew with hccl-gen on this server.
    HCCL:           EI0014, super_device_id, which names the driver's number as the expected one (R32).
    """
    wanted = {device.id: device.sdid for device in _devices(node) if device.sdid is not None}
    ids = [device_id for device_id in here(node) if device_id in wanted]
    if not ids:
        raise CannotTellError("the table has no super_device_id for this server")
    tool = asked.need(node, asked.NPU_SMI)

    def question(device_id: int) -> int:
        npu, chip = divmod(device_id, npu_smi.CHIPS)
        return npu_smi.place(asked.put(tool, "info", "-t", "spod-info", "-i", str(npu), "-c", str(chip))).sdid

    found, failures = ask_each(ids, question)
    if not found:
        raise CannotTellError(f"npu-smi: {next(iter(failures.values()))}")
    yield from folded(
        {
            device_id: f"the table has super_device_id {wanted[device_id]}, npu-smi has SDID {sdid}"
            for device_id, sdid in found.items()
            if sdid != wanted[device_id]
        },
        "make the table anew on this server: hccl-gen --help",
    )


def nic_addresses(node: Node, ids: Sequence[int]) -> tuple[dict[int, Card], dict[int, str]]:
    """What the cards have, and why others have nothing: from hccn_tool, else from /etc/hccn.conf."""
    conf = node.root / HCCN_CONF
    if asked.find(node, asked.HCCN_TOOL) is None and conf.exists():
        try:
            found = hccn_conf.addresses(conf, ids)
        except KitError as error:
            raise CannotTellError(error.message) from None
        return {device_id: Card(ip=ip) for device_id, ip in found.items()}, {}
    on_vnic = bool(node.table.super_pods)

    def read(put: Callable[..., str]) -> Card | NoAnswerError:
        try:
            return hccn_tool.card(put, vnic=on_vnic)
        except NoAnswerError as reason:
            return reason

    answers, _ = asked.hccn(node, ids, read)
    cards = {device_id: one for device_id, one in answers.items() if isinstance(one, Card)}
    return cards, {device_id: str(one) for device_id, one in answers.items() if not isinstance(one, Card)}


def uses_roce(node: Node) -> bool:
    """Whether this job goes over the network ports of the cards: between servers, or super pods, or by a variable."""
    if node.environ.get("HCCL_INTRA_ROCE_ENABLE") == "1":
        return True
    groups = node.table.super_pods or node.table.servers
    return len(groups) > 1


def _addresses(node: Node) -> Mapping[int, Sequence[str]]:
    """The addresses of the table for the cards that are here; CannotTellError where it has none."""
    ids = here(node)
    found = {
        device.id: [text.strip() for text in device.ip.split(",")]
        for device in _devices(node)
        if device.ip and device.id in ids
    }
    if not found:
        raise CannotTellError(_NO_ADDRESSES)
    return found


def _devices(node: Node) -> Sequence[Device]:
    return node.server.devices if node.server else ()


def _same(one: str, other: str | None) -> bool:
    try:
        return ipaddress.ip_address(one.partition("%")[0]) == ipaddress.ip_address(other or "")
    except ValueError:
        return one == other
