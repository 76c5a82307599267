"""What the command line of hccl-gen asks for, as one value."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal, NamedTuple

from hccl_kit.base import hostlist
from hccl_kit.base.errors import KitError
from hccl_kit.base.host_name import check_host
from hccl_kit.base.message import Message
from hccl_kit.base.wording import listed
from hccl_kit.cli.gen_devices import Devices, named_option
from hccl_kit.table.products import Product

EVERY: Literal["all"] = "all"
"""`--hosts all`: every server of the inventory."""
_SHOWN = 16


class GenRequest(NamedTuple):
    """The servers and cards of a job, where their addresses come from, and what is written.

    `hosts` are the servers of --hosts, None without it. `framework` is None if the user has not named it. `server` and
    `version` are None if they are to be detected, `job` is None if HCCL and the script choose the ports. Without
    `hccn_conf`, `inventory` and `simulate` the addresses come from this machine.
    """

    command: tuple[str, ...]
    devices: Devices
    product: Product
    framework: str | None
    version: str | None
    server: str | None
    hosts: tuple[str, ...] | Literal["all"] | None
    mpi: bool
    hccn_conf: Path | None
    inventory: Path | None
    simulate: bool
    output: Path
    force: bool
    dry_run: bool
    job: int | None
    jobs: int | None


def hosts_of(text: str, *, simulate: bool) -> tuple[str, ...] | Literal["all"]:
    """The servers that --hosts lists. Raises KitError for a duplicate or a misspelled address."""
    if text == EVERY and not simulate:
        return EVERY
    with named_option("--hosts"):
        names = hostlist.expand(text)
        for name in names:
            check_host(name)
        duplicates = [name for name, count in Counter(names).items() if count > 1]
        if duplicates:
            raise KitError(
                Message(
                    "cli.gen-request.listed-twice",
                    "{duplicates} listed twice; each server may appear once",
                    duplicates=listed(duplicates, _SHOWN),
                )
            )
    return names


def check_request(request: GenRequest) -> GenRequest:
    """The request. Raises KitError if its options contradict each other."""
    product = request.product
    reads = f"HCCL of {product.title} reads rank tables of version {' and '.join(filter(None, product.table_versions))}"
    if request.version not in (None, *product.table_versions):
        raise KitError(
            Message(
                "cli.gen-request.not-table-version",
                "{reads}, not {version} (--table-version)",
                reads=reads,
                version=request.version,
            )
        )
    if "1.0" not in product.table_versions and (request.inventory is None or request.mpi):
        raise KitError(
            Message(
                "cli.gen-request.contain-local-id",
                "{reads}, which contain the local id of every card and its addresses in every network; "
                "no tool of the driver prints them",
                reads=reads,
            ),
            hint=Message(
                "cli.gen-request.contain-local-id.fix",
                "give them as local_id and level_list of every card: --hosts all --inventory FILE\nthe "
                "rootinfo file of a server has them under these names",
            ),
        )
    if request.server is not None:
        with named_option("--server_ip"):
            check_host(request.server)
        if request.hosts is not None:
            raise KitError(Message("cli.gen-request.hosts-server-ip", "--hosts and --server_ip are mutually exclusive"))
    if request.hosts is not None and request.inventory is None and not request.simulate:
        raise KitError(
            Message(
                "cli.gen-request.hosts-names-servers",
                "--hosts names servers, but not where the addresses of their cards come from",
            ),
            hint=Message(
                "cli.gen-request.hosts-names-servers.fix",
                "--inventory FILE    a YAML file of servers and their cards\n--simulate          "
                "addresses that exist in no network\nor let mpirun start a process on every server, which "
                "queries its own cards: --mpi",
            ),
        )
    if request.mpi and request.simulate:
        raise KitError(
            Message("cli.gen-request.mpi-simulate-mutually", "--mpi and --simulate are mutually exclusive"),
            hint=Message("cli.gen-request.mpi-simulate-mutually.fix", "hccl-gen --hosts LIST --simulate"),
        )
    return request
