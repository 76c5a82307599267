"""The rules of tables, applied to the one that hccl-gen is about to write."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from hccl_kit.base.errors import KitError, ParseError
from hccl_kit.check.engine import check_text
from hccl_kit.check.rule import TOPOLOGY
from hccl_kit.check.rules import RULE_BY_ID
from hccl_kit.check.rules.topology import nearest_legal
from hccl_kit.table.device_range import DeviceRange
from hccl_kit.table.finding import Finding
from hccl_kit.table.formats import write
from hccl_kit.table.hosts import Card, Host
from hccl_kit.table.operations.generate import file_name, generate_cluster
from hccl_kit.table.products import Product


def judge_ids(options: argparse.Namespace, ids: Sequence[int], servers: Sequence[str], product: Product) -> None:
    """Check the ids alone, before any card is queried; a ParseError points into the range as it was written.

    All servers have the same cards, so two stand for many.
    """
    if "1.0" not in product.table_versions:
        return  # the ids of version 2.0 are bounded by its format
    refusal = _on_ids(ids, servers, product)
    if refusal is None:
        return
    text, message = options.device_num, f"{refusal.rule}: {refusal.message}"
    written = text.strip()
    column = text.index(written)
    if (
        written.endswith("]")
        and len(ids) > 1
        and options.visible_devices is None
        and _on_ids(ids[:-1], servers, product) is None
    ):
        meant = f'did you mean "[{ids[0]},{ids[-1]})"?'
        raise ParseError(message, source=text, column=column + len(written) - 1, hint=meant)
    if written.isdigit() and _on_ids(range(int(written)), servers, product) is None:  # a count of cards
        meant = f'a single number is the id of a card; did you mean "[0,{written})"?'
        raise ParseError(message, source=text, column=column, width=len(written), hint=meant)
    nearest = nearest_legal(ids, product)
    hint = None
    if nearest and options.visible_devices is None:
        hint = f'--device_num "{DeviceRange(nearest)}"'
    elif nearest:
        hint = f"the nearest supported choice is {DeviceRange(nearest)} in physical ids"
    raise ParseError(message, source=text, column=column, width=len(written), hint=hint)


def judge(text: str, name: str, hosts: Sequence[Host], product: Product) -> list[str]:
    """Check the whole table, given as the text of its file; returns the warnings that do not prevent writing it."""
    findings = check_text(text, name, _with_prefix(product, hosts)).findings
    if refusal := _refusal(findings):
        raise KitError(f"{refusal.rule}: {refusal.message}", hint=refusal.hint)
    return [f"warning: {found.rule}: {found.message}" for found in findings if found.severity == "warning"]


def _on_ids(ids: Sequence[int], servers: Sequence[str], product: Product) -> Finding | None:
    hosts = [Host(name, {i: Card() for i in ids}) for name in servers[:2]]
    table = generate_cluster(hosts, version="1.0")
    findings = check_text(write(table), file_name(table), product).findings
    return _refusal([found for found in findings if len(hosts) == 1 or _is_by_ids(found)])


def _refusal(findings: Sequence[Finding]) -> Finding | None:
    """The first that is an error or about topology: a table that we write should not be slow or unsupported."""
    for found in findings:
        if found.severity == "error" or _is_topology(found):
            return found
    return None


def _is_by_ids(found: Finding) -> bool:
    """The other rules need the addresses if there are several servers."""
    return _is_topology(found) or RULE_BY_ID[found.rule].by_ids


def _is_topology(found: Finding) -> bool:
    return RULE_BY_ID[found.rule].family == TOPOLOGY


def _with_prefix(product: Product, hosts: Sequence[Host]) -> Product:
    """With the prefix of the RoCE networks, if all cards of several servers have the same."""
    prefixes = {card.prefix for host in hosts for card in host.cards.values()}
    return product._replace(prefix=prefixes.pop()) if len(hosts) > 1 and len(prefixes) == 1 else product
