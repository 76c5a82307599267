"""Card addresses from the driver's own program, `hccn_tool -i N -ip -g`."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.discovery import driver_tool
from hccl_kit.table.hosts import Card
from hccl_kit.table.ip import prefix_length

USUAL_PLACES = ("/usr/local/Ascend/driver/tools/hccn_tool",)

_IPV4 = re.compile(r"^ipaddr:[ \t]*(\S+)", re.MULTILINE)
_IPV6 = re.compile(r"^ipv6_address:[ \t]*(\S+)", re.MULTILINE)
_VNIC = re.compile(r"^vnic ipaddr:[ \t]*(\S+)", re.MULTILINE)
_MASK = re.compile(r"^(?:netmask|prefix_length|vnic netmask):[ \t]*(\S+)", re.MULTILINE)
_NONE_SET = re.compile(r"no ip was preset|Get ip(conf)? failed", re.IGNORECASE)


class NoAddressError(driver_tool.NoAnswerError):
    """The tool reports that the card has no address, or prints something else in its place, such as dashes."""


def find() -> str | None:
    """The path of hccn_tool: the first on PATH, else at its usual place, else None."""
    return driver_tool.find("hccn_tool", USUAL_PLACES)


def cards(
    tool: str, ids: Sequence[int], *, vnic: bool = False, timeout: float = driver_tool.TIMEOUT
) -> dict[int, Card]:
    """Every card in `ids` (physical ids) with its RoCE address: its IPv4 address, else its IPv6 address.

    `vnic`: for a card without either, its address inside the super pod (Atlas A3). Raises KitError with the reason of
    every card without address; `timeout` is in seconds per query.
    """

    def query_card(device_id: int) -> Card:
        return card(lambda *words: driver_tool.query([tool, "-i", str(device_id), *words], timeout), vnic=vnic)

    cards_of, failures = driver_tool.query_each(ids, query_card)
    if failures:
        raise KitError(
            "discovery.tool-no-address",
            "{tool} gave no address for {failed} of {count} cards:{reasons}",
            fix="set one with: hccn_tool -i {card} -ip -s address A.B.C.D netmask M.M.M.M\n"
            "or choose another source: --hccn-conf FILE, --inventory FILE, --simulate",
            tool=tool,
            failed=len(failures),
            count=len(ids),
            reasons=driver_tool.reason_lines(failures),
            card=min(failures),
        )
    return cards_of


def card(query: Callable[..., str], *, vnic: bool = False) -> Card:
    """One card; `query("-ip", "-g")` returns the tool's answer for it.

    Raises NoAddressError if the tool reports that it has none, NoAnswerError for any other answer. IPv6 is queried only
    if no IPv4 address is set, and the address in the super pod only if neither is.
    """
    first = answer = query("-ip", "-g")
    match = _IPV4.search(answer)
    on_vnic = False
    if not match and _NONE_SET.search(first):
        answer = query("-ip", "-inet6", "-g")
        match = _IPV6.search(answer)
        if vnic and not match:
            answer = query("-vnic", "-g")
            match = _VNIC.search(answer)
            on_vnic = True
    if not match:
        reason = NoAddressError if _NONE_SET.search(first) else driver_tool.NoAnswerError
        raise reason(driver_tool.excerpt(first))
    try:
        ipaddress.ip_address(match[1])
    except ValueError:
        raise NoAddressError(f"{driver_tool.excerpt(match[1])!r} is not an IP address") from None
    mask = _MASK.search(answer)
    return Card(ip=match[1], prefix=prefix_length(mask[1]) if mask else None, on_vnic=on_vnic)


def every_address(query: Callable[..., str], *, vnic: bool = False) -> tuple[str, ...]:
    """All addresses of one card as the tool prints them: IPv4, IPv6 and, with `vnic`, the one in the super pod."""
    questions = [(_IPV4, ("-ip", "-g")), (_IPV6, ("-ip", "-inet6", "-g")), (_VNIC, ("-vnic", "-g"))]
    asked = questions if vnic else questions[:2]
    return tuple(text for pattern, words in asked for text in pattern.findall(query(*words)))


def is_answer(text: str) -> bool:
    """Whether the text is an answer of `-ip -g`: an address, or that none is set."""
    return bool(_IPV4.search(text) or _NONE_SET.search(text))
