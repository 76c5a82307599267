"""Fix what has exactly one correct value in the text of a rank table, and leave every other character unchanged.

Rules and readers propose the edits (`Finding.fix`). The text is edited and checked in rounds, since one mistake may
hide another: a misspelled key hides the number without quotes behind it. What needs a choice, such as a duplicate rank
or a missing value, stays and is reported.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import counted, joined
from hccl_kit.check.engine import check_document
from hccl_kit.check.line_diff import line_diff
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
