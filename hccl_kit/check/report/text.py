"""A verdict for people: each finding with a caret under the fault, then one line that sums up."""

from __future__ import annotations

from hccl_kit.base.terminal import marked, printable
from hccl_kit.check.engine import Report
from hccl_kit.check.rules import ANY_PRODUCT, RULE_BY_ID
from hccl_kit.table.finding import Diagnostic

_COLORS = {"error": "\033[31m", "warning": "\033[33m", "note": "\033[36m"}
_BOLD, _PLAIN = "\033[1m", "\033[0m"
_LISTS = ("device", "server_list")
"""Keys that HCCL's errors never name."""
_MISSING = "EI0017"
_RULES_OF_PRODUCTS = ("HK401", "HK402", "HK408")
"""Which cards a product takes: a rule of its manual, which HCCL's parser does not always enforce."""
MAX_BLOCKS = 100
"""Findings shown as text. Who gets more mends the program that wrote the file; the JSON form holds them all."""


def as_text(report: Report, source_text: str, color: bool) -> str:
    """The findings, each with its line of the source, then one line that sums up. No newline at the end.

    In the order of the text; where they are more than MAX_BLOCKS, errors come first and the rest is counted.
    """
    lines = source_text.split("\n") if report.diagnostics else []
    shown, more = report.diagnostics, len(report.diagnostics) - MAX_BLOCKS
    if more > 0:
        shown = tuple(sorted(shown, key=lambda found: found.severity != "error"))[:MAX_BLOCKS]
    blocks = [_block(report.name, found, lines, color) for found in shown]
    if more > 0:
        blocks.append(f"{printable(report.name)}: {_counted(more, 'more finding')}; --format json lists all")
    return "\n".join([*blocks, _summary(report)])


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
        block.append(printable(f"   = HCCL would stop with {found.hccl_error}{_variable(found)}"))
    if found.hint:
        block.append(printable(f"   = fix: {found.hint}"))
    return "\n".join(block)


def _variable(found: Diagnostic) -> str:
    """The name that HCCL's message gives the fault, in brackets; nothing where that is not known."""
    rule = RULE_BY_ID.get(found.rule)
    if rule and rule.hccl_error != found.hccl_error == _MISSING:
        return ""  # the key that HCCL misses is another than that of the fault
    names = rule.variables if rule else ()
    key = found.pointer[-1] if found.pointer else None
    if len(names) == 1:
        return f" ({names[0]})"
    is_variable = key in names or (not names and isinstance(key, str) and key not in _LISTS)
    return f" ({key})" if is_variable and found.rule != "HK101" else ""  # there the key is a slip


def _excerpt(found: Diagnostic, line: str) -> list[str]:
    """The line of the fault, with carets under the marked characters."""
    source, caret = marked(line, found.span.column - 1, found.span.width)
    number = str(found.span.line)
    margin = " " * len(number)
    return [f"{margin} |", f"{number} | {source}".rstrip(), f"{margin} | {caret}"]


def _summary(report: Report) -> str:
    """What was found, and aloud what the verdict rests on: a product that nobody named, or what was not judged."""
    name = printable(report.name)
    counts = [sum(found.severity == severity for found in report.diagnostics) for severity in ("error", "warning")]
    counted = ", ".join(_counted(n, word) for n, word in zip(counts, ("error", "warning"), strict=True) if n)
    assumed = f"product {report.product} (told by the version; --product names another)"
    if report.table is None:
        return f"{name}: not ready, {counted}" if report.ok else f"{name}: {counted}, so nothing else was judged"
    if not report.ok:
        return f"{name}: {counted}, {assumed}" if report.is_assumed else f"{name}: {counted}"
    unjudged = " (topology not judged: name the product with --product)" if report.product == ANY_PRODUCT else ""
    facts = [
        "ok",
        *([counted] if counted else []),
        *_broken(report),
        f"version {report.format}",
        _counted(len(report.table.servers), "server"),
        _counted(report.table.world_size, "device"),
        assumed if report.is_assumed else f"product {report.product}{unjudged}",
    ]
    return f"{name}: {', '.join(facts)}"


def _broken(report: Report) -> list[str]:
    """That HCCL takes the table although it breaks a rule of the product, where that is so."""
    broken = sorted({found.rule for found in report.diagnostics if found.severity == "warning"} & {*_RULES_OF_PRODUCTS})
    if not broken:
        return []
    return [f"breaks a rule of product {report.product} ({', '.join(broken)}; with --strict an error)"]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
