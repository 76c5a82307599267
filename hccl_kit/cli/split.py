"""hccl-kit split: a table of its own for every server."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.cli import run
from hccl_kit.cli.output_files import OutputFile, check_folder, write_files
from hccl_kit.cli.tables import read_table
from hccl_kit.table.formats import write
from hccl_kit.table.operations.generate import file_name
from hccl_kit.table.operations.split import split


def main(argv: Sequence[str] | None = None) -> int:
    """Write one table per server; the exit code is 0, or 2 where nothing was done."""
    parser = Parser(
        prog="hccl-kit split",
        description="Write a rank table of its own for every server of a table, each with ranks from 0;"
        " hccl-merge puts them together again.",
        epilog="Exit code: 0 written, 2 nothing was written.",
        allow_abbrev=False,
    )
    parser.add_argument("table", metavar="TABLE", help='a rank table of version 1.0, 1.2 or 2.0, or "-"')
    parser.add_argument("--output-dir", metavar="DIR", default=".", help="where to write (default: the current folder)")
    parser.add_argument("--force", action="store_true", help="overwrite files that hold something else")
    options = parser.parse(argv)
    return run(lambda: _split(options))


def _split(options: argparse.Namespace) -> int:
    folder = Path(options.output_dir)
    check_folder(folder)
    tables = split(read_table(options.table))
    parts = {folder / file_name(part): part for part in tables}
    if len(parts) < len(tables):
        raise KitError("two servers would get one file: their ids differ in what cannot stand in a file name")
    files = [OutputFile(path, write(part)) for path, part in parts.items()]
    print(*write_files(files, force=options.force), sep="\n")
    return EXIT_OK


if __name__ == "__main__":
    raise SystemExit(main())
