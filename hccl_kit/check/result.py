"""The result of a check. Tuples instead of dataclasses, and few imports: every check of a file loads this module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from hccl_kit.table.columns import Columns
    from hccl_kit.table.finding import Finding
    from hccl_kit.table.model import RankTable

UNKNOWN_FORMAT = "unknown"


class Content:
    """The table of a document with the number of its servers and devices, which are known before it is built.

    A check of a valid table needs the two numbers only; `read` builds the table, an object per device, on first use.
    For a table that was proven valid, `value` is the JSON value of its file, and `columns` holds the devices without an
    object for each. `columns` is None for any other table, or if the devices hold more than `Columns` can.
    """

    def __init__(
        self,
        servers: int,
        devices: int,
        read: Callable[[], RankTable],
        value: Mapping[str, Any] | None = None,
        columns: Callable[[], Columns] | None = None,
    ) -> None:
        self.servers, self.devices, self._read = servers, devices, read
        self.value, self._columns = value, columns

    @classmethod
    def of(cls, table: RankTable) -> Content:
        """The content of a table that is already built."""
        return cls(len(table.servers), table.world_size, lambda: table)

    @cached_property
    def table(self) -> RankTable:
        """The table."""
        return self._read()

    @property
    def columns(self) -> Columns | None:
        """The devices as columns."""
        return self._columns() if self._columns else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and self.table == other.table

    def __hash__(self) -> int:
        return hash((self.servers, self.devices))


class Report(NamedTuple):
    """The result for one document.

    `format` is the kind of document ("1.0", "template2", ..., "unknown"). `product` is the name of the product it was
    checked for, "auto" for the rules common to all that read the version; `is_assumed` if the version decided it.
    `findings` are in the order of the text. `content` is None if the document holds no table that could be checked.
    `hccl_error` is the first code that HCCL reports for the table; None if it reports none.
    """

    name: str
    format: str
    product: str
    findings: tuple[Finding, ...]
    content: Content | None = None
    is_assumed: bool = False
    hccl_error: str | None = None

    @property
    def table(self) -> RankTable | None:
        """The table, built on first use; None without content."""
        return self.content.table if self.content else None

    @property
    def ok(self) -> bool:
        """Whether there is no error; there may be warnings and notes."""
        return all(found.severity != "error" for found in self.findings)
