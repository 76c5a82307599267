"""The result of a check."""

from typing import NamedTuple

from hccl_kit.table.finding import Finding
from hccl_kit.table.model import RankTable

UNKNOWN_FORMAT = "unknown"


class Report(NamedTuple):
    """The result for one document.

    `format` is the kind of document ("1.0", "template2", ..., "unknown"). `product` is the name of the product it was
    checked for, "auto" for the rules common to all that read the version; `is_assumed` if the version decided it.
    `findings` are in the order of the text. `table` is None if the document holds no table that could be checked.
    `hccl_error` is the first code that HCCL reports for the table; None if it reports none.
    """

    name: str
    format: str
    product: str
    findings: tuple[Finding, ...]
    table: RankTable | None = None
    is_assumed: bool = False
    hccl_error: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there is no error; there may be warnings and notes."""
        return all(finding.severity != "error" for finding in self.findings)
