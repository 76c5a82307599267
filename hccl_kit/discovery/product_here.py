"""The product of a table: the one that is named, else the one whose cards npu-smi lists here, else the default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.discovery import driver_tool, npu_smi
from hccl_kit.table.products import DEFAULT_PRODUCT, PRODUCTS, Product, find_product, product_of_chip

_BOX16 = 16
"""Cards of a server of Atlas 200T A2 Box16; other servers of A2 have eight."""


class ProductChoice(NamedTuple):
    """A product, and where it is from. `may_be`: others whose cards these may be, if nothing tells the product."""

    product: Product
    reason: Message | str
    may_be: tuple[Product, ...] = ()

    @property
    def note(self) -> Message:
        """The line that says which product it is."""
        return Message("discovery.product", "product: {title}, {reason}", title=self.product.title, reason=self.reason)


def choose_product(named: Product | None, *, cards_are_here: bool) -> ProductChoice:
    """The product of a job. With `cards_are_here` npu-smi is asked, if this machine has it; its failure is no error."""
    if named is not None:
        return ProductChoice(named, "--product")
    if cards_are_here and (tool := npu_smi.find()) and (product := _asked(tool)):
        return ProductChoice(product, Message("discovery.product-asked", "from {tool}", tool=tool))
    reason = Message("discovery.product-default", "the default (--product names another)")
    product = find_product(DEFAULT_PRODUCT)
    return ProductChoice(product, reason, tuple(other for other in PRODUCTS if other is not product))


def _asked(tool: str) -> Product | None:
    try:
        return product_in(driver_tool.query([tool, "info"], driver_tool.TIMEOUT))
    except driver_tool.NoAnswerError:
        return None


def product_in(answer: str) -> Product | None:
    """The product of the chips in an answer of `npu-smi info`; None if their names do not tell it, or differ."""
    info = npu_smi.info(answer)
    return product_of_chips(info.chips) if info else None


def product_of_chips(chips: Sequence[npu_smi.Chip]) -> Product | None:
    """The product of all chips of a machine; None if their names do not tell it, or differ.

    All chips of Atlas A3 are called Ascend910, as some of 910 are; only A3 numbers them by Phy-ID.
    """
    names = {chip.name for chip in chips}
    if len(names) != 1:
        return None
    product = product_of_chip(names.pop())
    if product == "910" and all(chip.physical is not None for chip in chips):
        product = "a3"
    if product == "a2" and len(chips) == _BOX16:
        product = "a2-box16"
    return find_product(product) if product else None
