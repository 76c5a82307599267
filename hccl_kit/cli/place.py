"""Print how many bytes leave card pairs, servers and super pods in a step of training, for each
kind of group, and a better order of the ranks where there is one. With --to, print what a
scheduler reads about the same servers.

examples:
  hccl-kit place hccl_32s_256p.json --tp 8 --pp 4 --ep 16
  hccl-kit place hccl_32s_256p.json --tp 8 --pp 4 -o placed.json --svg placed.svg --color pipeline
  hccl-kit place hccl_32s_256p.json --to hypernode -o hypernodes.yaml
  hccl-kit place --inventory cluster.yaml --to slurm-topology --nodes 'node[01-32]'

Exit codes: 0 done; 2 could not run, and nothing was written.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.arguments import Parser, a_path
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.hostlist import expand
from hccl_kit.base.message import Message
from hccl_kit.base.output_place import assert_takes_file
from hccl_kit.base.terminal import printable
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import row
from hccl_kit.check.engine import check_text
from hccl_kit.cli import program, say
from hccl_kit.cli.options import add_force, path_with, whole
from hccl_kit.cli.output_files import OutputFile, check_folder, write_files
from hccl_kit.cli.tables import read_table, valid_text
from hccl_kit.discovery import inventory
from hccl_kit.place import text
from hccl_kit.place.blocks import cluster_of, reordered
from hccl_kit.place.grid import KINDS, Grid, grid_of
from hccl_kit.place.order import place
from hccl_kit.place.topology import WRITERS, Domain, domains_of_hosts, domains_of_table
from hccl_kit.place.volumes import Model, model_for, traffic
from hccl_kit.show.layout import picture
from hccl_kit.show.svg import RankGroups, as_svg

_SIZES = ("tp", "pp", "dp", "ep", *Model.__dataclass_fields__)
_DRAWING = ("svg", "color")


class PlaceRequest(NamedTuple):
    """The command line of hccl-kit place: `to` for schedulers, else a placement. None: the option is not given."""

    table: str | None
    tp: int | None
    pp: int | None
    dp: int | None
    ep: int | None
    hidden: int | None
    layers: int | None
    sequence: int | None
    micro_batch: int | None
    micro_batches: int | None
    experts: int | None
    top_k: int | None
    to: str | None
    inventory: Path | None
    nodes: str | None
    output: Path | None
    svg: Path | None
    color: str | None
    force: bool


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit place", doc=__doc__)
    parser.add_argument("table", metavar="TABLE", nargs="?", help='a rank table, or "-" for standard input')
    _add_sizes(parser)
    _add_model(parser)
    group = parser.add_argument_group("for schedulers")
    group.add_argument("--to", choices=[*WRITERS], help="what to print instead of costs")
    group.add_argument(
        "--inventory", metavar="FILE", type=a_path, help="take the servers from an inventory instead of TABLE"
    )
    group.add_argument(
        "--nodes",
        metavar="LIST",
        help="names of the nodes, such as node[01-32], in the order of the servers (default: server ids)",
    )
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=_file,
        help="file for the table in the better order, or for what --to prints",
    )
    group.add_argument(
        "--svg",
        metavar="FILE",
        type=path_with(".svg", "--svg"),
        help="draw the better order into FILE, which ends in .svg",
    )
    group.add_argument("--color", choices=KINDS, help="groups that have one colour in the drawing (default: tensor)")
    add_force(group)
    return parser


def _add_sizes(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("groups (default: 1 rank; ranks are numbered tp-ep-dp-pp, as by Megatron-LM)")
    names = {"tp": "tensor", "pp": "pipeline", "dp": "data", "ep": "expert"}
    for option, kind in names.items():
        more = "; default: all that tp and pp leave" if option == "dp" else ""
        group.add_argument(
            f"--{option}", metavar="N", type=whole(f"--{option}"), help=f"ranks of each {kind} parallel group{more}"
        )


def _add_model(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model")
    helps = {
        "hidden": "hidden size",
        "layers": "layers of the model",
        "sequence": "tokens of a sequence",
        "micro_batch": "sequences of a micro-batch",
        "micro_batches": "micro-batches of a pipeline in a step",
        "experts": "experts of each layer",
        "top_k": "experts of each token",
    }
    for name, meaning in helps.items():
        option = f"--{name.replace('_', '-')}"
        default = "--ep, or none" if name == "experts" else getattr(Model(), name)
        group.add_argument(option, metavar="N", type=whole(option), help=f"{meaning} (default: {default})")


def _file(name: str) -> Path:
    if name == "-":
        raise KitError("cli.place.output-cannot-standard", "--output cannot be - (standard output) here")
    return Path(name)


def _place(request: PlaceRequest) -> int:
    for path, option in ((request.output, "-o"), (request.svg, "--svg")):
        if path:
            assert_takes_file(path, option)
    if request.to:
        not_with = Message("cli.place.not-with", "does not belong to --to {to}", to=request.to)
        _reject(request, (*_SIZES, *_DRAWING), not_with)
        return _for_scheduler(request, request.to)
    only_with = Message("cli.place.only-with", "needs --to; accepted: --to {writers}", writers=row(WRITERS))
    _reject(request, ("inventory", "nodes"), only_with)
    if request.color and not request.svg:
        raise KitError("cli.place.color-needs-svg", "--color needs --svg FILE")
    if request.table is None:
        raise KitError(
            "cli.place.rank-table-missing", "the rank table is missing", fix="hccl-kit place TABLE --tp N --pp N"
        )
    return _placed(request, request.table)


def _reject(request: PlaceRequest, fields: Sequence[str], why: str) -> None:
    for name in fields:
        if getattr(request, name) is not None:
            raise KitError("cli.place.reason", "--{replace} {why}", replace=name.replace("_", "-"), why=why)


def _for_scheduler(request: PlaceRequest, to: str) -> int:
    written = WRITERS[to](_domains(request))
    if request.output:
        say(*write_files([OutputFile(request.output, written)], force=request.force))
    else:
        print(written, end="")
    return EXIT_OK


def _domains(request: PlaceRequest) -> tuple[Domain, ...]:
    nodes = None if request.nodes is None else expand(request.nodes)
    if (request.table is None) == (request.inventory is None):
        raise KitError("cli.place.takes-source", "--to takes one source: a rank table, or --inventory FILE")
    if request.table is not None:
        return domains_of_table(read_table(request.table), nodes)
    assert request.inventory is not None
    return domains_of_hosts(inventory.read(request.inventory).values(), nodes)


def _placed(request: PlaceRequest, file: str) -> int:
    if request.output:
        check_folder(request.output.parent)
    table = read_table(file)
    cluster = cluster_of(table)
    tp, pp, ep = (1 if size is None else size for size in (request.tp, request.pp, request.ep))
    grid = grid_of(table.world_size, tp=tp, pp=pp, dp=request.dp, ep=ep)
    given = {name: value for name in Model.__dataclass_fields__ if (value := getattr(request, name)) is not None}
    model = model_for(grid, Model(**given))
    kinds = traffic(grid, model)
    best = place(cluster, kinds)
    files = []
    if request.output or request.svg:
        new = valid_text(reordered(table, best.order), str(request.output or file))
        if request.output:
            files.append(OutputFile(request.output, new))
        if request.svg:
            drawing = _drawing(new, str(request.output or file), grid, request.color or KINDS[0])
            files.append(OutputFile(request.svg, drawing))
    # Written before anything is printed: a closed pipe (| head -1) must not keep the files from being written.
    written = write_files(files, force=request.force)
    texts = [*text.head(file, grid, model), "", *text.report(cluster, kinds, best)]
    lines = map(printable, map(translated, texts))
    print(*lines, *map(translated, written), sep="\n")
    return EXIT_OK


def _drawing(table: str, name: str, grid: Grid, kind: str) -> str:
    """The picture of `hccl-kit show` with the groups of a kind coloured."""
    report = check_text(table, name)
    assert report.table is not None, "valid_text has checked it"
    groups = RankGroups(kind, [grid.group_of(kind, rank) for rank in range(grid.size)])
    return as_svg(picture(report, report.table), groups)


main = program(make_parser, lambda **given: _place(PlaceRequest(**given)))
