"""Check a rank table: document, kind, table, rules, findings, report.

A stage runs only if the one before it finds no error, so that one mistake gives one finding: what is not JSON has no
structure, what has no structure has no ranks. A table that is "initializing" is not checked further; that is a warning
(HK109), because HCCL waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined, row
from hccl_kit.check.result import UNKNOWN_FORMAT, Report
from hccl_kit.check.rule import run
from hccl_kit.check.rules import RULE_BY_ID, RULES
from hccl_kit.table import formats
from hccl_kit.table.document import WHOLE_FILE, Document, of_value, parse, shown
from hccl_kit.table.finding import MAX_FINDINGS, NOWHERE, Finding
from hccl_kit.table.formats import kinds
from hccl_kit.table.hccl_parser.first_error import first_error
from hccl_kit.table.model import RankTable
from hccl_kit.table.pointer import Pointer, Span
from hccl_kit.table.products import ANY_PRODUCT, Product, any_product, only_reader
from hccl_kit.table.source import HCCL_MAX_BYTES


def check_text(data: bytes | str, name: str, product: Product | None = None) -> Report:
    """Check a document by the rules of `product`. None: of the only product that reads its version, or by those that
    all products that read it have in common.

    `name` is the path as the user wrote it; it is checked too (HK008), except for `source.STDIN`. Total: any input
    gives a report.
    """
    return check_document(parse(data, name), product)


def check_table(table: RankTable, name: str, product: Product | None = None) -> tuple[str, Report]:
    """The text of a table that is to be written to the file `name`, and the report on it."""
    value = formats.to_value(table)
    text = formats.as_text(value)
    return text, check_document(of_value(value, text, name), product)


def check_document(
    document: Document, product: Product | None = None, *, limit: int = MAX_FINDINGS, has_code: bool = True
) -> Report:
    """As `check_text`, for a parsed document; `limit` is the maximum number of findings of its structure.

    If `has_code` is false, the first error of HCCL's parser is not determined: that takes as long as the rules.
    """
    of_text = [_completed(finding, document) for finding in _findings_of_text(document)]
    if any(finding.severity == "error" for finding in of_text):
        unread = product.name if product else ANY_PRODUCT
        findings = _in_order(of_text)
        code = next(finding.hccl_error for finding in findings if finding.severity == "error")
        return Report(document.name, UNKNOWN_FORMAT, unread, findings, hccl_error=code)
    kind = kinds.recognise(document.value)
    basis = product or (kind and only_reader(kind.version)) or any_product()
    table, of_reading = _read(document, kind, product, limit)
    of_rules = _findings_of_rules(table, kind, basis) if table and kind else ()
    report = Report(
        name=document.name,
        format=kind.name if kind else UNKNOWN_FORMAT,
        product=basis.name,
        findings=_in_order(
            [
                *of_text,
                *(_completed(finding, document) for finding in of_reading),
                *(_located(finding, document) for finding in of_rules),
            ]
        ),
        table=table,
        is_assumed=product is None and basis.name != ANY_PRODUCT,
    )
    errors = {finding.rule for finding in report.findings if finding.severity == "error"}
    if not has_code or errors <= {"HK007"}:  # HCCL does not read a file that is too large
        return report
    return _with_code(report, first_error(document.value, basis) or None)


def _findings_of_text(document: Document) -> Sequence[Finding]:
    """The findings of the text; if it is a known kind of text, only the finding for that."""
    is_json = all(finding.rule != "HK001" for finding in document.findings)
    recognised = None if is_json else kinds.kind_of_text(document.text)
    if recognised is None:
        return document.findings
    kind, offset = recognised
    column = offset - document.text.rfind("\n", 0, offset)
    return [_no_rank_table(kind, Span(document.text.count("\n", 0, offset) + 1, column, 4))]


def _read(
    document: Document, kind: kinds.Kind | None, product: Product | None, limit: int
) -> tuple[RankTable | None, Iterable[Finding]]:
    """The table of a document, and what is wrong with its size, its kind or its structure."""
    findings = [*_findings_of_size(document, kind), *_findings_of_kind(document.value, kind, product)]
    if kind is None or any(finding.rule != "HK007" for finding in findings):
        return None, findings
    outcome = formats.read(document.value, kind, limit)
    return (outcome, findings) if isinstance(outcome, RankTable) else (None, [*findings, *outcome])


def _findings_of_size(document: Document, kind: kinds.Kind | None) -> Iterator[Finding]:
    if kind and kind is not kinds.RANK_LIST and document.size > HCCL_MAX_BYTES:
        message = Message(
            "HK007.size",
            "the file is larger than {limit} MiB, the most that HCCL reads of {kind}",
            limit=HCCL_MAX_BYTES >> 20,
            kind=kind.title,
        )
        yield Finding(message, span=WHOLE_FILE, rule="HK007")


def _no_rank_table(kind: kinds.Kind, span: Span = NOWHERE) -> Finding:
    message = Message("HK105.kind", "this is {kind}", kind=kind.title)
    return Finding(message, kind.advice, span=span, rule="HK105")


def _findings_of_kind(value: Any, kind: kinds.Kind | None, product: Product | None) -> Iterator[Finding]:
    """What is wrong with the document before its structure is checked, at most one finding."""
    at = ("version",) if isinstance(value, dict) and "version" in value else ()
    if kind is None:
        accepted = row(f'"{version}"' for version in kinds.KNOWN_VERSIONS)
        message = Message(
            "HK107.unknown",
            "version {version} is unknown; accepted: {accepted}",
            version=shown(value["version"]),
            accepted=accepted,
        )
        yield Finding(message, pointer=at, rule="HK107")
    elif kind.version is None:
        yield _no_rank_table(kind)
    elif key := kinds.other_list(value, kind):
        yield _another_list(value, key)
    elif product and (at or kind is not kinds.SERVER_LIST) and not _reads(product, kind):
        yield _another_generation(at, kind, product)
    elif kind is kinds.RANK_LIST and kinds.is_draft(value):
        message = Message(
            "HK113.draft", "this is a draft of version 2.0: its levels have other keys than HCCL's parser requires"
        )
        hint = Message("HK113.fix", "generate it again with the tool of the installed release")
        yield Finding(message, hint, pointer=("rank_list", 0, "level_list", 0), rule="HK113")
    elif kinds.is_unfinished(value, kind):
        message = Message(
            "HK109.initializing",
            'the table is not ready: "status" is "initializing", so nothing else in it is checked yet',
        )
        hint = Message("HK109.fix", 'wait for "completed"; HCCL itself checks every second, for up to 1800 s')
        yield Finding(message, hint, pointer=("status",), rule="HK109")


def _another_list(value: Any, key: str) -> Finding:
    message = Message(
        "HK112.list",
        "the version is {version}, and the file holds {key}, which belongs to {versions}",
        version=shown(value["version"]),
        key=key,
        versions=joined(map(_in_words, kinds.LISTS[key])),
    )
    right = [f'"version": "{version}"' for version in kinds.LISTS[key] if version]
    hint = Message("HK112.remove.fix", "remove the version, or generate the table again")
    if right:
        hint = Message("HK112.fix", "write {versions}, or generate the table again", versions=joined(right, "or"))
    return Finding(message, hint, pointer=("version",), rule="HK112")


def _in_words(version: str) -> Message:
    if not version:
        return Message("check.template-2", "template 2")
    return Message("check.version", "version {version}", version=version)


def _reads(product: Product, kind: kinds.Kind) -> bool:
    """A product that reads 1.0 reads 1.2: HCCL has one parser for both, which skips what the product lacks (HK111).

    The parser of 1.1 is separate and does not depend on the product.
    """
    return kind.version in product.table_versions or (
        kind in (kinds.SUPER_PODS, kinds.NODE_LIST) and "1.0" in product.table_versions
    )


def _another_generation(at: Pointer, kind: kinds.Kind, product: Product) -> Finding:
    message = Message(
        "HK108.generation",
        "this is {kind}; HCCL on {product} reads {versions}",
        kind=kind.title,
        product=product.title,
        versions=joined(map(_in_words, product.table_versions)),
    )
    hint = Message("HK108.fix", "generate the table again for {product}", product=product.name)
    return Finding(message, hint, pointer=at, rule="HK108")


def _findings_of_rules(table: RankTable, kind: kinds.Kind, product: Product) -> Iterator[Finding]:
    rules = [rule for rule in RULES if kind.name in rule.kinds]
    return (formats.placed(finding, kind) for finding in run(rules, product.name, table, product))


def _completed(finding: Finding, document: Document) -> Finding:
    return _located(RULE_BY_ID[finding.rule].complete(finding), document)


def _located(finding: Finding, document: Document) -> Finding:
    """The finding with its places in the text, unless a reader has already set its place."""
    has_place = finding.span != NOWHERE
    return finding._replace(
        span=finding.span if has_place else document.locate(finding.pointer, on_key=finding.on_key),
        related=tuple(other._replace(span=document.locate(other.pointer)) for other in finding.related),
    )


def _in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: (finding.span.line, finding.span.column, finding.rule)))


def _with_code(report: Report, code: str | None) -> Report:
    """The report with the code that HCCL reports first. If there is only one error, it gets this code too."""
    errors = [index for index, finding in enumerate(report.findings) if finding.severity == "error"]
    findings = [*report.findings]
    if len(errors) == 1:
        findings[errors[0]] = findings[errors[0]]._replace(hccl_error=code)
    return report._replace(findings=tuple(findings), hccl_error=code)
