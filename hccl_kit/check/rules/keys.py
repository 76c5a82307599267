"""HK1: misspelled optional keys, and a misspelled status. A misspelled required key is reported as missing (HK101)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from hccl_kit.base.message import Message
from hccl_kit.base.typos import MAX_UNKNOWN, find_typos, is_typo
from hccl_kit.check.rule import ALL_KINDS, Rule
from hccl_kit.table.bounds import READY, SUB_VERSION
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Edit, Finding
from hccl_kit.table.formats import node_list, server_list
from hccl_kit.table.model import Device, Holder, RankTable, keys_of
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import ANY_PRODUCT, Product

_DEVICE = ("device_ip", *server_list.DEVICE_TEXTS)
OPTIONAL: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "1.0": {"table": ("server_count",), "server": server_list.SERVER_TEXTS, "device": _DEVICE},
    "1.2": {
        "table": ("server_count", "super_pod_list"),
        "server": server_list.SERVER_TEXTS,
        "device": (*_DEVICE, "super_device_id"),
    },
    "1.1": {
        "table": (SUB_VERSION, *node_list.TABLE_TEXTS),
        "device": ("device_id", "rank_ip", *node_list.RANK_TEXTS),
    },
    "2.0": {
        "table": ("status", "detour"),
        "device": ("device_port", "host_port", "replaced_local_id", "control_plane"),
        "level": ("net_type", "net_attr"),
        "address": ("plane_id", "backup_addr"),
    },
    "": {"table": ("board_id", "chip_info", "deploy_mode", "para_plane_nic_num"), "device": ("device_ip",)},
}
"""The optional keys that HCCL reads, by version and kind of object; the version of template 2 is "". A key that is
neither here nor required is unknown; HCCL skips it."""
_FIELDS: Mapping[str, tuple[str, object]] = {
    "device_ip": ("ip", None),
    "rank_ip": ("ip", None),
    "device_id": ("id", -1),
    "super_device_id": ("sdid", None),
    "server_count": ("declared_servers", None),
    "super_pod_list": ("super_pods", None),
    "status": ("status", ""),
    "net_type": ("type", None),
}
"""Keys that a reader keeps in a field of the value, not in its `extra`, and what is in the field without the key."""


def misspelt_key(table: RankTable, product: Product) -> Iterator[Finding]:
    """A key looks misspelled.

    What:           a key that HCCL does not know is one letter off one that it does, which is absent there. Reported
                    once for a table, with the number of places.
    Why it matters: HCCL skips unknown keys, so the value has no effect.
    Example:        "devcie_ip" for "device_ip", "replaced_loacl_id" for "replaced_local_id"
    Fix:            write the key as HCCL knows it, or leave it if another program reads it.
    HCCL:           accepts it.
    """
    for kind, known in OPTIONAL[table.version].items():
        unknown = _keys(table, kind).difference(known)
        for written in islice(sorted(unknown), MAX_UNKNOWN):
            near = [key for key in known if is_typo(written, key) and not _is_needed(key, table, product)]
            places = [
                at
                for at, holder in (_placed(table, kind) if near else ())
                if written in holder.extra and any(_is_absent(key, holder) for key in near)
            ]
            if places:
                more = _in_places(len(places))
                message = Message(
                    "HK117.unknown",
                    "{key} is not a key HCCL knows{places}; it is ignored",
                    key=shown(written),
                    places=more,
                )
                hint = Message("HK117.fix", "did you mean {keys}?", keys=" or ".join(f'"{key}"' for key in near))
                yield Finding(message, hint, pointer=(*places[0], written), on_key=True)


def key_of_super_pods(table: RankTable, product: Product) -> Iterator[Finding]:
    """A table of version 1.0 has keys of version 1.2.

    What:           a key that HCCL reads in version 1.2 only: "super_pod_list", or "super_device_id" of a device.
                    Reported once for a table and key, with the number of places.
    Why it matters: HCCL skips it, and takes the servers for plain ones, which connect over RoCE.
    Example:        "version": "1.0" with a "super_pod_list", as the generator of MindIE writes it.
    Fix:            write "version": "1.2" if the job is to use the super pods of Atlas A3; otherwise leave it.
    HCCL:           accepts it.
    """
    hint = Message("HK118.fix", 'write "version": "1.2" if the job is to use the super pods of Atlas A3')
    if product.name != ANY_PRODUCT and not product.has_super_pods:
        hint = Message("HK118.remove.fix", "leave or remove it: {product} has no super pods", product=product.title)
    for kind, known in OPTIONAL["1.2"].items():
        for key in _keys(table, kind).intersection(known).difference(OPTIONAL["1.0"][kind]):
            places = [at for at, holder in _placed(table, kind) if key in holder.extra]
            message = Message(
                "HK118.ignored",
                'version 1.0 ignores "{key}", which HCCL reads in version 1.2 only{places}',
                key=key,
                places=_in_places(len(places)),
            )
            yield Finding(message, hint, pointer=(*places[0], key), on_key=True)


def unknown_status(table: RankTable, _product: Product) -> Iterator[Finding]:
    """`status` is neither "completed" nor "initializing".

    What:           the value of `status` is not a value that programs write.
    Why it matters: HCCL waits for "completed": one check a second for 1800 s, then the job fails (R6).
    Example:        "status": "complete"
    Fix:            write "completed".
    HCCL:           no code; the job times out.
    """
    if table.status != READY:
        message = Message(
            "HK110.status",
            '"status" is {status}; HCCL waits up to 1800 s for "completed" and then gives up',
            status=shown(table.status),
        )
        fix = (Edit(("status",), f'"{READY}"'),) if _means_ready(table.status) else ()
        yield Finding(message, Message("HK110.fix", 'write "status": "completed"'), pointer=("status",), fix=fix)


def _means_ready(status: str) -> bool:
    """Whether the word can only be "completed": in another case, with spaces, or one typo away from it.

    "complete" is one letter short of it and no other word of a rank table. "done", "ok" or "success" may well mean the
    same, but their author may not know what HCCL waits for: a person should check whether the table is ready.
    """
    word = status.strip().lower()
    return word == READY or is_typo(word, READY)


def meant(key: str, without: Sequence[Device], pattern: str = "") -> tuple[Message | None, tuple[Edit, ...]]:
    """A hint and the edits if devices without `key` have a misspelled one; else None and no edits.

    For the rules that find the key missing. There are no edits if a value does not match `pattern`: it would be refused
    under the correct key.
    """
    typo = next(iter(find_typos(without[0].extra, (key,))), None) if without else None
    if typo is None:
        return None, ()
    written = [(device.at, device.extra[typo]) for device in without if typo in device.extra]
    is_good = all(isinstance(value, str) and re.match(pattern, value) for _, value in written)
    edits = tuple(Edit((*at, typo), f'"{key}"', on_key=True) for at, _ in written) if is_good else ()
    return Message("check.typo.fix", 'did you mean "{key}" by {typo}?', key=key, typo=shown(typo)), edits


def _in_places(count: int) -> Message | str:
    return Message("check.places", ", in {count} places", count=count) if count > 1 else ""


def _is_needed(key: str, table: RankTable, product: Product) -> bool:
    """Whether another rule finds the key missing: HK305 the address between servers, HK216 the SDID in super pods."""
    is_pod = table.super_pods is not None and product.has_super_pods
    return (key == "device_ip" and len(table.servers) > 1) or (key == "super_device_id" and is_pod)


def _is_absent(key: str, holder: Holder) -> bool:
    field, nothing = _FIELDS.get(key, ("", None))
    return key not in holder.extra and getattr(holder, field, nothing) == nothing


def _keys(table: RankTable, kind: str) -> frozenset[str]:
    """The keys of all objects of a kind that no field of theirs holds."""
    if kind == "device":
        return table.keys
    holders: Mapping[str, Sequence[Holder]] = {
        "table": (table,),
        "server": table.servers,
        "level": table.every_level,
        "address": table.every_address,
    }
    return keys_of(holders[kind])


def _placed(table: RankTable, kind: str) -> Iterator[tuple[Pointer, Holder]]:
    """The objects of a kind with their places."""
    if kind == "table":
        yield (), table
    elif kind == "server":
        yield from ((server.at, server) for server in table.servers)
    elif kind == "device":
        yield from ((device.at, device) for device in table.every)
    else:
        for device in table.every:
            yield from device.placed_levels() if kind == "level" else device.placed_addresses()


RULES = (
    Rule("HK110", "unknown-status", unknown_status, kinds=("1.0", "1.1", "1.2", "template2")),
    Rule("HK117", "misspelled-key", misspelt_key, severity="note", kinds=ALL_KINDS),
    Rule("HK118", "key-of-super-pods", key_of_super_pods, severity="note", kinds=("1.0",)),
)
