"""How HCCL reads version 2.0: the ranks with their networks and addresses, then the checks of the whole table.

The order of the lines is that of HCCL's checks (rank_table_info.cc, new_rank_info.cc, rank_level_info.cc,
address_info.cc, control_plane.cc). A missing key is EI0017; a value that should be a list, and a negative number, are
EI0014; any other wrong type, and a number or string out of bounds, stop the parser without a code.
"""

from typing import Any, NamedTuple

from hccl_kit.table import bounds
from hccl_kit.table.bounds import bytes_of
from hccl_kit.table.hccl_parser.reading import INVALID, MISSING, Reading
from hccl_kit.table.ip import fits
from hccl_kit.table.pointer import Pointer


class _Rank(NamedTuple):
    """The values for the checks of the whole table; `networks`: layer, name and number of addresses of every level."""

    number: int
    local: int
    replaced: int
    at: Pointer
    networks: tuple[tuple[int, str, int], ...]


def check_rank_list(reading: Reading, table: Any) -> None:
    """Read and check a document as version 2.0; stops where HCCL does."""
    version = _text(reading, table, "version", ())
    detour = table.get("detour", "")
    if detour not in ("true", "false", ""):
        reading.stop(("detour",))
    count = _whole(reading, table, "rank_count", ())
    values = _list(reading, table, "rank_list", ())
    ranks = [_rank(reading, value, ("rank_list", index)) for index, value in enumerate(values)]
    if version != "2.0":  # HCCL checks the version after reading everything
        reading.stop(("version",), INVALID)
    if not 1 <= count <= bounds.MAX_RANKS or count != len(ranks):
        reading.stop(("rank_count",), INVALID)
    _check_ids(reading, ranks)
    _check_networks(reading, ranks)
    replaced = [rank for rank in ranks if rank.local == bounds.BACKUP]
    if replaced and replaced[0].replaced in {rank.local for rank in ranks}:
        reading.stop((*replaced[0].at, "replaced_local_id"), INVALID)


def _check_ids(reading: Reading, ranks: list[_Rank]) -> None:
    """Every rank from 0 to N-1 once, and at most one backup."""
    seen: set[int] = set()
    has_backup = False
    for rank in ranks:
        if rank.number >= len(ranks) or rank.number in seen:
            reading.stop((*rank.at, "rank_id"), INVALID)
        seen.add(rank.number)
        if rank.local == bounds.BACKUP and has_backup:
            reading.stop((*rank.at, "local_id"), INVALID)
        has_backup = has_backup or rank.local == bounds.BACKUP


def _check_networks(reading: Reading, ranks: list[_Rank]) -> None:
    """All ranks of a network have the same number of addresses in it."""
    sizes: dict[tuple[int, str], int] = {}
    for rank in ranks:
        for layer, name, size in rank.networks:
            if sizes.setdefault((layer, name), size) != size:
                reading.stop(rank.at)


def _rank(reading: Reading, value: Any, at: Pointer) -> _Rank:
    number = _whole(reading, value, "rank_id", at)
    local = _whole(reading, value, "local_id", at)
    _within(reading, local, 0, bounds.BACKUP, (*at, "local_id"))
    replaced = local
    if local == bounds.BACKUP:
        replaced = _whole(reading, value, "replaced_local_id", at)
        _within(reading, replaced, 0, bounds.BACKUP - 1, (*at, "replaced_local_id"))
    card = _whole(reading, value, "device_id", at)
    ports = {key: _port(reading, value[key], (*at, key)) for key in ("device_port", "host_port") if key in value}
    _within(reading, card, 0, bounds.BACKUP, (*at, "device_id"))
    for key, port in ports.items():
        _within(reading, port, 1, bounds.MAX_PORT, (*at, key))
    levels = _list(reading, value, "level_list", at)
    _within(reading, len(levels), 0, bounds.MAX_LEVELS, (*at, "level_list"))
    networks = [_level(reading, level, (*at, "level_list", index)) for index, level in enumerate(levels)]
    for index in range(1, len(networks)):
        if networks[index][0] <= networks[index - 1][0]:
            reading.stop((*at, "level_list", index, "net_layer"))
    if "control_plane" in value:
        _control_plane(reading, value["control_plane"], (*at, "control_plane"))
    return _Rank(number, local, replaced, at, tuple(networks))


