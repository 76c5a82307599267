"""HK3: the addresses that a device falls back to on Atlas A3 (R14).

HCCL reads them only if AI CPUs run the operators and retry between super pods is on, which a table does not show: so
nothing here is an error. If both hold, HCCL refuses what is a warning here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hccl_kit.base.message import Message
from hccl_kit.check.rule import Rule, first_defined, repeated, same_for
from hccl_kit.table.bounds import port_number
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, Related
from hccl_kit.table.ip import Address, parse_address, split_addresses
from hccl_kit.table.model import NOTHING, Device, RankTable
from hccl_kit.table.products import Product

_KEY = "backup_device_ip"
_PEER = Message(
    "check.peer.fix",
    'write the "device_ip" of the other die of its NPU: devices 0 and 1 back each other, 2 and 3, and so on',
)


def backup_invalid(table: RankTable, product: Product) -> Iterator[Finding]:
    """A `backup_device_ip` is not a valid IP address.

    What:           `backup_device_ip` holds something that is not an IPv4 or IPv6 address. It may be empty.
    Why it matters: where retry between super pods is on, HCCL refuses the table.
    Example:        "backup_device_ip": "-"
    Fix:            write the address of the other die of the NPU, or remove the key.
    HCCL:           EI0014, IP "a valid IP address", but only if it reads the key (R14).
    """
    for device in _doubtful(table, product):
        wrong = [text for text in _backups(device) if parse_address(text) is None]
        if wrong:
            message = Message(
                "HK314.address",
                '"{key}" holds {address}; an IPv4 or IPv6 address without spaces around it is expected',
                key=_KEY,
                address=shown(wrong[0]),
            )
            yield Finding(message, _PEER, pointer=(*device.at, _KEY))


def backup_twice(table: RankTable, product: Product) -> Iterator[Finding]:
    """Two devices have the same backup address.

    What:           an address in `backup_device_ip` that an earlier device of the table has there too.
    Why it matters: every device falls back to its own peer, the other die.
    Example:        the block of one device copied for the next.
    Fix:            write the address of the other die of the NPU.
    HCCL:           EI0014, `"IP" is repeate`, but only if it reads the key (R14).
    """
    addresses = ((text, (*device.at, _KEY)) for device in _doubtful(table, product) for text in _backups(device))
    for text, at, earlier in repeated(addresses):
        if parse_address(text):
            message = Message("HK315.taken", "backup address {address} is already taken", address=shown(text))
            yield Finding(message, _PEER, pointer=at, related=first_defined(earlier))


def backup_not_peer(table: RankTable, product: Product) -> Iterator[Finding]:
    """A backup address is not the address of the other die.

    What:           `backup_device_ip` is the `device_ip` of the device itself, or of another than its peer: the other
                    die of the same NPU, which is device 1 for 0, 0 for 1, 3 for 2.
    Why it matters: only to its peer a device has the link (SIO) by which it can use the port of another.
    Example:        device 1 falls back to device 2.
    Fix:            write the `device_ip` of the peer.
    HCCL:           no code; the log says "is not sio link" or "Please do not use self ip as backup ip!" (R14). It looks
                    the owner up by its place on its server, but among all devices from the first server on; so it may
                    refuse good addresses where the servers do not all list the same devices in the same order.
    """
    for device, text, owner in _with_owners(table, product, _doubtful(table, product)):
        if owner and not _are_peers(device, owner):
            itself = Message("HK316.itself", "the device itself")
            here = Message("HK316.device", "device {device}", device=owner.id)
            elsewhere = Message("HK316.elsewhere", "device {device} of another server", device=owner.id)
            message = Message(
                "HK316.not-peer",
                "backup address {address} is that of {owner}, not of device {peer}",
                address=shown(text),
                owner=itself if owner is device else here if owner.at[:-1] == device.at[:-1] else elsewhere,
                peer=device.id ^ 1,
            )
            yield Finding(
                message,
                _PEER,
                pointer=(*device.at, _KEY),
                related=(Related((*owner.at, "device_ip"), Message("HK316.owner", "its owner")),),
            )


def backup_port_taken(table: RankTable, product: Product) -> Iterator[Finding]:
    """A backup port is the port of the other die.

    What:           `backup_device_port` is the `device_port` of the device that has the backup address.
    Why it matters: after a fallback both devices would listen on one port of one address.
    Example:        "backup_device_port": "16666" on device 0, and "device_port": "16666" on device 1.
    Fix:            write another free port.
    HCCL:           no code; the log says "should not be the same with device port" (R14).
    """
    backed = _backed(table, product)
    fallen_back = {_port(device, "backup_device_port") for device in backed} - {None}
    if fallen_back.isdisjoint([_port(device, "device_port") for device in (table.every if fallen_back else ())]):
        return
    for device, _, owner in _with_owners(table, product, backed):
        port = _port(device, "backup_device_port")
        if port is not None and owner and _are_peers(device, owner) and port == _port(owner, "device_port"):
            at, taken = (*device.at, "backup_device_port"), (*owner.at, "device_port")
            message = Message(
                "HK317.taken",
                "backup port {port} of device {device} is the port of device {owner}",
                port=port,
                device=device.id,
                owner=owner.id,
            )
            hint = Message("HK317.fix", "write another free port")
            yield Finding(message, hint, pointer=at, related=(Related(taken, Message("HK317.owner", "taken here")),))


def backup_unknown(table: RankTable, product: Product) -> Iterator[Finding]:
    """A backup address is that of no device in the table.

    What:           no device of the table has the `backup_device_ip` for its `device_ip`. Reported once for a table.
    Why it matters: the table does not show whether it is the address of the other die.
    Example:        a job on the even devices only, whose peers are not in the table.
    Fix:            not needed if `hccn_tool -i N -ip -g` prints the address for the peer of the device.
    HCCL:           accepts it; the log says "it might be an invalid backup ip" (R14).
    """
    owned = _with_owners(table, product, _doubtful(table, product))
    unknown = [(device, text) for device, text, owner in owned if owner is None]
    if unknown:
        device, text = unknown[0]
        others = same_for(len(unknown) - 1)
        message = Message(
            "HK318.unknown",
            "no device of the table has backup address {address}{others}",
            address=shown(text),
            others=others,
        )
        hint = Message(
            "HK318.fix", "compare it with what `hccn_tool -i {peer} -ip -g` prints on that server", peer=device.id ^ 1
        )
        yield Finding(message, hint, pointer=(*device.at, _KEY))


def _backed(table: RankTable, product: Product) -> list[Device]:
    """The devices that HCCL of the product may read a backup address of."""
    if not product.has_super_pods:
        return []
    return [device for device in table.every if device.extra is not NOTHING and _KEY in device.extra]


def _doubtful(table: RankTable, product: Product) -> list[Device]:
    """As `_backed`; empty if every backup address equals the address of the peer, as usual."""
    backed = _backed(table, product)
    for server in table.servers if backed else ():
        peers = {device.id ^ 1: device.ip for device in server.devices}
        if [device for device in server.devices if device.extra.get(_KEY) not in (None, peers.get(device.id))]:
            return backed
    return [] if table.has_plain_addresses else backed


def _backups(device: Device) -> list[str]:
    return split_addresses(device.extra[_KEY])


def _with_owners(
    table: RankTable, product: Product, backed: list[Device]
) -> Iterator[tuple[Device, str, Device | None]]:
    """These devices, their backup addresses and who has them as `device_ip`, without those that other rules report.

    These are invalid (HK314) or duplicate (HK315) addresses, and devices whose ids or addresses are wrong.
    """
    owners: dict[Address | None, Device] = {}
    for device in table.every if backed else ():
        for text in split_addresses(device.ip):
            address = parse_address(text)
            if address is None or owners.setdefault(address, device) is not device:
                return  # HK301 to HK303
    times = Counter(text for device in backed for text in _backups(device))
    odd = {
        server.at
        for server in (table.servers if backed else ())
        if len(ids := {device.id for device in server.devices}) < len(server.devices)
        or max(ids, default=0) > product.max_device_id
    }
    for device in backed:
        for text in _backups(device) if device.at[:2] not in odd else ():
            if times[text] == 1 and (address := parse_address(text)):
                yield device, text, owners.get(address)


def _are_peers(device: Device, owner: Device) -> bool:
    """Whether these are the dies of one NPU. Devices of a server differ in the last index of `at` only."""
    return owner.id == device.id ^ 1 and owner.at[:-1] == device.at[:-1]


def _port(device: Device, key: str) -> int | None:
    return port_number(device.extra.get(key, ""))


RULES = (
    Rule("HK314", "invalid-backup-ip", backup_invalid, severity="warning"),
    Rule("HK315", "duplicate-backup-ip", backup_twice, severity="warning"),
    Rule("HK316", "backup-ip-not-of-peer", backup_not_peer, severity="warning"),
    Rule("HK317", "backup-port-in-use", backup_port_taken, severity="warning"),
    Rule("HK318", "unknown-backup-ip", backup_unknown, severity="note"),
)
