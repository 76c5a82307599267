"""A count that differs from its list, of servers, groups or ranks.

HCCL compares the two, so either may be wrong. If the list holds more than the count, nothing of it is lost, and its
length is the one value that HCCL accepts with it: `--fix` writes that. If it holds less, it may have been cut, and a
fitted count would turn a refused table into a job of too few ranks: the user must decide.
"""

from __future__ import annotations

from hccl_kit.table.finding import Edit, Finding
from hccl_kit.table.pointer import Pointer


def miscounted(at: Pointer, declared: int, count: int, found: str, *, is_text: bool = True) -> Finding:
    """The finding at the key `at[-1]`; `found` says what holds how many, with "{}" for the number."""
    quote = '"' if is_text else ""
    message = f'"{at[-1]}" is {quote}{declared}{quote}, but {found.format(count)}'
    right = f"{quote}{count}{quote}"
    if declared > count:
        return Finding(message, f'add what is missing; if nothing is missing, write "{at[-1]}": {right}', pointer=at)
    return Finding(message, f'write "{at[-1]}": {right}', pointer=at, fix=(Edit(at, right),))
