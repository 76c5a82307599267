"""Of which servers and cards a table is made: the options of hccl-gen, and --devices of hccl-kit run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Literal

from hccl_kit.base import hostlist
from hccl_kit.base.errors import KitError
from hccl_kit.base.host_name import check_host
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import joined, listed
from hccl_kit.cli import complain
from hccl_kit.cli.options import named_option
from hccl_kit.cli.tables import SIMULATED, valid_text
from hccl_kit.discovery.job_servers import EVERY, Devices, JobServers, ServerSearch, physical_ids
from hccl_kit.launch.files import TableFile
from hccl_kit.table.device_range import DeviceRange
from hccl_kit.table.hosts import Host
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.generate import choose_version, file_name, generate_cluster
from hccl_kit.table.products import Product

_SHOWN = 16


def devices_of(text: str, visible: str | None) -> Devices:
    """The cards of --device_num, within those of --visible_devices if these are given. Raises KitError."""
    with named_option("--device_num"):
        wanted = DeviceRange.parse(text)
    if visible is None:
        return Devices(wanted)
    with named_option("--visible_devices"):
        return Devices(DeviceRange(tuple(physical_ids(wanted.ids, visible).values())), wanted)


def hosts_of(text: str, *, simulate: bool) -> tuple[str, ...] | Literal["all"]:
    """The servers that --hosts lists. Raises KitError for a duplicate or a misspelled address."""
    if text == EVERY and not simulate:
        return EVERY
    with named_option("--hosts"):
        if Path(text).is_file():
            raise KitError(
                "cli.hosts-file",
                "{file} is a file; accepted: names of servers, such as node[01-04] or node1,node2",
                fix='--hosts "$(paste -sd, {file})" takes one name from each line',
                file=quote(printable(text)),
            )
        names = hostlist.expand(text)
        for name in names:
            check_host(name)
        duplicates = [name for name, count in Counter(names).items() if count > 1]
        if duplicates:
            raise KitError(
                "cli.duplicate-hosts",
                "{hosts} listed twice; each server may appear once",
                hosts=listed(duplicates, _SHOWN),
            )
    return names


def check_search(search: ServerSearch, *, is_mpi: bool) -> None:
    """Raises KitError if the options contradict each other."""
    product = search.product
    versions = joined(filter(None, product.table_versions))
    if search.version not in (None, *product.table_versions):
        raise KitError(
            "cli.table-version",
            "HCCL of {product} reads rank tables of version {versions}, not {version} (--table-version)",
            product=product.title,
            versions=versions,
            version=search.version,
        )
    if not product.reads_servers and (search.inventory is None or is_mpi):
        raise KitError(
            "cli.needs-levels",
            "HCCL of {product} reads rank tables of version {versions}, which contain the local id of every card"
            " and its addresses in every network; no tool of the driver prints them",
            fix="give them as local_id and level_list of every card: --hosts all --inventory FILE\n"
            "the rootinfo file of a server has them under these names",
            product=product.title,
            versions=versions,
        )
    if search.server is not None:
        with named_option("--server_ip"):
            check_host(search.server)
        if search.hosts is not None:
            raise KitError("cli.hosts-and-server", "--hosts and --server_ip are mutually exclusive")
    if search.hosts is not None and search.inventory is None and not search.simulate:
        raise KitError(
            "cli.hosts-without-cards",
            "--hosts names servers, but not where the addresses of their cards come from",
            fix="--inventory FILE    a YAML file of servers and their cards\n"
            "--simulate          addresses that exist in no network\n"
            "or run hccl-gen without --hosts on each server, and hccl-merge on their tables\n"
            "or let mpirun start a process on every server, which queries its own cards: --mpi",
        )
    if is_mpi and search.simulate:
        raise KitError(
            "cli.mpi-and-simulate",
            "--mpi and --simulate are mutually exclusive",
            fix="hccl-gen --hosts LIST --simulate",
        )


def make_table(search: ServerSearch, servers: JobServers) -> tuple[RankTable, TableFile]:
    """The table of the servers that were found. Raises KitError with its first error."""
    product = search.product
    version = choose_version(servers.hosts, product, search.version)
    table = generate_cluster(servers.hosts, version=version)
    name = file_name(table)
    in_notes = {SIMULATED} if search.simulate else ()  # they name the addresses
    text = valid_text(table, name, _with_prefix(product, servers.hosts), strict_topology=True, silent=in_notes)
    if version == "1.0" and product.has_super_pods and search.version is None:
        complain(
            Message(
                "cli.gen.no-super-pod",
                "note: super pod and SDID are unknown (npu-smi or an inventory provides them), so version 1.0 is"
                " written and servers connect over RoCE",
            )
        )
    return table, TableFile(name, text)


def _with_prefix(product: Product, hosts: Sequence[Host]) -> Product:
    """The product with the prefix length of its RoCE networks, if all cards of several servers have the same."""
    prefixes = {card.prefix for host in hosts for card in host.cards.values()}
    return product._replace(prefix=prefixes.pop()) if len(hosts) > 1 and len(prefixes) == 1 else product
