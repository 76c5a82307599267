"""What a rule of this family is given, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from hccl_kit.preflight.tool_queries import ToolQueries
from hccl_kit.table.finding import Rule, Severity
from hccl_kit.table.model import RankTable, Server
from hccl_kit.table.products import Product


class Node(NamedTuple):
    """This machine, and what the table says of it.

    `server` is the table's server that is this machine, None where none is. `root` is the folder in which dev, etc,
    proc, sys and usr are looked for. Programs are found on PATH of `environ`, as a user's shell would;
    `tools` holds what those of the driver answered. `path` is where
    the table's file is to lie on this machine, None where nobody says.
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
        """The physical ids of this server's cards, ascending; none where the server is not known."""
        return tuple(sorted(device.id for device in self.server.devices)) if self.server else ()


class Fault(NamedTuple):
    """What a rule found on this node: the message, what to do, and the card it is about, where it is about one."""

    message: str
    hint: str | None = None
    device: int | None = None


class CannotTellError(Exception):
    """Raised by a check that has nothing to look at on this node; its text is the reason, such as "no NPU here"."""


NodeCheck = Callable[[Node], Iterator[Fault]]


class NodeRule(NamedTuple):
    """A row of the table of rules."""

    rule: Rule
    check: NodeCheck


def row(  # a row reads best on one line
    id: str,  # noqa: A002 - the word of Rule
    title: str,
    check: NodeCheck,
    *,
    hccl_error: str | None = None,
    severity: Severity = "error",
) -> NodeRule:
    """A row; the page of the rule is the docstring of its check."""
    return NodeRule(Rule(id, title, hccl_error, severity=severity, formats=("node",), doc=check.__doc__ or ""), check)
