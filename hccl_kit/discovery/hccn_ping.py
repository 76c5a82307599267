"""One ping from card to card, by hccn_tool: the words of the question, and what its answer says.

    device 3 PING 192.0.2.5
    recv seq=0,time=1.418000ms
    3 packets transmitted, 3 received, 0.00% packet loss

Sources: the tool's own texts for 910 to A3 and 950 (hicann/driver 2026-07-21); the recorded output of eight 910B1
(unsafe.sh, 2023-10-25). `-hccs_ping` of Atlas A3 prints "packets loss", and microseconds. The exit code is not used: it
is an error also where the tool printed its count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from hccl_kit.discovery.driver_tool import excerpt

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


def words(link: Link, address: str) -> Sequence[str]:
    """What follows `hccn_tool -i N`. `address` is an IP address, or for HCCS the SDID of the other card."""
    if link == "HCCS":
        return ("-hccs_ping", "-g", "sdid", address)
    if ":" in address:
        return ("-ping", "-inet6", "-g", "ipv6_address", address)
    return ("-ping", "-g", "address", address)


def parse(answer: str) -> Pinged:
    """What the answer says. A text that is neither a count nor a known failure is a `reason`."""
    times = [float(number) / (1000 if unit == "us" else 1) for number, unit in _TIME.findall(answer)]
    fastest = min(times, default=None)
    if count := _COUNT.search(answer):
        sent, received = int(count[1]), int(count[2])
        if received <= sent and sent:
            return Pinged(sent, received, fastest if received else None)
    elif _LOST.search(answer):
        return Pinged(1, 0)
    return Pinged(0, 0, reason=excerpt(answer))
