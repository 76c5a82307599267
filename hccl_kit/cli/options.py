"""The options that several programs share: one name, one meaning."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hccl_kit.base.arguments import a_path
from hccl_kit.base.errors import KitError
from hccl_kit.base.frameworks import FRAMEWORKS, MINDSPORE
from hccl_kit.base.message import Message
from hccl_kit.table.products import ANY_PRODUCT, PRODUCT_NAMES, product_or_auto

Options = argparse.ArgumentParser | argparse._ArgumentGroup
"""Where options are added."""


@contextmanager
def named_option(option: str) -> Iterator[None]:
    """Prefix errors about an option's value with the option's name."""
    try:
        yield
    except KitError as error:
        error.message = Message("cli.option", "{option}: {message}", option=option, message=error.message)
        raise


def product_name(name: str) -> str:
    """The name, which may be "auto". Raises KitError if there is no such product."""
    product_or_auto(name)
    return name


def add_product(parser: argparse.ArgumentParser, purpose: str, convert: Callable[[str], object] | None = None) -> None:
    """Add `--product NAME`, whose value is a product, or what `convert` makes; `purpose` begins its help."""
    names = ", ".join([*PRODUCT_NAMES, ANY_PRODUCT])
    what = f"{purpose}: {names} (default: {ANY_PRODUCT})"
    parser.add_argument("--product", metavar="NAME", type=convert or product_or_auto, help=what)


def add_format(parser: Options, what: str = "") -> None:
    """Add `--format` with text and JSON; `what` has that format."""
    of_what = f" of {what}" if what else ""
    what = f"format{of_what} (default: text)"
    parser.add_argument("--format", dest="form", choices=["text", "json"], default="text", help=what)


def add_force(parser: Options, what: str = "a file") -> None:
    """Add `--force`, for what is written."""
    parser.add_argument("--force", action="store_true", help=f"overwrite {what} with other content")


def add_output_folder(
    parser: Options,
    default: str | None = ".",
    words: str = "the current folder",
) -> None:
    """Add `-o DIR`; `words` name the default."""
    what = f"where to write; a missing folder is created (default: {words})"
    parser.add_argument("-o", "--output", metavar="DIR", type=a_path, default=default, help=what)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add `--select`, `--ignore`, `--strict` and `--quiet`."""
    group = parser.add_argument_group("which findings are reported")
    group.add_argument("--select", metavar="RULES", action="append", help="report only these rules; repeatable")
    group.add_argument(
        "--ignore", metavar="RULES", action="append", help="do not report these rules, even if selected; repeatable"
    )
    group.add_argument("--strict", action=argparse.BooleanOptionalAction, help="treat warnings as errors")
    group.add_argument("--quiet", action="store_true", help="report errors only; print nothing if there are none")


def add_ssh_option(parser: Options) -> None:
    """Add `--ssh-option OPTION`."""
    parser.add_argument(
        "--ssh-option", metavar="OPTION", action="append", default=[], help="an option for ssh -o; repeatable"
    )


def add_reach(parser: Options, python: str = "python3") -> None:
    """Add `--ssh-option OPTION` and `--python [HOST=]PATH`, whose default is called `python`."""
    add_ssh_option(parser)
    add_python(parser, python)


def add_python(parser: Options, python: str = "python3") -> None:
    """Add `--python [HOST=]PATH`, whose default is called `python`."""
    parser.add_argument(
        "--python",
        metavar="[HOST=]PATH",
        action="append",
        default=[],
        help=f"Python on the other servers, or on one of them (default: {python}); repeatable",
    )


def add_timeout(parser: Options, default: float) -> None:
    """Add `--timeout SECONDS`."""
    what = f"how long one server may take (default: {default:g})"
    parser.add_argument("--timeout", metavar="SECONDS", type=_seconds, default=default, help=what)


def add_framework(parser: Options, purpose: str) -> None:
    """Add `--framework NAME`; `purpose` ends its help."""
    names = " or ".join(FRAMEWORKS)
    what = f"whose program the ranks run: {names} (default: what it imports, else {MINDSPORE}); {purpose}"
    parser.add_argument("--framework", metavar="NAME", choices=FRAMEWORKS, help=what)


def add_job(parser: Options, *, default: int | None = None) -> None:
    """Add `--job K` and `--jobs-per-host N`."""
    what = "number of this job on its hosts, from 0; jobs with different numbers use different ports"
    parser.add_argument(
        "--job",
        metavar="K",
        type=whole("--job"),
        default=default,
        help=what if default is None else f"{what} (default: {default})",
    )
    parser.add_argument(
        "--jobs-per-host",
        dest="jobs",
        metavar="N",
        type=whole("--jobs-per-host"),
        help="maximum number of jobs on a host, the same for all of them (default: 8)",
    )


def whole(option: str) -> Callable[[str], int]:
    """The type of an option that takes a whole number from 0 on. It raises KitError for anything else."""

    def convert(text: str) -> int:
        if not re.fullmatch("[0-9]{1,10}", text):
            raise KitError(
                "cli.whole-number",
                "{option} must be a whole number from 0 on, got {text!r}",
                option=option,
                text=text[:40],
            )
        return int(text)

    return convert


def path_with(suffix: str, option: str) -> Callable[[str], Path]:
    """The type of an option that takes a file with this suffix, so that a typo does not overwrite a table or a log.

    It raises KitError for any other name.
    """

    def convert(text: str) -> Path:
        if not text.endswith(suffix):
            raise KitError(
                "cli.suffix", "{option} {text!r} does not end in {suffix}", option=option, text=text, suffix=suffix
            )
        return Path(text)

    return convert


def number(text: str) -> float:
    """The number in a text, NaN if there is none: that is in no range."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _seconds(text: str) -> float:
    seconds = number(text)
    if not 0 < seconds < math.inf:
        raise KitError("cli.timeout", "--timeout must be greater than 0 seconds, got {text}", text=text)
    return seconds
