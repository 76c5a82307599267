"""A rank table from the known facts about servers and their cards."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count

from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import indented, row, shortened
from hccl_kit.table.bounds import MAX_SERVER_ID, READY
from hccl_kit.table.hosts import Card, Host
from hccl_kit.table.ip import parse_address
from hccl_kit.table.model import Device, PodServer, RankTable, Server, SuperPod
from hccl_kit.table.products import Product

GENERATED = ("1.0", "1.2", "2.0")
"""The versions that can be generated."""
_SHOWN = 16
_INTERFACE = re.compile(r"[A-Za-z0-9_.:@-]{1,15}")


def generate(server_id: str, devices: Sequence[tuple[int, str | None]]) -> RankTable:
    """A version 1.0 table of one server: `devices` are (physical id, address) pairs, ranks 0, 1, ... in their order.

    Raises KitError if `server_id`, which becomes part of a file name, is not 1 to 64 bytes of text without white space
    or path separators, if the part of an IPv6 address after % cannot be the name of an interface, or if a physical id
    is negative or duplicated.
    """
    ids = [i for i, _ in devices]
    wrong = [i for i in ids if type(i) is not int or i < 0] or [i for i, times in Counter(ids).items() if times > 1]
    if wrong:
        raise KitError(
            "table.device-id",
            "{device!r} is not the physical id of one card; accepted: whole numbers from 0, each once",
            device=wrong[0],
        )
    return generate_cluster([Host(server_id, {i: Card(ip) for i, ip in devices})], version="1.0")


def generate_cluster(hosts: Sequence[Host], *, version: str) -> RankTable:
    """A table of `version` ("1.0", "1.2", "2.0") of all `hosts`, with ranks in the order of hosts and their cards.

    Raises KitError if the version is another one, or a server id or an address is not valid for `generate`. The cards
    must have what the version needs, which `choose_version` checks.
    """
    if version not in GENERATED:
        raise KitError(
            "table.generate-version",
            "{version!r} is not a version to generate; accepted: {versions}",
            version=version,
            versions=row(GENERATED),
        )
    for host in hosts:
        _check_server_id(host.id)
        for card in host.cards.values():
            for address in [
                card.ip or "",
                *(network_address.text for level in card.levels for network_address in level.addresses),
            ]:
                _check_interface(address)
    if version == "2.0":
        return _by_networks(hosts)
    has_pods = version == "1.2"
    ranks = count()
    servers = tuple(_server(host, ranks, has_pods=has_pods) for host in hosts)
    return RankTable(
        version=version,
        status=READY,
        servers=servers,
        super_pods=tuple(_super_pods(hosts)) if has_pods else None,
        declared_servers=len(servers),
    )


def choose_version(hosts: Sequence[Host], product: Product, asked: str | None = None) -> str:
    """The table version for `product` and `hosts`; `asked` overrides the choice between 1.0 and 1.2.

    1.2 needs the place of every card in a super pod; if none is known, 1.0 is chosen. Raises KitError if the hosts
    lack what the version needs.
    """
    if "2.0" in product.table_versions:
        _require_levels(hosts)
        return "2.0"
    knows_pods = any(host.super_pod or any(card.sdid is not None for card in host.cards.values()) for host in hosts)
    version = asked or ("1.2" if product.has_super_pods and knows_pods else "1.0")
    if version == "1.2":
        _require_pods(hosts)
    _reject_vnic(hosts, version)
    return version


def file_name(table: RankTable) -> str:
    """`hccl_4p_4567_10.0.0.1.json`: the number of cards, their ids, the server; `hccl_2s_16p.json` for two servers.

    Characters that not all file systems allow become `-`, and so does the dot of an inner `.json`: for HCCL, a path
    ends at its first `.json` (R2).
    """
    if len(table.servers) > 1:
        return f"hccl_{len(table.servers)}s_{table.world_size}p.json"
    server = table.servers[0]
    ids = "".join(str(device.id) for device in server.devices)
    # A network name of version 2.0 may be longer than a file name may be.
    whole = server.id.encode()[:MAX_SERVER_ID].decode(errors="ignore")
    safe = re.sub(r"[^\w.-]", "-", whole).replace(".json", "-json")
    return f"hccl_{table.world_size}p_{ids}_{safe}.json"


def _server(host: Host, ranks: Iterator[int], *, has_pods: bool) -> Server:
    devices = tuple(
        Device(i, card.ip, next(ranks), sdid=card.sdid if has_pods else None) for i, card in host.cards.items()
    )
    known = {"host_ip": host.host_ip} if host.host_ip else {}
    # MindSpore's tools write it into version 1.0; nothing reads it.
    return Server(host.id, devices, known if has_pods else {**known, "host_nic_ip": "reserve"})


def _by_networks(hosts: Sequence[Host]) -> RankTable:
    """A table of version 2.0, whose servers are the networks of the innermost layer."""
    cards = [(i, card) for host in hosts for i, card in host.cards.items()]
    networks: dict[str, list[Device]] = {}
    for rank, (i, card) in enumerate(cards):
        innermost = min(card.levels, key=lambda level: level.layer)
        device = Device(i, None, rank, local_id=card.local_id, levels=card.levels)
        networks.setdefault(innermost.instance, []).append(device)
    servers = tuple(Server(name, tuple(devices)) for name, devices in networks.items())
    return RankTable("2.0", READY, servers, declared_ranks=len(cards))


def _super_pods(hosts: Sequence[Host]) -> Iterator[SuperPod]:
    pods: dict[str, list[PodServer]] = {}
    for host in hosts:
        pods.setdefault(host.super_pod or "", []).append(PodServer(host.id))
    for name, servers in pods.items():
        yield SuperPod(name, tuple(servers))


def _require_pods(hosts: Sequence[Host]) -> None:
    lacking = [f"{host.id}: its super pod" for host in hosts if not host.super_pod]
    lacking += [
        f"{host.id}, card {i}: its SDID" for host in hosts for i, card in host.cards.items() if card.sdid is None
    ]
    if lacking:
        raise KitError(
            "table.no-super-pods",
            "version 1.2 needs the super pod of every server and the SDID of every card; unknown:{lacking}",
            fix="npu-smi prints them on the server itself; in an inventory they are super_pod and sdid\n"
            "--table-version 1.0 writes a table of plain servers, which connect over RoCE",
            lacking=_lines(lacking),
        )


def _require_levels(hosts: Sequence[Host]) -> None:
    lacking = [
        f"{host.id}, card {i}"
        for host in hosts
        for i, card in host.cards.items()
        if card.local_id is None or not card.levels
    ]
    if lacking:
        raise KitError(
            "table.no-levels",
            "version 2.0 needs every card's local id and its addresses in every network; unknown:{lacking}",
            fix="in an inventory they are local_id and level_list of every card",
            lacking=_lines(lacking),
        )


def _reject_vnic(hosts: Sequence[Host], version: str) -> None:
    """Raises KitError for vNIC addresses, which only one super pod can reach, if the hosts are not all in one."""
    if len(hosts) == 1 or (version == "1.2" and len({host.super_pod for host in hosts}) == 1):
        return
    cards = [f"{host.id}, card {i}" for host in hosts for i, card in host.cards.items() if card.on_vnic]
    if cards:
        raise KitError(
            "table.no-roce",
            "servers outside one super pod connect over RoCE, and these cards have no RoCE address:{cards}",
            fix="set one with: hccn_tool -i N -ip -s address A.B.C.D netmask M.M.M.M",
            cards=_lines(cards),
        )


def _lines(lines: Sequence[str]) -> str:
    return indented(shortened(lines, _SHOWN))


def _check_server_id(text: str) -> None:
    if not text:
        raise KitError(
            "table.server-id-empty",
            "the server id is empty; accepted: 1 to 64 bytes, by convention the server's address",
        )
    for character in text:
        if character.isspace() or not character.isprintable() or character in "/\\":
            raise KitError(
                "table.server-id-character",
                "the server id {server!r} contains {character!r}, which is not allowed in a file name",
                server=text,
                character=character,
            )
    if len(text.encode()) > MAX_SERVER_ID:
        raise KitError(
            "table.server-id-length",
            "the server id {server!r} is longer than {most} bytes, HCCL's limit",
            server=text,
            most=MAX_SERVER_ID,
        )
    if parse_address(text):
        _check_interface(text)


def _check_interface(address: str) -> None:
    """Raises KitError if the part of an address after % cannot be the name of an interface; HCCL accepts any text."""
    _, percent, name = address.partition("%")
    if percent and not _INTERFACE.fullmatch(name):
        raise KitError(
            "table.interface",
            "the address {address!r} ends in {name!r}, which cannot be the name of an interface",
            fix="accepted: 1 to 15 letters, digits, and _ . : @ -",
            address=address,
            name=name,
        )
