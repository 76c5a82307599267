"""Print what this machine is made of and what works on it, for a bug report: the short form of
hccl-kit snapshot. `--format json` prints all of a snapshot, which hccl-kit compare reads.

Addresses, host names, users, private folders and secrets are masked; read the report before you
publish it. What is not installed is not an error.

examples:
  hccl-kit report
  hccl-kit report hccl_2s_16p.json --format json
  hccl-kit report runs/mine

Exit codes: 0 all that is installed works; 1 something is broken, or the table has errors; 2 could
not run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hccl_kit.base.arguments import Parser
from hccl_kit.base.colors import with_state
from hccl_kit.base.errors import EXIT_FINDINGS, EXIT_OK
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable, text_width, wants_color
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import row
from hccl_kit.cli import program
from hccl_kit.cli.options import add_format
from hccl_kit.diagnosis import training_run
from hccl_kit.diagnosis.doctor import Check, examine
from hccl_kit.diagnosis.masking import Masker
from hccl_kit.snapshot.compatibility import doubts
from hccl_kit.snapshot.document import THIS, to_value
from hccl_kit.snapshot.taking import mask_here, snapshot_of, this_node

_STATES = {
    "works": Message("cli.report.state-works", "works"),
    "absent": Message("cli.report.state-absent", "absent"),
    "broken": Message("cli.report.state-broken", "broken"),
}


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit report", doc=__doc__)
    parser.add_argument(
        "table",
        nargs="?",
        metavar="PATH",
        help="also describe a rank table (size, digest, findings); or the folder of a training (the weights that it "
        "started from, scores), without trying what works",
    )
    add_format(parser, "the report")
    return parser


def _report(*, table: str | None, form: str) -> int:
    parts, checks = parts_of(table)
    print(json.dumps(parts, indent=2) if form == "json" else _as_text(parts, checks, color=wants_color(sys.stdout)))
    described = parts["table"]
    is_bad = any(check.state == "broken" for check in checks) or bool(described and described["errors"])
    return EXIT_FINDINGS if is_bad else EXIT_OK


def parts_of(table: str | None) -> tuple[dict[str, Any], list[Check]]:
    """The masked report of this machine, with a rank table or the folder of a training; and its checks."""
    is_run = table is not None and Path(table).is_dir()
    run_of = training_run.described(Path(table)) if table and is_run else None
    node, mask = this_node(), mask_here()
    snapshot = snapshot_of(node, None if is_run else table)
    examined = () if is_run else examine(node.root, node.environ)
    checks = [check._replace(detail=_masked(check.detail, mask)) for check in examined]
    parts = {
        **to_value(snapshot),
        "run": _masked(run_of, mask),
        "checks": [check._asdict() for check in checks],
        "warnings": [*doubts(snapshot.servers[THIS])],
    }
    return parts, checks


def _masked(value: Any, mask: Masker) -> Any:
    """A text, or each text of the facts of a run, masked; a message without private words stays one."""
    if isinstance(value, dict):
        return {name: _masked(fact, mask) for name, fact in value.items()}
    return value if not isinstance(value, str) or mask.text(value) == value else mask.text(value)


def _as_text(parts: Mapping[str, Any], checks: Sequence[Check], *, color: bool) -> str:
    machine = parts["servers"][THIS]
    lines = [Message("cli.report.versions", "versions"), *_rows(machine["versions"])]
    for warning in map(printable, parts["warnings"]):
        lines.append(Message("cli.report.warning", "  warning: {text}", text=warning))
    lines += ["", Message("cli.report.environment", "environment")]
    unset = Message("cli.report.unset", "  none of the variables of launchers, HCCL and CANN is set")
    lines += _rows(machine["variables"]) or [unset]
    for heading, rows in (
        (Message("cli.report.cards", "cards"), machine["cards"]),
        (Message("cli.report.table", "table"), parts["table"]),
        (Message("cli.report.run", "run"), parts["run"]),
    ):
        lines += ["", heading, *_rows(rows)] if rows else []
    lines += ["", Message("cli.report.works", "what works")] if checks else []
    lines += [line for check in checks for line in _check_lines(check, color)]
    return "\n".join(map(translated, lines))


def _check_lines(check: Check, color: bool) -> list[str]:
    word = translated(_STATES[check.state])
    state = (with_state(check.state, word) if color else word) + " " * (8 - text_width(word))
    lines = [f"  {check.name.ljust(16)}{state}{printable(translated(check.detail))}"]
    if check.fix:
        label = Message("cli.report.fix", "fix: {what}", what=check.fix)
        if check.state == "works":
            label = Message("cli.report.next", "next: {what}", what=check.fix)
        lines.append(" " * 26 + translated(label))
    return lines


def _rows(values: Mapping[str, Any]) -> list[str]:
    width = max(map(len, values), default=0) + 2
    return [f"  {name.ljust(width)}{printable(translated(_value(value)))}" for name, value in values.items()]


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = row(f"{name}: {count}" for name, count in value.items())
        return pairs or Message("cli.report.none", "none")
    if value is None:
        return Message("cli.report.unknown", "unknown")
    return value if isinstance(value, str) else str(value)


main = program(make_parser, _report)
