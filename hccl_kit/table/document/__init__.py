"""JSON documents, read strictly: the value, the errors, and the line and column of every value.

Hostile input gives an error of the document, never an exception, in time and memory proportional to its size.
"""

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.table.document import syntax
from hccl_kit.table.document.places import Places
from hccl_kit.table.finding import Finding
from hccl_kit.table.pointer import Pointer, Span
from hccl_kit.table.source import MAX_BYTES, MAX_CONTAINERS, is_name_for_hccl

WHOLE_FILE = Span(1, 1, 0)
"""The place of a finding about the whole file: no text is marked."""


class _Text(NamedTuple):
    name: str
    text: str
    value: Any
    findings: tuple[Finding, ...]
    size: int = 0


class Document(_Text):
    """A text of `size` bytes and its value, None if it cannot be read. Places are computed on demand."""

    def locate(self, pointer: Pointer, *, on_key: bool = False) -> Span:
        """The place of the value (or its key); for a missing key, the place of the object that lacks it.

        Only for a document with a value; the findings of any other hold their own `span`.
        """
        return self._places.locate(pointer, on_key=on_key)

    def offsets(self, pointer: Pointer, *, on_key: bool = False) -> tuple[int, int]:
        """As `locate`, in offsets for edits: the first character and the one after the last."""
        return self._places.offsets(pointer, on_key=on_key)

    @cached_property
    def _places(self) -> Places:
        return Places(self.text)


def parse(data: bytes | str, name: str) -> Document:
    """Read a JSON document and check it by the rules of HK0; `name` is checked as a path (R2) unless it is STDIN."""
    findings = list(_findings_of_name(name))
    if len(data) > MAX_BYTES:
        message = Message(
            "HK009.bytes", "the file is larger than {limit} MiB, the limit of this program", limit=MAX_BYTES >> 20
        )
        return Document(name, "", None, (*findings, Finding(message, rule="HK009", span=WHOLE_FILE)))
    text = decode(data)
    unreadable = _not_utf8(data, text)
    if unreadable:
        return Document(name, text, None, (*findings, unreadable))
    if data[:1] == "\ufeff" or data[:3] == b"\xef\xbb\xbf":
        message = Message("HK003.mark", "the file starts with a byte order mark, which many programs reject")
        findings.append(
            Finding(message, Message("HK003.fix", "save it as UTF-8 without BOM"), rule="HK003", span=WHOLE_FILE)
        )
    containers = text.count("{") + text.count("[")
    if containers > MAX_CONTAINERS:
        message = Message(
            "HK009.containers",
            "the file has {containers} objects and arrays; the limit of this program is {limit}",
            containers=containers,
            limit=MAX_CONTAINERS,
        )
        return Document(name, text, None, (*findings, Finding(message, rule="HK009", span=WHOLE_FILE)))
    value, wrong = syntax.read(text, containers)
    return Document(name, text, value, (*findings, *wrong), size=len(data))


def of_value(value: Any, text: str, name: str) -> Document:
    """The document of a value that was written as `text`: its name is checked, as by `parse`."""
    size = len(text.encode("utf-8", errors="surrogatepass"))
    return Document(name, text, value, tuple(_findings_of_name(name)), size)


def decode(data: bytes | str) -> str:
    """The text of a document without byte order mark, with U+FFFD for bytes that are not UTF-8."""
    text = data.decode("utf-8", errors="replace") if isinstance(data, bytes) else data
    return text.removeprefix("\ufeff")


def shown(value: object) -> str:
    """A value as it appears in messages: JSON, shortened, and safe on a terminal."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, str):
        value = value if len(value) <= 80 else value[:77] + "..."
        return json.dumps(value, ensure_ascii=not value.isprintable())
    return json.dumps(value)


def _findings_of_name(name: str) -> Iterator[Finding]:
    if not is_name_for_hccl(name):
        message = Message(
            "HK008.suffix", 'HCCL accepts only a path with ".json" once, at its end; got {name}', name=shown(name)
        )
        yield Finding(message, Message("HK008.fix", "rename the file"), rule="HK008", span=WHOLE_FILE)


def _not_utf8(data: bytes | str, text: str) -> Finding | None:
    if text.isascii():  # nearly every table
        return None
    raw = data.encode("utf-8", errors="surrogatepass") if isinstance(data, str) else data
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        message = Message("HK002.utf16", "the file is UTF-16; a rank table must be UTF-8")
        return Finding(message, Message("HK002.utf16.fix", "iconv -f UTF-16 -t UTF-8"), rule="HK002", span=WHOLE_FILE)
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        start = len(decode(raw[: error.start]))
        message = Message("HK002.byte", "byte 0x{byte:02x} is not UTF-8", byte=raw[error.start])
        hint = Message("HK002.fix", "save the file as UTF-8")
        return Finding(message, hint, rule="HK002", span=Places(text).span(start, start + 1))
    return None
