"""What hccl-gen does, step by step: the ids, the server, the rules, the addresses, the files."""

from __future__ import annotations

import argparse
import io
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from hccl_kit.check import check_text
from hccl_kit.cli import complain
from hccl_kit.cli.gen_files import OutputFile, check_folder, show_files, write_files
from hccl_kit.device_range import DeviceRange
from hccl_kit.discovery import hccn_conf, hccn_tool, inventory, is_there, simulate
from hccl_kit.discovery.server_id import Choice, choose, interfaces
from hccl_kit.discovery.visible import physical_ids
from hccl_kit.errors import KitError, ParseError
from hccl_kit.finding import Diagnostic
from hccl_kit.formats import write
from hccl_kit.generate import file_name, generate
from hccl_kit.launch import bash, plan
from hccl_kit.loopback import LOOPBACK, is_loopback
from hccl_kit.products import Product, find_product
from hccl_kit.rank_table import RankTable
from hccl_kit.rules.topology import nearest_legal

_VERSION = "1.0"
_TOPOLOGY = "HK4"
"""The family of rules whose warnings are refusals here: what we write ourselves should not be slow or unsupported."""


def generate_files(options: argparse.Namespace, command: Sequence[str]) -> int:
    """Do what the command line asks; KitError, with nothing written, where it cannot be done."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8 shows any server id too
    product = _product(options.product)
    ids, said = _cards(options)
    server = _server(options)
    folder = Path(options.output_dir)
    check_folder(folder)
    _judge_ids(options, ids, server.address, product)
    addresses, source = _addresses(options, ids, server.address, product)
    table = generate(server.address, [(i, addresses[i]) for i in ids])
    _judge(table, product)
    name, text = file_name(table), write(table)
    script = bash.script(plan(table, command), table_name=name, table_text=text)
    files = (
        OutputFile(folder / name, text),
        OutputFile(folder / f"ascend{len(ids)}p.sh", script, mode=0o755),
    )
    said += [f"server id: {server.address}, from {server.reason}", f"addresses: {source}"]
    if options.dry_run:
        print(*said, sep="\n")
        show_files(files, force=options.force)
        return 0
    # Nothing is printed before: a reader that goes away must not keep the files from being written.
    said += write_files(files, force=options.force)
    print(*said, f"next: bash {shlex.quote(str(files[1].path))}", sep="\n")
    return 0


def _product(name: str) -> Product:
    product = find_product(name)
    if _VERSION not in product.table_versions:
        raise KitError(
            f"HCCL of {product.title} reads rank tables of version {', '.join(product.table_versions)},"
            f" and hccl-gen writes version {_VERSION} only"
        )
    return product


def _cards(options: argparse.Namespace) -> tuple[tuple[int, ...], list[str]]:
    """The physical ids, in the order of the ranks, and what to print of their mapping from logical ids."""
    with _naming("--device_num"):
        wanted = DeviceRange.parse(options.device_num).ids
    if options.visible_devices is None:
        if visible := os.environ.get("ASCEND_RT_VISIBLE_DEVICES"):
            complain(
                f"note: --device_num is read as physical ids; ASCEND_RT_VISIBLE_DEVICES={visible} is not looked at"
                " (--visible_devices IDS counts within them)"
            )
        return wanted, []
    with _naming("--visible_devices"):
        mapping = physical_ids(wanted, options.visible_devices)
    said = [f"logical {logical} -> physical {physical}" for logical, physical in mapping.items()]
    return tuple(mapping.values()), said


@contextmanager
def _naming(option: str) -> Iterator[None]:
    """What is wrong with the value of an option is said with its name in front."""
    try:
        yield
    except KitError as error:
        error.message = f"{option}: {error.message}"
        raise


def _server(options: argparse.Namespace) -> Choice:
    if options.server_ip is not None:
        return Choice(options.server_ip, "--server_ip")
    if options.simulate:
        return Choice(LOOPBACK, "--simulate: the job runs on this host only")
    choice = choose(interfaces(), os.environ)
    if is_loopback(choice.address):
        complain(
            f"warning: server id {choice.address} is loopback ({choice.reason}): the table serves this host alone;"
            " --server_ip ADDRESS names another"
        )
    return choice


def _addresses(
    options: argparse.Namespace, ids: Sequence[int], server: str, product: Product
) -> tuple[Mapping[int, str], str]:
    """The address of every card and a line that says where they came from. An explicit option beats the tool."""
    if options.simulate:
        said = "simulated, documentation addresses of RFC 5737; no card was asked, no network has them"
        return simulate.addresses(ids, planes=product.planes), said
    if options.inventory is not None:
        path = Path(options.inventory)
        return inventory.addresses(path, server, ids), f"server {server} of inventory {path}"
    if options.hccn_conf is not None:
        return hccn_conf.addresses(Path(options.hccn_conf), ids), options.hccn_conf
    if tool := hccn_tool.find():
        return hccn_tool.addresses(tool, ids), tool
    if is_there(hccn_conf.DEFAULT):
        return hccn_conf.addresses(hccn_conf.DEFAULT, ids), str(hccn_conf.DEFAULT)
    tried = ", ".join(("hccn_tool on PATH", *hccn_tool.USUAL_PLACES, str(hccn_conf.DEFAULT)))
    raise KitError(
        f"this machine has nothing that knows the addresses of its cards; looked for: {tried}",
        hint=(
            "on a machine with cards, install the driver; in a container, mount hccn_tool and /etc/hccn.conf\n"
            "--hccn-conf FILE    read a copy of the driver's file\n"
            "--inventory FILE    read a YAML file, server to device id to address\n"
            "--simulate          take documentation addresses, to try things out without hardware"
        ),
    )


def _judge_ids(options: argparse.Namespace, ids: Sequence[int], server: str, product: Product) -> None:
    """Judge the ids alone, before any card is asked; ParseError points into the range as it was written."""
    refusal = _refusal(generate(server, [(i, None) for i in ids]), product)
    if refusal is None:
        return
    text, message = options.device_num, f"{refusal.rule}: {refusal.message}"
    written = text.strip()
    column = text.index(written)
    if written.endswith("]") and len(ids) > 1 and options.visible_devices is None:
        without_last = generate(server, [(i, None) for i in ids[:-1]])
        if _refusal(without_last, product) is None:
            meant = f'did you mean "[{ids[0]},{ids[-1]})"?'
            raise ParseError(message, source=text, column=column + len(written) - 1, hint=meant)
    nearest = nearest_legal(ids, product)
    hint = None
    if nearest and options.visible_devices is None:
        hint = f'--device_num "{DeviceRange(nearest)}"'
    elif nearest:
        hint = f"the nearest legal choice is {DeviceRange(nearest)} in physical ids"
    raise ParseError(message, source=text, column=column, width=len(written), hint=hint)


def _judge(table: RankTable, product: Product) -> None:
    """Judge the whole table; what is left to find are its addresses."""
    refusal = _refusal(table, product)
    if refusal is not None:
        raise KitError(f"{refusal.rule}: {refusal.message}", hint=refusal.hint)


def _refusal(table: RankTable, product: Product) -> Diagnostic | None:
    """The first thing that the rules for other people's tables have against this one."""
    for found in check_text(write(table), file_name(table), product).diagnostics:
        if found.severity == "error" or found.rule.startswith(_TOPOLOGY):
            return found
    return None
