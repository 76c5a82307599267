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

from collections.abc import Sequence

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.terminal import printable
from hccl_kit.cli import complain, program
from hccl_kit.cli.tables import read_any_table
from hccl_kit.table.operations.digest import digest


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit digest", doc=__doc__)
    parser.add_argument("tables", nargs="+", metavar="TABLE", help='a rank table, or "-" for standard input')
    return parser


def _print(*, tables: Sequence[str]) -> int:
    code = EXIT_OK
    for file in tables:
        try:
            print(f"{digest(read_any_table(file))}  {printable(file)}")
        except KitError as error:
            complain(error.render())
            code = error.exit_code
    return code


main = program(make_parser, _print)
