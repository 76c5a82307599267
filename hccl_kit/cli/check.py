"""hccl-check: judge rank tables before a job does.

    hccl-check PATH [PATH...] [--product 910] [--format json] [--strict] [--ignore HK210]

Exit code 0: no error in any file. 1: errors. 2: a file could not be read, or the command line is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from hccl_kit import __version__
from hccl_kit.base.arguments import Parser
from hccl_kit.base.colors import with_changes
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.base.terminal import wants_color
from hccl_kit.base.wording import counted
from hccl_kit.check.engine import Report, check_text
from hccl_kit.check.report import as_json, as_text
from hccl_kit.check.selection import narrowed, selection
from hccl_kit.cli import complain, run
from hccl_kit.cli.product_option import add_product_option, chosen_product
from hccl_kit.cli.settings import Settings, settings_for
from hccl_kit.table.document import decode
from hccl_kit.table.products import Product
from hccl_kit.table.reading import load

_EPILOG = """\
A folder is searched for JSON files that hold a rank table. Options that are not given come from the nearest
.hccl-kit.toml, or [tool.hccl-kit] of pyproject.toml, above a file: select, ignore, strict, product.

RULES are ids or beginnings of ids, parted by commas: HK2,HK301. What keeps a file from being judged at all is always
told. `hccl-kit rules` lists the rules, `hccl-kit explain HK203` explains one.

Exit code: 0 no error, 1 errors, 2 could not run.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    arguments = _parser().parse(argv)
    return run(lambda: _check(arguments))


def _parser() -> Parser:
    parser = Parser(
        prog="hccl-check",
        description="Judge HCCL rank tables by the rules of HCCL's parser and of the manuals.",
        epilog=_EPILOG,
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=100),  # asking the terminal takes 4 ms
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.add_argument(
        "files",
        nargs="+",
        metavar="PATH",
        help='a rank table, a folder with rank tables, or "-" for standard input',
    )
    add_product_option(
        parser,
        "the hardware that the table is for; auto is derived from the version, and for version 1.0 means the rules"
        " common to all products, without topology",
    )
    parser.set_defaults(product=None)  # the settings decide
    parser.add_argument(
        "--netmask",
        metavar="MASK",
        help="of the RoCE networks: 255.255.255.0 or 24; with --product, holds the addresses to the planes (HK319)",
    )
    parser.add_argument(
        "--format", choices=["text", "json", "github", "sarif"], default="text", help="of the findings (default: text)"
    )
    which = parser.add_argument_group("which findings are told")
    which.add_argument("--select", metavar="RULES", action="append", help="only of these rules; may be repeated")
    which.add_argument(
        "--ignore", metavar="RULES", action="append", help="not of these rules, selected or not; repeatable"
    )
    which.add_argument(
        "--strict", action=argparse.BooleanOptionalAction, default=None, help="warnings are errors, or are not"
    )
    which.add_argument("--quiet", action="store_true", help="errors only, and not a word on a file without error")
    mend = parser.add_argument_group("mending").add_mutually_exclusive_group()
    mend.add_argument(
        "--fix",
        action="store_true",
        help='mend what has one right answer in the files, show the difference, then judge them; with "-" the mended'
        " table goes to standard output and all else to standard error",
    )
    mend.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")
    return parser


class _Choice(NamedTuple):
    """How a file is checked: for which product, by which rules, and whether warnings are errors."""

    product: Product | None
    narrow: Callable[[Report], Report]
    strict: bool


