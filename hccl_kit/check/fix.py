"""Fix what has exactly one correct value in the text of a rank table, and leave every other character unchanged.

Rules and readers propose the edits (`Finding.fix`). The text is edited and checked in rounds, since one mistake may
hide another: a misspelled key hides the number without quotes behind it. What needs a choice, such as a duplicate rank
or a missing value, stays and is reported.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import counted, joined
from hccl_kit.check.engine import check_document
from hccl_kit.check.result import Report
from hccl_kit.table.document import Document, parse
from hccl_kit.table.finding import Edit, Finding
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import Product

MAX_ROUNDS = 8
"""More than the stages of a check (key, type of its value, rules of the table), in each of which a mistake may hide."""
MAX_FINDINGS = 2**18
"""Findings of structure fixed in one round: four for each of the 65,536 ranks that HCCL takes."""
_MARK = "\ufeff"
_MARK_RULE = "HK003"


class FixResult(NamedTuple):
    """The fixed text, and the report on it.

    `applied` holds the fixed findings in order, each with its place in the text of its round. If it is empty, the text
    is the one given, or what could be decoded of it.
    """

    text: str
    applied: tuple[Finding, ...]
    report: Report


def fix_text(
    data: bytes | str,
    name: str,
    product: Product | None = None,
    *,
    narrow: Callable[[Report], Report] = lambda report: report,
) -> FixResult:
    """Fix a document as `check_text` would check it. Total: any input gives a text and a report.

    `narrow` removes the findings that are not to be fixed; the report returned holds them.
    Laws: a table without fixable findings is unchanged; fixing is idempotent; a table without errors gets none.
    """
    document, report = _checked(data, name, product)
    applied = [finding for finding in narrow(report).findings if finding.rule == _MARK_RULE]
    mark = "" if applied or all(finding.rule != _MARK_RULE for finding in report.findings) else _MARK
    if applied:
        document, report = _checked(document.text.lstrip(_MARK), name, product)
    for _ in range(MAX_ROUNDS):
        todo = [finding for finding in narrow(report).findings if finding.fix]
        if not todo:
            break
        text = mark + edited(document, [edit for finding in todo for edit in finding.fix])
        changed, then = _checked(text, name, product)
        if report.ok and not then.ok:
            # The misspelled key hides another mistake, and HCCL ignores that key: this needs a choice.
            report = report._replace(findings=tuple(finding._replace(fix=()) for finding in report.findings))
            break
        document, report = changed, then
        applied += todo
    if not report.ok and document.size:  # it has a value, so HCCL's parser may have a code for it
        report = check_document(document, product, limit=MAX_FINDINGS)
    return FixResult(mark + document.text, tuple(applied), report)


def changes(result: FixResult, data: bytes, name: str, *, is_done: bool) -> str | None:
    """The diff of what was fixed in `data`, and a line that counts it; if nothing was, why. None without findings."""
    if not result.applied:
        rules = sorted({finding.rule for finding in result.report.findings})
        return translated(_unfixed(printable(name), rules, is_done=is_done)) if rules else None
    by_rule = sorted(Counter(finding.rule for finding in result.applied).items())
    counts = ", ".join(f"{rule}: {count}" for rule, count in by_rule)
    summary = _fixed(printable(name), counted(len(result.applied), "finding"), counts, is_done=is_done)
    return "\n".join([*line_diff(data.decode("utf-8"), result.text, name), translated(summary)])


def _unfixed(file: str, rules: Sequence[str], *, is_done: bool) -> Message:
    why = Message("check.fix-uncertain", "the correct value for {rules} is not certain", rules=joined(rules))
    if is_done:
        return Message("check.nothing-fixed", "{file}: nothing fixed: {why}", file=file, why=why)
    return Message("check.nothing-fixable", "{file}: nothing fixable: {why}", file=file, why=why)


def _fixed(file: str, findings: str, counts: str, *, is_done: bool) -> Message:
    if is_done:
        return Message(
            "check.fixed", "{file}: {findings} ({counts}) fixed", file=file, findings=findings, counts=counts
        )
    return Message(
        "check.fixable", "{file}: {findings} ({counts}) fixable", file=file, findings=findings, counts=counts
    )


def _checked(data: bytes | str, name: str, product: Product | None) -> tuple[Document, Report]:
    """The document and the report: all findings of structure, without HCCL's code."""
    document = parse(data, name)
    return document, check_document(document, product, limit=MAX_FINDINGS, has_code=False)


