"""HK2: the ids of devices in their super pod (SDID, R29 to R32)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hccl_kit.base.message import Message
from hccl_kit.check.rule import Rule, first_defined, repeated, same_for
from hccl_kit.check.rules.addresses import some_devices
from hccl_kit.check.rules.keys import meant
from hccl_kit.check.rules.super_pods import pods_read
from hccl_kit.table.bounds import NO_SDID
from hccl_kit.table.finding import INVALID, Finding
from hccl_kit.table.model import Device, RankTable
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import Product

_DEVICES = 2**22
"""An SDID is the index of the server in its super pod times this, plus the id of the device."""
_SMALL = 2**16
"""An SDID below this is a number chosen by the user, as in the example of the documentation."""
_ASK = Message("check.sdid.fix", "write the SDID that `npu-smi info -t spod-info -i NPU -c CHIP` prints on that server")


def sdid_missing(table: RankTable, product: Product) -> Iterator[Finding]:
    """A device of a super pod has no SDID.

    What:           there is a `super_pod_list`, and a device without `super_device_id`, or with 4294967295 or more,
                    which stands for no SDID. Reported once for a server. Without super pods, or on a product that has
                    none, one of more than 4294967295.
    Why it matters: in a super pod the devices reach each other by this id.
    Example:        `super_pod_list` added by hand to a table of version 1.0.
    Fix:            write the SDID of `npu-smi info -t spod-info -i NPU -c CHIP`; device id is NPU * 2 + CHIP.
    HCCL:           no code; the log says "superDeviceId[0xffffffff] ... is invalid" (R31). EI0014, super_device_id, for
                    one of more than 32 bits, on every product.
    """
    if not pods_read(table, product):
        for device in table.every if table.version == "1.2" else ():
            if device.sdid is not None and device.sdid > NO_SDID:
                message = Message(
                    "HK216.too-large",
                    '"super_device_id" is {sdid}; up to {most} is accepted',
                    sdid=device.sdid,
                    most=NO_SDID - 1,
                )
                yield Finding(message, _ASK, pointer=_place(device), hccl_error=INVALID)
        return
    good = [device for device in table.every if device.sdid is not None and device.sdid < NO_SDID]
    for server in table.servers if len(good) < table.world_size else ():
        without = [device for device in server.devices if device.sdid is None or device.sdid >= NO_SDID]
        if without:
            some = some_devices(without, server)
            message = Message(
                "HK216.missing",
                '{some} have no valid "super_device_id", which a table with super_pod_list needs',
                some=some,
            )
            hint, fix = meant("super_device_id", [d for d in without if d.sdid is None], r"[0-9]{1,10}\Z")
            yield Finding(message, hint or _ASK, pointer=_place(without[0]), fix=fix)


def sdid_twice(table: RankTable, product: Product) -> Iterator[Finding]:
    """Two devices of a super pod have the same SDID.

    What:           a `super_device_id` that an earlier device of the same super pod already has.
    Why it matters: the ranks would reach the wrong NPU. In another super pod the same SDID is legal.
    Example:        the block of one server copied for the next.
    Fix:            write the SDID of `npu-smi info -t spod-info -i NPU -c CHIP`; device id is NPU * 2 + CHIP.
    HCCL:           no code; the log says "superDeviceId[...] in superPod[...] already exists." (R30).
    """
    for device, earlier in _duplicates(table, product):
        message = Message(
            "HK217.taken",
            '"super_device_id" {sdid} is already taken in this super pod by device {other}',
            sdid=device.sdid,
            other=earlier.id,
        )
        yield Finding(message, _ASK, pointer=_place(device), related=first_defined(_place(earlier)))


def sdid_of_another(table: RankTable, product: Product) -> Iterator[Finding]:
    """An SDID looks like the SDID of another device.

    What:           a `super_device_id` from 65536 on without the usual form for its `device_id` d: server index *
                    4194304 + (d // 2) * 262144 + (d % 2) * 65536 + d. Reported once for a table.
    Why it matters: one of the two ids may be wrong. The form is what real tables have; it is documented nowhere.
    Example:        "device_id": "3" with "super_device_id": "98369551", which has the form of device 15.
    Fix:            compare both with `npu-smi info -t spod-info -i NPU -c CHIP`; device id is NPU * 2 + CHIP.
    HCCL:           accepts it; EI0014, super_device_id, where the driver knows another for the device (R32).
    """
    if not product.has_super_pods:
        return
    forms = {(sdid % _DEVICES, device.id) for device in table.every if (sdid := device.sdid or 0) >= _SMALL}
    odd = {form for form in forms if form[0] != _usual(form[1])}
    if not odd:
        return
    duplicates = {device.at for pair in _duplicates(table, product) for device in pair}
    suspicious = [
        (device, sdid)
        for server in table.servers
        if len({device.id for device in server.devices}) == len(server.devices)  # else HK203
        for device in server.devices
        if _SMALL <= (sdid := device.sdid or 0) < NO_SDID  # else HK216
        and (sdid % _DEVICES, device.id) in odd
        and device.id <= product.max_device_id  # else HK204
        and device.at not in duplicates  # else HK217
    ]
    if suspicious:
        device, sdid = suspicious[0]
        form = Message("HK219.other-form", "has another form")
        if _usual(sdid % 2**16) == sdid % _DEVICES:
            form = Message("HK219.form", "has the form of device {device}", device=sdid % 2**16)
        others = same_for(len(suspicious) - 1)
        message = Message(
            "HK219.sdid",
            '"super_device_id" {sdid} {form}, and this is device {device}{others}',
            sdid=sdid,
            form=form,
            device=device.id,
            others=others,
        )
        hint = Message(
            "HK219.fix", "compare both with `npu-smi info -t spod-info -i NPU -c CHIP`; device id is NPU * 2 + CHIP"
        )
        yield Finding(message, hint, pointer=_place(device))


def _usual(card: int) -> int:
    """The SDID of a device without the server index, in all known samples."""
    return card // 2 << 18 | card % 2 << 16 | card


def _place(device: Device) -> Pointer:
    return device.at if device.sdid is None else (*device.at, "super_device_id")


def _duplicates(table: RankTable, product: Product) -> Iterator[tuple[Device, Device]]:
    """Devices with the SDID of an earlier one of the same super pod, which comes second."""
    if not pods_read(table, product) or len({device.sdid for device in table.every}) == table.world_size:
        return
    for devices in _members(table, product).values():
        if len({device.sdid for device in devices}) == len(devices):
            continue
        known = ((device.sdid, device) for device in devices if device.sdid is not None and device.sdid < NO_SDID)
        for _, device, earlier in repeated(known):
            yield device, earlier


def _members(table: RankTable, product: Product) -> dict[int, list[Device]]:
    """The devices of each super pod, by its index, without servers whose super pod is unclear (HK205, HK215)."""
    pod_of: dict[str, int] = {}
    listings = [(server.id, index) for index, pod in enumerate(pods_read(table, product)) for server in pod.servers]
    contested = {name for name, index in listings if pod_of.setdefault(name, index) != index}
    times = Counter(server.id for server in table.servers)
    members: dict[int, list[Device]] = {}
    for server in table.servers:
        if server.id in pod_of and server.id not in contested and times[server.id] == 1:
            members.setdefault(pod_of[server.id], []).extend(server.devices)
    return members


RULES = (
    Rule("HK216", "missing-sdid", sdid_missing, kinds=("1.2",)),
    Rule("HK217", "duplicate-sdid", sdid_twice, kinds=("1.2",)),
    Rule("HK219", "suspicious-sdid", sdid_of_another, severity="note", kinds=("1.2",)),
)
