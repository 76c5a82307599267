"""Print the SHA-256 of the content of each rank table, one line per file like sha256sum.
White space and the order of keys, servers, devices, super pods and groups are ignored; ranks,
addresses, the status, wrong counts and unknown keys are not. Tables of different versions always
differ.

examples:
  hccl-kit digest hccl_2s_16p.json
  mpirun --map-by ppr:1:node hccl-kit digest /data/hccl_2s_16p.json

Exit codes: 0 done; 2 a table could not be read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.terminal import printable
from hccl_kit.check.quick.proof import table_of
from hccl_kit.check.result import Content
from hccl_kit.cli import abandon, complain, run
from hccl_kit.cli.tables import read_any_content
from hccl_kit.table.operations.digest import digest, digest_of_columns


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each table; the exit code is 0, or 2 if one cannot be read."""
    return run(lambda: _print(_tables(sys.argv[1:] if argv is None else argv)))


def _tables(argv: Sequence[str]) -> Sequence[str]:
    """The tables of the command line. Paths alone need no parser, as in `cli.check`."""
    if argv and all(word == "-" or not word.startswith("-") for word in argv):
        return list(argv)
    found: Sequence[str] = make_parser().parse(argv).tables
    return found


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit digest", doc=__doc__)
    parser.add_argument("tables", nargs="+", metavar="TABLE", help='a rank table, or "-" for standard input')
    return parser


def _print(files: Sequence[str]) -> int:
    code = EXIT_OK
    for file in files:
        try:
            content = read_any_content(file)
            print(f"{_digest_of(content)}  {printable(file)}")
            if file is files[-1]:
                abandon(content)
        except KitError as error:
            complain(error.render())
            code = error.exit_code
    return code


def _digest_of(content: Content) -> str:
    """The digest of a table; if it was proven valid, without an object for each device."""
    value, columns = content.value, content.columns
    if value is None or columns is None:
        return digest(content.table)
    return digest_of_columns(table_of({**value, "group_list" if columns.groups else "server_list": []}), columns)
