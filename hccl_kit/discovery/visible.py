"""Logical to physical ids: what a process is allowed to see, numbered from 0 (ASCEND_RT_VISIBLE_DEVICES)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.table.device_range import DeviceRange


def physical_ids(logical: Sequence[int], visible: str) -> dict[int, int]:
    """`{logical id: physical id}` for every id in `logical`; `visible` lists the physical ids, logical 0 first.

    `visible` is written as a device range is (`4,5,6,7`, `4-7`, `[4,8)`) and must ascend, as CANN wants it; rank
    tables hold physical ids (R20). KitError where it does not ascend or is too short; ParseError where it is no range.
    """
    cards = DeviceRange.parse(visible).ids
    written = [int(number) for number in re.findall("[0-9]+", visible)]
    if written != sorted(written):
        ascending = ",".join(map(str, cards))
        raise KitError(f"the visible devices {visible!r} do not ascend, which CANN asks for", hint=f"write {ascending}")
    outside = [i for i in logical if i >= len(cards)]
    if outside:
        raise KitError(
            f"logical device {', '.join(map(str, outside))} is outside the visible devices {visible!r}:"
            f" they are {len(cards)} cards, logical 0 to {len(cards) - 1}",
            hint=f'--device_num "[0,{len(cards)})" takes all of them; without --visible_devices the ids are physical',
        )
    return {i: cards[i] for i in logical}
