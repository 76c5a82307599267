"""Print versions, environment variables and what works on this machine, for a bug report.

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

import hashlib
import json
import os
import socket
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hccl_kit.base.arguments import Parser
from hccl_kit.base.colors import with_state
from hccl_kit.base.errors import EXIT_FINDINGS, EXIT_OK
from hccl_kit.base.terminal import printable, wants_color
from hccl_kit.check.engine import check_text
from hccl_kit.cli import exit_code_of
from hccl_kit.diagnosis import training_run
from hccl_kit.diagnosis.doctor import Check, examine
from hccl_kit.diagnosis.environment import mask_of, shown_variables
from hccl_kit.diagnosis.installation import versions
from hccl_kit.diagnosis.masking import Masker
from hccl_kit.table.operations.digest import digest
from hccl_kit.table.reading import load

VERSION = 1
"""Version of the JSON form; raised when a field changes its meaning or goes away."""
ROOT = Path("/")


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    options = make_parser().parse(argv)
    return exit_code_of(lambda: _report(options.table, options.format))


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
    parser.add_argument(
        "--format", choices=["text", "json"], default="text", help="format of the report (default: text)"
    )
    return parser


def _report(table: str | None, form: str) -> int:
    parts, checks = parts_of(table)
    print(json.dumps(parts, indent=2) if form == "json" else _as_text(parts, checks, color=wants_color(sys.stdout)))
    described = parts["table"]
    is_bad = any(check.state == "broken" for check in checks) or bool(described and described["errors"])
    return EXIT_FINDINGS if is_bad else EXIT_OK


def parts_of(table: str | None) -> tuple[dict[str, Any], list[Check]]:
    """The masked report of this machine, with a rank table or the folder of a training; and its checks."""
    is_run = table is not None and Path(table).is_dir()
    run_of = training_run.described(Path(table)) if table and is_run else None
    mask = mask_of(os.environ, socket.gethostname())
    examined = () if is_run else examine(ROOT, os.environ)
    checks = [check._replace(detail=mask.text(check.detail)) for check in examined]
    parts: dict[str, Any] = {
        "version": VERSION,
        "versions": versions(ROOT, os.environ),
        "environment": shown_variables(os.environ, mask),
        "table": _described(table) if table and not is_run else None,
        "run": _masked(run_of, mask),
        "checks": [check._asdict() for check in checks],
    }
    return parts, checks


def _masked(value: Any, mask: Masker) -> Any:
    """The facts of a run with each text masked."""
    if isinstance(value, dict):
        return {name: _masked(fact, mask) for name, fact in value.items()}
    return mask.text(value) if isinstance(value, str) else value


def _described(file: str) -> dict[str, Any]:
    """Facts about a table, without any address."""
    data, name = load(file)
    report = check_text(data, name)
    errors = [finding for finding in report.findings if finding.severity == "error"]
    return {
        "format": report.format,
        "servers": len(report.table.servers) if report.table else None,
        "devices": report.table.world_size if report.table else None,
        "errors": len(errors),
        "rules": dict(sorted(Counter(finding.rule for finding in report.findings).items())),
        "sha256": hashlib.sha256(data).hexdigest(),
        "digest": digest(report.table) if report.table else None,
    }


def _as_text(parts: Mapping[str, Any], checks: Sequence[Check], *, color: bool) -> str:
    lines = ["versions", *_rows(parts["versions"]), "", "environment"]
    lines += _rows(parts["environment"]) or ["  none of the variables of launchers, HCCL and CANN is set"]
    if parts["table"]:
        lines += ["", "table", *_rows(parts["table"])]
    if parts["run"]:
        lines += ["", "run", *_rows(parts["run"])]
    lines += ["", "what works"] if checks else []
    for check in checks:
        state = with_state(check.state) if color else check.state
        lines.append(f"  {check.name.ljust(16)}{state}{' ' * (8 - len(check.state))}{printable(check.detail)}")
        if check.fix:
            lines.append(f"{' ' * 26}{'next' if check.state == 'works' else 'fix'}: {check.fix}")
    return "\n".join(lines)


def _rows(values: Mapping[str, Any]) -> list[str]:
    width = max(map(len, values), default=0) + 2
    return [f"  {name.ljust(width)}{printable(_value(value))}" for name, value in values.items()]


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {count}" for name, count in value.items()) or "none"
    return "unknown" if value is None else str(value)
