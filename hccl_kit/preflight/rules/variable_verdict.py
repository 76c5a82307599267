"""Whether HCCL accepts the value of a variable, on which products and from which release of CANN on.

An error is only what HCCL of a known release refuses on the product at hand, or on all if that is not known: another
release may know more values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.origin import Release, dotted
from hccl_kit.base.wording import either, joined, row
from hccl_kit.preflight.rules.variable_values import BY_PRODUCT, VALUES, WORDS, Accepted
from hccl_kit.table.document import shown
from hccl_kit.table.products import PRODUCT_NAMES

_SHOWN = 64
"""Characters of a value in a sentence about it."""


class Refusal(NamedTuple):
    """Why a value is not accepted. `is_certain`: HCCL of the product and the release at hand stops at it."""

    message: Message
    is_certain: bool


def refusal(name: str, value: str, *, product: str = "", cann: str | None = None) -> Refusal | None:
    """Why HCCL does not accept a value of a variable; None if it does, or the variable is not in this table.

    `product` is "" or "auto" if it is not known, `cann` the version of the release at hand, such as "9.1.0".
    """
    if name not in VALUES:
        return None
    accepted, release = _accepted(name, product), _release(cann)
    first = accepted.since.get(value, accepted.origin.oldest)
    if accepted.takes(value) and (release is None or value not in accepted.since or release >= first):
        return None
    written = f"{name}={shown(value)}"
    doubt = _doubt(accepted, release, cann, product)
    if accepted.takes(value):
        message = Message(
            "HK606.release",
            "{variable}; known from CANN {first} on, and this is CANN {cann}",
            variable=written,
            first=dotted(first),
            cann=cann,
        )
    else:
        message = Message(
            "HK606.value",
            "{variable}; accepted: {accepted}",
            variable=written,
            accepted=_alternatives(_words(accepted)),
        )
        others = [] if product in PRODUCT_NAMES else _takers(name, value)
        if others:
            doubt = Message("HK650.other-product", "{products} accepts it", products=joined(others))
    if doubt is None:
        return Refusal(message, is_certain=True)
    return Refusal(Message("HK650.doubt", "{refusal}; {doubt}", refusal=message, doubt=doubt), is_certain=False)


def _doubt(accepted: Accepted, release: Release | None, cann: str | None, product: str) -> Message | None:
    """Why HCCL may take the value all the same; None if it does not."""
    if release is None:
        return Message("HK650.unknown-release", "the release of CANN is not known, and another may accept it")
    if not accepted.origin.covers(release):
        return Message(
            "HK650.other-release",
            "this list is of CANN {oldest} to {newest}, and CANN {cann} may accept it",
            oldest=dotted(accepted.origin.oldest),
            newest=dotted(accepted.origin.newest),
            cann=cann,
        )
    if accepted.stops_on == ():
        return Message("HK650.may-ignore", "the manual does not say whether HCCL then stops or takes its default")
    if accepted.stops_on is not None and product not in accepted.stops_on:
        return Message("HK650.default", "by the manuals of other products than a5, HCCL then takes its default")
    return None


def in_words(name: str) -> str | None:
    """What HCCL accepts for a variable, and what differs by product and release; None if it is not in this table."""
    if name not in VALUES:
        return None
    others = grouped((values[name].words, product) for product, values in BY_PRODUCT.items() if name in values)
    special = (
        Message("preflight.values-on", "on {products} {values}", products=row(products), values=Message(WORDS, words))
        for words, products in others.items()
    )
    first, *since = _words(VALUES[name])
    return _alternatives([first, *special, *since])


def verdict_in_words(name: str, value: str) -> Message:
    """Where HCCL accepts a value of a variable of this table, if neither product nor release is known."""
    accepted, written = VALUES[name], repr(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}...")
    first = accepted.since.get(value)
    if accepted.takes(value) and first:
        return Message(
            "preflight.accepted-from",
            "{value} is accepted from CANN {release} on",
            value=written,
            release=dotted(first),
        )
    if accepted.takes(value):
        return Message("preflight.accepted", "{value} is accepted", value=written)
    if takers := _takers(name, value):
        return Message(
            "preflight.accepted-on", "{value} is accepted on {products} only", value=written, products=joined(takers)
        )
    return Message(
        "preflight.not-accepted",
        "{value} is not accepted by CANN {oldest} to {newest}",
        value=written,
        oldest=dotted(accepted.origin.oldest),
        newest=dotted(accepted.origin.newest),
    )


def _alternatives(texts: Iterable[str]) -> str:
    return reduce(
        lambda left, right: Message("preflight.alternatives", "{left}; {right}", left=left, right=right), texts
    )


def _words(accepted: Accepted) -> list[Message]:
    """The values in words: of all releases, and those that each later one added."""
    newer = grouped((first, value) for value, first in accepted.since.items())
    since = (
        Message(
            "preflight.values-from",
            "{values} from CANN {release} on",
            values=either(values),
            release=dotted(first),
        )
        for first, values in sorted(newer.items())
    )
    return [Message(WORDS, accepted.words), *since]


def _accepted(name: str, product: str) -> Accepted:
    return BY_PRODUCT.get(product, {}).get(name, VALUES[name])


def _takers(name: str, value: str) -> list[str]:
    """The products with values of their own that accept this one."""
    return [product for product, values in BY_PRODUCT.items() if name in values and values[name].takes(value)]


def _release(cann: str | None) -> Release | None:
    match = re.match(r"([0-9]{1,3})\.([0-9]{1,3})", cann or "")
    return (int(match[1]), int(match[2])) if match else None