def _check(arguments: argparse.Namespace) -> int:
    files, unread = _files(arguments.files)
    choices = {file: _choice(arguments, settings_for(file)) for file in files}
    reports: list[Report] = []  # of the forms that are one text; people read one after the other
    failed = 0
    on_stderr = arguments.fix and "-" in files
    say, color = (complain, wants_color(sys.stderr)) if on_stderr else (print, wants_color(sys.stdout))
    for file in files:
        choice = choices[file]
        try:
            data, name = load(file)
            judged, text = _judged(name, data, choice, arguments)
        except KitError as error:
            complain(error.render())
            unread += 1
            continue
        report = narrowed(choice.narrow(judged), strict=choice.strict, errors_only=arguments.quiet)
        failed += not report.ok
        if arguments.format != "text":
            reports.append(report)
        elif not (arguments.quiet and report.ok):
            say(as_text(report, text, color))
    if arguments.format != "text":
        say(_for_programs(reports, arguments.format))
    elif files != arguments.files and not (arguments.quiet and not failed):
        say(f"checked {counted(len(files), 'file')}, {failed or 'none'} with errors")
    if unread:
        return EXIT_CANNOT_RUN
    return EXIT_FINDINGS if failed else EXIT_OK


def _files(paths: Sequence[str]) -> tuple[list[str], int]:
    """The files, with the tables in folders; and the number of folders that could not be searched."""
    files: list[str] = []
    unread = 0
    for path in paths:
        if not os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises if a folder may not be read
            files.append(path)
            continue
        from hccl_kit.table.folder import tables_in  # noqa: PLC0415 - most name files

        try:
            files += tables_in(path)
        except KitError as error:
            complain(error.render())
            unread += 1
    return files, unread


def _choice(arguments: argparse.Namespace, settings: Settings) -> _Choice:
    """The options, over the settings of the file; raises KitError if no rule is left."""
    chosen = settings.with_options(
        select=arguments.select, ignore=arguments.ignore, strict=arguments.strict, product=arguments.product
    )
    select, ignore = selection(chosen.select, chosen.ignore)
    product = _product(chosen.product, arguments.netmask)
    return _Choice(product, partial(narrowed, select=select, ignore=ignore), chosen.strict)


def _product(name: str, netmask: str | None) -> Product | None:
    """The product called `name`, with the prefix of its networks; None: it follows from the version of each table."""
    product = chosen_product(name)
    if netmask is None:
        return product
    if product is None:
        raise KitError("--netmask needs --product: it tells how many networks the ports of a server form")
    from hccl_kit.table.hosts import prefix_length  # noqa: PLC0415 - a check without netmask starts without it

    prefix = prefix_length(netmask.removeprefix("/"))
    if prefix is None:
        raise KitError(f"--netmask {netmask!r} is no netmask; accepted: 255.255.255.0, 24")
    return product._replace(prefix=prefix)


def _judged(name: str, data: bytes, choice: _Choice, arguments: argparse.Namespace) -> tuple[Report, str]:
    """The report on a table and the text that it speaks of, after mending where that is asked for."""
    if not (arguments.fix or arguments.diff):
        return check_text(data, name, choice.product), decode(data)
    from hccl_kit.check.fix import mended  # noqa: PLC0415
    from hccl_kit.cli import fixing  # noqa: PLC0415 - a plain check starts without these

    outcome = mended(data, name, choice.product, narrow=choice.narrow)
    if arguments.fix:
        fixing.write(outcome, name, data)
    changes = fixing.difference(outcome, data, name, is_done=arguments.fix)
    if changes:
        is_for_people = arguments.format == "text" and not (arguments.fix and "-" in arguments.files)
        stream = sys.stdout if is_for_people else sys.stderr
        paint = with_changes if wants_color(stream) else str
        (print if is_for_people else complain)(paint(changes))
    if arguments.fix:
        return outcome.report, decode(outcome.text)
    return check_text(data, name, choice.product), decode(data)


def _for_programs(reports: Sequence[Report], form: str) -> str:
    """All reports in one text; what writes it is imported here, because most checks do without."""
    if form == "github":
        from hccl_kit.check.report.github import as_github  # noqa: PLC0415

        return as_github(reports)
    if form == "sarif":
        from hccl_kit.check.report.sarif import as_sarif  # noqa: PLC0415

        return as_sarif(reports)
    return as_json(reports)


if __name__ == "__main__":
    raise SystemExit(main())
