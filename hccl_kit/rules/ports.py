"""HK3: the ports on which devices and hosts listen."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hccl_kit.document import shown
from hccl_kit.finding import Finding
from hccl_kit.products import Product
from hccl_kit.rank_table import RankTable

_MAX_PORT = 65535
_DEVICE_PORTS = ("device_port", "device_vnic_port", "backup_device_port", "host_port")


def port_invalid(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A port is none.

    What:           `device_port`, `host_port`, `device_vnic_port` or `backup_device_port` is not 1 to 65535.
    Why it matters: HCCL listens there; 0 is reserved.
    Example:        "device_port": "0"
    Fix:            write a free port, or remove the key: 16666 is taken then.
    HCCL:           no code; the log only (R15).
    """
    for device in table.every if table.keys.intersection(_DEVICE_PORTS) else ():
        for key in _DEVICE_PORTS if device.extra else ():
            text = device.extra.get(key)
            if text is not None and not (re.fullmatch("[0-9]{1,5}", text) and 1 <= int(text) <= _MAX_PORT):
                message = f'"{key}" is {shown(text)}; a port from 1 to {_MAX_PORT} is expected'
                yield Finding((*device.at, key), message, "write a free port, or remove the key for the usual one")
