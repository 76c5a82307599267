"""XML from strangers: of bounded size, and without declarations, which could make it larger than its file."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError


def root(path: Path, limit: int) -> ElementTree.Element:
    """The outermost element of a file of at most `limit` bytes.

    Raises KitError if it cannot be read, is not XML, or declares a document type, in which entities are defined.
    """
    data = read_bounded(path, limit)
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise KitError(f"{path} declares a document type or is UTF-16; accepted: plain XML in UTF-8")
    try:
        return ElementTree.fromstring(data)  # noqa: S314  # entities need a document type
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise KitError(f"{path} is not XML: {error}") from error
