"""What hccn_tool answers about the network port of a card: its settings and state, its history, its pings.

Each function reads one answer. Those of settings and reports return None if the answer holds nothing of the kind, as an
error message does. Sources: the texts of the tool for 910 to A3 (hicann/driver 2026-07-21), its parsers in mind-cluster
(ascend_fd_tk, 2026-08-21), and the recorded outputs of eight 910B1 (unsafe.sh, 2023-10-25).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Literal, NamedTuple

from hccl_kit.discovery.driver_tool import excerpt

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


_STAMP = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}"
_NOW = re.compile(rf"current time\s*:\s*({_STAMP})")
_CHANGE = re.compile(rf"^\s*(?:\[[^\]\n]{{1,16}}\])?\s*({_STAMP})\s+LINK (UP|DOWN)", re.MULTILINE)
_DOWN_COUNT = re.compile(r"link down count\s*:\s*([0-9]{1,10})")
_NUMBER = re.compile(r"(0x[0-9a-fA-F]{1,8}|-?[0-9]{1,12}(?:\.[0-9]{1,9})?)(?: ?(?:mW|mA|mV|dBm|dB|C))?")
_COUNTER = re.compile(r"^\s*([a-z][a-z0-9_]{2,48}):([0-9]{1,20})\s*$", re.MULTILINE)
MAX_TEXT = 80
"""Characters of a name that a switch gives itself."""


class LinkHistory(NamedTuple):
    """`downs` are the recorded losses of the link, in seconds before the answer; `down_count` is since the start.

    The tool records the last ten changes only. `down_count` is None in outputs of 2022 and 2023.
    """

    downs: tuple[int, ...]
    down_count: int | None


class Neighbour(NamedTuple):
    """What is at the other end of the cable, by LLDP: the name of the switch and its port; or another card."""

    system: str
    port: str
    is_card: bool


def link_history(answer: str) -> LinkHistory | None:
    """`-link_stat -g`."""
    now = _NOW.search(answer)
    end = _moment(now[1]) if now else None
    if end is None:
        return None
    changes = [(_moment(stamp), state) for stamp, state in _CHANGE.findall(answer)]
    count = _DOWN_COUNT.search(answer)
    ages = [int((end - moment).total_seconds()) for moment, state in changes if state == "DOWN" and moment]
    return LinkHistory(tuple(age for age in ages if age >= 0), int(count[1]) if count else None)


def optics(answer: str) -> Mapping[str, float] | None:
    """`-optical -g`: every reading that is a number, such as "Rx Power0" in mW; flags are numbers too.

    A module can be called "not present" and have readings all the same, so only the readings count.
    """
    if "optical info" not in answer:
        return None
    readings = {}
    for line in answer.splitlines():
        name, _, text = line.partition(":")
        if match := _NUMBER.fullmatch(text.strip()):
            number = match[1]
            readings[name.strip()[:MAX_TEXT]] = float(int(number, 16)) if number.startswith("0x") else float(number)
    return readings


def neighbour(answer: str) -> Neighbour | None:
    """`-lldp -g`: blocks that begin with the name of a TLV, whose value is indented below."""
    values: dict[str, str] = {}
    block = ""
    for line in answer.splitlines():
        if line.strip().endswith("TLV"):
            block = line.strip().removesuffix("TLV").strip()
        elif line.strip() and block not in values:
            values[block] = "".join(filter(str.isprintable, line.strip()))[:MAX_TEXT]
    system = values.get("System Name") or values.get("Chassis ID", "").rpartition("MAC:")[2].strip()
    port = values.get("Port ID", "").removeprefix("Ifname:").strip()
    is_card = "AscendNPU" in values.get("System Description", "")
    return Neighbour(system, port, is_card) if system or is_card else None


def counters(answer: str) -> Mapping[str, int] | None:
    """`-stat -g`: packets and errors since the start of the card."""
    return {name: int(number) for name, number in _COUNTER.findall(answer)} or None


def _moment(stamp: str) -> datetime | None:
    try:
        return datetime.strptime(stamp, "%a %b %d %H:%M:%S %Y")
    except ValueError:
        return None


Link = Literal["RoCE", "HCCS"]

_COUNT = re.compile(r"\b([0-9]{1,4}) packets transmitted, ([0-9]{1,4}) received, [0-9.]{1,8}% packets? loss")
_TIME = re.compile(r"\btime ?[=:] ?([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(ms|us)\b")
_LOST = re.compile(
    r"recv time ?out|Destination Host Unreachable|Link status is down|This pkt send fail|check recv msg fail"
    r"|pkt send fail",
    re.IGNORECASE,
)


class Pinged(NamedTuple):
    """The packets of one ping, and the fastest answer in milliseconds (None: no answer, or no time printed).

    `reason`: why the tool did not send any; then it is not known whether the card answers.
    """

    sent: int
    received: int
    fastest: float | None = None
    reason: str | None = None

    @property
    def is_answered(self) -> bool:
        """Whether every packet came back."""
        return 0 < self.sent == self.received


def ping_words(link: Link, address: str) -> Sequence[str]:
    """What follows `hccn_tool -i N`. `address` is an IP address, or for HCCS the SDID of the other card."""
    if link == "HCCS":
        return ("-hccs_ping", "-g", "sdid", address)
    if ":" in address:
        return ("-ping", "-inet6", "-g", "ipv6_address", address)
    return ("-ping", "-g", "address", address)


def ping(answer: str) -> Pinged:
    """What the answer to `ping_words` says; a text that is neither a count nor a known failure is a `reason`.

        device 3 PING 192.0.2.5
        recv seq=0,time=1.418000ms
        3 packets transmitted, 3 received, 0.00% packet loss

    `-hccs_ping` of Atlas A3 prints "packets loss", and microseconds. The exit code is not used: it is an error also
    where the tool printed its count.
    """
    times = [float(number) / (1000 if unit == "us" else 1) for number, unit in _TIME.findall(answer)]
    fastest = min(times, default=None)
    if count := _COUNT.search(answer):
        sent, received = int(count[1]), int(count[2])
        if received <= sent and sent:
            return Pinged(sent, received, fastest if received else None)
    elif _LOST.search(answer):
        return Pinged(1, 0)
    return Pinged(0, 0, reason=excerpt(answer))
