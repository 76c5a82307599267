"""HK1: whether the table is ready to be used."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.message import Message
from hccl_kit.base.typos import is_typo
from hccl_kit.check.rule import Rule
from hccl_kit.table.bounds import READY
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Edit, Finding
from hccl_kit.table.model import RankTable
from hccl_kit.table.products import Product


def unknown_status(table: RankTable, _product: Product) -> Iterator[Finding]:
    """`status` is neither "completed" nor "initializing".

    What:           the value of `status` is not a value that programs write.
    Why it matters: HCCL waits for "completed": one check a second for 1800 s, then the job fails (R6).
    Example:        "status": "complete"
    Fix:            write "completed".
    HCCL:           no code; the job times out.
    """
    if table.status != READY:
        message = Message(
            "HK110.status",
            '"status" is {status}; HCCL waits up to 1800 s for "completed" and then gives up',
            status=shown(table.status),
        )
        fix = (Edit(("status",), f'"{READY}"'),) if _means_ready(table.status) else ()
        yield Finding(message, Message("HK110.fix", 'write "status": "completed"'), pointer=("status",), fix=fix)


def _means_ready(status: str) -> bool:
    """Whether the word can only be "completed": in another case, with spaces, or one typo away from it.

    "complete" is one letter short of it and no other word of a rank table. "done", "ok" or "success" may well mean the
    same, but their author may not know what HCCL waits for: a person should check whether the table is ready.
    """
    word = status.strip().lower()
    return word == READY or is_typo(word, READY)


RULES = (Rule("HK110", "unknown-status", unknown_status, kinds=("1.0", "1.1", "1.2", "template2")),)
