"""HK3: the ports on which devices and hosts listen."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.message import Message
from hccl_kit.check.rule import Rule
from hccl_kit.table.bounds import MAX_PORT, port_number
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding
from hccl_kit.table.model import Device, RankTable
from hccl_kit.table.products import Product

_PORTS = ("device_port", "host_port", "port")
_ONLY_WITH = {"device_vnic_port": "device_port", "backup_device_port": "backup_device_ip"}
"""HCCL reads these ports only with another key."""


def port_invalid(table: RankTable, product: Product) -> Iterator[Finding]:
    """A port is not a valid port number.

    What:           `device_port`, `host_port`, `device_vnic_port` with `device_port`, or on Atlas A3
                    `backup_device_port` with `backup_device_ip` is not 1 to 65535; `port` of version 1.1 may be 0.
    Why it matters: HCCL listens there; 0 is reserved, and in version 1.1 stands for the usual port.
    Example:        "device_port": "0"
    Fix:            write a free port, or remove the key; the default is 16666.
    HCCL:           no code; the log only (R15). A port that is not the one written it takes: it reads "1.2" as 1, and
                    any number for the `port` of version 1.1. It reads `backup_device_port` where retry between super
                    pods is on.
    """
    for device in table.every if table.keys.intersection((*_PORTS, *_ONLY_WITH)) else ():
        for key in _read(device, product) if table.version != "1.1" else ("port",):
            text, least = device.extra.get(key), 0 if key == "port" else 1
            number = least if text is None else port_number(text)
            if number is None or not least <= number <= MAX_PORT:
                message = Message(
                    "HK308.port",
                    '"{key}" is {port}; a port from {least} to {most} is expected',
                    key=key,
                    port=shown(text),
                    least=least,
                    most=MAX_PORT,
                )
                hint = Message("HK308.fix", "write a free port, or remove the key for the default")
                yield Finding(message, hint, pointer=(*device.at, key))


def _read(device: Device, product: Product) -> Iterator[str]:
    """The ports of a device of versions 1.0 and 1.2 that HCCL of the product reads."""
    for key in device.extra:
        if key in _ONLY_WITH:
            if _ONLY_WITH[key] in device.extra and (key == "device_vnic_port" or product.has_super_pods):
                yield key
        elif key in _PORTS[:2]:
            yield key


RULES = (Rule("HK308", "invalid-port", port_invalid, kinds=("1.0", "1.1", "1.2")),)
