"""Which server ids can be passed to a program as the address of a host."""

from __future__ import annotations

import re
import unicodedata
from ipaddress import IPv4Address, ip_address

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message

_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,252}"
_LOGIN = r"(?:[^@]*@)?(?:\[([^\]]+)\]|([^:@]+))(?::[0-9]{1,5})?"
"""USER@HOST:PORT; an IPv6 address stands in brackets."""


def is_host(text: str) -> bool:
    """Whether `text` is an IP address or a host name: one word that no program mistakes for an option or a command."""
    if re.fullmatch(_NAME, text):
        return True
    address, percent, interface = text.partition("%")
    if percent and not re.fullmatch(_NAME, interface):
        return False
    try:
        return ip_address(address).version == 6
    except ValueError:
        return False


def check_host(text: str) -> None:
    """Raises KitError if a user's `text` is no address or host name, such as one with a port, or an odd IPv4 address.

    Numbers and dots that are no address are a legal name, but nobody means one.
    """
    if re.fullmatch(r"[0-9]+(\.[0-9]+)+\.?", text) and not _is_ipv4(text):
        raise KitError(
            "base.not-ipv4",
            "{host!r} is not a valid IPv4 address; accepted: four numbers from 0 to 255, or a host name",
            host=text,
        )
    if not is_host(text):
        raise KitError(
            "base.not-host",
            "{host!r} is not an address or a host name; "
            "accepted: 10.0.0.1, fd00::1, node1, without port, user and brackets",
            hint=_meant(text),
            host=text,
        )


def _meant(text: str) -> Message | None:
    """The next step for a host with user, port or brackets, or in full-width characters: `root@10.0.0.1:22`."""
    plain = unicodedata.normalize("NFKC", text)
    if plain != text and all(map(is_host, plain.split(","))):
        return Message("base.not-host.fix", 'did you mean "{host}"?', host=plain)
    login = re.fullmatch(_LOGIN, plain)
    if login is None or not is_host(name := login[1] or login[2]):
        return None
    return Message(
        "base.not-host.fix-ssh", 'did you mean "{host}"? ssh reads user and port from ~/.ssh/config', host=name
    )


def _is_ipv4(text: str) -> bool:
    try:
        return bool(IPv4Address(text).version)
    except ValueError:
        return False
