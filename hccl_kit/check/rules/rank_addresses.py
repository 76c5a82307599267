"""HK3 of version 2.0: the addresses of the ranks and their ports (R34)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from hccl_kit.base.message import Message
from hccl_kit.check.rule import Rule
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Edit, Finding
from hccl_kit.table.ip import PORT, fits
from hccl_kit.table.model import RankTable, keys_of
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import Product

_FORMS = {
    "EID": Message("HK311.eid", "32 hexadecimal digits are expected"),
    "IPV4": Message("HK311.ipv4", "an IPv4 address is expected"),
    "IPV6": Message("HK311.ipv6", "an IPv6 address is expected"),
}


def address_form(table: RankTable, _product: Product) -> Iterator[Finding]:
    """An address does not match its type.

    What:           `addr`, or an item of `backup_addr`, does not have the form of its `addr_type`: EID, IPV4 or IPV6.
    Why it matters: the ranks reach each other by it.
    Example:        "addr_type": "EID" with an IPv4 address.
    Fix:            correct the address or its type.
    HCCL:           no code; newer releases give EI0014, addr "A valid EID", but none for `backup_addr` and
                    `control_plane` (R34).
    """
    misfits = [address for address in table.every_address if not fits(address.type, address.text)]
    if not (misfits or "control_plane" in table.keys or "backup_addr" in keys_of(table.every_address)):
        return
    for device in table.every:
        for at, address in device.placed_addresses():
            if not fits(address.type, address.text):
                yield _misformed((*at, "addr"), address.type, address.text)
            for number, backup in enumerate(address.extra.get("backup_addr", ()) if address.type != "EID" else ()):
                if not fits(address.type, backup):
                    yield _misformed((*at, "backup_addr", number), address.type, backup)
        plane = device.extra.get("control_plane")
        if plane and not fits(plane["addr_type"], plane["addr"]):
            yield _misformed((*device.at, "control_plane", "addr"), plane["addr_type"], plane["addr"])


def port_form(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A port of an address does not have a documented form.

    What:           an item of `ports` is neither "die/port" nor "d2h".
    Why it matters: HCCL looks the port up in the topology file.
    Example:        "0-4" or "4"
    Fix:            write the die and the port, such as "0/4", or "d2h".
    HCCL:           documented; when HCCL checks it is not known.
    """
    texts = {port for ports in {address.ports for address in table.every_address} for port in ports}
    wrong = {text for text in texts if not re.fullmatch(PORT, text)}
    for device in table.every if wrong else ():
        for at, address in device.placed_addresses():
            for index, port in enumerate(address.ports):
                if port in wrong:
                    message = Message(
                        "HK312.port",
                        'the port {port} is neither "die/port", such as "0/4", nor "d2h"',
                        port=shown(port),
                    )
                    yield Finding(message, pointer=(*at, "ports", index))


def eid_with_backup(table: RankTable, _product: Product) -> Iterator[Finding]:
    """An EID has backup addresses.

    What:           an address of type EID has a `backup_addr` that is not empty.
    Why it matters: HCCL takes backups for IP addresses only.
    Example:        "addr_type": "EID" with "backup_addr": ["192.168.100.101"]
    Fix:            remove "backup_addr".
    HCCL:           no code; the parser refuses the table (R34).
    """
    if "backup_addr" not in keys_of(table.every_address):
        return
    for device in table.every:
        for at, address in device.placed_addresses():
            if address.type == "EID" and address.extra.get("backup_addr"):
                message = Message("HK313.backup", '"backup_addr" is not accepted with an EID')
                yield Finding(message, Message("HK313.fix", "remove backup_addr"), pointer=(*at, "backup_addr"))


def _misformed(pointer: Pointer, kind: str, text: str) -> Finding:
    fix = (Edit(pointer, json.dumps(text.strip())),) if fits(kind, text.strip()) else ()
    message = Message(
        "HK311.form",
        "the address is {address}, and its type is {type}: {expected}",
        address=shown(text),
        type=kind,
        expected=_FORMS[kind],
    )
    return Finding(message, pointer=pointer, fix=fix)


RULES = (
    Rule("HK311", "address-type-mismatch", address_form, variables=("addr",), kinds=("2.0",)),
    Rule("HK312", "port-format", port_form, severity="warning", kinds=("2.0",)),
    Rule("HK313", "eid-with-backup-address", eid_with_backup, kinds=("2.0",)),
)
