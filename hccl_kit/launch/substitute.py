"""Takes a spare server into a rank table, in the place of another server.

The spare gets the ranks of that server on the cards of the same ids; nothing else of the table changes. `launch/spares`
checks its results with the rules of tables.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.launch.files import TableFile

OF_RANK = ("rank_id", "device_port")
"""Keys of a device that stay: they belong to the rank, the others to the card."""


def substituted(table: Mapping[str, Any], lost: str, spare: Mapping[str, Any]) -> dict[str, Any]:
    """The table with `spare` in the place of the server `lost`. Raises KitError if it does not fit."""
    servers = table.get("server_list")
    places = [n for n, server in enumerate(servers or ()) if server["server_id"] == lost]
    if len(places) != 1:
        raise KitError(
            "launch.substitute.not-once",
            "the spare does not fit: the table does not list server {server!r} exactly once",
            server=lost,
        )
    names = {server["server_id"] for server in servers or ()}
    if spare["server_id"] in names:
        raise KitError(
            "launch.substitute.in-table",
            "the spare does not fit: spare {spare} is already a server of the table",
            spare=spare["server_id"],
        )
    (place,) = places
    cards = {card["device_id"]: card for card in spare["device"]}
    devices = []
    for device in table["server_list"][place]["device"]:
        card = cards.get(device["device_id"])
        if card is None:
            raise KitError(
                "launch.substitute.no-card",
                "the spare does not fit: spare {spare} has no card {card}, which server {server} uses",
                spare=spare["server_id"],
                card=device["device_id"],
                server=lost,
            )
        kept = {key: device[key] for key in OF_RANK if key in device}
        devices.append({**card, **kept})
    changed = {**table, "server_list": [*table["server_list"]]}
    changed["server_list"][place] = {**spare, "device": devices}
    if "super_pod_list" in table:
        changed["super_pod_list"] = [_pod(pod, lost, spare["server_id"]) for pod in table["super_pod_list"]]
    return changed


def _pod(pod: Mapping[str, Any], lost: str, spare: str) -> dict[str, Any]:
    members = [{**one, "server_id": spare} if one["server_id"] == lost else one for one in pod["server_list"]]
    return {**pod, "server_list": members}


def new_table(file: TableFile, pairs: Sequence[tuple[str, str]]) -> TableFile:
    """The table after pairs of a server and the entry of its spare, as JSON; its digest is in its name.

    Raises KitError.
    """
    table = json.loads(file.text.lstrip("\ufeff"))  # a byte order mark is only a warning (HK003)
    for lost, entry in pairs:
        table = substituted(table, lost, json.loads(entry))
    text = json.dumps(table, indent=4) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()
    return TableFile(f"{file.name.removesuffix('.json')}-{digest[:12]}.json", text)
