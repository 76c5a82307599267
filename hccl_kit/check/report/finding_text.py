"""A finding as text for people: of a table with its place and a caret, of a plan, a server or a cluster without."""

from __future__ import annotations

from hccl_kit.base.terminal import marked, printable
from hccl_kit.table.finding import NOWHERE, Finding

_COLORS = {"error": "\033[31m", "warning": "\033[33m", "note": "\033[36m"}
_BOLD, _PLAIN = "\033[1m", "\033[0m"


def as_lines(
    finding: Finding, color: bool, *, file: str = "", source: str | None = None, variable: str = ""
) -> list[str]:
    """The finding, its line of the `source`, related places, HCCL's code and the fix, a line or more each.

    `file` is the name of the document, "" if there is none; `variable` is the name in HCCL's message.
    """
    name, place = printable(file), ""
    if finding.span != NOWHERE:
        place = f"{name}:{finding.span.line}:{finding.span.column}:"
        place = (f"{_BOLD}{place}{_PLAIN}" if color else place) + " "
    lines = [f"{place}{head(finding, color, end=':')} {printable(finding.message)}"]
    if source is not None:
        lines += _excerpt(finding, source)
    lines += [f"   = {message} at {name}:{span.line}:{span.column}" for _, message, span in finding.related]
    return lines + notes(finding, variable)


def head(finding: Finding, color: bool, *, end: str = "") -> str:
    """The rule and the severity, as in "HK201 error"."""
    text = f"{finding.rule} {finding.severity}{end}"
    return f"{_COLORS[finding.severity]}{text}{_PLAIN}" if color else text


def notes(finding: Finding, variable: str = "") -> list[str]:
    """What follows a finding: the code of HCCL and the fix."""
    named = f" ({variable})" if variable else ""
    stop = [f"HCCL would stop with {finding.hccl_error}{named}"] if finding.hccl_error else []
    fixes = [f"fix: {line}" for line in (finding.hint or "").split("\n") if line]
    return [printable(f"   = {line}") for line in (*stop, *fixes)]


def _excerpt(finding: Finding, line: str) -> list[str]:
    """The line of the finding, with carets under the marked characters."""
    source, caret = marked(line, finding.span.column - 1, finding.span.width)
    number = str(finding.span.line)
    margin = " " * len(number)
    return [f"{margin} |", f"{number} | {source}".rstrip(), f"{margin} | {caret}"]
