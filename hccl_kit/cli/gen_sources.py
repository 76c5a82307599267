"""Where hccl-gen has its facts from: the cards that are asked for, the servers, the address of every card."""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from hccl_kit.base import hostlist
from hccl_kit.base.errors import KitError
from hccl_kit.base.network import LOOPBACK, is_loopback
from hccl_kit.base.wording import listed
from hccl_kit.check.gate import judge_ids
from hccl_kit.discovery import hccn_conf, hccn_tool, inventory, may_be_file, npu_smi, simulate
from hccl_kit.discovery.server_id import Choice, choose, interfaces
from hccl_kit.discovery.visible import physical_ids
from hccl_kit.table.device_range import DeviceRange
from hccl_kit.table.hosts import Card, Host
from hccl_kit.table.ip import parse_address
from hccl_kit.table.products import Product

EVERY = "all"
"""`--hosts all`: every server of the inventory."""

_SHOWN = 16

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Found:
    """The servers of the job with their cards, and the lines that tell where all that is from."""

    hosts: tuple[Host, ...]
    said: tuple[str, ...]


def this_server(options: argparse.Namespace, product: Product, say: Say) -> Found:
    """The server that --server_ip names, or this one; `say` is told what a person should know though it is no error."""
    ids, said = _cards(options, say)
    server = _server(options, say)
    judge_ids(options, ids, [server.address], product)
    host, source = _host(options, ids, server.address, product, say)
    return Found((host,), (*said, f"server id: {server.address}, from {server.reason}", f"addresses: {source}"))


def named_servers(options: argparse.Namespace, product: Product, say: Say) -> Found:
    """The servers that --hosts names, from the inventory or simulated; all have the same cards."""
    ids, said = _cards(options, say)
    names = _names(options)
    if names is not None:
        judge_ids(options, ids, names, product)
    if options.simulate:
        assert names is not None
        ips = simulate.cluster_addresses(len(names), ids, planes=product.planes)
        cards = [{i: Card(ip) for i, ip in one.items()} for one in ips]
        hosts = tuple(Host(name, one) for name, one in zip(names, cards, strict=True))
        source = f"simulated, {simulate.BENCHMARKS}; no card was asked"
    else:
        path = Path(options.inventory)
        hosts, source = inventory.hosts(path, names, ids), f"inventory {path}"
    return Found(hosts, (*said, f"servers: {len(hosts)}, from --hosts", f"addresses: {source}"))


def _cards(options: argparse.Namespace, say: Say) -> tuple[tuple[int, ...], list[str]]:
    """The physical ids, in the order of the ranks, and what to print of their mapping from logical ids."""
    with _naming("--device_num"):
        wanted = DeviceRange.parse(options.device_num).ids
    if options.visible_devices is None:
        if visible := os.environ.get("ASCEND_RT_VISIBLE_DEVICES"):
            say(
                f"note: --device_num is read as physical ids; ASCEND_RT_VISIBLE_DEVICES={visible} is not looked at"
                " (--visible_devices IDS counts within them)"
            )
        return wanted, []
    with _naming("--visible_devices"):
        mapping = physical_ids(wanted, options.visible_devices)
    said = [f"logical {logical} -> physical {physical}" for logical, physical in mapping.items()]
    return tuple(mapping.values()), said


@contextmanager
def _naming(option: str) -> Iterator[None]:
    """What is wrong with the value of an option is said with its name in front."""
    try:
        yield
    except KitError as error:
        error.message = f"{option}: {error.message}"
        raise


def _names(options: argparse.Namespace) -> tuple[str, ...] | None:
    """The servers of --hosts; None for every server of the inventory."""
    if options.hosts == EVERY and not options.simulate:
        return None
    with _naming("--hosts"):
        names = hostlist.expand(options.hosts)
        for name in names:
            _refuse_misspelled_address(name)
        doubles = [name for name, count in Counter(names).items() if count > 1]
        if doubles:
            raise KitError(f"{listed(doubles, _SHOWN)} listed twice; each server may appear once")
    return names


def _refuse_misspelled_address(name: str) -> None:
    """Raises KitError if `name` is numbers and dots but not an IPv4 address; any other name may be a host."""
    if re.fullmatch(r"[0-9]+(\.[0-9]+)+\.?", name) and parse_address(name) is None:
        raise KitError(f"{name!r} is not a valid IPv4 address; accepted: four numbers from 0 to 255, or a host name")


def _server(options: argparse.Namespace, say: Say) -> Choice:
    if options.server_ip is not None:
        with _naming("--server_ip"):
            _refuse_misspelled_address(options.server_ip)
        return Choice(options.server_ip, "--server_ip")
    if options.simulate:
        return Choice(LOOPBACK, "--simulate: the job runs on this host only")
    choice = choose(interfaces(), os.environ)
    if is_loopback(choice.address):
        say(
            f"warning: server id {choice.address} is loopback ({choice.reason}): the table serves this host alone;"
            " --server_ip ADDRESS names another"
        )
    return choice


def _host(options: argparse.Namespace, ids: Sequence[int], server: str, product: Product, say: Say) -> tuple[Host, str]:
    """One server and a line that says where its addresses came from. An explicit option beats the tool."""
    if options.simulate:
        said = f"simulated, {simulate.DOCUMENTATION}; no card was asked, no network has them"
        return Host(server, _plain(simulate.addresses(ids, planes=product.planes))), said
    if options.inventory is not None:
        path = Path(options.inventory)
        return inventory.hosts(path, [server], ids)[0], f"server {server} of inventory {path}"
    if options.hccn_conf is not None:
        return Host(server, _plain(hccn_conf.addresses(Path(options.hccn_conf), ids))), options.hccn_conf
    has_pods = product.has_super_pods and options.table_version != "1.0"
    if tool := hccn_tool.find():
        host, source = Host(server, hccn_tool.cards(tool, ids, vnic=has_pods)), tool
    elif may_be_file(hccn_conf.DEFAULT):
        host, source = Host(server, _plain(hccn_conf.addresses(hccn_conf.DEFAULT, ids))), str(hccn_conf.DEFAULT)
    else:
        raise _no_source()
    if on_vnic := [str(i) for i, card in host.cards.items() if card.on_vnic]:
        say(
            f"note: card {', '.join(on_vnic)} of {server} has no RoCE address; its vNIC address, which is taken,"
            " serves inside one super pod"
        )
    return (_in_super_pod(host) if has_pods else host), source


def _plain(addresses: Mapping[int, str]) -> dict[int, Card]:
    return {device_id: Card(ip) for device_id, ip in addresses.items()}


def _in_super_pod(host: Host) -> Host:
    """The host with its place in the super pod, as npu-smi on this machine tells it; without npu-smi, as it is."""
    tool = npu_smi.find()
    if tool is None:
        return host
    places = npu_smi.places(tool, list(host.cards))
    (pod,) = {place.super_pod for place in places.values()}
    cards = {i: card._replace(sdid=places[i].sdid) for i, card in host.cards.items()}
    return replace(host, cards=cards, super_pod=str(pod))


def _no_source() -> KitError:
    tried = ", ".join(("hccn_tool on PATH", *hccn_tool.USUAL_PLACES, str(hccn_conf.DEFAULT)))
    return KitError(
        f"this machine has nothing that knows the addresses of its cards; looked for: {tried}",
        hint=(
            "on a machine with cards, install the driver; in a container, mount hccn_tool and /etc/hccn.conf\n"
            "--hccn-conf FILE    read a copy of the driver's file\n"
            "--inventory FILE    read a YAML file, server to device id to address\n"
            "--simulate          take documentation addresses, to try things out without hardware"
        ),
    )
