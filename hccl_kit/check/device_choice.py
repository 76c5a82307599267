"""Whether a product can link the cards that a user chooses; an error points into the text of the choice."""

from __future__ import annotations

from collections.abc import Sequence

from hccl_kit.base.errors import ParseError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined
from hccl_kit.check.rule import TOPOLOGY, run
from hccl_kit.check.rules import RULE_BY_ID, RULES
from hccl_kit.check.rules.topology import nearest_supported
from hccl_kit.table.device_range import DeviceRange
from hccl_kit.table.finding import Finding
from hccl_kit.table.hosts import Card, Host
from hccl_kit.table.operations.generate import generate_cluster
from hccl_kit.table.products import Product

_BY_IDS = ("HK203", "HK204")
"""Rules that depend on the ids of the cards alone."""


def check_devices(
    text: str,
    ids: Sequence[int],
    servers: Sequence[str],
    product: Product,
    *,
    is_logical: bool = False,
    option: str = "--device_num",
    may_be: Sequence[Product] = (),
) -> None:
    """Raises ParseError if `product` cannot link the physical `ids` on each of `servers`.

    `may_be` are other products whose cards these may be; the next step names those that can.

    `text` is the value of `option` as it was typed; with `is_logical` its numbers are other ids of these cards.
    """
    refusal = _refusal(ids, servers, product)
    if refusal is None:
        return
    message = Message("check.device-choice", "{rule}: {message}", rule=refusal.rule, message=refusal.message)
    written = text.strip()
    column = text.index(written)

    def accepted(others: Sequence[int]) -> bool:
        return _refusal(others, servers, product) is None

    if written.endswith("]") and len(ids) > 1 and not is_logical and accepted(ids[:-1]):
        meant = Message(
            "check.device-choice-bracket.fix", 'did you mean "[{first},{last})"?', first=ids[0], last=ids[-1]
        )
        raise ParseError(message, source=text, column=column + len(written) - 1, hint=meant)
    hint = _nearest(ids, product, option, is_logical=is_logical)
    if written.isdigit() and accepted(range(int(written))):  # a number of cards
        hint = Message(
            "check.device-choice-count.fix",
            'a single number is the id of a card; did you mean "[0,{count})"?',
            count=written,
        )
    other = [product.name for product in may_be if product.reads_servers and _refusal(ids, servers, product) is None]
    if other:
        hint = Message(
            "check.device-choice-product.fix",
            "{hint}; for other cards --product {other}",
            hint=hint or Message("check.device-choice-other.fix", "take other cards"),
            other=joined(other, "or"),
        )
    raise ParseError(message, source=text, column=column, width=len(written), hint=hint)


def _refusal(ids: Sequence[int], servers: Sequence[str], product: Product) -> Finding | None:
    """The finding that forbids the cards `ids` on every one of `servers`; None if they may be used.

    Warnings on topology count too: a table that this project writes should be neither slow nor unsupported. Raises
    KitError if a server id is not valid.
    """
    if not product.reads_servers:
        return None  # the format of version 2.0 limits its ids
    hosts = [Host(name, {i: Card() for i in ids}) for name in servers[:2]]  # all are equal, so two stand for many
    table = generate_cluster(hosts, version="1.0")
    rules = [rule for rule in RULES if rule.id in _BY_IDS or rule.family == TOPOLOGY]  # the others need addresses
    findings = run(rules, product.name, table, product)
    return min(findings, key=lambda finding: RULE_BY_ID[finding.rule].family != TOPOLOGY, default=None)


def _nearest(ids: Sequence[int], product: Product, option: str, *, is_logical: bool) -> Message | None:
    nearest = nearest_supported(ids, product)
    if nearest is None:
        return None
    choice = DeviceRange(nearest)
    if not is_logical:
        return Message("check.device-choice.fix", '{option} "{choice}"', option=option, choice=choice)
    return Message(
        "check.device-choice-physical.fix", "the nearest valid choice is {choice} in physical ids", choice=choice
    )
