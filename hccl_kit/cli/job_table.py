"""The table of a job that hccl-kit run starts: a given one, or one of the cards of this server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.check.device_choice import check_devices
from hccl_kit.cli import complain
from hccl_kit.cli.options import named_option
from hccl_kit.cli.search import make_table
from hccl_kit.cli.tables import table_file
from hccl_kit.discovery.job_servers import Devices, ServerSearch, find_servers
from hccl_kit.discovery.product_here import choose_product
from hccl_kit.launch.files import TableFile
from hccl_kit.table.device_range import DeviceRange
from hccl_kit.table.model import RankTable
from hccl_kit.table.products import find_product


class TableOfJob(NamedTuple):
    """The table of a job and its file; `path` is None if it is made for this job, and kept with its logs."""

    table: RankTable
    file: TableFile
    path: Path | None


def table_of_job(given: str | None, devices: str | None, product: str | None, *, simulate: bool) -> TableOfJob:
    """The table `given`, or one of the cards of this server that the range `devices` names. Raises KitError."""
    if given is not None:
        table, file, warnings = table_file(given, None)
        for warning in warnings:
            complain(warning)
        return TableOfJob(table, file, None if given == "-" else Path(given).resolve())
    assert devices is not None
    text, named = devices, find_product(product) if product else None
    choice = choose_product(named, cards_are_here=not simulate)
    with named_option("--devices"):
        cards = DeviceRange.parse(text)
    search = ServerSearch(Devices(cards), choice, simulate=simulate)

    def check(names: Sequence[str]) -> None:
        check_devices(text, cards.ids, names, choice.product, option="--devices", may_be=choice.may_be)

    servers = find_servers(search, check, complain)
    return TableOfJob(*make_table(search, servers), None)
