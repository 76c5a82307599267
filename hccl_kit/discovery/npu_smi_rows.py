"""Answers of npu-smi in rows of `name : value`, such as `npu-smi info -t board -i NPU`.

Software Version               : 25.2.0
Firmware Version               : 7.7.0.6.236
Compatibility                  : OK
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_ROW = re.compile(r"^[ \t]*([^:\n]*?)[ \t]*:[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)


def parse(answer: str) -> Mapping[str, str]:
    """Name to value; of duplicate names the first, which belongs to the NPU and not to a part of it."""
    rows: dict[str, str] = {}
    for name, value in _ROW.findall(answer):
        rows.setdefault(name, value)
    return rows
