"""hccl-gen: write the rank table of one server and its launch script, or the rank table of many servers."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from hccl_kit.base import hostlist
from hccl_kit.base.arguments import Parser, a_path, split_command
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.frameworks import FRAMEWORKS
from hccl_kit.base.host_name import check_host
from hccl_kit.base.message import Message
from hccl_kit.base.wording import listed
from hccl_kit.check.device_choice import check_devices
from hccl_kit.cli import complain, exit_code_of, say
from hccl_kit.cli.command import (
    IN_CHECKOUT,
    command_of_script,
    framework_of,
    note_on_cards,
    note_on_secret,
    steps_of_script,
)
from hccl_kit.cli.options import add_framework, add_job, named_option
from hccl_kit.cli.output_files import OutputFile, check_folder, show_files, write_files
from hccl_kit.cli.tables import SIMULATED, valid_text
from hccl_kit.discovery import mpi_servers
from hccl_kit.discovery.job_servers import EVERY, JobServers, ServerSearch, find_servers
from hccl_kit.discovery.mpi_group import MpiGroup
from hccl_kit.discovery.product_here import choose_product
from hccl_kit.discovery.visible import Devices, physical_ids
from hccl_kit.launch.emitters import bash
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.hccl_variables import script_variables
from hccl_kit.launch.plan import plan
from hccl_kit.runtime.worker_env import VISIBLE_DEVICES
from hccl_kit.table.device_range import DeviceRange
from hccl_kit.table.hosts import Host
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.generate import choose_version, file_name, generate_cluster
from hccl_kit.table.products import Product, find_product

_SHOWN = 16
_EPILOG = f"""\
Everything after -- is the command that each rank runs. Without it, in a folder with tools/train.py:
  {" ".join(IN_CHECKOUT)}
elsewhere the script takes a command as its arguments.

examples:
  hccl-gen --device_num "[0,8)"
  hccl-gen --device_num "[4,8)" -- python -u train.py --epochs 3
  hccl-gen --device_num "[4,8)" --framework pytorch -- python -u train_ddp.py
  hccl-gen --device_num "[0,4)" --visible_devices 4,5,6,7
  hccl-gen --device_num "[0,8)" --simulate --dry-run
  hccl-gen --device_num "[0,8)" --hosts "node[01-16]" --inventory inventory.yaml
  hccl-gen --device_num "[0,16)" --hosts all --inventory inventory.yaml --product a3
  mpirun -n 16 --map-by ppr:1:node hccl-gen --device_num "[0,8)" --mpi

