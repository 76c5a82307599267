"""A YAML file as a tree of nodes with their places: no value is built, so a text stays as it is written.

A server called `on` or `1e3` stays that, and an EID of digits too, whatever YAML makes of it elsewhere. The tree is put
together from YAML's events and not by `yaml.compose`, which libyaml does by recursion: a deep file would end the
process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError

MAX_DEPTH = 16
"""Levels of nesting; no file that people keep needs half of them."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml, where PyYAML was built with it: a tenth of the time."""
_MERGE = "<<"


class Node(NamedTuple):
    """A scalar has a `text`, a sequence or mapping has `items` (key, value, key, value, ...); `mark` is its place."""

    mark: Any  # a Mark of libyaml or of PyYAML, two types with `line` and `column`
    text: str | None = None
    items: list[Node] | None = None
    is_mapping: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """A file's nodes; `shape` is what its kind looks like, in a few words, for messages."""

    path: Path
    root: Node
    shape: str

    def pairs(self, node: Node) -> Iterable[tuple[Node, Node]]:
        """The entries of a mapping, at least one."""
        if not node.items or not node.is_mapping:
            raise self.error(node, f"expected a mapping with at least one entry; {self.shape}")
        return zip(node.items[::2], node.items[1::2], strict=True)

    def entries(self, node: Node, keys: Sequence[str], *, required: Sequence[str] = ()) -> Mapping[str, Node]:
        """A mapping whose keys are all among `keys`, none of them twice; those in `required` are there."""
        entries: dict[str, Node] = {}
        for key, value in self.pairs(node):
            name = self.text(key)
            if name not in keys:
                raise self.error(key, f"{name!r} is not known here; accepted: {', '.join(keys)}")
            if name in entries:
                raise self.error(key, f"{name} stands twice")
            entries[name] = value
        if missing := [key for key in required if key not in entries]:
            raise self.error(node, f"{', '.join(missing)} missing here")
        return entries

    def items(self, node: Node, most: int) -> Sequence[Node]:
        """The entries of a list, 1 to `most`."""
        if not node.items or node.is_mapping or len(node.items) > most:
            raise self.error(node, f"expected a list of 1 to {most} entries")
        return node.items

    def text(self, node: Node) -> str:
        """A scalar as it is written."""
        if node.text is None:
            raise self.error(node, f"expected a plain text; {self.shape}")
        return node.text

    def number(self, node: Node, largest: int) -> int:
        """A scalar that is a number from 0 to `largest`, in decimal digits."""
        text = self.text(node)
        if not (text.isascii() and text.isdecimal() and len(text) <= len(str(largest)) and int(text) <= largest):
            raise self.error(node, f"{text!r} is not a number from 0 to {largest}")
        return int(text)

    def place(self, node: Node) -> str:
        """`file:line:column`, both from 1."""
        return _place(self.path, node.mark)

    def error(self, node: Node, message: str) -> KitError:
        """The message with the place of the node in front."""
        return KitError(f"{self.place(node)}: {message}")


def read_tree(path: Path, limit: int, shape: str) -> Tree:
    """The nodes of a file of at most `limit` bytes; KitError where it is no YAML or empty, with the place."""
    text = _text(path, limit)
    try:
        root = _root(yaml.parse(text, Loader=_LOADER), path)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = _place(path, mark) if mark else str(path)
        raise KitError(f"{place}: not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise KitError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if root is None:
        raise KitError(f"{path} is empty; {shape}")
    return Tree(path, root, shape)


def _root(events: Iterator[yaml.Event], path: Path) -> Node | None:
    """The node of the only document; None where there is none."""
    open_lists: list[list[Node]] = [[]]
    for event in events:
        if isinstance(event, yaml.ScalarEvent):
            is_merge = event.value == _MERGE and not event.style
            node = Node(event.start_mark, None if is_merge else event.value)
        elif isinstance(event, yaml.CollectionStartEvent):
            node = Node(event.start_mark, None, [], isinstance(event, yaml.MappingStartEvent))
        elif isinstance(event, yaml.AliasEvent):
            # A few of them can stand for more than fits into memory, and no two cards are alike.
            raise KitError(
                f"{_place(path, event.start_mark)}: *{event.anchor} is an alias; write out what it stands for"
            )
        else:
            if isinstance(event, yaml.CollectionEndEvent):
                open_lists.pop()
            if isinstance(event, yaml.DocumentStartEvent) and open_lists[0]:
                raise KitError(f"{_place(path, event.start_mark)}: not YAML: but found another document")
            continue
        open_lists[-1].append(node)
        if node.items is not None:
            open_lists.append(node.items)
            if len(open_lists) > MAX_DEPTH:
                raise KitError(f"{_place(path, node.mark)}: nested too deep, {MAX_DEPTH} levels are the most")
    return open_lists[0][0] if open_lists[0] else None


def _place(path: Path, mark: Any) -> str:
    return f"{path}:{mark.line + 1}:{mark.column + 1}"


def _text(path: Path, limit: int) -> str:
    data = read_bounded(path, limit)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise KitError(f"{path} is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}") from None
