"""hccl-kit convert: write a table in another version."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_OK
from hccl_kit.base.terminal import printable
from hccl_kit.cli import complain, run
from hccl_kit.cli.output_files import OutputFile, check_file, check_folder, write_files
from hccl_kit.cli.tables import read_table, sound_text
from hccl_kit.table.document import STDIN
from hccl_kit.table.operations.convert import TARGETS, convert


def main(argv: Sequence[str] | None = None) -> int:
    """Write the converted table; the exit code is 0, or 2 where nothing was written."""
    parser = Parser(
        prog="hccl-kit convert",
        description="Write a rank table in another version. What the other version cannot hold, or has and the table"
        " does not say, is named on standard error.",
        epilog="Exit code: 0 written, 2 nothing was written.",
        allow_abbrev=False,
    )
    parser.add_argument("table", metavar="TABLE", help='a rank table, or "-"')
    parser.add_argument("--to", choices=[*TARGETS], required=True, help="the version to write")
    parser.add_argument("-o", "--output", metavar="FILE", default="-", help="where to write (default: standard output)")
    parser.add_argument("--force", action="store_true", help="overwrite a file that holds something else")
    options = parser.parse(argv)
    return run(lambda: _convert(options))


def _convert(options: argparse.Namespace) -> int:
    path = None if options.output == "-" else Path(options.output)
    if path:
        check_folder(path.parent)
        check_file(path)
    table, lost = convert(read_table(options.table), options.to)
    for line in lost:
        complain(printable(f"note: {line}"))
    if path is None:
        print(sound_text(table, STDIN))
        return EXIT_OK
    text = sound_text(table, str(path))
    print(*write_files([OutputFile(path, text)], force=options.force), sep="\n")
    return EXIT_OK


if __name__ == "__main__":
    raise SystemExit(main())
