"""hccl-check: judge rank tables before a job does.

    hccl-check FILE [FILE...] [--product 910] [--format json]

Exit code 0: no error in any file. 1: errors. 2: a file could not be read, or the command line is wrong.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from hccl_kit.bounded_file import read_start
from hccl_kit.check import Report, check_text
from hccl_kit.cli import complain, run
from hccl_kit.document import MAX_BYTES, STDIN, decode
from hccl_kit.errors import EXIT_CANNOT_RUN, EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.products import PRODUCT_NAMES, find_product
from hccl_kit.report import as_json, as_text
from hccl_kit.rules import ANY_PRODUCT


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    arguments = _parser().parse_args(argv)
    return run(lambda: _check(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hccl-check",
        description="Judge HCCL rank tables of version 1.0 by the rules of HCCL's parser and of the manuals.",
        epilog="Exit code: 0 no error, 1 errors, 2 could not run.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help='a rank table, or "-" for standard input')
    parser.add_argument(
        "--product",
        choices=[*PRODUCT_NAMES, ANY_PRODUCT],
        default=ANY_PRODUCT,
        help="the hardware that the table is for; auto judges by what all that read version 1.0 have in common,"
        " without topology (default: auto)",
    )
    parser.add_argument("--format", choices=["text", "json"], default="text", help="default: text")
    return parser


def _check(arguments: argparse.Namespace) -> int:
    product = None if arguments.product == ANY_PRODUCT else find_product(arguments.product)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8 shows messages too
    reports: list[Report] = []
    unread = 0
    for file in arguments.files:
        try:
            data, name = _load(file)
        except KitError as error:
            complain(error.render())
            unread += 1
            continue
        report = check_text(data, name, product)
        reports.append(report)
        if arguments.format == "text":
            print(as_text(report, decode(data), _wants_color()))
    if arguments.format == "json":
        print(as_json(reports))
    if unread:
        return EXIT_CANNOT_RUN
    return EXIT_OK if all(report.ok for report in reports) else EXIT_FINDINGS


def _load(file: str) -> tuple[bytes, str]:
    """At most one byte more than is accepted, so that a device without end cannot fill the memory."""
    if file != "-":
        return read_start(Path(file), MAX_BYTES + 1), file
    if sys.stdin is None:
        raise KitError("cannot read standard input: it is closed")
    try:
        return sys.stdin.buffer.read(MAX_BYTES + 1), STDIN
    except OSError as error:
        raise KitError(f"cannot read standard input: {error.strerror}") from error


def _wants_color() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


if __name__ == "__main__":
    raise SystemExit(main())
