"""Checks of a table that is to be written: of the chosen cards before it is built, of the whole table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.check.engine import check_text
from hccl_kit.check.rule import TOPOLOGY, run
from hccl_kit.check.rules import RULE_BY_ID, RULES
from hccl_kit.table.finding import Finding
from hccl_kit.table.formats import write
from hccl_kit.table.hosts import Card, Host
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.generate import generate_cluster
from hccl_kit.table.products import Product


class Checked(NamedTuple):
    """The text of a valid table, and the warnings about it."""

    text: str
    warnings: tuple[Finding, ...]


def refused_ids(ids: Sequence[int], servers: Sequence[str], product: Product) -> Finding | None:
    """The finding that forbids the cards `ids` on every one of `servers`; None if they may be used.

    Warnings on topology count too: a table that this project writes should be neither slow nor unsupported. Raises
    KitError if a server id is not valid.
    """
    if "1.0" not in product.table_versions:
        return None  # the format of version 2.0 limits its ids
    hosts = [Host(name, {i: Card() for i in ids}) for name in servers[:2]]  # all are equal, so two stand for many
    table = generate_cluster(hosts, version="1.0")
    rules = [rule for rule in RULES if rule.by_ids or rule.family == TOPOLOGY]  # the others need addresses
    return min(run(rules, product.name, table, product), key=lambda found: not _is_topology(found), default=None)


def checked_text(table: RankTable, name: str, product: Product | None, *, strict_topology: bool = False) -> Checked:
    """The text of the table for the file `name`. Raises KitError if a rule reports an error.

    With `strict_topology` a warning on topology is an error.
    """
    text = write(table)
    found = check_text(text, name, product).findings
    for one in found:
        if one.severity == "error" or (strict_topology and _is_topology(one)):
            raise KitError(f"{one.rule}: {one.message}, in the table to be written", hint=one.hint)
    return Checked(text, tuple(one for one in found if one.severity == "warning"))


def _is_topology(found: Finding) -> bool:
    return RULE_BY_ID[found.rule].family == TOPOLOGY
