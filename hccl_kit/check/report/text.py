"""The report on a table for people: each finding with a caret under it, then a summary line."""

from __future__ import annotations

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import clauses, counted, row
from hccl_kit.check.report.finding_text import as_lines
from hccl_kit.check.result import Report
from hccl_kit.check.rules import RULE_BY_ID
from hccl_kit.table.finding import MISSING, Finding
from hccl_kit.table.products import ANY_PRODUCT

_LISTS = ("device", "server_list")
"""Keys that HCCL's errors never name."""
_MISSING_KEY = "HK101"
"""A rule whose findings are placed at another key than the one that HCCL names."""
MAX_BLOCKS = 100
"""Findings shown as text. Beyond this, the generator of the file is at fault; JSON has them all."""


def as_text(report: Report, source_text: str, color: bool) -> str:
    """The findings, each with its line of the source, then a summary line. No newline at the end.

    It is in the language of the user. The findings are in the order of the text; if they are more than MAX_BLOCKS,
    errors come first and the rest is counted.
    """
    lines = source_text.split("\n") if any(finding.span.width for finding in report.findings) else []
    shown, more = report.findings, len(report.findings) - MAX_BLOCKS
    if more > 0:
        shown = tuple(sorted(shown, key=lambda finding: finding.severity != "error"))[:MAX_BLOCKS]
    blocks = [line for finding in shown for line in _block(report.name, finding, lines, color)]
    if more > 0:
        rest = counted(more, "more finding")
        blocks.append(
            translated(
                Message("check.more", "{file}: {rest}; --format json lists all", file=printable(report.name), rest=rest)
            )
        )
    return "\n".join([*blocks, translated(_summary(report))])


def _block(name: str, finding: Finding, lines: list[str], color: bool) -> list[str]:
    has_source = finding.span.width and finding.span.line <= len(lines)
    source = lines[finding.span.line - 1] if has_source else None
    return as_lines(finding, color, file=name, source=source, variable=_variable(finding))


def _variable(finding: Finding) -> str:
    """The name that HCCL's message gives the mistake; "" if it is not known."""
    rule = RULE_BY_ID.get(finding.rule)
    if rule and rule.hccl_error != finding.hccl_error == MISSING:
        return ""  # HCCL misses another key than that of the finding
    names = rule.variables if rule else ()
    key = finding.pointer[-1] if finding.pointer else None
    if len(names) == 1:
        return names[0]
    is_variable = key in names or (not names and isinstance(key, str) and key not in _LISTS)
    return str(key) if is_variable and finding.rule != _MISSING_KEY else ""


def _summary(report: Report) -> Message:
    """The counts, and the assumptions behind the result: an assumed product, or what was not checked."""
    severities = [finding.severity for finding in report.findings]
    errors, warnings = severities.count("error"), severities.count("warning")
    totals: list[str] = [
        *([counted(errors, "error")] if errors else []),
        *([counted(warnings, "warning")] if warnings else []),
    ]
    if report.table is None and report.ok:
        facts = [Message("check.not-ready", "not ready"), *totals]
    elif report.table is None:
        facts = [*totals, Message("check.nothing-else", "so nothing else was checked")]
    elif not report.ok:
        facts = [*totals, *([_product(report)] if report.is_assumed else [])]
    else:
        facts = [
            Message("check.ok", "ok"),
            *totals,
            *_broken(report),
            Message("check.format", "version {version}", version=report.format),
            counted(len(report.table.servers), "server"),
            counted(report.table.world_size, "device"),
            _product(report),
        ]
    return Message("check.summary", "{file}: {facts}", file=printable(report.name), facts=clauses(facts))


def _product(report: Report) -> Message:
    if report.is_assumed:
        return Message(
            "check.product-assumed",
            "product {product} (derived from the version; change it with --product)",
            product=report.product,
        )
    if report.product == ANY_PRODUCT:
        return Message(
            "check.product-unknown",
            "product {product} (topology not checked: name the product with --product)",
            product=report.product,
        )
    return Message("check.product", "product {product}", product=report.product)


def _broken(report: Report) -> list[str]:
    """A note if HCCL takes the table although it breaks a rule of the product's manual."""
    warned = {finding.rule for finding in report.findings if finding.severity == "warning"}
    broken = sorted(rule for rule in warned if RULE_BY_ID[rule].from_manual)
    if not broken:
        return []
    return [
        Message(
            "check.breaks-manual",
            "breaks a rule of product {product} ({rules}; with --strict an error)",
            product=report.product,
            rules=row(broken),
        )
    ]
