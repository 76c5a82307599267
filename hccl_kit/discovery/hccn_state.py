"""Settings and state of the RoCE port of a card, from answers of hccn_tool.

Each function reads one answer and returns None if the value is not in it, as in an error message of the tool. The
patterns match the tool of 910 to A3 in all its releases.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from functools import partial

Reader = Callable[[str], str | None]

_LINK = re.compile(r"^[ \t]*link status:[ \t]*(\S+)", re.MULTILINE)
_SPEED = re.compile(r"^[ \t]*Speed:[ \t]*([0-9]{1,9})? ?(\S+)", re.MULTILINE)
_HEALTH = re.compile(r"^[ \t]*net health status:[ \t]*(\S.*)$", re.MULTILINE)
_DETECT = re.compile(r"^[ \t]*netdetect addr(?:ess)?:[ \t]*(\S+)", re.MULTILINE)
_GATEWAY = re.compile(r"^[ \t]*(?:default )?gateway:[ \t]*([^\s,]+)", re.MULTILINE)
_TLS = re.compile(r"\btls switch\[([01])\]")
_UNSET = re.compile(
    r"\bno \w+ (?:is|was) (?:pre)?set\b|\bnot (?:pre)?set\b"
    r"|^[^:\n]*(?:gateway|netdetect addr(?:ess)?):[ \t]*(?:none|-\.-\.-\.-)",
    re.IGNORECASE | re.MULTILINE,
)


def _first(pattern: re.Pattern[str], answer: str) -> str | None:
    match = pattern.search(answer)
    return match[1] if match else None


def _address(pattern: re.Pattern[str], answer: str) -> str | None:
    text = _first(pattern, answer)
    try:
        return text and str(ipaddress.ip_address(text))
    except ValueError:
        return None


def says_unset(answer: str) -> bool:
    """Whether the answer of `-gateway -g` or `-netdetect -g` reports that no address is set."""
    return bool(_UNSET.search(answer))


def speed(answer: str) -> str | None:
    """`-speed -g`: "200000 Mb/s", with or without the blank there; "Unknown!" is of a port without a link."""
    match = _SPEED.search(answer)
    return " ".join(filter(None, match.groups())) if match else None


def net_health(answer: str) -> str | None:
    """`-net_health -g`: "Success", "Init", "Fault", "Receive timeout", "Unreachable" and some more."""
    state = _first(_HEALTH, answer)
    return state and state.rstrip(" \t\r")


def tls(answer: str) -> str | None:
    """`-tls -g`: "on" or "off"."""
    switch = _first(_TLS, answer)
    return switch and ("on" if switch == "1" else "off")


link: Reader = partial(_first, _LINK)
"""`-link -g`: "UP" or "DOWN"."""
net_detect: Reader = partial(_address, _DETECT)
"""`-netdetect -g`: the address that the card probes periodically; 0.0.0.0 means none."""
gateway: Reader = partial(_address, _GATEWAY)
"""`-gateway -g`: the address of the default gateway."""
