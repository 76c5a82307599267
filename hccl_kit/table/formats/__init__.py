"""Rank tables from document values and back, with one reader and writer per version.

`kinds.recognise` determines the kind of a document, `read` reads it, `write` returns the text of a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hccl_kit.table.finding import MAX_FINDINGS, Finding
from hccl_kit.table.formats import group_list, node_list, rank_list, server_list
from hccl_kit.table.formats.kinds import Kind
from hccl_kit.table.formats.shape import StructureError
from hccl_kit.table.model import RankTable
from hccl_kit.table.pointer import Pointer

READERS: Mapping[str, Callable[[object], RankTable]] = {
    "": group_list.from_value,
    "1.0": server_list.from_value,
    "1.1": node_list.from_value,
    "1.2": server_list.from_value,
    "2.0": rank_list.from_value,
}
"""By the version of the kind; "" is template 2."""
_TO_VALUE: Mapping[str, Callable[[RankTable], dict[str, Any]]] = {
    "": group_list.to_value,
    "1.0": server_list.to_value,
    "1.1": node_list.to_value,
    "1.2": server_list.to_value,
    "2.0": rank_list.to_value,
}

_ITEMS: Mapping[str, Callable[[object], object]] = {
    "1.0": partial(server_list.read_server, index=0, version="1.0"),
    "1.2": partial(server_list.read_server, index=0, version="1.2"),
    "2.0": partial(rank_list.read_rank, index=0),
}
"""The readers of one item of the main list."""

_PLACES: Mapping[str | None, Callable[[Pointer], Pointer]] = {
    "": group_list.in_document,
    "1.1": node_list.in_document,
}
"""Pointers of rules use the keys of version 1.0; these functions map them to documents of other versions."""


def read(value: object, kind: Kind, limit: int = MAX_FINDINGS) -> RankTable | tuple[Finding, ...]:
    """The table in a document of `kind`, or the errors of its structure: 1 to about `limit`."""
    assert kind.version is not None
    try:
        return READERS[kind.version](value)
    except StructureError:
        from hccl_kit.table import schema  # noqa: PLC0415 - it imports jsonschema, which takes 80 ms

        read_item = _ITEMS.get(kind.version)
        return tuple(schema.findings(value, kind.schema, limit, read_item and partial(_can_read, read_item)))


def _can_read(read_item: Callable[[object], object], value: object) -> bool:
    try:
        read_item(value)
    except StructureError:
        return False
    return True


def to_value(table: RankTable) -> dict[str, Any]:
    """The JSON value of a file of the table's version."""
    return _TO_VALUE[table.version](table)


def write(table: RankTable) -> str:
    """The text of a file of the table's version: JSON with indent 4, no newline at the end."""
    return as_text(to_value(table))


def as_text(value: Mapping[str, Any]) -> str:
    """The text of a file with this value."""
    return json.dumps(value, indent=4, ensure_ascii=False)


def placed(finding: Finding, kind: Kind) -> Finding:
    """The finding of a rule with pointers into a document of `kind`."""
    place = _PLACES.get(kind.version)
    if place is None:
        return finding
    return finding._replace(
        pointer=place(finding.pointer),
        related=tuple(other._replace(pointer=place(other.pointer)) for other in finding.related),
        fix=tuple(edit._replace(pointer=place(edit.pointer)) for edit in finding.fix),
    )
