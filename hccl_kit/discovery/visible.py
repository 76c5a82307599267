"""Logical to physical ids: the devices visible to a process, numbered from 0 (ASCEND_RT_VISIBLE_DEVICES)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import listed, plural
from hccl_kit.table.device_range import DeviceRange


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
            f"the visible devices {visible!r} are not in ascending order, which CANN requires",
            hint=f"write {ascending}",
        )
    outside = [i for i in logical if i >= len(cards)]
    if outside:
        one_or_more = f"{plural('logical device', len(outside))} {listed(outside, 8)}"
        raise KitError(
            f"outside the visible devices {visible!r}: {one_or_more}; they are {len(cards)} cards,"
            f" logical 0 to {len(cards) - 1}",
            hint=f'--device_num "[0,{len(cards)})" takes all of them; without --visible_devices the ids are physical',
        )
    return {i: cards[i] for i in logical}
