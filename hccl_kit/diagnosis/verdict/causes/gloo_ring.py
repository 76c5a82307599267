"""The sizes of the messages in which gloo sends a tensor around its ring.

Source: gloo/allreduce.cc, `ring`, with the segment limit of gloo/allreduce.h.
"""

from __future__ import annotations

import math
import re

BYTES = {"Byte": 1, "Char": 1, "Half": 2, "BFloat16": 2, "Int": 4, "Float": 4, "Long": 8, "Double": 8}
"""Bytes of an element, by the type names of torch's recorder."""
MAX_SEGMENT = 1 << 20
_SHAPE = re.compile(r"(?P<type>[A-Za-z0-9]{1,16}) \[(?P<sizes>[0-9]{1,12}(?:, ?[0-9]{1,12}){0,15})\]")


def pieces(operator: str, shape: str | None, ranks: int) -> frozenset[int]:
    """The bytes of a message when `ranks` ranks all-reduce one tensor; empty for anything else.

    At least two segments for each rank, of whole elements; the last ones may be shorter, or empty.
    """
    match = _SHAPE.fullmatch(shape or "")
    if operator != "all_reduce" or match is None or match["type"] not in BYTES or ranks < 2:
        return frozenset()
    element = BYTES[match["type"]]
    total = element * math.prod(map(int, match["sizes"].split(",")))
    if not total:
        return frozenset()
    segment = min(-(-total // (2 * ranks)), MAX_SEGMENT // element * element)
    segment = -(-segment // element) * element
    count = max(-(-total // segment), 2 * ranks)
    count = -(-count // ranks) * ranks
    rest = total % segment or segment
    return frozenset({segment, rest, 0} if count * segment >= total + segment else {segment, rest})
