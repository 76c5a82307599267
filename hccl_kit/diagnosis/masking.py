"""Texts that may be shown to strangers: addresses become marks, the same mark for the same address.

`marks` holds the marks that were given so far; functions add to it.
"""

from __future__ import annotations

import re
from ipaddress import ip_address

_ADDRESS = re.compile(r"[0-9A-Fa-f]*(?:[.:]+[0-9A-Fa-f]+)+(?:::)?|[0-9A-Fa-f:]*::")
_GLUED = re.compile(r"(?<!\d)\d{1,3}(?:\.\d{1,3}){3}(?!\d)")
"""An IPv4 address inside a longer word, such as `log.10.0.0.1.debug`."""
_MAC = re.compile(r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b")
_LOGIN = re.compile(r"//[^/@\s]+@")


def without_addresses(text: str, marks: dict[str, str]) -> str:
    """The text with marks for addresses, and without MAC addresses and logins of URLs. Loopback addresses stay."""
    text = _MAC.sub("<address>", _LOGIN.sub("//<hidden>@", text))
    text = _ADDRESS.sub(lambda match: address_mark(match[0], marks), text)
    return _GLUED.sub(lambda match: address_mark(match[0], marks), text)


def address_mark(text: str, marks: dict[str, str]) -> str:
    """The mark of an address, or the text if it is not one, or means this machine."""
    try:
        address = ip_address(text)
    except ValueError:
        return _with_port(text, marks)
    if address.is_loopback or address.is_unspecified:
        return text
    return marks.setdefault(str(address), f"<address {len(marks) + 1}>")


def _with_port(text: str, marks: dict[str, str]) -> str:
    """`10.0.0.1:6000` keeps its port."""
    before, colon, port = text.rpartition(":")
    return f"{address_mark(before, marks)}:{port}" if colon and "." in before and ":" not in before else text
