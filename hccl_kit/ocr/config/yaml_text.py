"""YAML of configurations: from text to nodes and values, and back."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from hccl_kit.base.errors import KitError
from hccl_kit.table.pointer import Pointer

MAX_VALUES = 10_000


class _Loader(yaml.SafeLoader):
    """SafeLoader that reads 1e-3 as a number, which is a string in YAML 1.1, and a date as a string."""


_Loader.yaml_implicit_resolvers = {
    first: [row for row in rows if row[0] != "tag:yaml.org,2002:timestamp"]
    for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_EXPONENT = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, [*"-+0123456789"])


class _Dumper(yaml.SafeDumper):
    """SafeDumper that quotes the strings that _Loader would read as something else."""


_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, [*"-+0123456789"])
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
"""NUL and lone surrogates, which quoted YAML can contain, but no path and no UTF-8 file."""
_OTHER_BREAKS = frozenset("\x85\u2028\u2029")
"""Unquoted, YAML reads them as line breaks and returns a space."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = '"' if _OTHER_BREAKS & set(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def dump(values: Mapping[str, Any]) -> str:
    """The text from which `parse` reads the same values."""
    return yaml.dump(dict(values), Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def parse(text: str, source: str) -> tuple[Any, yaml.Node | None]:
    """The value of a document, each alias a copy of its own, and its nodes. Raises KitError if it is not valid YAML.

    An alias is the same node as its anchor.
    """
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            return None, None
        _bound(root, source, itertools.count(1))
        return copied(loader.construct_document(root)), root
    except (yaml.YAMLError, ValueError, LookupError, AttributeError) as error:  # the last three: !!int x
        raise KitError(
            "ocr.yaml-text.not-valid-yaml", "{source} is not valid YAML: {reason}", source=source, reason=error
        ) from error
    except RecursionError:
        raise KitError("ocr.yaml-text.nested-too-deeply", "{source} is nested too deeply", source=source) from None


def nodes(node: yaml.Node | None, pointer: Pointer = ()) -> Iterator[tuple[Pointer, yaml.Node, int]]:
    """Every place of a document with its node and its line; for a value of a section the line of its key."""
    if node is None:
        return
    yield pointer, node, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*pointer, str(key.value))
            yield from nodes(value, inner)
            yield inner, value, key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from nodes(value, (*pointer, index))


def copied(value: Any) -> Any:
    """A deep copy, with strings for keys, dates and everything else that JSON lacks."""
    if isinstance(value, dict):
        return {str(key): copied(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [copied(inner) for inner in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def value_at(values: Any, pointer: Pointer) -> Any:
    """The value at a place outside lists; None if there is none."""
    for key in pointer:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def dotted(pointer: Pointer) -> str:
    """A place as users write it: `train.loader.batch_size`."""
    return ".".join(map(str, pointer))


def _bound(node: yaml.Node, source: str, counter: Iterator[int]) -> None:
    """Bound the number of nodes before values are constructed: nested aliases, also by '<<', grow exponentially."""
    if next(counter) > MAX_VALUES:
        raise KitError(
            "ocr.yaml-text.values",
            "{source} has more than {max_values} values; an alias counts at each use",
            source=source,
            max_values=MAX_VALUES,
        )
    if isinstance(node, yaml.ScalarNode) and _NO_TEXT.search(node.value):
        raise KitError(
            "ocr.yaml-text.contains-character-no",
            "{source}:{line}: {value!r} contains a character that no file name can have (NUL or a lone surrogate)",
            source=source,
            line=node.start_mark.line + 1,
            value=node.value[:40],
        )
    if isinstance(node, yaml.MappingNode):
        _assert_no_duplicates(node, source)
    if isinstance(node, yaml.CollectionNode):
        for inner in node.value:
            for part in inner if isinstance(inner, tuple) else (inner,):
                _bound(part, source, counter)


def _assert_no_duplicates(node: yaml.MappingNode, source: str) -> None:
    """Raises KitError for a duplicate key: YAML would silently use the last one."""
    seen: dict[str, int] = {}
    for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
        line = key.start_mark.line + 1
        if key.value in seen:
            raise KitError(
                "ocr.yaml-text.given-twice-first",
                "{source}:{line}: {value} is given twice, first in line {seen}",
                source=source,
                line=line,
                value=key.value,
                seen=seen[key.value],
            )
        seen[key.value] = line
