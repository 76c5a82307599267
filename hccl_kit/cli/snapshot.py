"""Write what this machine is made of as JSON, which hccl-kit compare reads: versions, cards,
variables, settings of the system and packages.

Addresses, host names, users, private folders and secrets are masked; read the file before you
publish it. Nothing is changed, and the cards are only read.

examples:
  hccl-kit snapshot -o today.json
  hccl-kit snapshot --table hccl_2s_16p.json --ssh -o all-servers.json
  hccl-kit compare yesterday.json today.json

Exit codes: 0 written; 2 could not run, or a server did not answer.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.cli import complain, exit_code_of
from hccl_kit.cli.options import add_reach, add_timeout
from hccl_kit.cli.output_files import OutputFile, check_new_file, write_files
from hccl_kit.remote.probe import Reach
from hccl_kit.snapshot.document import as_json
from hccl_kit.snapshot.taking import snapshot_of, snapshot_over_ssh, this_node


class SnapshotRequest(NamedTuple):
    """The command line of hccl-kit snapshot."""

    output: Path | None
    force: bool
    table: str | None
    weights: Sequence[str]
    ssh: bool
    ssh_option: Sequence[str]
    python: Sequence[str]
    timeout: float


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    return exit_code_of(lambda: _snapshot(SnapshotRequest(**vars(make_parser().parse(argv)))))


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit snapshot", doc=__doc__)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="the file to write (default: standard output)"
    )
    parser.add_argument("--force", action="store_true", help="overwrite a file with other content")
    parser.add_argument("--table", metavar="TABLE", help="also the digest of a rank table")
    parser.add_argument(
        "--weights", metavar="FILE", action="append", default=[], help="also the SHA-256 of a file; repeatable"
    )
    group = parser.add_argument_group("all servers of TABLE")
    group.add_argument("--ssh", action="store_true", help="describe every server over ssh; needs --table")
    add_reach(group)
    add_timeout(group, 60.0)
    return parser


def _snapshot(request: SnapshotRequest) -> int:
    if request.output:
        check_new_file(request.output, force=request.force)
    if request.ssh and request.table:
        reach = Reach.of(request.ssh_option, request.python, request.timeout)
        snapshot = snapshot_over_ssh(request.table, request.weights, reach)
    elif request.ssh or request.ssh_option or request.python:
        raise KitError("cli.snapshot.table-and-ssh", "--ssh needs --table; --ssh-option and --python need --ssh")
    else:
        snapshot = snapshot_of(this_node(), request.table, request.weights)
    if request.output:
        for line in write_files([OutputFile(request.output, as_json(snapshot))], force=request.force):
            complain(line)
    else:
        sys.stdout.write(as_json(snapshot))
    for name, reason in snapshot.silent.items():
        complain(
            Message("cli.snapshot.silent", "{server} did not answer: {reason}", server=name, reason=printable(reason))
        )
    return EXIT_CANNOT_RUN if snapshot.silent else EXIT_OK
