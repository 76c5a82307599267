"""HK2: the groups, pods and ranks of template 2. The lab form is the one with `deploy_mode`."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.message import Message
from hccl_kit.check.rule import DUPLICATE, Rule, first_defined, repeated
from hccl_kit.check.rules.addresses import write_address
from hccl_kit.table.bounds import LAB, MAX_NAME, NIC_LOCATION, bytes_of
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Edit, Finding
from hccl_kit.table.ip import parse_address, split_addresses
from hccl_kit.table.model import RankTable
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import Product


def empty_part(table: RankTable, _product: Product) -> Iterator[Finding]:
    """The table has no groups, or a group or an instance is empty.

    What:           `group_list`, an `instance_list` or a `devices` list is empty.
    Why it matters: a job needs at least one rank, and so does every part of it.
    Example:        "devices": []
    Fix:            add what belongs there, or remove the part.
    HCCL:           no code; the log says "size is zero" (R9).
    """
    if not table.groups:
        message = Message("HK221.no-group", "the table has no group; at least one is expected")
        yield Finding(message, pointer=("group_list",))
    for g, group in enumerate(table.groups):
        at: Pointer = ("group_list", g, "instance_list")
        if not group.instances:
            message = Message(
                "HK221.no-instance", "group {group} has no instance; at least one is expected", group=shown(group.name)
            )
            hint = Message("HK221.no-instance.fix", "add its instances, or remove the group")
            yield Finding(message, hint, pointer=at)
        for i, instance in enumerate(group.instances):
            if not instance.devices:
                message = Message("HK221.no-device", "the instance has no device; at least one is expected")
                hint = Message("HK221.no-device.fix", "add its devices, or remove the instance")
                yield Finding(message, hint, pointer=(*at, i, "devices"))


def name_taken(table: RankTable, _product: Product) -> Iterator[Finding]:
    """Two groups or two pods have the same name.

    What:           a `group_name` or a `pod_name` that an earlier one of the table has.
    Why it matters: a process finds its ranks by the name of its pod, a communication group its members by that of the
                    group.
    Example:        the block of one pod copied for the next.
    Fix:            write the name that the pod has in the cluster.
    HCCL:           EI0014, with the misleading variable "IP" (R10).
    """
    for name, at, earlier in repeated((name, at) for at, name in _placed_groups(table)):
        message = Message("HK222.group", "group name {name} is already taken by another group", name=shown(name))
        hint = Message("HK222.group.fix", "give every group its own name")
        yield Finding(message, hint, pointer=at, related=first_defined(earlier))
    for name, at, earlier in repeated((name, at) for at, name in _placed_pods(table)):
        if name:  # HK223 reports a pod without name
            message = Message("HK222.pod", "pod name {name} is already taken by another pod", name=shown(name))
            hint = Message("HK222.pod.fix", "give every pod its own name")
            yield Finding(message, hint, pointer=at, related=first_defined(earlier))


def name_length(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A pod has no name, or a name is too long.

    What:           an empty `pod_name`, or a `pod_name` or `group_name` of more than 127 bytes. A group may have no
                    name.
    Why it matters: a process finds its ranks by the name of its pod; HCCL refuses longer names.
    Example:        "pod_name": ""
    Fix:            write the name that the pod has in the cluster.
    HCCL:           no code for a long name, the log only; without name a pod ends in EI0014, rank_id.
    """
    for least, names in ((0, _placed_groups(table)), (1, _placed_pods(table))):
        for at, name in names:
            length = bytes_of(name)
            if not least <= length <= MAX_NAME:
                message = Message(
                    "HK223.empty",
                    '"{key}" is empty; {least} to {most} are accepted',
                    key=at[-1],
                    least=least,
                    most=MAX_NAME,
                )
                if length:
                    message = Message(
                        "HK223.length",
                        '"{key}" has {length} bytes; {least} to {most} are accepted',
                        key=at[-1],
                        length=length,
                        least=least,
                        most=MAX_NAME,
                    )
                yield Finding(message, Message("HK223.fix", "write the name that it has in the cluster"), pointer=at)


def device_per_rank(table: RankTable, _product: Product) -> Iterator[Finding]:
    """An instance of the lab form holds several devices.

    What:           a `devices` list of more than one entry with one `rank_id`. Ranks are not checked then.
    Why it matters: in the lab form an instance is one rank, which is one device; HCCL has no rank for the second.
    Example:        the pods of the cloud form in a table with `deploy_mode`.
    Fix:            give every device its own instance, or make it the cloud form: no `deploy_mode`, no `rank_id`.
    HCCL:           EI0014, rank_id (R17); no code where instance_count and device_num differ, which it compares before.
    """
    for g, group in enumerate(table.groups if LAB in table.extra else ()):
        for i, instance in enumerate(group.instances):
            if len(instance.devices) > 1:
                message = Message(
                    "HK230.devices",
                    "rank {rank} has {count} devices; one is expected",
                    rank=instance.rank,
                    count=len(instance.devices),
                )
                at = ("group_list", g, "instance_list", i, "devices")
                hint = Message("HK230.fix", "give every device its own instance with its own rank_id")
                yield Finding(message, hint, pointer=at)


