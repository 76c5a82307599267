"""Write a rank table for each server of a table, with ranks from 0. hccl-merge reverses this.

examples:
  hccl-kit split hccl_2s_16p.json
  hccl-kit split hccl_2s_16p.json -o tables

Exit codes: 0 written; 2 nothing was written.
"""

from __future__ import annotations

from pathlib import Path

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.cli import program, say
from hccl_kit.cli.options import add_force, add_output_folder
from hccl_kit.cli.output_files import OutputFile, check_folder, write_files
from hccl_kit.cli.tables import read_table
from hccl_kit.table.formats import write
from hccl_kit.table.operations.generate import file_name
from hccl_kit.table.operations.split import split


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit split", doc=__doc__)
    parser.add_argument(
        "table", metavar="TABLE", help='a rank table of version 1.0, 1.2 or 2.0, or "-" for standard input'
    )
    add_output_folder(parser)
    add_force(parser, "files")
    return parser


def _split(*, table: str, output: Path, force: bool) -> int:
    check_folder(output, may_be_new=True)
    tables = split(read_table(table))
    parts = {output / file_name(part): part for part in tables}
    if len(parts) < len(tables):
        raise KitError(
            "cli.split.two-servers-would",
            "two servers would share a file: their ids differ only in characters not allowed in file names",
        )
    files = [OutputFile(path, write(part)) for path, part in parts.items()]
    written = write_files(files, force=force)
    say(
        *written,
        Message("cli.split.next", "next: on each server, with its table: {step}", step="hccl-kit run TABLE -- COMMAND"),
    )
    return EXIT_OK


main = program(make_parser, _split)
