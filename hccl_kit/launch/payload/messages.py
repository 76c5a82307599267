"""The messages between the nodes of a job: one line each, with every field checked for type and range.

Part of programs that launch scripts contain. A node is its index in the list of servers, which all nodes have; names
are not sent.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Union

MAX_LINE = 1024
"""Bytes of a line."""
MAX_RANK = 9999999
LOST, ENDED, RANK_LOST = -1, -2, -3
"""Instead of a rank: the node was lost, its script was ended, one of its ranks was lost."""
LOST_CODE = 255
"""The exit code for a lost node."""
TWICE, OTHER_TABLE = "twice", "table"
"""Reasons why node 0 refuses a node: it has already joined, or it has another rank table."""


class Malformed(Exception):  # noqa: N818 - describes the line
    """A line that is not a valid message; `str()` is the line in printable form."""


class Here(NamedTuple):
    """A node is ready. `run` and `port` are those of the job if this is node 0; the others send port 0."""

    run: str
    port: int

    def line(self) -> str:
        return f"here {self.run} {self.port}"


class Start(NamedTuple):
    """All nodes are ready: the name of the run and the port of rank 0; port 0 ends the restarts."""

    run: str
    port: int

    def line(self) -> str:
        return f"start {self.run} {self.port}"


class Failed(NamedTuple):
    """A rank of the sender failed `ago` seconds before the message."""

    rank: int
    code: int
    ago: float = 0.0

    def line(self) -> str:
        return f"failed {self.rank} {self.code} {self.ago:.3f}"


class Over(NamedTuple):
    """The failure that ended the job, on the server with the index `node`."""

    rank: int
    code: int
    node: int

    def line(self) -> str:
        return f"over {self.rank} {self.code} {self.node}"


class Done(NamedTuple):
    """From a node: its ranks succeeded. From node 0: all ranks succeeded."""

    def line(self) -> str:
        return "done"


class Refused(NamedTuple):
    """Node 0 refuses this node; `sha256` is the digest of its table."""

    reason: str
    sha256: str

    def line(self) -> str:
        return f"refused {self.reason} {self.sha256}"


FromNode = Union[Here, Failed, Done]  # noqa: UP007 - Python 3.8
FromNode0 = Union[Start, Over, Done, Refused]  # noqa: UP007 - Python 3.8


def parse_from_node(line: bytes) -> FromNode:
    """Parse a message of a node about its ranks. Raises Malformed."""
    kind, fields = _split(line)
    if kind == "here" and len(fields) == 2:
        return Here(_run(fields[0], line), _number(fields[1], 0, 65535, line))
    if kind == "failed" and len(fields) == 3:
        rank, code, ago = fields
        if not re.fullmatch(r"(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?", ago):
            raise Malformed(printable(line))
        return Failed(_number(rank, RANK_LOST, MAX_RANK, line), _number(code, 0, 255, line), float(ago))
    if (kind, fields) == ("done", []):
        return Done()
    raise Malformed(printable(line))


def parse_from_node_0(line: bytes, servers: int) -> FromNode0:
    """Parse a message of node 0 in a job of `servers` servers. Raises Malformed."""
    kind, fields = _split(line)
    if kind == "start" and len(fields) == 2:
        return Start(_run(fields[0], line), _number(fields[1], 0, 65535, line))
    if kind == "over" and len(fields) == 3:
        rank, code, node = fields
        return Over(
            _number(rank, RANK_LOST, MAX_RANK, line),
            _number(code, 0, 255, line),
            _number(node, 0, servers - 1, line),
        )
    if (kind, fields) == ("done", []):
        return Done()
    if kind == "refused" and len(fields) == 2 and fields[0] in (TWICE, OTHER_TABLE) and is_sha256(fields[1]):
        return Refused(fields[0], fields[1])
    raise Malformed(printable(line))


def number(text: str, low: int, high: int) -> int | None:
    """A decimal number from `low` to `high` without leading zeros; None if `text` is not one."""
    if not re.fullmatch(r"0|-?[1-9][0-9]{0,8}", text):
        return None
    return int(text) if low <= int(text) <= high else None


def is_sha256(text: str) -> bool:
    """Whether `text` is a SHA-256 in lower-case hexadecimal digits."""
    return re.fullmatch(r"[0-9a-f]{64}", text) is not None


def printable(data: bytes | str, longest: int = 80) -> str:
    """Text from outside for the terminal: unprintable characters and other bytes escaped, long text cut."""
    text = data.decode("ascii", "backslashreplace") if isinstance(data, bytes) else data
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[: longest + 1])
    return shown if len(shown) <= longest else shown[:longest] + "..."


def _split(line: bytes) -> tuple[str, list[str]]:
    try:
        kind, *fields = line.rstrip(b"\r\n").decode("ascii").split(" ")
    except UnicodeDecodeError:
        raise Malformed(printable(line)) from None
    return kind, fields


def _number(text: str, low: int, high: int, line: bytes) -> int:
    value = number(text, low, high)
    if value is None:
        raise Malformed(printable(line))
    return value


def _run(text: str, line: bytes) -> str:
    if not re.fullmatch(r"[0-9]{1,20}(-[0-9]{1,20}){1,3}", text):
        raise Malformed(printable(line))
    return text
