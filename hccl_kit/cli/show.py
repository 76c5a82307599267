"""hccl-kit show: draw the servers, cards and ranks of a table."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from hccl_kit.atomic_file import write_atomically
from hccl_kit.check import check_text
from hccl_kit.cli import run
from hccl_kit.cli.check import load, wants_color
from hccl_kit.document import decode
from hccl_kit.errors import EXIT_FINDINGS, EXIT_OK
from hccl_kit.products import PRODUCT_NAMES, find_product
from hccl_kit.report import as_text as report_as_text
from hccl_kit.rules import ANY_PRODUCT
from hccl_kit.show.layout import picture
from hccl_kit.show.svg import as_svg
from hccl_kit.show.text import as_text


def main(argv: Sequence[str] | None = None) -> int:
    """Draw a table, with its faults marked; the exit code is 0, 1 where it holds errors, 2 where it cannot be read."""
    parser = argparse.ArgumentParser(
        prog="hccl-kit show",
        description="Draw the super pods, servers, cards and ranks of a rank table, with its faults marked.",
        epilog="Exit code: 0 no error, 1 errors in the table, 2 could not run.",
    )
    parser.add_argument("table", metavar="TABLE", help='a rank table, or "-"')
    parser.add_argument("--product", choices=[*PRODUCT_NAMES, ANY_PRODUCT], default=ANY_PRODUCT, help="default: auto")
    parser.add_argument("--svg", metavar="FILE", help="write a drawing there, over what is there")
    parser.add_argument("--width", type=int, metavar="N", help="of the lines (default: that of the terminal)")
    options = parser.parse_args(argv)
    return run(lambda: _show(options))


def _show(options: argparse.Namespace) -> int:
    data, name = load(options.table)
    report = check_text(data, name, None if options.product == ANY_PRODUCT else find_product(options.product))
    if report.table is None:
        print(report_as_text(report, decode(data), wants_color()))
        return EXIT_OK if report.ok else EXIT_FINDINGS
    drawn = picture(report, report.table)
    print(as_text(drawn, options.width or shutil.get_terminal_size().columns))
    if options.svg:
        write_atomically(Path(options.svg), as_svg(drawn))
        print(f"wrote: {options.svg}")
    return EXIT_OK if report.ok else EXIT_FINDINGS


if __name__ == "__main__":
    raise SystemExit(main())
