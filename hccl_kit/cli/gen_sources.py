"""Where hccl-gen gets its facts from: the servers, and the addresses of their cards."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.network import LOOPBACK, is_loopback
from hccl_kit.cli.gen_devices import check_devices
from hccl_kit.cli.gen_request import EVERY, GenRequest
from hccl_kit.discovery import hccn_conf, hccn_tool, inventory, may_be_file, npu_smi, simulate
from hccl_kit.discovery.server_id import Choice, choose, interfaces
from hccl_kit.table.hosts import Card, Host

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Found:
    """The servers of the job with their cards, and lines about where the facts come from."""

    hosts: tuple[Host, ...]
    notes: tuple[str, ...]


def find_servers(request: GenRequest, report: Report) -> Found:
    """The servers of --hosts, or this one; `report` gets warnings. Raises KitError if a card has no address."""
    if request.hosts is not None:
        return _named_servers(request)
    return _this_server(request, report)


def _named_servers(request: GenRequest) -> Found:
    """The servers of --hosts, from the inventory or simulated; all have the same cards."""
    names = None if request.hosts == EVERY and not request.simulate else request.hosts
    ids, product = request.devices.ids.ids, request.product
    if names is not None:
        check_devices(request.devices, names, product)
    if request.inventory is not None:
        hosts, source = inventory.hosts(request.inventory, names, ids), f"inventory {request.inventory}"
    else:
        assert names is not None
        ips = simulate.cluster_addresses(len(names), ids, planes=product.planes)
        hosts = tuple(Host(name, _cards(one)) for name, one in zip(names, ips, strict=True))
        source = f"simulated, {simulate.BENCHMARKS}; no card was queried"
    servers = f"servers: {len(hosts)}, from --hosts"
    return Found(hosts, (*request.devices.mapping, servers, f"addresses: {source}"))


def _this_server(request: GenRequest, report: Report) -> Found:
    server = _server_id(request, report)
    check_devices(request.devices, [server.address], request.product)
    host, source = _host(request, server.address, report)
    notes = (f"server id: {server.address}, from {server.reason}", f"addresses: {source}")
    return Found((host,), (*request.devices.mapping, *notes))


def _server_id(request: GenRequest, report: Report) -> Choice:
    if request.server is not None:
        return Choice(request.server, "--server_ip")
    if request.simulate:
        return Choice(LOOPBACK, "--simulate: the job runs on this host only")
    choice = choose(interfaces(), os.environ)
    if is_loopback(choice.address):
        report(
            f"warning: server id {choice.address} is loopback ({choice.reason}): the table is valid on this host only;"
            " --server_ip ADDRESS sets another id"
        )
    return choice


def _host(request: GenRequest, server: str, report: Report) -> tuple[Host, str]:
    """One server, and where its addresses come from. An explicit option takes precedence over the tool."""
    ids = request.devices.ids.ids
    if request.simulate:
        source = f"simulated, {simulate.DOCUMENTATION}; no card was queried, no network has them"
        return Host(server, _cards(simulate.addresses(ids, planes=request.product.planes))), source
    if request.inventory is not None:
        source = f"server {server} of inventory {request.inventory}"
        return inventory.hosts(request.inventory, [server], ids)[0], source
    if request.hccn_conf is not None:
        return Host(server, _cards(hccn_conf.addresses(request.hccn_conf, ids))), str(request.hccn_conf)
    has_pods = request.product.has_super_pods and request.version != "1.0"
    if tool := hccn_tool.find():
        host, source = Host(server, hccn_tool.cards(tool, ids, vnic=has_pods)), tool
    elif may_be_file(hccn_conf.DEFAULT):
        host, source = Host(server, _cards(hccn_conf.addresses(hccn_conf.DEFAULT, ids))), str(hccn_conf.DEFAULT)
    else:
        raise _no_source()
    if on_vnic := [str(i) for i, card in host.cards.items() if card.on_vnic]:
        report(
            f"note: card {', '.join(on_vnic)} of {server} has no RoCE address; its vNIC address is used, which is"
            " reachable inside one super pod only"
        )
    return (_in_super_pod(host) if has_pods else host), source


def _cards(addresses: Mapping[int, str]) -> dict[int, Card]:
    return {device_id: Card(ip) for device_id, ip in addresses.items()}


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
    tried = ", ".join(("hccn_tool on PATH", *hccn_tool.USUAL_PLACES, str(hccn_conf.DEFAULT)))
    return KitError(
        Message(
            "cli.gen-sources.no-source-card", "no source for card addresses found; looked for: {tried}", tried=tried
        ),
        hint=(
            Message(
                "cli.gen-sources.no-source-card.fix",
                "on a machine with cards, install the driver; in a container, mount hccn_tool and "
                "/etc/hccn.conf\n--hccn-conf FILE    read a copy of the driver's file\n--inventory FILE    "
                "read a YAML file, server to device id to address\n--simulate          use addresses that "
                "exist in no network, to try things out without hardware",
            )
        ),
    )
