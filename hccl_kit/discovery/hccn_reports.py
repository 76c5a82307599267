"""What hccn_tool reports about the network port of a card: its history, its optics, its neighbour, its counters.

Each function reads one answer, and returns None if the answer holds nothing of the kind, as an error message does.
Sources: the texts of the tool for 910 to A3 (hicann/driver 2026-07-21), its parsers in mind-cluster (ascend_fd_tk,
2026-08-21), and the recorded outputs of eight 910B1 (unsafe.sh, 2023-10-25).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

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
