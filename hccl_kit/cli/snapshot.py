"""Write what this machine is made of as JSON, which hccl-kit compare reads: versions, cards,
variables, settings of the system and packages.

Addresses, host names, users, private folders and secrets are masked; read the file before you
publish it. Nothing is changed, and the cards are only read.

examples:
  hccl-kit snapshot -o today.json
  hccl-kit snapshot --table hccl_2s_16p.json --ssh -o all-servers.json
  hccl-kit snapshot --raw for-the-suite.tar.gz

Exit codes: 0 written; 2 could not run, or a server did not answer.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from hccl_kit.base.arguments import Parser
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.base.output_place import assert_free_files
from hccl_kit.base.terminal import printable
from hccl_kit.cli import complain, program
from hccl_kit.cli.command import next_step
from hccl_kit.cli.options import add_force, add_reach, add_timeout, path_with
from hccl_kit.cli.output_files import OutputFile, write_files
from hccl_kit.remote.probe import Reach
from hccl_kit.snapshot.document import Snapshot, as_json
from hccl_kit.snapshot.taking import mask_here, recording_of, snapshot_of, snapshot_over_ssh, this_node


class SnapshotRequest(NamedTuple):
    """The command line of hccl-kit snapshot."""

    output: Path | None
    force: bool
    table: str | None
    weights: Sequence[str]
    raw: Path | None
    ssh: bool
    ssh_option: Sequence[str]
    python: Sequence[str]
    timeout: float


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit snapshot", doc=__doc__)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="the file to write (default: standard output)"
    )
    add_force(parser)
    parser.add_argument("--table", metavar="TABLE", help="also the digest of a rank table")
    parser.add_argument(
        "--weights", metavar="FILE", action="append", default=[], help="also the SHA-256 of a file; repeatable"
    )
    parser.add_argument(
        "--raw",
        metavar="FILE",
        type=path_with(".tar.gz", "--raw"),
        help="also write what npu-smi and hccn_tool print, masked, to FILE, which ends in .tar.gz",
    )
    group = parser.add_argument_group("all servers of TABLE")
    group.add_argument("--ssh", action="store_true", help="describe every server over ssh; needs --table")
    add_reach(group)
    add_timeout(group, 60.0)
    return parser


def _snapshot(request: SnapshotRequest) -> int:
    for path, option in ((request.output, "-o"), (request.raw, "--raw")):
        if path:
            assert_free_files([path], option, force=request.force)
    snapshot = _all_servers(request) if request.ssh else _this_machine(request)
    if request.output:
        for line in write_files([OutputFile(request.output, as_json(snapshot))], force=request.force):
            complain(line)
        other = "" if request.ssh else " OTHER"
        complain(next_step(f"hccl-kit compare {quote(printable(str(request.output)))}{other}"))
    elif not request.raw:
        sys.stdout.write(as_json(snapshot))
    for name, reason in snapshot.silent.items():
        complain(
            Message("cli.snapshot.silent", "{server} did not answer: {reason}", server=name, reason=printable(reason))
        )
    return EXIT_CANNOT_RUN if snapshot.silent else EXIT_OK


def _all_servers(request: SnapshotRequest) -> Snapshot:
    if request.table is None:
        raise KitError("cli.snapshot.table-of-ssh", "--ssh needs --table, which names the servers")
    if request.raw:
        raise KitError("cli.snapshot.raw-here", "--raw records this machine, and not those of --ssh")
    reach = Reach.of(request.ssh_option, request.python, request.timeout)
    return snapshot_over_ssh(request.table, request.weights, reach)


def _this_machine(request: SnapshotRequest) -> Snapshot:
    if request.ssh_option or request.python:
        raise KitError("cli.snapshot.only-with-ssh", "--ssh-option and --python need --ssh")
    node = this_node()
    snapshot = snapshot_of(node, request.table, request.weights)
    if request.raw:
        archive = recording_of(node, snapshot, mask_here())
        write_atomically(request.raw, archive, mode=0o600, is_new=not request.force)
        complain(
            Message(
                "cli.snapshot.raw-wrote",
                "wrote: {path}; read it before you publish it",
                path=printable(str(request.raw)),
            )
        )
    return snapshot


main = program(make_parser, lambda **given: _snapshot(SnapshotRequest(**given)))
