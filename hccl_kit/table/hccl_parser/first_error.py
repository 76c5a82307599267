"""The first error that HCCL reports for a document, by product and version."""

from __future__ import annotations

from typing import Any

from hccl_kit.table.bounds import READY
from hccl_kit.table.finding import INVALID
from hccl_kit.table.hccl_parser.cluster import check_servers
from hccl_kit.table.hccl_parser.groups import read_groups
from hccl_kit.table.hccl_parser.nodes import check_nodes, read_nodes
from hccl_kit.table.hccl_parser.ranks import check_rank_list
from hccl_kit.table.hccl_parser.reading import Reading, StopError
from hccl_kit.table.hccl_parser.servers import read_servers
from hccl_kit.table.products import Product

_GROUPS = "Standard"
"""HCCL's name for the version of a document without one: template 2."""


def first_error(table: Any, product: Product) -> str | None:
    """The first code that HCCL reports for a document: NO_CODE if it refuses it without one, None if it accepts it."""
    reading = Reading()
    try:
        if "2.0" in product.table_versions:  # one parser for all versions, which does not read the status
            check_rank_list(reading, table)
            return None
        if reading.text(table, "status") != READY:
            reading.stop()  # HCCL waits and reports no code
        version = reading.text(table, "version") if "version" in table else _GROUPS
        if version == _GROUPS:
            check_servers(reading, read_groups(reading, table, product), product)
        elif version in ("1.0", "1.2"):
            check_servers(reading, read_servers(reading, table, product), product)
        elif version == "1.1":
            check_nodes(reading, read_nodes(reading, table))
        else:
            reading.stop(INVALID)
    except StopError:
        return reading.code
    return None
