"""HK2: which devices of which servers take part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hccl_kit.base.host_name import is_host
from hccl_kit.base.message import Message
from hccl_kit.base.network import is_loopback
from hccl_kit.check.rule import DUPLICATE, SERVER_KINDS, Rule, first_defined, repeated
from hccl_kit.table.bounds import MAX_SERVER_ID, bytes_of
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding
from hccl_kit.table.model import RankTable, trimmed
from hccl_kit.table.products import Product


def device_twice(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A server lists a device twice.

    What:           two devices of one server have the same `device_id`.
    Why it matters: two processes would open one NPU.
    Example:        device_id "0" for rank 0 and for rank 1.
    Fix:            write the physical id of each NPU.
    HCCL:           EI0014, Device Id of server Id X "is unique" (R22).
    """
    for server in table.servers:
        if len({device.id for device in server.devices}) == len(server.devices):
            continue
        for number, device, earlier in repeated((device.id, device) for device in server.devices):
            message = Message(
                "HK203.twice", "server {server} lists device {device} twice", server=shown(server.id), device=number
            )
            related = first_defined((*earlier.at, "device_id"))
            yield Finding(message, pointer=(*device.at, "device_id"), related=related)


def device_beyond(table: RankTable, product: Product) -> Iterator[Finding]:
    """A device id is higher than the product allows.

    What:           a `device_id` above the highest physical id of a server.
    Why it matters: there is no such NPU.
    Example:        device_id "8" on 910, whose servers hold 0 to 7.
    Fix:            write physical ids, or name the product that the table is for.
    HCCL:           no code; the log says "device_id[8] more than 7 is invalid" (R11).
    """
    highest = product.max_device_id
    for device in table.every:
        if device.id > highest:
            message = Message(
                "HK204.beyond",
                "device {device} does not exist: ids go from 0 to {most} on {product}",
                device=device.id,
                most=highest,
                product=product.title,
            )
            yield Finding(message, pointer=(*device.at, "device_id"))


def server_twice(table: RankTable, _product: Product) -> Iterator[Finding]:
    """Two servers have the same id.

    What:           a `server_id` that an earlier server of the table already has.
    Why it matters: HCCL distinguishes servers by this id only.
    Example:        two tables made on two hosts, both with server_id "127.0.0.1".
    Fix:            give every server its own id, by convention its address.
    HCCL:           EI0014, with the misleading variable "IP" (R10).
    """
    if len({server.id for server in table.servers}) == len(table.servers):
        return
    for name, at, earlier in repeated((server.id, (*server.at, "server_id")) for server in table.servers):
        message = Message("HK205.taken", "server id {server} is already taken by another server", server=shown(name))
        hint = Message("HK205.fix", "give every server its own id, or put the devices of one host into one entry")
        yield Finding(message, hint, pointer=at, related=first_defined(earlier))


