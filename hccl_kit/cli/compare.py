"""Compare two snapshots of hccl-kit snapshot, or the servers of one: drivers, versions, cards,
variables, settings and packages, the most telling difference first.

Marks such as <host 1> are equal within a file only, so a masked value is not compared with one of
another file. Reports of `hccl-kit report --format json` can be compared too.

examples:
  hccl-kit compare yesterday.json today.json
  hccl-kit compare all-servers.json

Exit codes: 0 no difference; 1 differences; 2 a file could not be read, or a server had not
answered.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import counted, listed
from hccl_kit.cli import complain, program
from hccl_kit.cli.options import add_format
from hccl_kit.snapshot.comparison import Comparison, as_text, compare_servers, compare_snapshots
from hccl_kit.snapshot.compatibility import doubts
from hccl_kit.snapshot.document import Snapshot, read_snapshot


class CompareRequest(NamedTuple):
    """The command line of hccl-kit compare."""

    first: str
    second: str | None
    form: str


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit compare", doc=__doc__)
    parser.add_argument("first", metavar="A", help="a snapshot; alone, one of several servers")
    parser.add_argument("second", metavar="B", nargs="?", help="another snapshot")
    add_format(parser, "the differences")
    return parser


def _compare(request: CompareRequest) -> int:
    snapshots = {name: read_snapshot(name) for name in (request.first, request.second) if name is not None}
    compared = _compared(snapshots, request)
    if request.form == "json":
        rows = [{**difference._asdict(), "values": dict(difference.values)} for difference in compared.differences]
        print(json.dumps({"version": 1, "differences": rows, "not_compared": compared.not_compared}, indent=2))
    else:
        print(as_text(compared))
    _warn(snapshots)
    if any(snapshot.silent for snapshot in snapshots.values()):
        return EXIT_CANNOT_RUN
    return EXIT_FINDINGS if compared.differences else EXIT_OK


def _compared(snapshots: dict[str, Snapshot], request: CompareRequest) -> Comparison:
    first = snapshots[request.first]
    if request.second is not None:
        return compare_snapshots(first, snapshots[request.second], (request.first, request.second))
    if len(first.servers) + len(first.silent) < 2:
        raise KitError(
            "cli.compare.alone",
            "{path} has {servers}, and nothing to compare with",
            fix="name a second snapshot; hccl-kit snapshot --table TABLE --ssh takes one of all servers",
            path=request.first,
            servers=counted(len(first.servers), "server"),
        )
    return compare_servers(first)


def _warn(snapshots: dict[str, Snapshot]) -> None:
    """Complain about servers that had not answered, and about versions that do not belong together."""
    for file, snapshot in snapshots.items():
        for name, reason in snapshot.silent.items():
            complain(
                Message(
                    "cli.compare.silent",
                    "{file}: {server} did not answer: {reason}",
                    file=printable(file),
                    server=printable(name),
                    reason=printable(reason),
                )
            )
        places: dict[str, list[str]] = {}
        for name, machine in snapshot.servers.items():
            for doubt in doubts(machine):
                places.setdefault(printable(doubt), []).append(printable(name))
        for text, names in places.items():
            complain(
                Message(
                    "cli.compare.doubt",
                    "warning: {file}, {servers}: {doubt}",
                    file=printable(file),
                    servers=listed(names),
                    doubt=text,
                )
            )


main = program(make_parser, lambda **given: _compare(CompareRequest(**given)))
