"""Values that occur again, and the place where each is defined first."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TypeVar

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


def first_defined(at: Pointer) -> tuple[Related, ...]:
    """The reference from a duplicate to the place of the first."""
    return (Related(at, "first defined"),)
