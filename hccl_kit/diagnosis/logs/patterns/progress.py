"""Lines in which programs print their steps: what went wrong before them was no reason to end.

As Megatron, MindSpore's LossMonitor, MindFormers and the trainer of Hugging Face print them (2024 to 2026).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hccl_kit.diagnosis.facts import Fact, Progress
from hccl_kit.diagnosis.logs.patterns.row import Found, Row
from hccl_kit.diagnosis.logs.plog import time_of

_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}[- T][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]{3}))?")


def _step(found: Found) -> Iterator[Fact]:
    if found.record.level in (None, "INFO"):
        date = _DATE.search(found.record.text, 0, found.match.start())
        when = time_of(date[1], date[2], None) if date else None
        yield Progress(int(found.match["step"]), found.record.time if when is None else when)


ROWS = (
    Row("iteration ", r"\biteration {1,12}(?P<step>[0-9]{1,12})/ {0,12}[0-9]{1,12} \|", _step),
    Row(" step: ", r" step: (?P<step>[0-9]{1,12}), loss is ", _step, before=True),
    Row("step:[", r"step:\[ {0,12}(?P<step>[0-9]{1,12})/ {0,12}[0-9]{1,12}\], ?loss", _step),
    Row("{'loss': ", r"\{'loss': .{1,300}'epoch': '?(?P<step>[0-9]{1,6})", _step),
)
