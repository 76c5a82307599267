"""HCCL's error codes of structural errors, which differ from key to key: EI0017 is for strings only, except in 2.0.

If a table has one error, its code is that of `first_error`; these are for tables with several errors.
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
"""By version: the numeric strings for which HCCL reports a code. Version 2.0 has none."""
_RANK_LIST, _GROUPS = "2.0", ("template2_cloud", "template2_lab")


def code_of_missing(version: str, pointer: Pointer, *, is_text: bool) -> str | None:
    """The code of a key that is missing in the object at `pointer`; None: that of the rule (HK101)."""
    if version not in _CODED_NUMBERS:
        return None
    if "super_pod_list" in pointer and is_text:
        return INVALID
    return None if is_text else NO_CODE


def code_of_type(version: str, wanted: str) -> str | None:
    """The code of a value that does not have the type `wanted`; None: that of the rule (HK102)."""
    if version == _RANK_LIST:
        return {"array": INVALID, "object": MISSING}.get(wanted, NO_CODE)
    if version in _GROUPS and wanted == "object":
        return MISSING  # an item, in which HCCL looks for a string first
    return NO_CODE if version in _CODED_NUMBERS and wanted != "string" else None


def code_of_number(version: str, key: str, text: str) -> str | None:
    """The code of a string that is not a number; None: that of the rule (HK103). HCCL reads "3x" as 3."""
    if version not in _CODED_NUMBERS:
        return None
    return None if key in _CODED_NUMBERS[version] and number(text) is None else NO_CODE
