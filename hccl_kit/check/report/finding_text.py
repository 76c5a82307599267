"""A finding as text for people: of a table with its place and a caret, of a plan, a server or a cluster without."""

from __future__ import annotations

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import marked, printable
from hccl_kit.base.translation import translated
from hccl_kit.check.rule import SEVERITIES
from hccl_kit.table.finding import NOWHERE, Finding

_COLORS = {"error": "\033[31m", "warning": "\033[33m", "note": "\033[36m"}
_BOLD, _PLAIN = "\033[1m", "\033[0m"
_COLON = Message("check.colon", ":")


def as_lines(
    finding: Finding, color: bool, *, file: str = "", source: str | None = None, variable: str = ""
) -> list[str]:
    """The finding, its line of the `source`, related places, HCCL's code and the fix, a line or more each.

    They are in the language of the user. `file` is the name of the document, "" if there is none; `variable` is the
    name in HCCL's message.
    """
    name, place = printable(file), ""
    if finding.span != NOWHERE:
        place = f"{name}:{finding.span.line}:{finding.span.column}:"
        place = (f"{_BOLD}{place}{_PLAIN}" if color else place) + " "
    first = head(finding, color, end=translated(_COLON))
    line = Message("check.finding", "{head} {message}", head=first, message=printable(translated(finding.message)))
    lines = [place + translated(line)]
    if source is not None:
        lines += _excerpt(finding, source)
    for _, what, span in finding.related:
        place = f"{name}:{span.line}:{span.column}"
        lines.append("   = " + translated(Message("check.related", "{what} at {place}", what=what, place=place)))
    return lines + notes(finding, variable)


def head(finding: Finding, color: bool, *, end: str = "") -> str:
    """The rule and the severity, as in "HK201 error", then `end`, in the same color."""
    text = f"{finding.rule} {translated(SEVERITIES[finding.severity])}{end}"
    return f"{_COLORS[finding.severity]}{text}{_PLAIN}" if color else text


def notes(finding: Finding, variable: str = "") -> list[str]:
    """What follows a finding: the code of HCCL and the fix."""
    stop: list[str] = []
    if finding.hccl_error and variable:
        stop = [
            Message(
                "check.stop-with-variable",
                "HCCL would stop with {code} ({variable})",
                code=finding.hccl_error,
                variable=variable,
            )
        ]
    elif finding.hccl_error:
        stop = [Message("check.stop", "HCCL would stop with {code}", code=finding.hccl_error)]
    label = translated(Message("base.fix-of-finding", "fix: "))
    fixes = [label + line for line in translated(finding.hint or "").split("\n") if line]
    return [printable(f"   = {translated(line)}") for line in (*stop, *fixes)]


def _excerpt(finding: Finding, line: str) -> list[str]:
    """The line of the finding, with carets under the marked characters."""
    source, caret = marked(line, finding.span.column - 1, finding.span.width)
    number = str(finding.span.line)
    margin = " " * len(number)
    return [f"{margin} |", f"{number} | {source}".rstrip(), f"{margin} | {caret}"]
