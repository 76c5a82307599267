"""What a site expects of its machines, by product, from a YAML file.

    a2:
      error:
        cards: {count: 8, memory: 65536 MB, link: UP, speed: 200000 Mb/s}
        versions: {driver: [25.2.0, 25.2.1], cann: 8.3.RC1, torch_npu: 2.7.1}
      warning: {variables: {HCCL_CONNECT_TIMEOUT: 600}, settings: {cpu governor: performance}, mounts: {/data: nfs4}}

The names are those of a snapshot, and so are the values, which are compared as texts. A list has the accepted ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.discovery.installation import PARTS
from hccl_kit.discovery.yaml_tree import MAX_SHOWN, Node, Tree, read_tree
from hccl_kit.preflight.answer import TLS
from hccl_kit.preflight.system_settings import NAMES, job_variables
from hccl_kit.table.finding import Severity
from hccl_kit.table.products import PRODUCT_NAMES

MAX_FILE = 1 << 20
COUNT = "count"
"""How many cards a machine has; the other names of `cards` are readings of each."""
GROUPS: Mapping[str, Sequence[str]] = {
    "cards": (COUNT, "chip", "health", "memory", "link", "speed"),
    "versions": PARTS,
    "variables": (),
    "settings": (*NAMES, TLS),
    "mounts": (),
}
"""The groups of facts, and their names; an empty tuple accepts any name that a snapshot has."""
_SEVERITIES: Sequence[Severity] = ("error", "warning")
_SHAPE = "site rules are `product: {severity: {group: {name: value}}}`"
_MAX_VALUES = 32


class Expected(NamedTuple):
    """A fact of `group` that must have one of `texts`, else there is a finding of this severity.

    `place` is the name of the file with the line and column of the value.
    """

    severity: Severity
    group: str
    name: str
    texts: tuple[str, ...]
    place: str


Site = Mapping[str, tuple[Expected, ...]]
"""What is expected, by product."""
NO_RULES: Site = MappingProxyType({})


def read_site(path: Path) -> Site:
    """The rules in a file. Raises KitError if it is missing, with line and column if it has another structure."""
    try:
        tree = read_tree(path, MAX_FILE, _SHAPE)
    except KitError as error:
        if os.path.lexists(path):
            raise
        hint = Message(
            "preflight.no-site-rules",
            "write the file, or correct site-rules in .hccl-kit.toml or pyproject.toml, which names it",
        )
        raise KitError(error.message, hint=hint) from error
    return {product: tuple(_rows(tree, node)) for product, node in tree.entries(tree.root, PRODUCT_NAMES).items()}


def _rows(tree: Tree, of_product: Node) -> Iterator[Expected]:
    for severity, groups in tree.entries(of_product, _SEVERITIES).items():
        for group, facts in tree.entries(groups, [*GROUPS]).items():
            for name, value in tree.entries(facts, GROUPS[group] or _free_names(tree, group, facts)).items():
                accepted = [value] if value.items is None else tree.items(value, _MAX_VALUES)
                texts = tuple(map(tree.text, accepted))
                place = tree.place(value).rpartition("/")[2]
                yield Expected("error" if severity == "error" else "warning", group, name, texts, place)


def _free_names(tree: Tree, group: str, facts: Node) -> Sequence[str]:
    """The names of a mapping, all of which may be in this group."""
    for key, _ in tree.pairs(facts):
        name = tree.text(key)
        if group == "variables" and job_variables({name: name}) != {name: name}:
            message = Message(
                "preflight.site-variable",
                "{name!r} is not read; accepted: variables of HCCL, CANN and launchers that hold no secret",
                name=name[:MAX_SHOWN],
            )
            raise tree.error(key, message)
        if group == "mounts" and not name.startswith("/"):
            message = Message(
                "preflight.site-mount", "{name!r} is not a path that begins with /", name=name[:MAX_SHOWN]
            )
            raise tree.error(key, message)
    return [tree.text(key) for key, _ in tree.pairs(facts)]
