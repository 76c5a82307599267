"""Changes of JSON documents at a pointer."""

import copy
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from hccl_kit.table.pointer import Pointer


class Change(NamedTuple):
    """A value that is written at a pointer, or removed there."""

    pointer: Pointer
    value: Any = None
    removes: bool = False


def at(document: Any, pointer: Pointer) -> Any:
    """The value at the pointer."""
    for part in pointer:
        document = document[part]
    return document


def put(*way: Any) -> Change:
    """A change that writes the last part at the pointer given by the others."""
    return Change(way[:-1], way[-1])


def cut(*way: Any) -> Change:
    """A change that removes what is at the pointer."""
    return Change(way, removes=True)


def changed(document: Any, *changes: Change) -> Any:
    """A copy of the document after the changes."""
    document = copy.deepcopy(document)
    for change in changes:
        *way, last = change.pointer
        holder = at(document, tuple(way))
        if change.removes:
            del holder[last]
        else:
            holder[last] = copy.deepcopy(change.value)
    return document


def places(value: Any, pointer: Pointer = ()) -> Iterator[Pointer]:
    """The pointers of all values below this one."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in parts:
        yield (*pointer, part)
        yield from places(inner, (*pointer, part))


def leaves(value: Any) -> list[Pointer]:
    """The pointers of the values that are no object and no array."""
    return [pointer for pointer in places(value) if not isinstance(at(value, pointer), (dict, list))]


def altered(document: Any, chance: random.Random, keys: list[str], replacement: Any) -> Any:
    """A copy whose value at a random place is replaced or removed, or which has one of these keys there."""
    document = copy.deepcopy(document)
    *way, last = chance.choice(list(places(document)))
    holder = at(document, tuple(way))
    action = chance.choice(["replace", "replace", "remove", "add"])
    if action == "remove":
        del holder[last]
    elif action == "add" and isinstance(holder, dict):
        holder[chance.choice(keys)] = replacement
    else:
        holder[last] = replacement
    return document
