"""A count that differs from its list, of servers, groups or ranks.

HCCL compares the two, so either may be wrong. If the list holds more than the count, nothing of it is lost, and its
length is the one value that HCCL accepts with it: `--fix` writes that. If it holds less, it may have been cut, and a
fitted count would turn a refused table into a job of too few ranks: the user must decide.
"""

from __future__ import annotations

from hccl_kit.base.message import Message
from hccl_kit.table.finding import Edit, Finding
from hccl_kit.table.pointer import Pointer


def miscounted(message: Message, at: Pointer, declared: int, count: int, *, is_text: bool = True) -> Finding:
    """The finding at the key `at[-1]`; `is_text`: the count is written in quotes."""
    right = f'"{count}"' if is_text else str(count)
    if declared > count:
        hint = Message(
            "check.count-or-list.fix",
            'add what is missing; if nothing is missing, write "{key}": {count}',
            key=at[-1],
            count=right,
        )
        return Finding(message, hint, pointer=at)
    hint = Message("check.count.fix", 'write "{key}": {count}', key=at[-1], count=right)
    return Finding(message, hint, pointer=at, fix=(Edit(at, right),))
