"""HK1: is the table ready to be used?"""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.document import shown
from hccl_kit.finding import Finding
from hccl_kit.products import Product
from hccl_kit.rank_table import RankTable


def unknown_status(table: RankTable, _product: Product) -> Iterator[Finding]:
    """`status` is neither "completed" nor "initializing".

    What:           the value of `status` is a word that no program writes.
    Why it matters: HCCL waits until it reads "completed": one look a second, 1800 s, then the job fails (R6).
    Example:        "status": "complete"
    Fix:            write "completed".
    HCCL:           no code; the job times out.
    """
    if table.status != "completed":
        message = f'"status" is {shown(table.status)}; HCCL waits up to 1800 s for "completed" and then gives up'
        yield Finding(("status",), message, 'write "status": "completed"')
