"""The options that several programs share: one name, one meaning."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable

from hccl_kit.base.errors import KitError
from hccl_kit.check.rule import ANY_PRODUCT
from hccl_kit.table.products import PRODUCT_NAMES, Product, find_product


def product_or_auto(name: str) -> Product | None:
    """The product called `name`; None for "auto". Raises KitError if there is no such product."""
    return None if name == ANY_PRODUCT else find_product(name)


def product_name(name: str) -> str:
    """The name, which may be "auto". Raises KitError if there is no such product."""
    product_or_auto(name)
    return name


def add_product(
    parser: argparse.ArgumentParser, purpose: str, convert: Callable[[str], object] = product_or_auto
) -> None:
    """Add `--product NAME`, whose value `convert` makes; `purpose` begins its help."""
    names = ", ".join([*PRODUCT_NAMES, ANY_PRODUCT])
    parser.add_argument("--product", metavar="NAME", type=convert, help=f"{purpose}: {names} (default: {ANY_PRODUCT})")


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add `--select`, `--ignore`, `--strict` and `--quiet`."""
    group = parser.add_argument_group("which findings are reported")
    group.add_argument("--select", metavar="RULES", action="append", help="only these rules; repeatable")
    group.add_argument(
        "--ignore", metavar="RULES", action="append", help="not these rules, even if selected; repeatable"
    )
    group.add_argument("--strict", action=argparse.BooleanOptionalAction, help="treat warnings as errors")
    group.add_argument("--quiet", action="store_true", help="errors only; print nothing if there are none")


def add_job(parser: argparse.ArgumentParser | argparse._ArgumentGroup, *, default: int | None = None) -> None:
    """Add `--job K` and `--jobs-per-host N`."""
    what = "which job of its hosts this is, from 0: jobs with different numbers never meet at a port"
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
        default=8,
        help="how many jobs a host may have, equal for all of them (default: 8)",
    )


def whole(option: str) -> Callable[[str], int]:
    """The type of an option that takes a whole number from 0 on. It raises KitError for anything else."""

    def convert(text: str) -> int:
        if not re.fullmatch("[0-9]{1,10}", text):
            raise KitError(f"{option} must be a whole number, got {text[:40]!r}")
        return int(text)

    return convert


def seconds(text: str) -> float:
    """The type of --timeout. Raises KitError if it is not a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise KitError(f"--timeout must be greater than 0 seconds, got {text}")
    return number
