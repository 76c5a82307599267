"""Lines in which programs print their steps: what went wrong before them was no reason to end.

As Megatron, MindSpore's LossMonitor, MindFormers and the trainer of Hugging Face print them (2024 to 2026).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hccl_kit.diagnosis.errors.message import LogMessage
from hccl_kit.diagnosis.errors.row import KnownError, known
from hccl_kit.diagnosis.facts import Fact, Progress
from hccl_kit.diagnosis.moments import time_of

_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}[- T][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]{3}))?")


def _step(message: LogMessage) -> Iterator[Fact]:
    if message.level in (None, "INFO"):
        date = _DATE.search(message.text, 0, message.match.start())
        when = time_of(date[1], date[2], None) if date else None
        yield Progress(int(message.match["step"]), message.time if when is None else when)


ROWS: tuple[KnownError, ...] = (
    known(
        """fact needs_context
a step of training: what went wrong before it did not end the job
says: step {step}
""",
        patterns=(
            r"\biteration +(?P<step>[0-9]{1,12})/ {0,12}[0-9]{1,12} \|",
            r" step: (?P<step>[0-9]{1,12}), loss is ",
            r"step:\[ {0,12}(?P<step>[0-9]{1,12})/ {0,12}[0-9]{1,12}\], ?loss",
            r"\{'loss': .{1,300}'epoch': '?(?P<step>[0-9]{1,6})",
        ),
        example=" iteration       20/     500 | consumed samples:         640 | lm loss: 9.1E+00 |",
        fact=_step,
    ),
)
