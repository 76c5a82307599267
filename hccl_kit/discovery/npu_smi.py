"""The places of the cards of an Atlas A3 server in its super pod, from `npu-smi info -t spod-info -i NPU -c CHIP`.

    SDID                           : 4259841
    Super Pod Size                 : 384
    Super Pod ID                   : 0
    Server Index                   : 1

An NPU of A3 has two chips; each is a device with the physical id NPU * 2 + CHIP.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import row
from hccl_kit.discovery import driver_tool

USUAL_PLACES = ("/usr/local/sbin/npu-smi", "/usr/local/bin/npu-smi")
CHIPS = 2
"""Chips per NPU; every chip is a device."""

_NUMBER = re.compile(r"[0-9]{1,10}")
_NONE = 0xFFFF_FFFF
"""All 32 bits set: no id."""


class Place(NamedTuple):
    """A card's id in its super pod, and the id of that super pod."""

    sdid: int
    super_pod: int


def find() -> str | None:
    """The path of npu-smi: the first on PATH, else at one of its usual places, else None."""
    return driver_tool.find("npu-smi", USUAL_PLACES)


def places(tool: str, ids: Sequence[int], *, timeout: float = driver_tool.TIMEOUT) -> dict[int, Place]:
    """The place of every card in `ids` (physical ids); `timeout` is in seconds per card.

    Raises KitError with the reason of every card without a place, or if the cards are in several super pods.
    """

    def query_card(device_id: int) -> Place:
        npu, chip = divmod(device_id, CHIPS)
        return place(driver_tool.query([tool, "info", "-t", "spod-info", "-i", str(npu), "-c", str(chip)], timeout))

    places_of, failures = driver_tool.query_each(ids, query_card)
    plain = Message(
        "discovery.no-place.fix", "--table-version 1.0 writes a table of plain servers, which connect over RoCE"
    )
    if failures:
        raise KitError(
            "discovery.no-place",
            "{tool} reports no place in a super pod for {failed} of {count} cards:{reasons}",
            hint=plain,
            tool=tool,
            failed=len(failures),
            count=len(ids),
            reasons=driver_tool.reason_lines(failures),
        )
    pods = sorted({card.super_pod for card in places_of.values()})
    if len(pods) > 1:
        raise KitError(
            "discovery.several-super-pods",
            "{tool} reports that the cards of this server are in super pods {super_pods}",
            hint=plain,
            tool=tool,
            super_pods=row(map(str, pods)),
        )
    return places_of


def place(answer: str) -> Place:
    """The place in an answer. Raises NoAnswerError if it has none."""
    values = rows(answer)
    if "SDID" not in values or "Super Pod ID" not in values:
        raise driver_tool.NoAnswerError(driver_tool.excerpt(answer))
    for name in ("SDID", "Super Pod ID"):
        value = values[name]
        if not _NUMBER.fullmatch(value) or int(value) >= _NONE:
            bad = driver_tool.excerpt(value)
            raise driver_tool.NoAnswerError(
                Message("discovery.bad-place", "{name} {value!r} is not valid", name=name, value=bad)
            )
    return Place(int(values["SDID"]), int(values["Super Pod ID"]))


def rows(answer: str) -> Mapping[str, str]:
    """The rows `name : value` of an answer; of duplicate names the first, which belongs to the NPU as a whole."""
    values: dict[str, str] = {}
    for line in answer.split("\n"):
        name, colon, value = line.partition(":")
        if colon:
            values.setdefault(name.strip(" \t"), value.strip(" \t\r"))
    return values
