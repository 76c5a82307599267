"""What hccl-gen does, step by step: the servers and their cards, the table, the rules, the files."""

from __future__ import annotations

import argparse
import io
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.check.gate import judge
from hccl_kit.cli import complain
from hccl_kit.cli.gen_mpi import gather_servers
from hccl_kit.cli.gen_sources import Found, named_servers, this_server
from hccl_kit.cli.output_files import OutputFile, check_folder, show_files, write_files
from hccl_kit.launch.emitters import bash
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.table.formats import write
from hccl_kit.table.operations.generate import choose_version, file_name, generate_cluster
from hccl_kit.table.products import Product, find_product


def generate_files(options: argparse.Namespace, command: Sequence[str]) -> int:
    """Do what the command line asks; KitError, with nothing written, where it cannot be done.

    `command` is what every rank runs.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8 shows any server id too

    def finish(found: Found) -> int:
        return _finish(options, command, found)

    if options.mpi:
        return gather_servers(lambda is_first: _found(options, command, is_first=is_first), finish)
    return finish(_found(options, command, is_first=True))


def _found(options: argparse.Namespace, command: Sequence[str], *, is_first: bool) -> Found:
    """The facts; only the first of several processes writes files and tells the user what is no error."""
    if not command:
        raise KitError("no command follows --", hint="leave -- out to take the default command")
    product = find_product(options.product)
    _check_usage(options, product)
    if is_first:
        check_folder(Path(options.output_dir))
    say = complain if is_first else lambda _: None
    if options.hosts is not None:
        return named_servers(options, product, say)
    return this_server(options, product, say)


def _check_usage(options: argparse.Namespace, product: Product) -> None:
    """What the parser of the command line cannot say."""
    reads = f"HCCL of {product.title} reads rank tables of version {' and '.join(filter(None, product.table_versions))}"
    if options.table_version not in (None, *product.table_versions):
        raise KitError(f"{reads}, and --table-version asks for {options.table_version}")
    if "1.0" not in product.table_versions and (options.inventory is None or options.mpi):
        raise KitError(
            f"{reads}, which name the local id of every card and its addresses in every network; no program of the"
            " driver prints them",
            hint="give them as local_id and level_list of every card: --hosts all --inventory FILE\n"
            "the rootinfo file of a server has them under these names",
        )
    if options.hosts is not None and options.server_ip is not None:
        raise KitError("--hosts names the servers, and --server_ip one more; one of the two must go")
    if options.hosts is not None and options.inventory is None and not options.simulate:
        raise KitError(
            "--hosts names servers, but not where the addresses of their cards are",
            hint="--inventory FILE    a YAML file of servers and their cards\n"
            "--simulate          addresses that no network has\n"
            "or let mpirun start a process on every server, which asks its own cards: --mpi",
        )
    if options.mpi and options.simulate:
        raise KitError("--mpi asks the servers, --simulate asks none", hint="hccl-gen --hosts LIST --simulate")


def _finish(options: argparse.Namespace, command: Sequence[str], found: Found) -> int:
    """From the facts to the files."""
    product = find_product(options.product)
    version = choose_version(found.hosts, product, options.table_version)
    table = generate_cluster(found.hosts, version=version)
    name, text = file_name(table), write(table)
    for warning in judge(text, name, found.hosts, product):
        complain(warning)
    if version == "1.0" and product.has_super_pods and options.table_version is None:
        complain(
            "note: no place in a super pod is known (npu-smi tells it, or an inventory), so the table has version 1.0:"
            " plain servers, which meet over RoCE"
        )
    folder, said = Path(options.output_dir), list(found.said)
    files = [OutputFile(folder / name, text)]
    files += [
        OutputFile(folder / name, text, mode)
        for name, text, mode in bash.emit(plan(table, command), TableFile(name, text))
    ]
    if options.dry_run:
        print(*said, sep="\n")
        show_files(files, force=options.force)
        return 0
    # Nothing is printed before: a reader that goes away must not keep the files from being written.
    said += write_files(files, force=options.force)
    after = f"bash {shlex.quote(str(files[1].path))}"
    if len(found.hosts) > 1:
        after = f"copy both files to one path on every server, then: {after} --ssh"
    print(*said, f"next: {after}", sep="\n")
    return 0
