"""How often the controller of a job starts all its pods again."""

from __future__ import annotations

import re

from hccl_kit.base.errors import KitError
from hccl_kit.table.document import shown

MOST = 1000


def number(text: str | None, *, most: int) -> int:
    """The number that `--max-restarts` gives, or 0. Raises KitError if it is not one from 0 to `most`."""
    if text is None:
        return 0
    if not re.fullmatch("[0-9]{1,4}", text, re.ASCII) or int(text) > most:
        raise KitError(
            "launch.restarts.max-restarts",
            "--max-restarts is {text}; accepted: 0 to {most}",
            text=shown(text),
            most=most,
        )
    return int(text)
