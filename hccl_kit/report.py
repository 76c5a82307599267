"""A report as people read it, with a caret under the fault, and as programs read it, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hccl_kit.check import Report
from hccl_kit.finding import Diagnostic, to_json_pointer
from hccl_kit.rules import ANY_PRODUCT
from hccl_kit.screen import marked, printable

JSON_VERSION = 1
"""Raised when a field of the JSON form changes its meaning or goes away."""

_COLORS = {"error": "\033[31m", "warning": "\033[33m", "note": "\033[36m"}
_BOLD, _PLAIN = "\033[1m", "\033[0m"
_LISTS = ("device", "server_list")
"""Keys that HCCL's errors never name."""
MAX_BLOCKS = 100
"""Findings shown as text. Who gets more mends the program that wrote the file; the JSON form holds them all."""


def as_text(report: Report, source_text: str, color: bool) -> str:
    """The findings, each with its line of the source, then one line that sums up. No newline at the end.

    In the order of the text; where they are more than MAX_BLOCKS, errors come first and the rest is counted.
    """
    lines = source_text.split("\n")
    shown, more = report.diagnostics, len(report.diagnostics) - MAX_BLOCKS
    if more > 0:
        shown = tuple(sorted(shown, key=lambda found: found.severity != "error"))[:MAX_BLOCKS]
    blocks = [_block(report.name, found, lines, color) for found in shown]
    if more > 0:
        blocks.append(f"{printable(report.name)}: {_counted(more, 'more finding')}; --format json lists all")
    return "\n".join([*blocks, _summary(report)])


def as_json(reports: Iterable[Report]) -> str:
    """All reports as one document; `pointer` is RFC 6901, line and column count from 1. ASCII, so any pipe takes it."""
    return json.dumps({"version": JSON_VERSION, "results": [_result(report) for report in reports]}, indent=2)


def _result(report: Report) -> dict[str, Any]:
    return {
        "file": report.name,
        "format": report.format,
        "product": report.product,
        "ok": report.ok,
        "findings": [
            {
                "rule": found.rule,
                "severity": found.severity,
                "pointer": to_json_pointer(found.pointer),
                "line": found.span.line,
                "column": found.span.column,
                "message": found.message,
                "hint": found.hint,
                "hccl_error": found.hccl_error,
            }
            for found in report.diagnostics
        ],
    }


def _block(name: str, found: Diagnostic, lines: list[str], color: bool) -> str:
    name = printable(name)
    place = f"{name}:{found.span.line}:{found.span.column}:"
    head = f"{found.rule} {found.severity}:"
    if color:
        place, head = f"{_BOLD}{place}{_PLAIN}", f"{_COLORS[found.severity]}{head}{_PLAIN}"
    block = [f"{place} {head} {printable(found.message)}"]
    if found.span.width and found.span.line <= len(lines):
        block += _excerpt(found, lines[found.span.line - 1])
    block += [f"   = {message} at {name}:{span.line}:{span.column}" for span, message in found.related]
    if found.hccl_error:
        key = found.pointer[-1] if found.pointer else None
        is_variable = isinstance(key, str) and key not in _LISTS and found.rule != "HK101"  # there it is a slip
        variable = f" ({key})" if is_variable else ""
        block.append(printable(f"   = HCCL would stop with {found.hccl_error}{variable}"))
    if found.hint:
        block.append(printable(f"   = fix: {found.hint}"))
    return "\n".join(block)


def _excerpt(found: Diagnostic, line: str) -> list[str]:
    """The line of the fault, with carets under the marked characters."""
    source, caret = marked(line, found.span.column - 1, found.span.width)
    number = str(found.span.line)
    margin = " " * len(number)
    return [f"{margin} |", f"{number} | {source}".rstrip(), f"{margin} | {caret}"]


def _summary(report: Report) -> str:
    counts = [sum(found.severity == severity for found in report.diagnostics) for severity in ("error", "warning")]
    counted = ", ".join(_counted(n, word) for n, word in zip(counts, ("error", "warning"), strict=True) if n)
    if not report.ok:
        return f"{printable(report.name)}: {counted}"
    if report.table is None:
        return f"{printable(report.name)}: not ready, {counted}"
    facts = [
        "ok",
        *([counted] if counted else []),
        f"version {report.format}",
        _counted(len(report.table.servers), "server"),
        _counted(report.table.world_size, "device"),
        f"product {report.product}",
    ]
    aloud = " (topology not judged: name the product with --product)" if report.product == ANY_PRODUCT else ""
    return f"{printable(report.name)}: {', '.join(facts)}{aloud}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
