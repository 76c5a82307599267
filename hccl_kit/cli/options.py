"""The options that several programs share: one name, one meaning."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from hccl_kit.table.products import ANY_PRODUCT, PRODUCT_NAMES, product_or_auto


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


def add_ssh_option(parser: argparse._ArgumentGroup) -> None:
    """Add `--ssh-option OPTION`."""
    parser.add_argument(
        "--ssh-option", metavar="OPTION", action="append", default=[], help="value for ssh -o; repeatable"
    )
