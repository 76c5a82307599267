"""hccl-kit show: draw the servers, cards and ranks of a table."""

from __future__ import annotations

import argparse
import gc
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.base.terminal import wants_color
from hccl_kit.check.engine import check_text
from hccl_kit.check.report import as_text as report_as_text
from hccl_kit.cli import run
from hccl_kit.cli.output_files import OutputFile, check_file, write_files
from hccl_kit.cli.product_option import add_product_option, chosen_product
from hccl_kit.show.layout import picture
from hccl_kit.show.svg import as_svg
from hccl_kit.show.text import MIN_WIDTH, as_text
from hccl_kit.table.document import decode
from hccl_kit.table.reading import load


def main(argv: Sequence[str] | None = None) -> int:
    """Draw a table, with its faults marked; returns the exit code."""
    parser = Parser(
        prog="hccl-kit show",
        description="Draw the super pods, servers, linked cards and ranks of a rank table, with its faults marked.",
        epilog="Exit code: 0 no error, 1 errors in the table or no table in the file, 2 could not run.",
        allow_abbrev=False,
    )
    parser.add_argument("table", metavar="FILE", help='a rank table, or "-" for standard input')
    add_product_option(parser, "the hardware that the table is for, which tells the groups of linked cards")
    parser.add_argument("--svg", metavar="FILE", help="write a drawing there too; its name ends in .svg")
    parser.add_argument("--force", action="store_true", help="overwrite a drawing that is another one")
    parser.add_argument(
        "--width", type=int, metavar="N", help=f"of the lines, {MIN_WIDTH} at least (default: that of the terminal)"
    )
    options = parser.parse(argv)
    return run(lambda: _show(options))


def _show(options: argparse.Namespace) -> int:
    gc.disable()  # as in hccl-check: a table is bounded and has no cycles
    if options.width is not None and options.width < MIN_WIDTH:
        raise KitError(f"--width {options.width} is too narrow; accepted: {MIN_WIDTH} or more")
    if options.svg:
        if not options.svg.endswith(".svg"):  # so that a typo does not write over a table
            raise KitError(f"--svg {options.svg!r} does not end in .svg, by which viewers know a drawing")
        check_file(Path(options.svg))
    data, name = load(options.table)
    report = check_text(data, name, chosen_product(options.product))
    if report.table is None:
        print(report_as_text(report, decode(data), wants_color(sys.stdout)))
        return EXIT_FINDINGS
    drawn = picture(report, report.table)
    print(as_text(drawn, options.width or shutil.get_terminal_size().columns, color=wants_color(sys.stdout)))
    if options.svg:
        print(*write_files([OutputFile(Path(options.svg), as_svg(drawn))], force=options.force), sep="\n")
    return EXIT_OK if report.ok else EXIT_FINDINGS


if __name__ == "__main__":
    raise SystemExit(main())
