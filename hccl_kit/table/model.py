"""The rank table as values: which device of which server has which rank.

NamedTuples instead of dataclasses: a table of 65,536 devices is created in a third of the time, and imports are faster.

No file format, no rule, no I/O: `formats` converts documents to these values and back, `check.rules` checks them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from hccl_kit.base.message import Message
from hccl_kit.table import ip
from hccl_kit.table.pointer import Pointer

T = TypeVar("T")

NOTHING: Mapping[str, Any] = MappingProxyType({})


def trimmed(server_id: str) -> str:
    """The id as HCCL trims it: without leading and trailing spaces, unless it consists of spaces only."""
    return server_id.strip(" ") or server_id


def _same(left: tuple[Any, ...], other: object) -> bool:
    return type(other) is type(left) and left[:-1] == other[:-1]


def _equal_anywhere(kind: type[T]) -> type[T]:
    """The class of tuples with a comparison that ignores the place in a document (`at`, the last field)."""
    methods: Mapping[str, Callable[..., object]] = {
        "__eq__": _same,
        "__ne__": lambda left, other: not _same(left, other),
        "__hash__": lambda left: hash(left[:-1]),
    }
    for name, method in methods.items():
        setattr(kind, name, method)
    return kind


class Address(NamedTuple):
    """One address of a rank in one network (version 2.0): `type` EID, IPV4 or IPV6; `ports` as "die/port" or "d2h"."""

    type: str
    text: str
    ports: tuple[str, ...]
    extra: Mapping[str, Any] = NOTHING


class Level(NamedTuple):
    """One network of a rank (version 2.0): `layer` 0 is the innermost, `instance` is the name of the network.

    `type` is None if the file has none (HCCL then assumes CLOS).
    """

    layer: int
    instance: str
    addresses: tuple[Address, ...]
    type: str | None = None
    extra: Mapping[str, Any] = NOTHING


@_equal_anywhere
class Device(NamedTuple):
    """One NPU with one rank.

    `id` is the physical device id; `ip` the address of its RoCE port as written in the table (None: the key is
    absent, empty string: present and empty; a comma-separated list is kept as text). `sdid` is the id in the super pod
    (`super_device_id`, version 1.2); `local_id` and `levels` belong to version 2.0. `at` is the place in the document
    and not part of the value. Unknown keys, and known ones without a field here, are in `extra`.
    """

    id: int
    ip: str | None
    rank: int
    sdid: int | None = None
    local_id: int | None = None
    levels: tuple[Level, ...] = ()
    extra: Mapping[str, Any] = NOTHING
    at: Pointer = ()

    def placed_levels(self) -> Iterator[tuple[Pointer, Level]]:
        """Its networks with their places in the document."""
        return (((*self.at, "level_list", index), level) for index, level in enumerate(self.levels))

    def placed_addresses(self) -> Iterator[tuple[Pointer, Address]]:
        """The addresses of all its networks with their places."""
        for at, level in self.placed_levels():
            yield from (((*at, "rank_addr_list", index), address) for index, address in enumerate(level.addresses))


@_equal_anywhere
class Server(NamedTuple):
    """One host; `id` is any text of 1 to 64 bytes, by convention its address. Unknown keys are in `extra`.

    Version 2.0 has no hosts: there a Server is a network of the innermost layer, with its name and ranks.
    """

    id: str
    devices: tuple[Device, ...]
    extra: Mapping[str, Any] = NOTHING
    at: Pointer = ()


class PodServer(NamedTuple):
    """An entry of a super pod's server list."""

    id: str
    extra: Mapping[str, Any] = NOTHING


@_equal_anywhere
class SuperPod(NamedTuple):
    """Servers whose devices share one memory network (Atlas A3, version 1.2)."""

    id: str
    servers: tuple[PodServer, ...]
    extra: Mapping[str, Any] = NOTHING
    at: Pointer = ()


class Instance(NamedTuple):
    """An entry of a group of template 2: devices of one server.

    In the cloud form it is a pod with a name (`pod`). In the lab form it is a rank (`rank`) with one device, although
    a file may list more.
    """

    server: str
    devices: tuple[Device, ...]
    pod: str | None = None
    rank: int | None = None
    extra: Mapping[str, Any] = NOTHING