Exit codes: 0 written; 2 nothing was written.
"""


class GenRequest(NamedTuple):
    """The command line of hccl-gen: the servers that it searches for, and what it writes about them.

    `device_num` is the option as it was typed, into which errors point. `framework` is None if the user has not named
    it, `command` too, `job` if HCCL and the script choose the ports.
    """

    search: ServerSearch
    device_num: str
    command: tuple[str, ...] | None
    framework: str | None
    output: Path
    force: bool
    dry_run: bool
    job: int | None
    jobs: int | None


def main(argv: Sequence[str] | None = None) -> int:
    """Write `hccl_{n}p_{ids}_{server}.json` and `ascend{n}p.sh`, or for several servers `hccl_{s}s_{n}p.json`.

    The exit code is 0, or 2 if nothing was written.
    """
    words, command = split_command(argv)

    def request(report: Callable[[str], None]) -> GenRequest:
        return _request(words, command, report)

    # Under mpirun the processes read the request together, so that an error in it is printed once.
    return exit_code_of(lambda: _generate_by_mpi(request) if "--mpi" in words else _generate(request(complain)))


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(
        prog="hccl-gen",
        usage="hccl-gen --device_num RANGE [options] [-- COMMAND ...]",
        description="Write the HCCL rank table of this server and the script that starts one process per card, or the\n"
        "one table of many servers.",
        epilog=_EPILOG,
        takes_command=True,
    )
    job = parser.add_argument_group("the job")
    job.add_argument(
        "--device_num",
        metavar="RANGE",
        required=True,
        help='the cards: "[4,8)" (8 excluded), "[4,7]" (7 included), "0-3,6", "4,5,6,7", "4"',
    )
    job.add_argument(
        "--visible_devices",
        metavar="IDS",
        help="physical ids that the job may use; --device_num then counts within them, from 0",
    )
    job.add_argument(
        "--server_ip",
        dest="server",
        metavar="ADDRESS",
        help="the id of this server in the table (default: the address that HCCL would choose)",
    )
    job.add_argument(
        "--product",
        metavar="NAME",
        type=find_product,
        help="the hardware that the table is for: 910, a2, a2-box16, a3, a5, 300i-duo (default: by npu-smi, else 910)",
    )
    job.add_argument(
        "--table-version",
        dest="version",
        metavar="VERSION",
        choices=("1.0", "1.2", "2.0"),
        help="version of the rank table: 1.0, 1.2 or 2.0 (default: 2.0 for a5; 1.2 for a3 if the super pods are known;"
        " else 1.0)",
    )
    add_framework(job, "programs of pytorch see only the cards of the job, numbered from 0")
    many = job.add_mutually_exclusive_group()
    many.add_argument(
        "--hosts",
        metavar="LIST",
        help='one table of many servers: "node[01-16]", "10.0.0.1,10.0.0.2", or "all": every server of the inventory',
    )
    many.add_argument("--mpi", action="store_true", help="one table of the servers on which mpirun starts this program")
    source = parser.add_argument_group("where card addresses come from (default: hccn_tool, else /etc/hccn.conf)")
    sources = source.add_mutually_exclusive_group()
    sources.add_argument("--hccn-conf", metavar="FILE", type=a_path, help="read the driver's file, or a copy of it")
    sources.add_argument("--inventory", metavar="FILE", type=a_path, help="read a YAML file of servers and their cards")
    sources.add_argument(
        "--simulate", action="store_true", help="no hardware needed: use addresses that exist in no network"
    )
    output = parser.add_argument_group("what is written")
    output.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=a_path,
        default=".",
        help="where to write; a missing folder is created (default: the current folder)",
    )
    output.add_argument("--force", action="store_true", help="overwrite files with other content")
    output.add_argument("--dry-run", action="store_true", help="print what would be written, write nothing")
    add_job(parser.add_argument_group("several jobs on a host"))
    return parser


def _request(words: Sequence[str], command: tuple[str, ...] | None, report: Callable[[str], None]) -> GenRequest:
    """The request; `report` gets warnings. Raises KitError if its options contradict each other."""
    given = vars(make_parser().parse(words))
    devices = _devices(given["device_num"], given.pop("visible_devices"))
    hosts = given.pop("hosts")
    visible = os.environ.get(VISIBLE_DEVICES)
    if visible and devices.logical is None and hosts is None:
        report(
            Message(
                "cli.gen.physical-ids",
                "note: --device_num is read as physical ids; {name}={visible} is ignored"
                " (--visible_devices IDS counts within them)",
                name=VISIBLE_DEVICES,
                visible=visible,
            )
        )
    hosts = None if hosts is None else _hosts(hosts, simulate=given["simulate"])
    is_mpi = given.pop("mpi")
    of_search = {name: given.pop(name) for name in ServerSearch._fields if name in given}
    elsewhere = hosts or of_search["simulate"] or of_search["inventory"] or of_search["hccn_conf"]
    choice = choose_product(given.pop("product"), cards_are_here=not elsewhere)
    search = ServerSearch(devices=devices, choice=choice, hosts=hosts, **of_search)
    _check_search(search, is_mpi=is_mpi)
    return GenRequest(search=search, command=command, **given)


def _devices(text: str, visible: str | None) -> Devices:
    with named_option("--device_num"):
        wanted = DeviceRange.parse(text)
    if visible is None:
        return Devices(wanted)
    with named_option("--visible_devices"):
        return Devices(DeviceRange(tuple(physical_ids(wanted.ids, visible).values())), wanted)


def _hosts(text: str, *, simulate: bool) -> tuple[str, ...] | Literal["all"]:
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
                "cli.duplicate-hosts",
                "{hosts} listed twice; each server may appear once",
                hosts=listed(duplicates, _SHOWN),
            )
    return names


def _check_search(search: ServerSearch, *, is_mpi: bool) -> None:
    product = search.product
    versions = " and ".join(filter(None, product.table_versions))
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


def _generate(request: GenRequest) -> int:
    """Write the files; returns the exit code. Raises KitError, with nothing written, if that is not possible."""
    check_folder(request.output, may_be_new=True)
    return _write(request, _servers(request, complain))


def _generate_by_mpi(request: Callable[[Callable[[str], None]], GenRequest]) -> int:
    """As `_generate`, for the servers of all processes; process 0 prints the warnings, and the errors of all."""
    group = MpiGroup()
    report = complain if group.rank == 0 else _silent

    def find() -> JobServers:
        requested = request(_silent)
        if group.rank == 0:
            check_folder(requested.output, may_be_new=True)
        return _servers(requested, report)

    with group.abort_on_error():
        answer, error = mpi_servers.answer_of(find)
        return group.conclude(
            answer,
            lambda answers: exit_code_of(lambda: _write(request(complain), mpi_servers.together(answers, error))),
        )


def _silent(_: str) -> None:
    """Drops a warning, which another process prints."""


def _servers(request: GenRequest, report: Callable[[str], None]) -> JobServers:
    search = request.search
    ids, is_logical = search.devices.physical.ids, search.devices.logical is not None

    def check(servers: Sequence[str]) -> None:
        check_devices(
            request.device_num, ids, servers, search.product, is_logical=is_logical, may_be=search.choice.may_be
        )

    return find_servers(search, check, report)


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


def _write(request: GenRequest, servers: JobServers) -> int:
    table, file = make_table(request.search, servers)
    variables = script_variables(table, request.job, request.jobs)
    command = command_of_script(request.command, complain)
    framework = framework_of(request.framework, command, FRAMEWORKS, complain)
    launch_plan = plan(table, command, variables, framework)
    if note := note_on_cards(launch_plan):
        complain(note)
    script = bash.emit(launch_plan, file)
    files = [OutputFile(request.output / file.name, file.text)]
    files += [OutputFile(request.output / name, text, mode, bash.is_unedited) for name, text, mode in script]
    if request.dry_run:
        say(*servers.notes)
        show_files(files, force=request.force)
        return EXIT_OK
    # Nothing is printed before this: a closed pipe must not keep the files from being written.
    written = write_files(files, force=request.force)
    place, start = (shlex.quote(str(file.path)) for file in files)
    steps = steps_of_script(launch_plan, place, start)
    say(*servers.notes, *written, *note_on_secret(files[-1].path), *steps)
    return EXIT_OK


def _with_prefix(product: Product, hosts: Sequence[Host]) -> Product:
    """The product with the prefix length of its RoCE networks, if all cards of several servers have the same."""
    prefixes = {card.prefix for host in hosts for card in host.cards.values()}
    return product._replace(prefix=prefixes.pop()) if len(hosts) > 1 and len(prefixes) == 1 else product


if __name__ == "__main__":
    raise SystemExit(main())
