"""Proofs that versions 1.0 and 1.2 and template 2 share: cards, ranks, addresses, names of servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice, repeat
from typing import Any

from hccl_kit.base.host_name import is_host
from hccl_kit.base.network import is_loopback
from hccl_kit.base.typos import MAX_UNKNOWN, is_typo
from hccl_kit.check.quick.plain import Counted, UnprovenError, require
from hccl_kit.table.ip import AF_INET, AF_INET6, UNSPECIFIED, inet_pton, reserved_range
from hccl_kit.table.products import ANY_PRODUCT, Product

_MAX_DIGITS = 10
MAX_SERVER_ID = 64
_MAX_NAME = 127
"""Bytes of the name of a group, a pod or a super pod."""


@lru_cache(256)  # most are device ids
def integer(text: Any) -> int:
    """The number in decimal digits without leading zeros. Raises UnprovenError for any other text."""
    if not (isinstance(text, str) and len(text) <= _MAX_DIGITS and text.isascii() and text.isdecimal()):
        raise UnprovenError
    require(text == "0" or text[0] != "0")
    return int(text)


def integers(texts: Iterable[Any]) -> Mapping[str, int]:
    """The number of each text, as `integer`."""
    different = list(set(texts))
    numbers = list(map(int, different))
    require(list(map(str, numbers)) == different, min(numbers) >= 0, max(numbers) < 10**_MAX_DIGITS)
    return dict(zip(different, numbers, strict=True))


def groups_of(column: Sequence[Any], sizes: Sequence[int]) -> Iterable[tuple[Any, ...]]:
    """The values of a column in groups of these sizes."""
    if len(set(sizes)) == 1:
        return zip(*[iter(column)] * sizes[0], strict=True)
    items = iter(column)
    return (tuple(islice(items, size)) for size in sizes)


def require_ranks(ranks: Sequence[Any], sizes: Sequence[int], *, in_blocks: bool) -> None:
    """The ranks, as texts, are 0 to N-1; with `in_blocks`, those of a server follow each other."""
    # The numbers of spaces are equal too, so no rank contains one. This takes a third of the time of a list of texts.
    if " ".join(ranks) == _numbers(len(ranks)):
        return
    require(set(ranks) == set(map(str, range(len(ranks)))))
    if in_blocks:
        blocks = groups_of(list(map(int, ranks)), sizes)
        require(all(max(block) - min(block) == len(block) - 1 for block in blocks))


def _numbers(count: int) -> str:
    """The numbers from 0 to `count` - 1 with a space between them, built a thousand at a time."""
    if count <= 1000:
        return " ".join(map(str, range(count)))
    digits = [f"{number:03}" for number in range(1000)]
    thousands = (f" {first // 1000}".join(["", *digits[: count - first]]) for first in range(1000, count, 1000))
    return " ".join(map(str, range(1000))) + "".join(thousands)


def require_cards(cards: Iterable[tuple[Any, ...]], product: Product, *, servers: int) -> None:
    """The device ids of each server are unique; the product accepts their values, counts and sets."""
    patterns = set(cards)
    every = {text for pattern in patterns for text in pattern}
    require(len(every) <= product.max_device_id + 1)
    numbers = {text: integer(text) for text in every}
    counts = {len(pattern) for pattern in patterns}
    supported = product.server_counts if servers == 1 else product.cluster_counts
    require(max(numbers.values()) <= product.max_device_id, min(counts) > 0)
    require(not supported or counts <= {*supported}, len(counts) == 1 or product.name == ANY_PRODUCT)
    for pattern in patterns:
        ids = {numbers[text] for text in pattern}
        require(len(ids) == len(pattern))
        if product.groups and len(ids) <= len(product.groups[0]):
            require(any(ids <= {*group} for group in product.groups))


def require_addresses(counted: Counted, ips: Sequence[Any]) -> None:
    """The addresses are valid, of one family and unique; two spellings of an IPv6 address count as one."""
    if ":" in counted.texts(ips):
        require(len(set(map(inet_pton, repeat(AF_INET6), ips))) == len(ips))
    else:  # an IPv4 address has one spelling, so different texts are different addresses
        different = set(ips)
        require(len(different) == len(ips), UNSPECIFIED not in different, _are_ipv4(ips))
    require(not any(map(reserved_range, ips)))


def require_server_ids(ids: Sequence[str]) -> None:
    """The ids are unique, and each is an address or a host name that other hosts can reach: not loopback."""
    require(len(set(ids)) == len(ids), max(map(len, ids)) <= MAX_SERVER_ID)
    if _are_ipv4(ids):
        require("\n127." not in "\n".join(["", *ids]))
    else:
        require(all(map(is_host, ids)), not any(map(is_loopback, ids)))


def _are_ipv4(texts: Sequence[str]) -> bool:
    try:
        return all(map(inet_pton, repeat(AF_INET), texts))
    except (OSError, ValueError):
        return False


def are_short(names: Sequence[str]) -> bool:
    """Whether no name has more than 127 bytes."""
    return max([len(name.encode()) for name in names]) <= _MAX_NAME


def require_no_typo(unknown: Iterable[str], optional: Sequence[str]) -> None:
    """No unknown key of an object resembles one that HCCL reads."""
    keys = list(islice(unknown, MAX_UNKNOWN + 1))
    require(len(keys) <= MAX_UNKNOWN, not any(is_typo(key, known) for key in keys for known in optional))