def nic_location(table: RankTable, _product: Product) -> Iterator[Finding]:
    """The network cards are not on the devices.

    What:           `para_plane_nic_location` of the lab form is not "device".
    Why it matters: HCCL no longer supports the network cards of the host here.
    Example:        "para_plane_nic_location": "host"
    Fix:            write "device", with the addresses of the devices in `device_ip`.
    HCCL:           no code; the log says "host nic is unsupported", or "should be 'device'".
    """
    location = table.extra.get(NIC_LOCATION)
    if LAB in table.extra and location != "device":
        message = Message(
            "HK231.location",
            '"{key}" is {location}, and "device" is expected',
            key=NIC_LOCATION,
            location=shown(location),
        )
        is_meant = str(location).strip().lower() == "device"
        fix = (Edit((NIC_LOCATION,), '"device"'),) if is_meant else ()
        hint = Message("HK231.fix", 'write "device"; device_ip holds the addresses')
        yield Finding(message, hint, pointer=(NIC_LOCATION,), fix=fix)


def several_addresses(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A device of template 2 has several addresses.

    What:           `device_ip` is a list of addresses with commas, as version 1.0 accepts it.
    Why it matters: the parser of template 2 reads the whole text as one address.
    Example:        "device_ip": "192.168.1.1,192.168.2.1"
    Fix:            write the one address of the RoCE port of the NPU.
    HCCL:           EI0014, IP "a valid IP address" (R12).
    """
    if table.has_plain_addresses:
        return
    for device in table.addressed:
        # HK301 checks every part; an invalid one is the mistake.
        if device.ip and "," in device.ip and all(map(parse_address, split_addresses(device.ip))):
            message = Message(
                "HK232.several", '"device_ip" holds {address}; template 2 takes one address', address=shown(device.ip)
            )
            yield Finding(message, write_address(device), pointer=(*device.at, "device_ip"))


def obsolete_key(table: RankTable, _product: Product) -> Iterator[Finding]:
    """An obsolete key contradicts the table.

    What:           `chip_info` of the lab form is not "910", or `para_plane_nic_num` not the number of names in
                    `para_plane_nic_name`.
    Why it matters: current releases of HCCL ignore these keys, older ones may not; a wrong chip may mean a table for
                    other hardware.
    Example:        "para_plane_nic_num": "1" with an empty list of names.
    Fix:            correct the value, or remove the key.
    HCCL:           accepts it.
    """
    chip, count, names = (table.extra.get(key) for key in ("chip_info", "para_plane_nic_num", "para_plane_nic_name"))
    if LAB not in table.extra:
        return
    if chip not in (None, "910"):
        message = Message("HK233.chip", '"chip_info" is {chip}; tables of template 2 are for "910"', chip=shown(chip))
        yield Finding(message, pointer=("chip_info",))
    if count is not None and isinstance(names, list) and count != str(len(names)):
        message = Message(
            "HK233.count",
            '"para_plane_nic_num" is {declared}, but para_plane_nic_name holds {count}',
            declared=shown(count),
            count=len(names),
        )
        yield Finding(message, pointer=("para_plane_nic_num",))


def _placed_groups(table: RankTable) -> Iterator[tuple[Pointer, str]]:
    return ((("group_list", g, "group_name"), group.name) for g, group in enumerate(table.groups))


def _placed_pods(table: RankTable) -> Iterator[tuple[Pointer, str]]:
    return (
        (("group_list", g, "instance_list", i, "pod_name"), instance.pod)
        for g, group in enumerate(table.groups)
        for i, instance in enumerate(group.instances)
        if instance.pod is not None
    )


RULES = (
    Rule("HK221", "empty-group", empty_part, kinds=("template2",)),
    Rule("HK222", "duplicate-name", name_taken, hccl_error="EI0014", kinds=("template2",), variables=DUPLICATE),
    Rule("HK223", "name-length", name_length, kinds=("template2",), variables=("rank_id",)),
    Rule(
        "HK230",
        "several-devices-per-instance",
        device_per_rank,
        hccl_error="EI0014",
        kinds=("template2",),
        variables=("rank_id",),
    ),
    Rule("HK231", "nic-location", nic_location, kinds=("template2",)),
    Rule(
        "HK232",
        "several-device-addresses",
        several_addresses,
        hccl_error="EI0014",
        kinds=("template2",),
        variables=("IP",),
    ),
    Rule("HK233", "obsolete-key", obsolete_key, severity="note", kinds=("template2",)),
)
