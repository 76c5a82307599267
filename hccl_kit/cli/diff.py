"""Compare the content of two rank tables. Formatting and the order of keys, servers and devices
are ignored.

The JSON is {"version": 1, "changes": [{"what", "before", "after", "server", "device"}]}; before or
after is null if the value is absent.

examples:
  hccl-kit diff hccl_2s_16p.json /etc/hccl/hccl_2s_16p.json
  hccl-kit diff before.json after.json --format json

Exit codes: 0 equal; 1 different; 2 could not compare.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from hccl_kit.base.arguments import Parser
from hccl_kit.base.colors import added, removed
from hccl_kit.base.errors import EXIT_FINDINGS, EXIT_OK
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable, wants_color
from hccl_kit.base.translation import translated
from hccl_kit.cli import program
from hccl_kit.cli.options import add_format
from hccl_kit.cli.tables import read_any_table
from hccl_kit.table.operations.diff import Change, diff

MAX_CHANGES = 200
"""Changes shown as text; the JSON form holds them all."""
MAX_VALUE = 80
"""Characters of a value that the text shows."""
MANY = 4
"""A change that this many servers or devices have in common is shown once."""


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit diff", doc=__doc__)
    parser.add_argument("first", metavar="A", help='a rank table, or "-" for standard input')
    parser.add_argument("second", metavar="B", help='the other rank table, or "-"')
    add_format(parser, "the changes")
    return parser


def _diff(*, first: str, second: str, form: str) -> int:
    changes = diff(read_any_table(first), read_any_table(second))
    if form == "json":
        print(json.dumps({"version": 1, "changes": [change._asdict() for change in changes]}, indent=2))
    else:
        print(as_text(changes, color=wants_color(sys.stdout)))
    return EXIT_FINDINGS if changes else EXIT_OK


def as_text(changes: Sequence[Change], *, color: bool = False) -> str:
    """A line for each change, grouped by server; a change that many have in common is one line."""
    if not changes:
        return translated(Message("cli.diff.same", "the same"))
    times = Counter(map(_outcome, changes))
    common = {_outcome(change): change for change in changes if times[_outcome(change)] >= MANY}
    lines: list[str] = [_common(times[outcome], change, color) for outcome, change in common.items()]
    rest = [change for change in changes if _outcome(change) not in common]
    for server, group in groupby(rest[:MAX_CHANGES], key=lambda change: change.server):
        if server is None:
            lines += [_line(change, color) for change in group]
            continue
        lines.append(Message("cli.diff.server", "server {server}", server=_shown(server)))
        lines += [_in_server(change, color) for change in group]
    if len(rest) > MAX_CHANGES:
        more = len(rest) - MAX_CHANGES
        lines.append(Message("cli.diff.more", "and {number} more; --format json lists all", number=more))
    return "\n".join(map(translated, lines))


def _common(number: int, change: Change, color: bool) -> Message:
    line = _line(change, color)
    if change.device is None:
        return Message("cli.diff.servers", "{number} servers: {change}", number=number, change=line)
    return Message("cli.diff.devices", "{number} devices: {change}", number=number, change=line)


def _in_server(change: Change, color: bool) -> str:
    line = _line(change, color)
    if change.device is None:
        return f"  {line}"
    return Message("cli.diff.of-device", "  device {device}: {change}", device=change.device, change=line)


def _outcome(change: Change) -> tuple[object, ...]:
    return change.what, change.before, change.after, change.server is None, change.device is None


def _line(change: Change, color: bool) -> str:
    what, before, after = map(_shown, (change.what, change.before, change.after))
    if color:
        before, after = removed(before), added(after)
    line = Message("cli.diff.change", "{what}: {before} -> {after}", what=what, before=before, after=after)
    return translated(line)


def _shown(text: str | None) -> str:
    text = translated(Message("cli.diff.absent", "absent") if text is None else text)
    return printable(text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 3] + "...")


main = program(make_parser, _diff)
