"""Lines that print the effective values of variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hccl_kit.diagnosis.facts import Fact, Setting
from hccl_kit.diagnosis.logs.patterns.row import MAX_WORD, Found, Row

_SETTING = (
    r"(?P<name>(?:HCCL|ASCEND)_[A-Z0-9_]{1,60})\"?(?: [a-z]{1,20}){1,8}(?:, ?\w{1,40})? ?\[(?P<value>[^\[\]]{0,1024})\]"
)


def _settings(found: Found) -> Iterator[Fact]:
    """All settings on the line; "EmptyString" is an empty value."""
    for one in re.finditer(_SETTING, found.record.text):
        value = one["value"].strip()[:MAX_WORD]
        yield Setting(one["name"], "" if value == "EmptyString" else re.sub(r"^([0-9]+) ?s$", r"\1", value))


ROWS = tuple(
    Row(key, _SETTING, _settings, before=True)
    for key in ("set by ", "[HCCL_ENV]", "environmental variable HCCL", "Env config")
)
