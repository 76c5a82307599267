"""What several rules find alike: values that occur again, with the place of the first, and names of a wrong length."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TypeVar

from hccl_kit.base.message import Message
from hccl_kit.table.bounds import bytes_of
from hccl_kit.table.finding import Finding, Related
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


def wrong_length(name: str, at: Pointer, hint: Message, *, least: int = 1, most: int) -> Iterator[Finding]:
    """The finding on a name that does not have `least` to `most` bytes; none if it has."""
    length = bytes_of(name)
    if least <= length <= most:
        return
    message = Message(
        "check.name-empty", '"{key}" is empty; {least} to {most} are accepted', key=at[-1], least=least, most=most
    )
    if length:
        message = Message(
            "check.name-length",
            '"{key}" has {length} bytes; {least} to {most} are accepted',
            key=at[-1],
            length=length,
            least=least,
            most=most,
        )
    yield Finding(message, hint, pointer=at)
