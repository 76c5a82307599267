"""Check HCCL rank tables against the rules of HCCL's parser and of the manuals.

A folder is searched for JSON files that hold a rank table; a folder without any is an error (exit
code 2). Options that are not given come from the nearest .hccl-kit.toml, or [tool.hccl-kit] of
pyproject.toml, above a file: select, ignore, strict, product.

RULES are ids, prefixes of ids or names, separated by commas: HK3,duplicate-device. What keeps a
file from being checked at all is always reported. `hccl-kit rules` lists the rules, and
`hccl-kit explain HK203` explains one.

examples:
  hccl-check hccl_2s_16p.json
  hccl-check tables/ --product 910 --netmask 24 --strict
  hccl-check hccl_2s_16p.json --fix

Exit codes: 0 no error; 1 errors; 2 could not run.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.arguments import Parser
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.colors import with_changes
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import wants_color
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import counted
from hccl_kit.check.engine import check_text
from hccl_kit.check.fix import FixResult, changes, fix_text
from hccl_kit.check.report.github import as_github
from hccl_kit.check.report.json_form import as_json
from hccl_kit.check.report.sarif import as_sarif
from hccl_kit.check.report.text import as_text
from hccl_kit.check.result import Report
from hccl_kit.check.selection import narrowed, selection
from hccl_kit.cli import complain, program
from hccl_kit.cli.options import add_product, add_selection, product_name
from hccl_kit.cli.settings import Settings, settings_for
from hccl_kit.table.document import decode
from hccl_kit.table.folder import tables_in
from hccl_kit.table.ip import prefix_length
from hccl_kit.table.products import Product, product_or_auto
from hccl_kit.table.reading import load
from hccl_kit.table.source import MAX_BYTES, STDIN

_WRITERS: Mapping[str, Callable[[Sequence[Report]], str]] = {"json": as_json, "github": as_github, "sarif": as_sarif}
"""The formats for programs: all reports in one text."""


class CheckRequest(NamedTuple):
    """The command line of hccl-check. None in select, ignore, strict or product: the settings of each file decide."""

    paths: Sequence[str]
    select: Sequence[str] | None = None
    ignore: Sequence[str] | None = None
    strict: bool | None = None
    product: str | None = None
    netmask: str | None = None
    format: str = "text"
    quiet: bool = False
    fix: bool = False
    diff: bool = False

    @property
    def prints_table(self) -> bool:
        """Standard output is the fixed table, so everything else goes to standard error."""
        return self.fix and "-" in self.paths


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-check", doc=__doc__)
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help='a rank table, a folder with rank tables, or "-" for standard input'
    )
    add_product(
        parser,
        "the hardware that the table is for; auto derives it from the version, and checks version 1.0 without the"
        " topology, by the rules common to all products",
        product_name,
    )
    parser.add_argument(
        "--netmask",
        metavar="MASK",
        help="netmask of the RoCE networks, such as 255.255.255.0 or 24, to check which cards share a network"
        " (HK319); needs --product",
    )
    parser.add_argument(
        "--format",
        choices=["text", *_WRITERS],
        default="text",
        help="format of the findings (default: text)",
    )
    add_selection(parser)
    fix = parser.add_argument_group("fixing").add_mutually_exclusive_group()
    fix.add_argument(
        "--fix",
        action="store_true",
        help='fix what has exactly one correct value, print the diff, then check the result; with "-" the fixed table'
        " goes to standard output and everything else to standard error",
    )
    fix.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")
    return parser


def _check(request: CheckRequest) -> int:
    files, unread = _files(request.paths)
    choices = {file: _choice(request, settings_for(file)) for file in files}
    reports: list[Report] = []  # printed at the end, unless the format is text
    failed = checked_files = 0
    say, stream = (complain, sys.stderr) if request.prints_table else (print, sys.stdout)
    color = wants_color(stream)
    for file in files:
        product, narrow, strict = choices[file]
        try:
            data, name = load(file)
            checked, text = _checked(name, data, product, narrow, request)
        except KitError as error:
            complain(error.render())
            unread += 1
            continue
        checked_files += 1
        report = narrow(checked, strict=strict, errors_only=request.quiet)
        failed += not report.ok
        if request.format != "text":
            reports.append(report._replace(table=None))  # a large table is far larger than its findings
        elif not (request.quiet and report.ok):
            say(as_text(report, decode(text) if report.findings else "", color))
        del data, checked, report  # before the next table is read
    if request.format != "text":
        say(_WRITERS[request.format](reports))
    elif files and files != request.paths and not (request.quiet and not failed):
        say(translated(_total(checked_files, failed)))
    if unread:
        return EXIT_CANNOT_RUN
    return EXIT_FINDINGS if failed else EXIT_OK


def _total(files: int, failed: int) -> Message:
    if failed:
        return Message(
            "check.total", "checked {files}, {failed} with errors", files=counted(files, "file"), failed=failed
        )
    return Message("check.total-without-errors", "checked {files}, none with errors", files=counted(files, "file"))


def _files(paths: Sequence[str]) -> tuple[list[str], int]:
    """The files, with the tables in folders; and the number of folders that could not be searched."""
    files: list[str] = []
    unread = 0
    for path in paths:
        if not os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises if a folder may not be read
            files.append(path)
            continue
        try:
            files += tables_in(path)
        except KitError as error:
            complain(error.render())
            unread += 1
    return files, unread


def _choice(request: CheckRequest, settings: Settings) -> tuple[Product | None, Callable[..., Report], bool]:
    """For which product a file is checked, what narrows its report, and whether strictly: options before settings.

    Raises KitError if no rule is left.
    """
    given = {key: getattr(request, key) for key in ("select", "ignore", "strict", "product")}
    chosen = settings._replace(**{key: value for key, value in given.items() if value is not None})
    product = _with_netmask(product_or_auto(chosen.product), request.netmask)
    select, ignore = selection(chosen.select, chosen.ignore)
    return product, partial(narrowed, select=select, ignore=ignore), chosen.strict


def _with_netmask(product: Product | None, netmask: str | None) -> Product | None:
    """The product, with the prefix length of its networks if --netmask gives it."""
    if netmask is None:
        return product
    if product is None:
        raise KitError(
            "cli.check.netmask-needs-product",
            "--netmask needs --product, since the number of networks of a server depends on it",
            fix="--product 910 --netmask {netmask}",
            netmask=netmask,
        )
    prefix = prefix_length(netmask.removeprefix("/"))
    if prefix is None:
        raise KitError(
            "cli.check.netmask-not-valid",
            "--netmask {netmask!r} is not a valid netmask; accepted: 255.255.255.0, 24",
            netmask=netmask,
        )
    return product._replace(prefix=prefix)


def _checked(
    name: str, data: bytes, product: Product | None, narrow: Callable[..., Report], request: CheckRequest
) -> tuple[Report, bytes | str]:
    """The report on a table and the text that it refers to, after fixing if that is requested."""
    if not (request.fix or request.diff):
        return check_text(data, name, product), data
    result = fix_text(data, name, product, narrow=narrow)
    if request.fix:
        _write(result, name, data)
    chosen = result._replace(report=narrow(result.report))
    if text := changes(chosen, data, name, is_done=request.fix):
        on_stdout = request.format == "text" and not request.prints_table
        paint = with_changes if wants_color(sys.stdout if on_stdout else sys.stderr) else str
        (print if on_stdout else complain)(paint(text))
    if request.fix:
        return result.report, result.text
    return check_text(data, name, product), data


def _write(result: FixResult, name: str, data: bytes) -> None:
    """Write the fixed text to the table `name`, whose content was `data`.

    Standard input has no file, so its text goes to standard output. A file is written only if something was fixed,
    atomically, with the mode that it had; a symbolic link stays one, and its target, which HCCL reads, is written.
    Raises KitError if it cannot be written, or is not a regular file, such as /dev/stdin.
    """
    if name == STDIN:
        if len(data) > MAX_BYTES:  # the rest was not read
            raise KitError(
                "cli.check.stdin-too-large",
                "cannot fix {stdin}: it is larger than {max_bytes} bytes",
                stdin=STDIN,
                max_bytes=MAX_BYTES,
            )
        sys.stdout.buffer.write(result.text.encode("utf-8") if result.applied else data)
        sys.stdout.buffer.flush()
    elif result.applied:
        path = Path(name).resolve()
        if not path.is_file():
            raise KitError(
                "cli.check.not-regular",
                "cannot fix {name}: it is not a regular file",
                fix='for a pipe use "-": hccl-check --fix -',
                name=name,
            )
        write_atomically(path, result.text, like=path.stat())


main = program(make_parser, lambda **given: _check(CheckRequest(**given)))


if __name__ == "__main__":
    raise SystemExit(main())
