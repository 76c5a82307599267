"""JSON of labels: a file, and the objects, lists and fields in it, each checked for its type."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.published.marked import MAX_FILE_BYTES
from hccl_kit.ocr.data.samples import BadSampleError


def load(path: Path) -> Any:
    """The content of a file. Raises KitError if it cannot be read or is not JSON."""
    try:
        return json.loads(read_text(path, MAX_FILE_BYTES))
    except (ValueError, RecursionError) as error:
        raise KitError("ocr.json-file.not-json", "{path} is not JSON: {reason}", path=path, reason=error) from error


def as_object(value: Any, place: str) -> dict[str, Any]:
    """Raises KitError if the value is not an object: nothing of its file can be read then."""
    if not isinstance(value, dict):
        raise KitError(
            "ocr.json-file.expected-json-object",
            "{place}: expected a JSON object, found {value}",
            place=place,
            value=str(value)[:60],
        )
    return value


def as_list(value: Any) -> list[Any]:
    """Raises BadSampleError if the value is not a list."""
    if not isinstance(value, list):
        raise BadSampleError(f"expected a JSON list, found {str(value)[:60]}")
    return value


def field(row: Any, name: str) -> Any:
    """The value of a key, None if it is missing. Raises BadSampleError if the row is not an object."""
    if not isinstance(row, dict):
        raise BadSampleError(f"expected a JSON object, found {str(row)[:60]}")
    return row.get(name)


def numbered(place: str, rows: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Each row with its place: `place` and a number."""
    return ((f"{place} {number}", row) for number, row in enumerate(rows, 1))
