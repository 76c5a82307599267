"""The codes of faults of structure, which differ from key to key: EI0017 is for texts only, but for version 2.0.

Where a table has one fault, its code is that of `first_error`; these are for the faults of tables with several.
"""

from __future__ import annotations

from hccl_kit.table.finding import NO_CODE
from hccl_kit.table.hccl_parser.reading import INVALID, MISSING, number
from hccl_kit.table.pointer import Pointer

_CODED_NUMBERS = {
    "1.0": ("rank_id",),
    "1.2": ("rank_id", "super_device_id"),
    "1.1": (),
    "template2_cloud": (),
    "template2_lab": ("rank_id",),
}
"""By version: the texts with a number that HCCL gives a code for. Version 2.0 has none."""
_RANK_LIST, _GROUPS = "2.0", ("template2_cloud", "template2_lab")


def code_of_missing(version: str, pointer: Pointer, *, is_text: bool) -> str | None:
    """The code where a key is not in the object at `pointer`; None: that of the rule (HK101)."""
    if version not in _CODED_NUMBERS:
        return None
    if "super_pod_list" in pointer and is_text:
        return INVALID
    return None if is_text else NO_CODE


def code_of_type(version: str, wanted: str) -> str | None:
    """The code of a value that is not of the type `wanted`; None: that of the rule (HK102)."""
    if version == _RANK_LIST:
        return {"array": INVALID, "object": MISSING}.get(wanted, NO_CODE)
    if version in _GROUPS and wanted == "object":
        return MISSING  # it is an item, in which HCCL looks for a text first
    return NO_CODE if version in _CODED_NUMBERS and wanted != "string" else None


def code_of_number(version: str, key: str, text: str) -> str | None:
    """The code of a text that is no number; None: that of the rule (HK103). HCCL reads "3x" as 3, and so on."""
    if version not in _CODED_NUMBERS:
        return None
    return None if key in _CODED_NUMBERS[version] and number(text) is None else NO_CODE
