"""hccl-check: judge rank tables before a job does.

    hccl-check FILE [FILE...] [--product 910] [--format json] [--strict] [--ignore HK210]

Exit code 0: no error in any file. 1: errors. 2: a file could not be read, or the command line is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial

from hccl_kit import __version__
from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.base.terminal import wants_color
from hccl_kit.check.engine import Report, check_text
from hccl_kit.check.report import as_json, as_text
from hccl_kit.check.selection import narrowed, selection
from hccl_kit.cli import complain, run
from hccl_kit.cli.product_option import add_product_option, chosen_product
from hccl_kit.table.document import decode
from hccl_kit.table.products import Product
from hccl_kit.table.reading import load

_EPILOG = """\
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
    parser.add_argument("files", nargs="+", metavar="FILE", help='a rank table, or "-" for standard input')
    add_product_option(
        parser,
        "the hardware that the table is for; auto is derived from the version, and for version 1.0 means the rules"
        " common to all products, without topology",
    )
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
        "--ignore", metavar="RULES", action="append", default=[], help="not of these rules, selected or not; repeatable"
    )
    which.add_argument("--strict", action="store_true", help="warnings are errors")
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


def _check(arguments: argparse.Namespace) -> int:
    product = _product(arguments)
    chosen = _chosen(arguments)
    reports: list[Report] = []  # of the forms that are one text; people read one after the other
    unread = failed = 0
    say = complain if arguments.fix and "-" in arguments.files else print
    for file in arguments.files:
        try:
            data, name = load(file)
            judged, text = _judged(name, data, product, arguments)
        except KitError as error:
            complain(error.render())
            unread += 1
            continue
        report = narrowed(chosen(judged), strict=arguments.strict, errors_only=arguments.quiet)
        failed += not report.ok
        if arguments.format != "text":
            reports.append(report)
        elif not (arguments.quiet and report.ok):
            say(as_text(report, text, wants_color(sys.stdout)))
    if arguments.format != "text":
        say(_for_programs(reports, arguments.format))
    if unread:
        return EXIT_CANNOT_RUN
    return EXIT_FINDINGS if failed else EXIT_OK


def _product(arguments: argparse.Namespace) -> Product | None:
    """The product to judge by, with the prefix of its networks where it is named; None: each table tells."""
    product = chosen_product(arguments.product)
    if arguments.netmask is None:
        return product
    if product is None:
        raise KitError("--netmask needs --product: it tells how many networks the ports of a server form")
    from hccl_kit.table.hosts import prefix_length  # noqa: PLC0415 - a check without netmask starts without it

    prefix = prefix_length(arguments.netmask.removeprefix("/"))
    if prefix is None:
        raise KitError(f"--netmask {arguments.netmask!r} is no netmask; accepted: 255.255.255.0, 24")
    return product._replace(prefix=prefix)


def _chosen(arguments: argparse.Namespace) -> Callable[[Report], Report]:
    """What leaves the findings of the rules that the user chose; raises KitError if no rule is left."""
    select, ignore = selection(arguments.select, arguments.ignore)
    return partial(narrowed, select=select, ignore=ignore)


def _judged(name: str, data: bytes, product: Product | None, arguments: argparse.Namespace) -> tuple[Report, str]:
    """The report on a table and the text that it speaks of, after mending where that is asked for."""
    if not (arguments.fix or arguments.diff):
        return check_text(data, name, product), decode(data)
    from hccl_kit.check.fix import mended  # noqa: PLC0415
    from hccl_kit.cli import fixing  # noqa: PLC0415 - a plain check starts without these

    outcome = mended(data, name, product, narrow=_chosen(arguments))
    if arguments.fix:
        fixing.write(outcome, name, data)
    changes = fixing.difference(outcome, data, name, is_done=arguments.fix)
    if changes:
        is_for_people = arguments.format == "text" and not (arguments.fix and "-" in arguments.files)
        (print if is_for_people else complain)(changes)
    return (outcome.report, decode(outcome.text)) if arguments.fix else (check_text(data, name, product), decode(data))


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
