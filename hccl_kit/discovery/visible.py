"""Logical and physical ids: the devices visible to a process, numbered from 0 (ASCEND_RT_VISIBLE_DEVICES)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import listed, plural
from hccl_kit.table.device_range import DeviceRange


class Devices(NamedTuple):
    """The cards of a job on each server. Rank 0 gets the first one.

    `logical` are their ids if they were counted within the visible devices, else None.
    """

    physical: DeviceRange
    logical: DeviceRange | None = None

    @property
    def mapping(self) -> list[str]:
        """A line for each logical id and its physical id."""
        pairs = zip(self.logical.ids, self.physical.ids, strict=True) if self.logical else ()
        return [
            Message("discovery.mapping", "logical {logical} -> physical {physical}", logical=logical, physical=physical)
            for logical, physical in pairs
        ]


def physical_ids(logical: Sequence[int], visible: str) -> dict[int, int]:
    """`{logical id: physical id}` for every id in `logical`; `visible` lists the physical ids, logical 0 first.

    `visible` is a device range (`4,5,6,7`, `4-7`, `[4,8)`) and must ascend, as CANN requires; rank tables hold
    physical ids (R20). Raises KitError if it does not ascend or is too short, ParseError if it is not a range.
    """
    cards = DeviceRange.parse(visible).ids
    written = [int(number) for number in re.findall("[0-9]+", visible)]
    if written != sorted(written):
        ascending = ",".join(map(str, cards))
        raise KitError(
            "discovery.not-ascending",
            "the visible devices {visible!r} are not in ascending order, which CANN requires",
            fix="write {ascending}",
            visible=visible,
            ascending=ascending,
        )
    outside = [i for i in logical if i >= len(cards)]
    if outside:
        raise KitError(
            "discovery.not-visible",
            "outside the visible devices {visible!r}: {noun} {ids}; they are {count} cards, logical 0 to {last}",
            fix='--device_num "[0,{count})" takes all of them; without --visible_devices the ids are physical',
            visible=visible,
            noun=plural("logical device", len(outside)),
            ids=listed(outside, 8),
            count=len(cards),
            last=len(cards) - 1,
        )
    return {i: cards[i] for i in logical}
