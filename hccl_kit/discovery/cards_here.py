"""The cards of this machine with their addresses: from the driver's tool, else from its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import row
from hccl_kit.discovery import hccn_conf, hccn_tool, may_be_file, npu_smi
from hccl_kit.table.hosts import Card, Host


def cards_here(server: str, ids: Sequence[int], *, has_pods: bool, report: Callable[[str], None]) -> tuple[Host, str]:
    """This machine as `server`, with the cards `ids` (physical ids), and where their addresses come from.

    With `has_pods` also its place in the super pod, if npu-smi is here. `report` gets warnings. Raises KitError if a
    card has no address.
    """
    if tool := hccn_tool.find():
        host, source = Host(server, hccn_tool.cards(tool, ids, vnic=has_pods)), tool
    elif may_be_file(hccn_conf.DEFAULT):
        addresses = hccn_conf.addresses(hccn_conf.DEFAULT, ids)
        host, source = Host(server, {card: Card(ip) for card, ip in addresses.items()}), str(hccn_conf.DEFAULT)
    else:
        raise _no_source()
    if on_vnic := [str(i) for i, card in host.cards.items() if card.on_vnic]:
        report(
            Message(
                "discovery.vnic",
                "note: card {cards} of {server} has no RoCE address; its vNIC address is used, which is reachable"
                " inside one super pod only",
                cards=row(on_vnic),
                server=server,
            )
        )
    return (_in_super_pod(host) if has_pods else host), source


def _in_super_pod(host: Host) -> Host:
    """The host with its place in the super pod, if npu-smi is found on this machine."""
    tool = npu_smi.find()
    if tool is None:
        return host
    places = npu_smi.places(tool, list(host.cards))
    (pod,) = {place.super_pod for place in places.values()}
    cards = {i: card._replace(sdid=places[i].sdid) for i, card in host.cards.items()}
    return host._replace(cards=cards, super_pod=str(pod))


def _no_source() -> KitError:
    places = row((*hccn_tool.USUAL_PLACES, str(hccn_conf.DEFAULT)))
    return KitError(
        "discovery.no-source",
        "no source for card addresses found; looked for: hccn_tool on PATH, {places}",
        fix="on a machine with cards, install the driver; in a container, mount hccn_tool and /etc/hccn.conf\n"
        "hccl-gen --hccn-conf FILE    reads a copy of the driver's file\n"
        "hccl-gen --inventory FILE    reads a YAML file, server to device id to address\n"
        "--simulate                   takes addresses that exist in no network, to try things out without hardware",
        places=places,
    )
