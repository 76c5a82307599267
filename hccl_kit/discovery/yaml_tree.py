"""A YAML file as a tree of nodes with their places and the text of every scalar, without type conversion.

A server called `on` or `1e3` keeps its name, and so does an EID of digits. The tree is built from YAML's events and not
by `yaml.compose`, which recurses in libyaml: a deeply nested file would crash the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import row

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 16
"""Levels of nesting; an inventory needs less than half of them."""
MAX_SHOWN = 80
"""Characters of a wrong value in a message."""

_MERGE = "<<"
_TOO_DEEP = "exceeded maximum nesting depth"
"""The problem that libyaml 0.2.6 reports at 1,000 levels, which it counts before it hands out the first."""


class Node(NamedTuple):
    """A scalar has a `text`, a sequence or mapping has `items` (key, value, key, value, ...); `mark` is its place."""

    mark: Any  # a Mark of libyaml or of PyYAML, two types with `line` and `column`
    text: str | None = None
    items: list[Node] | None = None
    is_mapping: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """A file's nodes; `shape` describes the expected structure in messages."""

    path: Path
    root: Node
    shape: str

    def pairs(self, node: Node) -> Iterable[tuple[Node, Node]]:
        """The entries of a mapping, at least one."""
        if not node.items or not node.is_mapping:
            hint = Message(
                "discovery.yaml-mapping", "expected a mapping with at least one entry; {shape}", shape=self.shape
            )
            raise self.error(node, hint)
        return zip(node.items[::2], node.items[1::2], strict=True)

    def entries(self, node: Node, keys: Sequence[str], *, required: Sequence[str] = ()) -> Mapping[str, Node]:
        """A mapping with keys from `keys`, without duplicates, and with all keys in `required`."""
        entries: dict[str, Node] = {}
        for key, value in self.pairs(node):
            name = self.text(key)
            if name not in keys:
                accepted = row(keys)
                hint = Message(
                    "discovery.yaml-key",
                    "{key!r} is not a valid key here; accepted: {accepted}",
                    key=name[:MAX_SHOWN],
                    accepted=accepted,
                )
                raise self.error(key, hint)
            if name in entries:
                raise self.error(key, Message("discovery.yaml-duplicate", "duplicate key {key}", key=name))
            entries[name] = value
        if missing := [key for key in required if key not in entries]:
            raise self.error(node, Message("discovery.yaml-missing", "{keys} missing here", keys=row(missing)))
        return entries

    def items(self, node: Node, most: int) -> Sequence[Node]:
        """The entries of a list, 1 to `most`."""
        if not node.items or node.is_mapping or len(node.items) > most:
            raise self.error(node, Message("discovery.yaml-list", "expected a list of 1 to {most} entries", most=most))
        return node.items

    def text(self, node: Node) -> str:
        """The text of a scalar."""
        if node.text is None:
            raise self.error(node, Message("discovery.yaml-scalar", "expected a scalar; {shape}", shape=self.shape))
        return node.text

    def number(self, node: Node, largest: int) -> int:
        """A scalar that is an integer from 0 to `largest`, in decimal digits."""
        text = self.text(node)
        if not (text.isascii() and text.isdecimal() and len(text) <= len(str(largest)) and int(text) <= largest):
            hint = Message(
                "discovery.yaml-integer",
                "{value!r} is not an integer from 0 to {most}",
                value=text[:MAX_SHOWN],
                most=largest,
            )
            raise self.error(node, hint)
        return int(text)

    def place(self, node: Node) -> str:
        """`file:line:column`, both from 1."""
        return _place(self.path, node.mark)

    def error(self, node: Node, message: Message) -> KitError:
        """The message with the place of the node in front."""
        return KitError("discovery.yaml-place", "{place}: {message}", place=self.place(node), message=message)


def read_tree(path: Path, limit: int, shape: str) -> Tree:
    """The nodes of a file of at most `limit` bytes. Raises KitError with the place if it is not YAML or empty."""
    import yaml

    text = read_text(path, limit)
    loader = getattr(
        yaml, "CSafeLoader", yaml.SafeLoader
    )  # of libyaml, if PyYAML was built with it: a tenth of the time
    try:
        root = _root(yaml.parse(text, Loader=loader), path)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = _place(path, mark) if mark else str(path)
        if error.problem == _TOO_DEEP:
            raise _too_deep(place) from None
        raise KitError(
            "discovery.not-yaml", "{place}: not YAML: {reason}", place=place, reason=error.problem or error.context
        ) from None
    except yaml.YAMLError as error:
        raise KitError(
            "discovery.yaml-unreadable", "{path}: not YAML: {reason}", path=path, reason=" ".join(str(error).split())
        ) from None
    if root is None:
        raise KitError("discovery.yaml-empty", "{path} is empty; {shape}", path=path, shape=shape)
    return Tree(path, root, shape)


def _root(events: Iterator[yaml.Event], path: Path) -> Node | None:
    """The node of the only document; None if there is none."""
    import yaml

    open_lists: list[list[Node]] = [[]]
    for event in events:
        if isinstance(event, yaml.ScalarEvent):
            is_merge = event.value == _MERGE and not event.style
            node = Node(event.start_mark, None if is_merge else event.value)
        elif isinstance(event, yaml.CollectionStartEvent):
            node = Node(event.start_mark, None, [], isinstance(event, yaml.MappingStartEvent))
        elif isinstance(event, yaml.AliasEvent):
            # A few aliases can expand to more than fits into memory, and cards are never equal.
            raise KitError(
                "discovery.yaml-alias",
                "{place}: *{alias} is an alias; replace it by its value",
                place=_place(path, event.start_mark),
                alias=event.anchor,
            )
        else:
            if isinstance(event, yaml.CollectionEndEvent):
                open_lists.pop()
            if isinstance(event, yaml.DocumentStartEvent) and open_lists[0]:
                raise KitError(
                    "discovery.yaml-documents",
                    "{place}: expected a single document",
                    place=_place(path, event.start_mark),
                )
            continue
        open_lists[-1].append(node)
        if node.items is not None:
            open_lists.append(node.items)
            if len(open_lists) > MAX_DEPTH:
                raise _too_deep(_place(path, node.mark))
    return open_lists[0][0] if open_lists[0] else None


def _too_deep(place: str) -> KitError:
    return KitError("discovery.yaml-too-deep", "{place}: nested deeper than {most} levels", place=place, most=MAX_DEPTH)


def _place(path: Path, mark: Any) -> str:
    return f"{path}:{mark.line + 1}:{mark.column + 1}"
