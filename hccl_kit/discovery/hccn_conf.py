"""Card addresses from hccn.conf, the file in which the driver stores the settings of hccn_tool.

Lines are `key=value` in any order; `address_N` and `IPv6address_N` are read here, all other keys are the driver's.
The driver refuses lines above 384 bytes and files above 1,024,000, so both are errors here too.
"""

from __future__ import annotations

import codecs
import ipaddress
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import row

DEFAULT = Path("/etc/hccn.conf")
MAX_LINE = 384
MAX_FILE = 1_024_000

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_KEY = re.compile(r"(address|IPv6address)_(0|[1-9][0-9]{0,3})")


class Entry(NamedTuple):
    """A line with an address: its number, from 1, and the address as it is written and as a value."""

    line: int
    text: str
    address: Address


def addresses(path: Path, ids: Sequence[int]) -> dict[int, str]:
    """The address of every card in `ids` (physical ids): `address_N`, else `IPv6address_N`.

    Raises KitError if the file cannot be read, a line is too long, a key has two values, a value is not an IP address
    of its family, or cards have neither key; the message lists all of them.
    """
    entries = every_entry(path)
    missing = [device_id for device_id in ids if device_id not in entries]
    if missing:
        shown = row(map(str, sorted(entries))) or Message("discovery.no-card", "no card")
        raise KitError(
            "discovery.no-address",
            "{path} has no address for card {cards}; it has: {shown}",
            fix="set one with: hccn_tool -i {card} -ip -s address A.B.C.D netmask M.M.M.M",
            path=path,
            cards=row(map(str, missing)),
            shown=shown,
            card=missing[0],
        )
    return {device_id: entries[device_id][0].text for device_id in ids}


def every_entry(path: Path) -> dict[int, tuple[Entry, ...]]:
    """All addresses of every card that has one: `address_N` before `IPv6address_N`. Raises KitError as `addresses`."""
    lines = _parse(read_bounded(path, MAX_FILE).removeprefix(codecs.BOM_UTF8), path)
    entries: dict[int, tuple[Entry, ...]] = {}
    for wanted in ("address", "IPv6address"):
        for (family, device_id), entry in lines.items():
            if family == wanted:
                entries[device_id] = (*entries.get(device_id, ()), entry)
    return entries


def _parse(data: bytes, path: Path) -> dict[tuple[str, int], Entry]:
    """`(address or IPv6address, device id)` and the first line that has it."""
    entries: dict[tuple[str, int], Entry] = {}
    for number, raw in enumerate(data.split(b"\n"), start=1):
        if len(raw) > MAX_LINE:
            raise KitError(
                "discovery.line-too-long",
                "{path}:{number}: the line has {bytes} bytes; the limit of the driver is {limit}",
                path=path,
                number=number,
                bytes=len(raw),
                limit=MAX_LINE,
            )
        name, sign, value = (part.strip() for part in raw.decode("utf-8", "replace").partition("="))
        match = _KEY.fullmatch(name)
        if not (match and sign):
            continue
        family, device_id = match[1], int(match[2])
        entry = Entry(number, value, _address(value, family, f"{path}:{number}: {name}"))
        first = entries.setdefault((family, device_id), entry)
        if first.text != value:
            raise KitError(
                "discovery.set-twice",
                "{path}:{number}: {name}={value}, but an earlier line has {earlier}; remove one of them",
                path=path,
                number=number,
                name=name,
                value=value,
                earlier=first.text,
            )
    return entries


def _address(value: str, family: str, place: str) -> Address:
    wanted = ipaddress.IPv4Address if family == "address" else ipaddress.IPv6Address
    try:
        return wanted(value)
    except ValueError:
        raise KitError(
            "discovery.not-address",
            "{place}={value!r} is not an IPv{family} address",
            place=place,
            value=value,
            family=wanted(0).version,
        ) from None
