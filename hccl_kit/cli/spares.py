"""The spare servers of a job: --spares names them; an inventory or hccl-gen on them knows their cards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hccl_kit.base import hostlist
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message, reason_of
from hccl_kit.check.engine import check_text
from hccl_kit.cli.options import named_option
from hccl_kit.discovery import inventory
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.spares import Spare, cards_in_use, check_names, fit
from hccl_kit.remote.asking import TIMEOUT, Reply
from hccl_kit.remote.probe import Host, Probe, Reach
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.generate import choose_version, generate_cluster
from hccl_kit.table.products import find_product

PACKAGES = ("base", "discovery", "remote", "table")
"""What `discovery.on_server` imports."""


def spares_of(
    hosts: str,
    source: str | None,
    table: RankTable,
    file: TableFile,
    *,
    python: Sequence[str] = (),
) -> tuple[Spare, ...]:
    """The spares of a table that --spares lists; `source` is the inventory with their cards, None: they are asked.

    `python` are the values of --python. Raises KitError if one cannot be a spare of it.
    """
    with named_option("--spares"):
        names = hostlist.expand(hosts)
        check_names(names, table)
        singles = _from_inventory(Path(source), names, table) if source else _from_servers(names, table, python)
        return fit(file, table, singles)


def _from_inventory(file: Path, names: Sequence[str], table: RankTable) -> list[RankTable]:
    product = find_product("a3" if table.version == "1.2" else "910")
    singles = []
    for host in inventory.hosts(file, names, cards_in_use(table)):
        choose_version([host], product, table.version)
        singles.append(generate_cluster([host], version=table.version))
    return singles


def _from_servers(names: Sequence[str], table: RankTable, python: Sequence[str]) -> list[RankTable]:
    """The tables of the spares, each about its own cards."""
    ids = ",".join(map(str, cards_in_use(table)))
    kind = "a3" if table.version == "1.2" else "a2"
    hosts = [Host(name, name, (name, ids, kind, table.version)) for name in names]
    replies = Probe("discovery.on_server", PACKAGES).ask(Reach.of((), python, TIMEOUT), hosts)
    return [_table_in(name, reply) for name, reply in zip(names, replies, strict=True)]


def _table_in(name: str, reply: Reply) -> RankTable:
    """The table in the reply of one spare. Raises KitError if there is none, it has errors or names another server."""
    table = _read(name, reply)
    if isinstance(table, Message):
        raise KitError(
            table,
            hint=Message(
                "cli.launch-spares.not-queried.fix",
                "--inventory FILE gives the cards of spares that cannot be queried over ssh",
            ),
        )
    return table


def _read(name: str, reply: Reply) -> RankTable | Message:
    """The table in the reply, or what is wrong with it."""
    try:
        line = reply.document()
    except ValueError as error:
        return Message(
            "cli.launch-spares.no-cards",
            "spare {name} could not list its cards: {why}",
            name=name,
            why=reason_of(error),
        )
    report = check_text(line, f"of {name}")
    if not report.ok or report.table is None:
        errors = [finding.message for finding in report.findings if finding.severity == "error"]
        return Message(
            "cli.launch-spares.table-with-error",
            "the rank table of spare {name} has an error: {first}",
            name=name,
            first=errors[0] if errors else Message("cli.launch-spares.no-table", "no rank table"),
        )
    if [server.id for server in report.table.servers] != [name]:
        return Message(
            "cli.launch-spares.other-server", "the rank table of spare {name} describes another server", name=name
        )
    return report.table
