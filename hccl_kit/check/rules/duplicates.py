"""Values that occur again, and the place where each is defined first."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TypeVar

from hccl_kit.base.message import Message
from hccl_kit.table.finding import Related
from hccl_kit.table.pointer import Pointer

Key = TypeVar("Key", bound=Hashable)
Owner = TypeVar("Owner")


def repeated(pairs: Iterable[tuple[Key, Owner]]) -> Iterator[tuple[Key, Owner, Owner]]:
    """Every key that an earlier pair has too, with its owner and its first owner."""
    first: dict[Key, Owner] = {}
    for key, owner in pairs:
        if key in first:
            yield key, owner, first[key]
        else:
            first[key] = owner


def same_for(others: int) -> Message | str:
    """The end of a message that is reported once, with the number of the other places; "" without others."""
    return Message("check.same-for", "; the same holds for {count} more", count=others) if others else ""


def first_defined(at: Pointer) -> tuple[Related, ...]:
    """The reference from a duplicate to the place of the first."""
    return (Related(at, Message("check.first-defined", "first defined")),)