class Group(NamedTuple):
    """A group of template 2, with the counts that the file declares; only the lab form declares servers."""

    name: str
    instances: tuple[Instance, ...]
    declared_instances: int
    declared_devices: int
    declared_servers: int | None = None
    extra: Mapping[str, Any] = NOTHING


class _Table(NamedTuple):
    version: str
    status: str
    servers: tuple[Server, ...]
    super_pods: tuple[SuperPod, ...] | None = None
    declared_servers: int | None = None
    declared_ranks: int | None = None
    extra: Mapping[str, Any] = NOTHING
    groups: tuple[Group, ...] = ()
    declared_groups: int | None = None


class RankTable(_Table):
    """A whole table.

    `version` is "" for template 2, which has no version key. `declared_servers` is `server_count`, and in version 2.0
    `declared_ranks` is `rank_count` (None: the key is absent). `super_pods` is None if the table has no
    `super_pod_list`. `groups` and `declared_groups` (`group_count`) belong to template 2 and hold the devices of
    `servers`; a table without groups is written as one group.
    """

    @cached_property
    def every(self) -> tuple[Device, ...]:
        """Every device, in the order of the document."""
        return tuple([device for server in self.servers for device in server.devices])

    @cached_property
    def every_level(self) -> tuple[Level, ...]:
        """Every network of every device (version 2.0)."""
        return tuple([level for device in self.every for level in device.levels])

    @cached_property
    def every_address(self) -> tuple[Address, ...]:
        """Every address of every network."""
        return tuple([address for level in self.every_level for address in level.addresses])

    @cached_property
    def addressed(self) -> tuple[Device, ...]:
        """Every device whose address HCCL reads: not those of a pod that is alone in its group (template 2)."""
        alone = {
            ("group_list", index)
            for index, group in enumerate(self.groups)
            if len(group.instances) == 1 and group.instances[0].pod is not None
        }
        return tuple([device for device in self.every if device.at[:2] not in alone]) if alone else self.every

    @cached_property
    def ips(self) -> Sequence[str | None]:
        """The `ip` of every device, in the order of the document."""
        return [device.ip for device in self.every]

    @cached_property
    def ranks(self) -> Sequence[int]:
        """The rank of every device, in the order of the document."""
        return [device.rank for device in self.every]

    @cached_property
    def parsed_ips(self) -> Sequence[tuple[Device, str, ip.Address | None]]:
        """Every address in the `ip` of the devices of `addressed`: the text, and the address if it is a usable one."""
        texts = ((device, text) for device in self.addressed for text in ip.split_addresses(device.ip))
        return [(device, text, ip.parse_usable(text)) for device, text in texts]

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys in the `extra` of any device."""
        return keys_of(self.every)

    @cached_property
    def has_plain_addresses(self) -> bool:
        """Whether no device has more than one address, and all addresses are IPv4 and different.

        This holds for nearly every table, and then the rules on addresses have nothing to check.
        """
        texts = [text for text in self.ips if text]
        different = set(texts)
        # An IPv4 address has one spelling, so different texts are different addresses.
        are_unique = len(different) == len(texts) and ip.UNSPECIFIED not in different
        return are_unique and all(map(ip.is_ipv4, texts))

    def devices(self) -> Iterator[tuple[Server, Device]]:
        """Every device with its server, in the order of the document."""
        for server in self.servers:
            for device in server.devices:
                yield server, device

    @property
    def form(self) -> Message:
        """The name of this kind of table in messages: "version 1.0", "template 2"."""
        if not self.version:
            return Message("table.form-template-2", "template 2")
        return Message("table.form", "version {version}", version=self.version)

    @property
    def world_size(self) -> int:
        """The number of ranks."""
        return len(self.every)

    def by_rank(self) -> tuple[tuple[Server, Device], ...]:
        """Every device with its server, in the order of the ranks."""
        return tuple(sorted(self.devices(), key=lambda pair: pair[1].rank))


Holder = RankTable | Server | Device | Level | Address


def keys_of(holders: Iterable[Holder]) -> frozenset[str]:
    """The keys in the `extra` of any of these."""
    return frozenset().union(*[holder.extra for holder in holders if holder.extra is not NOTHING])
