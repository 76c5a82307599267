"""How HCCL reads version 2.0: the ranks with their networks and addresses, then the checks of the whole table.

The order of the lines is that of HCCL's checks (rank_table_info.cc, new_rank_info.cc, rank_level_info.cc,
address_info.cc, control_plane.cc). A missing key is EI0017; a value that should be a list, and a negative number, are
EI0014; any other wrong type, and a number or string out of bounds, stop the parser without a code.
"""

from itertools import pairwise
from typing import Any, NamedTuple

from hccl_kit.table import bounds
from hccl_kit.table.bounds import bytes_of
from hccl_kit.table.finding import INVALID, MISSING
from hccl_kit.table.hccl_parser.reading import Reading
from hccl_kit.table.ip import fits


class _Rank(NamedTuple):
    """The values for the checks of the whole table; `networks`: layer, name and number of addresses of every level."""

    number: int
    local: int
    replaced: int
    networks: tuple[tuple[int, str, int], ...]


def check_rank_list(reading: Reading, table: Any) -> None:
    """Read and check a document as version 2.0; stops where HCCL does."""
    version = _text(reading, table, "version")
    if table.get("detour", "") not in ("true", "false", ""):
        reading.stop()
    count = _whole(reading, table, "rank_count")
    ranks = [_rank(reading, value) for value in _list(reading, table, "rank_list")]
    # HCCL checks the version after reading everything.
    if version != "2.0" or not 1 <= count <= bounds.MAX_RANKS or count != len(ranks):
        reading.stop(INVALID)
    backups = [rank for rank in ranks if rank.local == bounds.BACKUP]
    if {rank.number for rank in ranks} != set(range(len(ranks))) or len(backups) > 1:
        reading.stop(INVALID)
    _check_networks(reading, ranks)
    if backups and backups[0].replaced in {rank.local for rank in ranks}:
        reading.stop(INVALID)


def _check_networks(reading: Reading, ranks: list[_Rank]) -> None:
    """All ranks of a network have the same number of addresses in it."""
    sizes: dict[tuple[int, str], int] = {}
    for layer, name, size in (network for rank in ranks for network in rank.networks):
        if sizes.setdefault((layer, name), size) != size:
            reading.stop()


def _rank(reading: Reading, value: Any) -> _Rank:
    number = _whole(reading, value, "rank_id")
    local = _whole(reading, value, "local_id")
    _within(reading, local, 0, bounds.BACKUP)
    replaced = local
    if local == bounds.BACKUP:
        replaced = _whole(reading, value, "replaced_local_id")
        _within(reading, replaced, 0, bounds.BACKUP - 1)
    card = _whole(reading, value, "device_id")
    ports = [_port(reading, value[key]) for key in ("device_port", "host_port") if key in value]
    _within(reading, card, 0, bounds.BACKUP)
    for port in ports:
        _within(reading, port, 1, bounds.MAX_PORT)
    levels = _list(reading, value, "level_list")
    _within(reading, len(levels), 0, bounds.MAX_LEVELS)
    networks = [_level(reading, level) for level in levels]
    if any(outer[0] <= inner[0] for inner, outer in pairwise(networks)):
        reading.stop()
    if "control_plane" in value:
        _control_plane(reading, value["control_plane"])
    return _Rank(number, local, replaced, tuple(networks))


def _level(reading: Reading, value: Any) -> tuple[int, str, int]:
    layer = _whole(reading, value, "net_layer")
    name = _text(reading, value, "net_instance_id")
    _within(reading, layer, 0, bounds.MAX_LAYER)
    _within(reading, bytes_of(name), 1, bounds.MAX_TEXT)
    if not isinstance(value.get("net_attr", ""), str):
        reading.stop()
    if "net_type" in value and _text(reading, value, "net_type") not in bounds.NET_TYPES:
        reading.stop()
    addresses = _list(reading, value, "rank_addr_list")
    for address in addresses:
        _address(reading, address)
    _within(reading, len(addresses), 0, bounds.MAX_ADDRESSES)
    return layer, name, len(addresses)


def _address(reading: Reading, value: Any) -> None:
    kind = _kind(reading, value)
    text = _text(reading, value, "addr")
    if not 1 <= bytes_of(text) <= bounds.MAX_ADDRESS:
        reading.stop(INVALID)
    if not fits(kind, text):  # without a code; newer releases give INVALID here, too
        reading.stop()
    backups = value.get("backup_addr", [])
    if not isinstance(backups, list) or len(backups) > bounds.MAX_BACKUPS:
        reading.stop()
    if any(not isinstance(backup, str) or kind == "EID" or not fits(kind, backup) for backup in backups):
        reading.stop()
    plane = value.get("plane_id", "")
    if not isinstance(plane, str) or bytes_of(plane) > bounds.MAX_TEXT:
        reading.stop()
    ports = _list(reading, value, "ports")
    if any(not isinstance(port, str) or not 1 <= bytes_of(port) <= bounds.MAX_PORT_TEXT for port in ports):
        reading.stop()
    _within(reading, len(set(ports)), 1, bounds.MAX_PORTS)


def _control_plane(reading: Reading, value: Any) -> None:
    kind = _kind(reading, value)
    text = _text(reading, value, "addr")
    if bytes_of(text) > bounds.MAX_ADDRESS or not fits(kind, text):
        reading.stop()
    _within(reading, _whole(reading, value, "listen_port"), 1, bounds.MAX_LISTEN_PORT)


def _kind(reading: Reading, value: Any) -> str:
    kind = _text(reading, value, "addr_type")
    return kind if kind in bounds.ADDRESS_TYPES else reading.stop()


def _whole(reading: Reading, holder: Any, key: str) -> int:
    """The integer from 0 to 2^32 - 1 under a required key."""
    value = _number(_member(reading, holder, key))
    if value is None:
        reading.stop()
    return value if 0 <= value <= bounds.MAX_UNSIGNED else reading.stop(INVALID)


def _port(reading: Reading, value: Any) -> int:
    """An optional port: HCCL truncates its number to 32 bits before the check."""
    number = _number(value)
    return number % (bounds.MAX_UNSIGNED + 1) if number is not None else reading.stop()


def _number(value: Any) -> int | None:
    """The integer that HCCL reads from a value: 1 from 1.5 and from true."""
    return int(value) if isinstance(value, (bool, int, float)) else None


def _member(reading: Reading, holder: Any, key: str) -> Any:
    return holder[key] if isinstance(holder, dict) and key in holder else reading.stop(MISSING)


def _text(reading: Reading, holder: Any, key: str) -> str:
    value = _member(reading, holder, key)
    return value if isinstance(value, str) else reading.stop()


def _list(reading: Reading, holder: Any, key: str) -> list[Any]:
    value = _member(reading, holder, key)
    return value if isinstance(value, list) else reading.stop(INVALID)


def _within(reading: Reading, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        reading.stop()
