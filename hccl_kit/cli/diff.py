"""hccl-kit diff: compare two tables by what they mean."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from hccl_kit.base.arguments import Parser
from hccl_kit.base.colors import added, removed
from hccl_kit.base.errors import EXIT_FINDINGS, EXIT_OK
from hccl_kit.base.terminal import printable, wants_color
from hccl_kit.cli import run
from hccl_kit.cli.tables import read_any_table
from hccl_kit.table.operations.diff import Change, diff

MAX_CHANGES = 200
"""Shown as text; the JSON form holds them all."""
MAX_VALUE = 80
"""Characters of a value that the text shows."""
MANY = 4
"""A change that so many servers or devices have in common is shown once."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print what differs; the exit code is 0 for nothing, 1 for something, 2 where a table cannot be read."""
    parser = Parser(
        prog="hccl-kit diff",
        description="Compare two rank tables by what they mean: text, the order of keys, of servers and of devices do"
        " not count.",
        epilog='The JSON is {"version": 1, "changes": [{"what", "before", "after", "server", "device"}]}'
        "; before or after is null where there is nothing. Exit code: 0 the same, 1 different, 2 could not compare.",
        allow_abbrev=False,
    )
    parser.add_argument("first", metavar="A", help='a rank table, or "-"')
    parser.add_argument("second", metavar="B", help="the other one")
    parser.add_argument("--format", choices=["text", "json"], default="text", help="default: text")
    options = parser.parse(argv)
    return run(lambda: _diff(options))


def _diff(options: argparse.Namespace) -> int:
    changes = diff(read_any_table(options.first), read_any_table(options.second))
    if options.format == "json":
        print(json.dumps({"version": 1, "changes": [change._asdict() for change in changes]}, indent=2))
    else:
        print(as_text(changes, color=wants_color(sys.stdout)))
    return EXIT_FINDINGS if changes else EXIT_OK


def as_text(changes: Sequence[Change], *, color: bool = False) -> str:
    """A line for each change, those of a server under its name; what many have in common is one line."""
    if not changes:
        return "the same"
    times = Counter(map(_outcome, changes))
    common = {_outcome(change): change for change in changes if times[_outcome(change)] >= MANY}
    lines = [
        f"{times[outcome]} {'servers' if change.device is None else 'devices'}: {_line(change, color)}"
        for outcome, change in common.items()
    ]
    rest = [change for change in changes if _outcome(change) not in common]
    for server, group in groupby(rest[:MAX_CHANGES], key=lambda change: change.server):
        if server is None:
            lines += [_line(one, color) for one in group]
            continue
        lines.append(printable(f"server {server}"))
        lines += [f"  {'' if one.device is None else f'device {one.device}: '}{_line(one, color)}" for one in group]
    if len(rest) > MAX_CHANGES:
        lines.append(f"and {len(rest) - MAX_CHANGES} more; --format json lists all")
    return "\n".join(lines)


def _outcome(change: Change) -> tuple[object, ...]:
    return change.what, change.before, change.after, change.server is None, change.device is None


def _line(change: Change, color: bool) -> str:
    what, before, after = (printable(part) for part in (change.what, _value(change.before), _value(change.after)))
    return f"{what}: {removed(before)} -> {added(after)}" if color else f"{what}: {before} -> {after}"


def _value(text: str | None) -> str:
    if text is None:
        return "absent"
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 3] + "..."


if __name__ == "__main__":
    raise SystemExit(main())