def server_id_length(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A server id is empty or too long.

    What:           a `server_id` that does not have 1 to 64 bytes.
    Why it matters: HCCL refuses the table.
    Example:        "server_id": ""
    Fix:            write the address or the name of the host.
    HCCL:           no code; the log only (R10).
    """
    for server in table.servers:
        length = bytes_of(server.id)
        if not 1 <= length <= MAX_SERVER_ID:
            message = Message("HK206.empty", '"server_id" is empty; 1 to {most} are accepted', most=MAX_SERVER_ID)
            if length:
                message = Message(
                    "HK206.length",
                    '"server_id" has {length} bytes; 1 to {most} are accepted',
                    length=length,
                    most=MAX_SERVER_ID,
                )
            hint = Message("HK206.fix", "write the address or the name of the host")
            yield Finding(message, hint, pointer=(*server.at, "server_id"))


def empty_list(table: RankTable, _product: Product) -> Iterator[Finding]:
    """The table has no servers, or a server has no devices.

    What:           `server_list` or a `device` list is empty.
    Why it matters: a job needs at least one rank, and a server without ranks takes no part in it.
    Example:        "device": []
    Fix:            add the devices or remove the server.
    HCCL:           no code; the log says "size is zero" (R9).
    """
    if not table.servers:
        message = Message("HK208.no-server", "the table has no server; at least one is expected")
        yield Finding(message, pointer=("server_list",))
    for server in table.servers:
        if not server.devices:
            message = Message(
                "HK208.no-device", "server {server} has no device; at least one is expected", server=shown(server.id)
            )
            hint = Message("HK208.fix", "add its devices, or remove the server")
            yield Finding(message, hint, pointer=(*server.at, "device"))


def loopback_among_servers(table: RankTable, _product: Product) -> Iterator[Finding]:
    """One of several servers has a loopback address as its id.

    What:           a `server_id` such as 127.0.0.1 in a table of more than one server.
    Why it matters: the address means a different host on every host, so each one takes the entry for its own.
    Example:        a table generated without the address of the host.
    Fix:            write the address by which the other servers reach this one.
    HCCL:           accepts it; launchers do not.
    """
    names = Counter([server.id for server in table.servers])
    for server in table.servers if len(table.servers) > 1 else ():
        if names[server.id] == 1 and is_loopback(server.id):
            message = Message(
                "HK209.loopback",
                "server id {server} is a loopback address, which no other server can reach",
                server=shown(server.id),
            )
            hint = Message("HK209.fix", "write the address of the host in the cluster")
            yield Finding(message, hint, pointer=(*server.at, "server_id"))


def loopback_alone(table: RankTable, _product: Product) -> Iterator[Finding]:
    """The only server has a loopback address as its id.

    What:           `server_id` is a loopback address in a table of one server.
    Why it matters: the job runs, but this table cannot be merged with that of another host.
    Example:        "server_id": "127.0.0.1", as in the MindSpore tutorial.
    Fix:            not needed on one server.
    HCCL:           accepts it.
    """
    if len(table.servers) == 1 and is_loopback(table.servers[0].id):
        name = shown(table.servers[0].id)
        message = Message(
            "HK210.loopback",
            "server id {server} is a loopback address: good for one server, not for merging with others",
            server=name,
        )
        yield Finding(message, pointer=(*table.servers[0].at, "server_id"))


def server_without_address(table: RankTable, _product: Product) -> Iterator[Finding]:
    """One of several servers has no address or host name.

    What:           a `server_id` that is neither an IP address nor a host name, on a server without `host_ip`.
    Why it matters: a launch script, mpirun and `hccl-kit preflight --all` reach the other servers by that text. ssh
                    would take "-x" for an option, and they refuse it.
    Example:        "server_id": "-oProxyCommand=id" or "rack 1, left"
    Fix:            write the host's address as `server_id`, or add it as `host_ip`.
    HCCL:           accepts it.
    """
    for server in table.servers if len(table.servers) > 1 else ():
        # HK410 reports spaces around an id if HCCL does not accept them.
        if server.id and not is_host(trimmed(server.id)) and not isinstance(server.extra.get("host_ip"), str):
            message = Message(
                "HK237.server",
                "server id {server} is not an address or a host name, so ssh cannot reach the server",
                server=shown(server.id),
            )
            hint = Message("HK237.fix", 'write the address of the host, or add it as "host_ip"')
            yield Finding(message, hint, pointer=(*server.at, "server_id"))


RULES = (
    Rule(
        "HK203",
        "duplicate-device",
        device_twice,
        hccl_error="EI0014",
        variables=("Device Id of server Id X",),
        kinds=SERVER_KINDS,
    ),
    Rule("HK204", "device-id-too-high", device_beyond, kinds=SERVER_KINDS),
    Rule("HK205", "duplicate-server", server_twice, hccl_error="EI0014", variables=DUPLICATE),
    Rule("HK206", "server-id-length", server_id_length, kinds=SERVER_KINDS),
    Rule("HK208", "no-devices", empty_list, kinds=("1.0", "1.1", "1.2")),
    Rule("HK209", "loopback-server-id", loopback_among_servers, kinds=SERVER_KINDS),
    Rule("HK210", "loopback-only-server", loopback_alone, severity="note", kinds=SERVER_KINDS),
    Rule("HK237", "server-without-address", server_without_address, severity="warning", kinds=SERVER_KINDS),
)
