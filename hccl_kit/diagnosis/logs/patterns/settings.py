"""Lines that print the effective values of variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hccl_kit.diagnosis.logs.facts import Fact, Setting
from hccl_kit.diagnosis.logs.patterns.row import MAX_WORD, Found, Row


def _setting(found: Found) -> Iterator[Fact]:
    value = re.sub(r"^([0-9]+) ?s$", r"\1", found.match["value"].strip())
    yield Setting(found.match["name"], value[:MAX_WORD])


_NAME = r"(?P<name>(?:HCCL|ASCEND)_[A-Z0-9_]{1,60})"
_VALUE = r"\[(?P<value>[^\[\]]{0,1024})\]"

ROWS = (
    Row("set by ", rf"{_NAME} (?:is )?set by (?:default|environment)(?: to)? ?{_VALUE}", _setting, before=True),
    Row("environmental variable", rf"environmental variable {_NAME} is set, ?\w{{1,40}} ?{_VALUE}", _setting),
    Row("Env config", rf'Env config "?{_NAME}"? is (?:not set|parsed)[^\[\n]{{0,80}}{_VALUE}', _setting),
)
