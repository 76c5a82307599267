"""Judge a rank table: read it, recognise it, hold it to every rule, and say where in the text each finding stands.

Stages stop each other, so that one mistake gives one finding: what is not JSON has no structure, what has no structure
has no ranks. A table that is not "completed" is not judged further; that is a warning (HK109), because HCCL waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hccl_kit.check.rules import ANY_PRODUCT, RULE_BY_ID, RULES
from hccl_kit.table import formats
from hccl_kit.table.document import HCCL_MAX_BYTES, WHOLE_FILE, Document, Fault, parse, shown
from hccl_kit.table.finding import Diagnostic, Finding, Rule, Severity
from hccl_kit.table.formats.kinds import config_map_in, is_draft, is_unfinished, other_list, versions_of
from hccl_kit.table.model import RankTable
from hccl_kit.table.pointer import Pointer, Span
from hccl_kit.table.products import PRODUCTS, Product, find_product

if TYPE_CHECKING:
    from hccl_kit.table.hccl_parser.reading import Stop

UNKNOWN_FORMAT = "unknown"


class Report(NamedTuple):
    """The verdict on one document.

    `format` is the kind of document ("1.0", "template2", ..., "unknown"); `product` the name it was judged by, "auto"
    for what every product that reads the version accepts; `is_assumed` where the version alone told the product;
    `diagnostics` in the order of the text; `table` None where the document holds none that could be judged;
    `hccl_error` the first code that HCCL reports of a table with errors: None where it gives none, or takes the table.
    """

    name: str
    format: str
    product: str
    diagnostics: tuple[Diagnostic, ...]
    table: RankTable | None = None
    is_assumed: bool = False
    hccl_error: str | None = None

    @property
    def ok(self) -> bool:
        """No error; warnings and notes may be there."""
        return all(diagnostic.severity != "error" for diagnostic in self.diagnostics)


def check_text(data: bytes | str, name: str, product: Product | None = None) -> Report:
    """Judge a document by the rules of `product`. None: by the only product that reads its version, or by what all
    products that read it accept.

    `name` is the path as the user wrote it; it is judged too (HK008), except for `document.STDIN`. Total: any input
    gives a report.
    """
    return check_document(parse(data, name), product)


def check_document(document: Document, product: Product | None = None, *, limit: int = formats.MAX_FAULTS) -> Report:
    """As `check_text`, of a document that was parsed before; `limit` is to the faults of its structure."""
    named = [_diagnostic(fault, document) for fault in _in_other_clothes(document)]
    if any(diagnostic.severity == "error" for diagnostic in named):
        unread = product.name if product else ANY_PRODUCT
        return _coded(Report(document.name, UNKNOWN_FORMAT, unread, _in_order(named)))
    kind = formats.recognise(document.value)
    judge = product or (find_product(kind.product) if kind and kind.product else any_product())
    faults = [*_faults_of_kind(document.value, kind, product)]
    table = None
    if kind and kind is not formats.RANK_LIST and document.size > HCCL_MAX_BYTES:
        message = f"the file is larger than {HCCL_MAX_BYTES >> 20} MiB, the most that HCCL reads of {kind.title}"
        named.append(_diagnostic(Fault("HK007", Finding((), message), WHOLE_FILE), document))
    if kind and not faults:
        outcome = formats.read(document.value, kind, limit)
        if isinstance(outcome, RankTable):
            table = outcome
            named += _rule_diagnostics(table, kind, judge, document)
        else:
            faults += outcome
    named += [_diagnostic(fault, document) for fault in faults]
    report = Report(
        name=document.name,
        format=kind.name if kind else UNKNOWN_FORMAT,
        product=judge.name,
        diagnostics=_in_order(named),
        table=table,
        is_assumed=product is None and judge.name != ANY_PRODUCT,
    )
    if report.ok:
        return report
    from hccl_kit.table.hccl_parser.first_error import first_error  # noqa: PLC0415 - 3 ms, which a table without error need not pay

    return _stopped(report, first_error(document.value, judge))


def _coded(report: Report) -> Report:
    """With the code of the first error in the text, of a document that is not looked into."""
    errors = [found for found in report.diagnostics if found.severity == "error"]
    return report._replace(hccl_error=errors[0].hccl_error if errors else None)


def _stopped(report: Report, found: Stop | None) -> Report:
    """With the code that HCCL reports first. Where there is one error, this is the code of that one."""
    code = found.code if found else None
    errors = [index for index, one in enumerate(report.diagnostics) if one.severity == "error"]
    diagnostics = [*report.diagnostics]
    if len(errors) == 1:
        diagnostics[errors[0]] = diagnostics[errors[0]]._replace(hccl_error=code)
    return report._replace(diagnostics=tuple(diagnostics), hccl_error=code)


def _in_other_clothes(document: Document) -> Sequence[Fault]:
    """The faults of the text; where it is no JSON because it is a ConfigMap in YAML, that alone."""
    found = config_map_in(document.text) if any(fault.rule == "HK001" for fault in document.faults) else None
    if found is None:
        return document.faults
    kind, line = found[0], document.text.count("\n", 0, found[1]) + 1
    return [Fault("HK105", Finding((), f"this is {kind.title}", kind.advice), Span(line, 1, len("kind")))]


def _faults_of_kind(value: Any, kind: formats.Kind | None, product: Product | None) -> Iterator[Fault]:
    """What is to be said about the document before its structure is looked at, at most one thing."""
    at = ("version",) if isinstance(value, dict) and "version" in value else ()
    if kind is None:
        accepted = "accepted: " + ", ".join(f'"{version}"' for version in formats.KNOWN_VERSIONS)
        yield Fault("HK107", Finding(at, f"version {shown(value['version'])} is unknown; {accepted}"))
    elif kind.version is None:
        yield Fault("HK105", Finding((), f"this is {kind.title}", kind.advice))
    elif key := other_list(value, kind):
        yield _another_list(value, key)
    elif product and (at or kind is not formats.SERVER_LIST) and not _reads(product, kind):
        yield _another_generation(at, kind, product)
    elif kind is formats.RANK_LIST and is_draft(value):
        message = "this is a draft of version 2.0: its levels have other keys than HCCL's parser asks for"
        hint = "make it anew with the tool of the release that is installed"
        yield Fault("HK113", Finding(("rank_list", 0, "level_list", 0), message, hint))
    elif is_unfinished(value, kind):
        message = 'the table is not ready: "status" is "initializing", so nothing else in it is judged yet'
        hint = 'wait for "completed"; HCCL itself looks every second, for up to 1800 s'
        yield Fault("HK109", Finding(("status",), message, hint))


def _another_list(value: Any, key: str) -> Fault:
    belongs = " and ".join(f"version {version}" if version else "template 2" for version in versions_of(key))
    message = f"the version is {shown(value['version'])}, and the file holds {key}, which belongs to {belongs}"
    right = " or ".join(f'"version": "{version}"' for version in versions_of(key) if version)
    hint = f"write {right}" if right else "remove the version"
    return Fault("HK112", Finding(("version",), message, f"{hint}, or make the table anew"))


def _reads(product: Product, kind: formats.Kind) -> bool:
    """Where 1.0 is read, so is 1.2: HCCL has one parser for both, which skips what the product has not (HK111).

    That of 1.1 stands beside it and asks for no product.
    """
    return kind.version in product.table_versions or (
        kind in (formats.SUPER_PODS, formats.NODE_LIST) and "1.0" in product.table_versions
    )


def _another_generation(at: Pointer, kind: formats.Kind, product: Product) -> Fault:
    reads = " and ".join(f"version {version}" if version else "template 2" for version in product.table_versions)
    message = f"this is {kind.title}; HCCL on {product.title} reads {reads}"
    return Fault("HK108", Finding(at, message, f"make the table anew for {product.name}"))


def any_product() -> Product:
    """What every product that reads version 1.0 has in common; topology, where they differ, is left out."""
    readers = [product for product in PRODUCTS if "1.0" in product.table_versions]
    return Product(
        name=ANY_PRODUCT,
        title="any product that reads version 1.0",
        max_device_id=max(product.max_device_id for product in readers),
        table_versions=("1.0",),
    )


def _rule_diagnostics(
    table: RankTable, kind: formats.Kind, product: Product, document: Document
) -> Iterator[Diagnostic]:
    for rule in RULES:
        severity = rule.by_product.get(product.name, rule.severity)
        if rule.check and severity and kind.name in rule.formats:
            for finding in rule.check(table, product):
                yield _diagnostic(Fault(rule.id, formats.placed(finding, kind)), document, severity)


def _diagnostic(fault: Fault, document: Document, severity: Severity | None = None) -> Diagnostic:
    rule, finding = RULE_BY_ID[fault.rule], fault.finding
    severity = severity or rule.severity
    return Diagnostic(
        rule=rule.id,
        severity=severity,
        pointer=finding.pointer,
        span=fault.span or document.locate(finding.pointer, on_key=fault.on_key or finding.on_key),
        message=finding.message,
        hint=finding.hint,
        hccl_error=_code(rule, finding) if severity == "error" else None,
        related=tuple((document.locate(other.pointer), other.message) for other in finding.related),
        fix=finding.fix,
    )


def _code(rule: Rule, finding: Finding) -> str | None:
    return rule.hccl_error if finding.hccl_error is None else finding.hccl_error or None


def _in_order(diagnostics: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(diagnostics, key=lambda found: (found.span.line, found.span.column, found.rule)))
