"""Write a rank table in another version. What the other version cannot hold, or needs and the
table does not contain, is reported on standard error.

examples:
  hccl-kit convert template2.json --to 1.0
  hccl-kit convert hccl_2s_16p.json --to 1.2 -o super_pods.json

Exit codes: 0 written; 2 nothing was written.
"""

from __future__ import annotations

from pathlib import Path

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_OK
from hccl_kit.base.output_place import assert_takes_file
from hccl_kit.base.terminal import printable, shown
from hccl_kit.base.wording import as_note
from hccl_kit.cli import complain, program, say
from hccl_kit.cli.options import add_force
from hccl_kit.cli.output_files import OutputFile, check_folder, write_files
from hccl_kit.cli.tables import read_table, steps_of_table, valid_text
from hccl_kit.table.operations.convert import TARGETS, convert
from hccl_kit.table.source import STDIN


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit convert", doc=__doc__)
    parser.add_argument("table", metavar="TABLE", help='a rank table, or "-" for standard input')
    parser.add_argument("--to", choices=[*TARGETS], required=True, help="the version to write")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=lambda text: None if text == "-" else Path(text),
        help='where to write (default: "-", standard output)',
    )
    add_force(parser)
    return parser


def _convert(*, table: str, to: str, output: Path | None, force: bool) -> int:
    if output:
        check_folder(output.parent)
        assert_takes_file(output, "-o")
    converted, lost = convert(read_table(table), to)
    for line in lost:
        complain(printable(as_note(line)))
    text = valid_text(converted, str(output or STDIN))
    if output is None:
        print(shown(text))
    else:
        written = write_files([OutputFile(output, text)], force=force)
        say(*written, *steps_of_table(output, len(converted.servers)))
    return EXIT_OK


main = program(make_parser, _convert)
