"""Draw the super pods, servers, linked cards and ranks of a rank table, with its findings marked.

examples:
  hccl-kit show hccl_2s_16p.json --product 910
  hccl-kit show hccl_2s_16p.json -o cluster.svg

Exit codes: 0 no error in the table; 1 errors in it, or the file is not a rank table; 2 could not
run.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.base.output_place import assert_takes_file
from hccl_kit.base.terminal import wants_color
from hccl_kit.base.translation import translated
from hccl_kit.check.engine import check_text
from hccl_kit.check.report.text import as_text as report_as_text
from hccl_kit.cli import program
from hccl_kit.cli.options import add_force, add_product, path_with
from hccl_kit.cli.output_files import OutputFile, write_files
from hccl_kit.show.layout import picture
from hccl_kit.show.svg import as_svg
from hccl_kit.show.text import MIN_WIDTH, as_text
from hccl_kit.table.document import decode
from hccl_kit.table.products import Product
from hccl_kit.table.reading import load


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit show", doc=__doc__)
    parser.add_argument("table", metavar="TABLE", help='a rank table, or "-" for standard input')
    add_product(parser, "the hardware that the table is for, which determines the groups of linked cards")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=path_with(".svg", "--output"),
        help="also write the drawing to FILE, which ends in .svg",
    )
    add_force(parser)
    parser.add_argument(
        "--width",
        type=_width,
        metavar="N",
        help=f"characters in a line, at least {MIN_WIDTH} (default: the width of the terminal)",
    )
    return parser


def _width(text: str) -> int:
    if not text.isdecimal() or int(text) < MIN_WIDTH:
        raise KitError(
            "cli.show.width-not-valid",
            "--width {text} is not a valid width; accepted: {min_width} or more",
            text=text,
            min_width=MIN_WIDTH,
        )
    return int(text)


def _show(*, table: str, product: Product | None, output: Path | None, force: bool, width: int | None) -> int:
    if output:
        assert_takes_file(output, "-o")
    data, name = load(table)
    report = check_text(data, name, product)
    color = wants_color(sys.stdout)
    if report.table is None:
        print(report_as_text(report, decode(data), color))
        return EXIT_FINDINGS
    drawn = picture(report, report.table)
    # Written before anything is printed: a closed pipe (| head -1) must not keep the file from being written.
    files = [OutputFile(output, as_svg(drawn))] if output else []
    written = write_files(files, force=force)
    print(
        as_text(drawn, width or shutil.get_terminal_size().columns, color=color),
        *map(translated, written),
        sep="\n",
    )
    return EXIT_OK if report.ok else EXIT_FINDINGS


main = program(make_parser, _show)
