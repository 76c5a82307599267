"""Check the text of a rank table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hccl_kit.check.quick.proof import valid

if TYPE_CHECKING:
    from hccl_kit.check.result import Report
    from hccl_kit.table.products import Product


def check_text(data: bytes | str, name: str, product: Product | None = None) -> Report:
    """Check a document by the rules of `product`. None: of the only product that reads its version, or by those that
    all products that read it have in common.

    `name` is the path as the user wrote it; it is checked too (HK008), except for `source.STDIN`. Total: any input
    gives a report. A valid table is quickly proven valid; any other document is parsed again, with all places.
    """
    return valid(data, name, product) or _checked_exactly(data, name, product)


def _checked_exactly(data: bytes | str, name: str, product: Product | None) -> Report:
    from hccl_kit.check.exact import check_document  # noqa: PLC0415 - a valid table does not need the rules
    from hccl_kit.table.document import parse  # noqa: PLC0415 - nor the places in its text

    return check_document(parse(data, name), product)