def edited(document: Document, edits: Iterable[Edit]) -> str:
    """The text of the document with the edits applied; if two are at one place, the first is."""
    pieces, position = [], 0
    at = {_offsets(document, edit): edit.text for edit in reversed([*edits])}
    for (start, end), text in sorted(at.items()):
        pieces += [document.text[position:start], text]
        position = end
    return "".join([*pieces, document.text[position:]])


def _offsets(document: Document, edit: Edit) -> tuple[int, int]:
    value = _value(document, edit.pointer)
    assert edit.on_key or not isinstance(value, (dict, list)), edit
    return document.offsets(edit.pointer, on_key=edit.on_key)


def _value(document: Document, pointer: Pointer) -> object:
    value = document.value
    for part in pointer:
        value = value[part]
    return value


MAX_CHANGED = 100
"""Changed lines shown; the others are counted."""
_CONTEXT = 3
_WIDTH = 200
"""Characters shown of a line; a table may be one line of megabytes."""


def line_diff(old: str, new: str, name: str) -> Iterator[str]:
    """The lines of the diff; none if the texts are equal. Control characters are replaced.

    Line n of `old` became line n of `new`, so no alignment is needed (difflib would take quadratic
    time). A line that is too long is cut around its first change.
    """
    before, after = old.removesuffix("\n").split("\n"), new.removesuffix("\n").split("\n")
    changed = [index for index, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    if changed:
        yield from (f"--- {printable(name)}", f"+++ {printable(name)}")
    beyond = [*changed[MAX_CHANGED:], len(before)][0]
    for first, last in _hunks(changed[:MAX_CHANGED]):
        start, end = max(0, first - _CONTEXT), min(beyond, last + 1 + _CONTEXT)
        yield f"@@ -{start + 1},{end - start} +{start + 1},{end - start} @@"
        yield from _hunk(before[start:end], after[start:end])
    if len(changed) > MAX_CHANGED:
        number = len(changed) - MAX_CHANGED
        yield translated(Message("check.more-lines", "... and {number} more changed lines", number=number))


def _hunks(changed: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and last changed line of each hunk."""
    start = 0
    for index, line in enumerate(changed):
        if index + 1 == len(changed) or changed[index + 1] - line > 2 * _CONTEXT + 1:
            yield changed[start], line
            start = index + 1


def _hunk(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    added: list[str] = []
    for old, new in zip(before, after, strict=True):
        if old == new:
            yield from added
            added = []
            yield " " + _cut(old, 0)
        else:
            change = _first_change(old, new)
            yield "-" + _cut(old, change)
            added.append("+" + _cut(new, change))
    yield from added


def _first_change(old: str, new: str) -> int:
    """The first difference of two lines, by bisection: a scan takes seconds on a line of megabytes."""
    same, end = 0, min(len(old), len(new))
    while same < end:
        middle = (same + end + 1) // 2
        if old[same:middle] == new[same:middle]:
            same = middle
        else:
            end = middle - 1
    return same


def _cut(line: str, change: int) -> str:
    line = line.removesuffix("\r")
    if len(line) <= _WIDTH:
        return printable(line)
    start = max(0, min(change - _WIDTH // 4, len(line) - _WIDTH))
    window = line[start : start + _WIDTH]
    return ("..." if start else "") + printable(window) + ("..." if start + _WIDTH < len(line) else "")
