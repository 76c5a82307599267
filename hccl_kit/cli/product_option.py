"""`--product` of the programs that check tables: one option, one meaning."""

from __future__ import annotations

import argparse

from hccl_kit.base.errors import KitError
from hccl_kit.check.rule import ANY_PRODUCT
from hccl_kit.table.products import PRODUCT_NAMES, Product, find_product


def add_product_option(parser: argparse.ArgumentParser, text: str) -> None:
    """Add `--product NAME`, which is a name that `chosen_product` takes; `text` is its help."""
    names = ", ".join([*PRODUCT_NAMES, ANY_PRODUCT])
    parser.add_argument(
        "--product", metavar="NAME", type=_name, default=ANY_PRODUCT, help=f"{text}: {names} (default: {ANY_PRODUCT})"
    )


def chosen_product(name: str) -> Product | None:
    """The product called `name`; None for "auto": each table tells. Raises KitError if there is no such product."""
    return None if name == ANY_PRODUCT else find_product(name)


def _name(text: str) -> str:
    try:
        chosen_product(text)
    except KitError as error:
        raise argparse.ArgumentTypeError("; ".join(filter(None, [error.message, error.hint]))) from error
    return text
