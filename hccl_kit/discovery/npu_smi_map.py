"""The mapping of chips to cards, from `npu-smi info -m`.

    NPU ID                         Chip ID                        Chip Logic ID                  Chip Name
    0                              0                              0                              Ascend 910B4
    0                              1                              -                              Mcu

Atlas A3 adds `Chip Phy-ID`; Atlas 950 has it and no logic id, and a `Slot ID`. Columns are found by their names.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hccl_kit.discovery.npu_smi_info import number

_BETWEEN = re.compile(r"[ \t]{2,}|\t")


class ChipMapping(NamedTuple):
    """A chip: `logic` is its number among the visible chips, from 0; None if a column is missing."""

    npu: int
    chip: int
    logic: int | None
    physical: int | None


def parse(answer: str) -> tuple[ChipMapping, ...]:
    """The chips of an answer that are cards, in its order; others (Mcu) have only the id of their NPU."""
    rows = [_BETWEEN.split(line.strip()) for line in answer.splitlines()]
    start = next((at for at, row in enumerate(rows) if "NPU ID" in row and "Chip ID" in row), len(rows))
    mappings = []
    for row in rows[start + 1 :]:
        record = {name: number(value) for name, value in zip(rows[start], row, strict=False)}
        npu, chip = record.get("NPU ID"), record.get("Chip ID")
        logic, physical = record.get("Chip Logic ID"), record.get("Chip Phy-ID")
        if npu is not None and chip is not None and (logic is not None or physical is not None):
            mappings.append(ChipMapping(npu, chip, logic, physical))
    return tuple(mappings)
