"""What hccl-gen does, step by step: find the servers and their cards, make the table, check it, write the files."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from hccl_kit.base.terminal import shown
from hccl_kit.cli import complain
from hccl_kit.cli.framework import note_on_cards
from hccl_kit.cli.gen_mpi import gather_servers
from hccl_kit.cli.gen_request import GenRequest
from hccl_kit.cli.gen_sources import Found, Report, find_servers
from hccl_kit.cli.output_files import OutputFile, check_folder, show_files, write_files
from hccl_kit.cli.tables import valid_text
from hccl_kit.launch.emitters import bash
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.hccl_variables import script_variables
from hccl_kit.launch.plan import plan
from hccl_kit.table.hosts import Host
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.generate import choose_version, file_name, generate_cluster
from hccl_kit.table.products import Product

_SIMULATED = "HK322"
"""The rule about addresses that no network has."""


def generate_files(request: GenRequest) -> int:
    """Write the files; returns the exit code. Raises KitError, with nothing written, if that is not possible."""
    check_folder(request.output, may_be_new=True)
    return _write(request, find_servers(request, complain))


def generate_by_mpi(read: Callable[[Report], GenRequest]) -> int:
    """As `generate_files`, for the servers of all processes. `read` makes the request; its argument gets warnings.

    An error or a warning in the request is printed once, by process 0.
    """

    def find(is_first: bool) -> Found:
        request = read(_silent)
        if is_first:
            check_folder(request.output, may_be_new=True)
        return find_servers(request, complain if is_first else _silent)

    return gather_servers(find, lambda found: _write(read(complain), found))


def _silent(_: str) -> None:
    """Drops a warning, which another process prints."""


def make_table(request: GenRequest, found: Found) -> tuple[RankTable, TableFile]:
    """The table of the servers that were found. Raises KitError with its first error."""
    product = request.product
    version = choose_version(found.hosts, product, request.version)
    table = generate_cluster(found.hosts, version=version)
    name = file_name(table)
    told = {_SIMULATED} if request.simulate else ()  # the notes name the addresses
    text = valid_text(table, name, _with_prefix(product, found.hosts), strict_topology=True, told=told)
    if version == "1.0" and product.has_super_pods and request.version is None:
        complain(
            "note: super pod and SDID are unknown (npu-smi or an inventory provides them), so version 1.0 is written"
            " and servers connect over RoCE"
        )
    return table, TableFile(name, text)


def _write(request: GenRequest, found: Found) -> int:
    table, file = make_table(request, found)
    variables = script_variables(table, request.job, request.jobs)
    made = plan(table, request.command, variables, request.framework)
    if note := note_on_cards(made):
        complain(note)
    script = bash.emit(made, file)
    files = [OutputFile(request.output / file.name, file.text)]
    files += [OutputFile(request.output / name, text, mode) for name, text, mode in script]
    if request.dry_run:
        print(*found.notes, sep="\n")
        show_files(files, force=request.force)
        return 0
    # Nothing is printed before this: a closed pipe must not keep the files from being written.
    written = write_files(files, force=request.force)
    place, start = (shlex.quote(str(file.path)) for file in files)
    step = f"bash {start}"
    if len(found.hosts) > 1:
        step = f"copy {place} and {start} to one path on every server, then: {step} --ssh"
    print(shown("\n".join([*found.notes, *written, f"next: {step}"])))
    return 0


def _with_prefix(product: Product, hosts: Sequence[Host]) -> Product:
    """The product with the prefix length of its RoCE networks, if all cards of several servers have the same."""
    prefixes = {card.prefix for host in hosts for card in host.cards.values()}
    return product._replace(prefix=prefixes.pop()) if len(hosts) > 1 and len(prefixes) == 1 else product