def _level(reading: Reading, value: Any, at: Pointer) -> tuple[int, str, int]:
    layer = _whole(reading, value, "net_layer", at)
    name = _text(reading, value, "net_instance_id", at)
    _within(reading, layer, 0, bounds.MAX_LAYER, (*at, "net_layer"))
    _within(reading, bytes_of(name), 1, bounds.MAX_TEXT, (*at, "net_instance_id"))
    if not isinstance(value.get("net_attr", ""), str):
        reading.stop((*at, "net_attr"))
    if "net_type" in value and _text(reading, value, "net_type", at) not in bounds.NET_TYPES:
        reading.stop((*at, "net_type"))
    addresses = _list(reading, value, "rank_addr_list", at)
    for index, address in enumerate(addresses):
        _address(reading, address, (*at, "rank_addr_list", index))
    _within(reading, len(addresses), 0, bounds.MAX_ADDRESSES, (*at, "rank_addr_list"))
    return layer, name, len(addresses)


def _address(reading: Reading, value: Any, at: Pointer) -> None:
    kind = _text(reading, value, "addr_type", at)
    if kind not in bounds.ADDRESS_TYPES:
        reading.stop((*at, "addr_type"))
    text = _text(reading, value, "addr", at)
    if not 1 <= bytes_of(text) <= bounds.MAX_ADDRESS:
        reading.stop((*at, "addr"), INVALID)
    if not fits(kind, text):  # without a code; newer releases give INVALID here, too
        reading.stop((*at, "addr"))
    if "backup_addr" in value:
        _backups(reading, value["backup_addr"], kind, (*at, "backup_addr"))
    plane = value.get("plane_id", "")
    if not isinstance(plane, str) or bytes_of(plane) > bounds.MAX_TEXT:
        reading.stop((*at, "plane_id"))
    ports = _list(reading, value, "ports", at)
    for index, port in enumerate(ports):
        if not isinstance(port, str) or not 1 <= bytes_of(port) <= bounds.MAX_PORT_TEXT:
            reading.stop((*at, "ports", index))
    _within(reading, len(set(ports)), 1, bounds.MAX_PORTS, (*at, "ports"))


def _backups(reading: Reading, value: Any, kind: str, at: Pointer) -> None:
    if not isinstance(value, list) or len(value) > bounds.MAX_BACKUPS:
        reading.stop(at)
    for index, text in enumerate(value):
        if not isinstance(text, str) or kind == "EID" or not fits(kind, text):
            reading.stop((*at, index))


def _control_plane(reading: Reading, value: Any, at: Pointer) -> None:
    kind = _text(reading, value, "addr_type", at)
    if kind not in bounds.ADDRESS_TYPES:
        reading.stop((*at, "addr_type"))
    text = _text(reading, value, "addr", at)
    if bytes_of(text) > bounds.MAX_ADDRESS or not fits(kind, text):
        reading.stop((*at, "addr"))
    port = _whole(reading, value, "listen_port", at)
    _within(reading, port, 1, bounds.MAX_LISTEN_PORT, (*at, "listen_port"))


def _whole(reading: Reading, holder: Any, key: str, at: Pointer) -> int:
    """The integer from 0 to 2^32 - 1 under a required key."""
    value = _number(_member(reading, holder, key, at))
    if value is None:
        reading.stop((*at, key))
    return value if 0 <= value <= bounds.MAX_UNSIGNED else reading.stop((*at, key), INVALID)


def _port(reading: Reading, value: Any, at: Pointer) -> int:
    """An optional port: HCCL truncates its number to 32 bits before the check."""
    number = _number(value)
    return number % (bounds.MAX_UNSIGNED + 1) if number is not None else reading.stop(at)


def _number(value: Any) -> int | None:
    """The integer that HCCL reads from a value: 1 from 1.5 and from true."""
    return int(value) if isinstance(value, (bool, int, float)) else None


def _member(reading: Reading, holder: Any, key: str, at: Pointer) -> Any:
    return holder[key] if isinstance(holder, dict) and key in holder else reading.stop(at, MISSING)


def _text(reading: Reading, holder: Any, key: str, at: Pointer) -> str:
    value = _member(reading, holder, key, at)
    return value if isinstance(value, str) else reading.stop((*at, key))


def _list(reading: Reading, holder: Any, key: str, at: Pointer) -> list[Any]:
    value = _member(reading, holder, key, at)
    return value if isinstance(value, list) else reading.stop((*at, key), INVALID)


def _within(reading: Reading, value: int, least: int, most: int, at: Pointer) -> None:
    if not least <= value <= most:
        reading.stop(at)
