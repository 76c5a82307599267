"""From the cards of one server to its rank table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hccl_kit.errors import KitError
from hccl_kit.rank_table import MAX_SERVER_ID, Device, RankTable, Server


def generate(server_id: str, devices: Sequence[tuple[int, str | None]]) -> RankTable:
    """A version 1.0 table of one server: `devices` are (physical id, address) pairs, ranks 0, 1, ... in their order.

    KitError where `server_id` is not 1 to 64 bytes of text without white space or path separators: it becomes part
    of a file name.
    """
    _check_server_id(server_id)
    server = Server(
        id=server_id,
        devices=tuple(Device(id=i, ip=ip, rank=rank) for rank, (i, ip) in enumerate(devices)),
        extra={"host_nic_ip": "reserve"},
    )
    return RankTable(version="1.0", status="completed", servers=(server,), declared_servers=1)


def file_name(table: RankTable) -> str:
    """`hccl_4p_4567_10.0.0.1.json`: the number of cards, their ids, the server.

    What may not stand in a file name everywhere becomes `-`, and so does the dot of an inner `.json`: HCCL takes the
    first `.json` of a path for its end (R2).
    """
    server = table.servers[0]
    ids = "".join(str(device.id) for device in server.devices)
    safe = re.sub(r"[^\w.-]", "-", server.id).replace(".json", "-json")
    return f"hccl_{table.world_size}p_{ids}_{safe}.json"


def _check_server_id(text: str) -> None:
    if not text:
        raise KitError("the server id is empty; accepted: 1 to 64 characters, by convention the server's address")
    for character in text:
        if character.isspace() or not character.isprintable() or character in "/\\":
            raise KitError(f"the server id {text!r} contains {character!r}, which cannot stand in a file name")
    if len(text.encode()) > MAX_SERVER_ID:
        raise KitError(f"the server id {text!r} is longer than {MAX_SERVER_ID} bytes, HCCL's limit")
