"""The subject of the rules HK6: this machine and its table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.preflight.tool_queries import ToolQueries
from hccl_kit.table.model import RankTable, Server
from hccl_kit.table.products import Product

ATLAS_950 = "2.0"
"""The version of the tables of Atlas 950. They name no hosts, and hccn_tool has other names for the ports of the cards,
which only the table has. HCCL reads the topology in the folder of the driver.
"""
NO_SERVER = Message("preflight.no-server", "this machine matches no server of the table")


class Node(NamedTuple):
    """This machine, and its server in the table.

    `server` is the table's server that is this machine, None if none is. `root` is the folder in which dev, etc,
    proc, sys and usr are looked for. Programs are found on PATH of `environ`, as a user's shell would find them;
    `tools` holds the answers of the driver's tools. `path` is where the table's file has to be on this machine, None
    if not known.
    """

    table: RankTable
    product: Product
    server: Server | None
    environ: Mapping[str, str]
    tools: ToolQueries
    root: Path = Path("/")
    path: Path | None = None

    @property
    def device_ids(self) -> tuple[int, ...]:
        """The physical ids of this server's cards, ascending; empty if the server is not known."""
        return tuple(sorted(device.id for device in self.server.devices)) if self.server else ()


class CannotTellError(KitError):
    """Raised by a check that has nothing to check on this node; its message is why, such as "no NPU here"."""
