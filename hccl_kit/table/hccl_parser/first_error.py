"""The first error that HCCL reports for a document, by product and version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hccl_kit.table.bounds import READY
from hccl_kit.table.hccl_parser.cluster import Cluster, check_servers
from hccl_kit.table.hccl_parser.groups import read_groups
from hccl_kit.table.hccl_parser.nodes import check_nodes, read_nodes
from hccl_kit.table.hccl_parser.ranks import check_rank_list
from hccl_kit.table.hccl_parser.reading import INVALID, Reading, Stop, StopError
from hccl_kit.table.hccl_parser.servers import read_servers
from hccl_kit.table.products import Product

_GROUPS = "Standard"
"""HCCL's name for the version of a document without one: template 2."""
_READERS: Mapping[str, Callable[[Reading, Any, Product], Cluster]] = {
    "1.0": read_servers,
    "1.2": read_servers,
    _GROUPS: read_groups,
}


def first_error(table: Any, product: Product) -> Stop | None:
    """The first error that HCCL reports for a document; None if it accepts the document."""
    reading = Reading()
    try:
        if "2.0" in product.table_versions:  # one parser for all versions, which does not read the status
            check_rank_list(reading, table)
            return None
        if reading.text(table, "status", ()) != READY:
            reading.stop(("status",))  # HCCL waits and reports no code
        version = reading.text(table, "version", ()) if "version" in table else _GROUPS
        if version == "1.1":
            check_nodes(reading, read_nodes(reading, table))
        elif read := _READERS.get(version):
            check_servers(reading, read(reading, table, product), product)
        else:
            reading.stop(("version",), INVALID)
    except StopError:
        return reading.first
    return None
