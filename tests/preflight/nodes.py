"""Helpers of the preflight tests: this machine as a server of a table, and free ports on it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hccl_kit.check.engine import check_text
from hccl_kit.discovery.server_id import choose, interfaces
from hccl_kit.launch.job_ports import DEFAULT_HOST_PORTS
from hccl_kit.preflight.node import Node, ToolQueries
from hccl_kit.preflight.rules.ports import is_free
from hccl_kit.table import formats
from hccl_kit.table.finding import Finding
from hccl_kit.table.model import RankTable
from hccl_kit.table.products import any_product, find_product
from tests.tables import value

HERE = choose(interfaces(), {}).address
"""The address that HCCL would use on this machine."""
NAME = next(interface.name for interface in interfaces() if interface.address == HERE)
"""Its interface."""
LINK_LOCAL = [interface for interface in interfaces() if interface.is_link_local and interface.name == NAME]
"""The link-local addresses of its interface. Other interfaces may disappear: tests of several hosts create some."""
NOTHING: Mapping[str, str] = {}


def table_value(servers: int = 1, cards: int = 8, *, first: str = HERE) -> dict[str, Any]:
    """A valid table whose first server is this machine."""
    made = value(servers, cards)
    made["server_list"][0]["server_id"] = first
    return made


def table_text(servers: int = 1, cards: int = 8, *, first: str = HERE) -> str:
    return json.dumps(table_value(servers, cards, first=first), indent=4)


def read(made: Mapping[str, Any]) -> RankTable:
    table = check_text(json.dumps(made), "t.json").table
    assert table is not None
    return table


def node(
    *,
    made: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = NOTHING,
    server: int | None = 0,
    product: str | None = None,
    root: Path = Path("/"),
    path: Path | None = None,
) -> Node:
    """A node as it is passed to a check; `server` is the index of this server."""
    table = read(made or table_value())
    return Node(
        table,
        find_product(product) if product else any_product(),
        None if server is None else table.servers[server],
        environ,
        ToolQueries(),
        root=root,
        path=path,
    )


def faults(check: Callable[[Node], Iterator[Finding]], where: Node) -> list[Finding]:
    return list(check(where))


def messages(check: Callable[[Node], Iterator[Finding]], where: Node) -> list[str]:
    return [fault.message for fault in check(where)]


def free_base(count: int = DEFAULT_HOST_PORTS) -> int:
    """The first of `count` consecutive free ports, below the ephemeral range."""
    bases: Sequence[int] = random.sample(range(20_000, 32_000, 40), k=200)
    for base in bases:
        if all(is_free(HERE, port) for port in range(base, base + count)):
            return base
    raise RuntimeError("no free ports on this machine")


def root_with_cann(folder: Path, version: str) -> Path:
    """The root of a system with this release of CANN and nothing else."""
    info = folder / "usr/local/Ascend/cann/x86_64-linux/ascend_toolkit_install.info"
    info.parent.mkdir(parents=True, exist_ok=True)
    info.write_text(f"version={version}\n", encoding="utf-8")
    return folder


def write_table(folder: Path, made: Mapping[str, Any] | None = None) -> Path:
    path = folder / "t.json"
    path.write_text(formats.write(read(made or table_value())), encoding="utf-8")
    return path
