"""Judge a rank table: read it, recognise it, hold it to every rule, and say where in the text each finding stands.

Stages stop each other, so that one mistake gives one finding: what is not JSON has no structure, what has no structure
has no ranks. A table that is not "completed" is not judged further; that is a warning (HK109), because HCCL waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hccl_kit import formats
from hccl_kit.document import Document, Fault, parse, shown
from hccl_kit.finding import Diagnostic, Finding, Severity
from hccl_kit.products import PRODUCTS, Product
from hccl_kit.rank_table import RankTable
from hccl_kit.rules import ANY_PRODUCT, RULE_BY_ID, RULES

UNKNOWN_FORMAT = "unknown"


@dataclass(frozen=True, slots=True)
class Report:
    """The verdict on one document.

    `format` is the kind of document ("1.0", "template2", ..., "unknown"); `product` the name it was judged by, "auto"
    for what every product that reads version 1.0 accepts; `diagnostics` in the order of the text; `table` None where
    the document holds none that could be judged.
    """

    name: str
    format: str
    product: str
    diagnostics: tuple[Diagnostic, ...]
    table: RankTable | None = None

    @property
    def ok(self) -> bool:
        """No error; warnings and notes may be there."""
        return all(diagnostic.severity != "error" for diagnostic in self.diagnostics)


def check_text(data: bytes | str, name: str, product: Product | None = None) -> Report:
    """Judge a document by the rules of `product`. None: by what every product that reads version 1.0 accepts.

    `name` is the path as the user wrote it; it is judged too (HK008), except for `document.STDIN`. Total: any input
    gives a report.
    """
    document = parse(data, name)
    named = [_diagnostic(fault, document) for fault in document.faults]
    if any(diagnostic.severity == "error" for diagnostic in named):
        return Report(name, UNKNOWN_FORMAT, product.name if product else ANY_PRODUCT, _in_order(named))
    kind = formats.recognise(document.value)
    outcome = _read(document.value, kind, product)
    judge = product or _any_product()
    if isinstance(outcome, RankTable):
        named += _rule_diagnostics(outcome, judge, document)
    else:
        named += [_diagnostic(fault, document) for fault in outcome]
    return Report(
        name=name,
        format=kind.name if kind else UNKNOWN_FORMAT,
        product=judge.name,
        diagnostics=_in_order(named),
        table=outcome if isinstance(outcome, RankTable) else None,
    )


def _read(value: object, kind: formats.Kind | None, product: Product | None) -> RankTable | tuple[Fault, ...]:
    """The table, or why there is none to judge."""
    at = ("version",) if isinstance(value, dict) and "version" in value else ()
    accepted = "accepted: " + ", ".join(f'"{version}"' for version in formats.KNOWN_VERSIONS)
    if kind is None:
        assert isinstance(value, dict)
        return (Fault("HK107", Finding(at, f"version {shown(value['version'])} is unknown; {accepted}")),)
    if kind.version is None:
        hint = "name the file that RANK_TABLE_FILE is to name; it holds server_list"
        return (Fault("HK105", Finding((), f"this is {kind.title}", hint)),)
    is_certain = bool(at) or kind is not formats.SERVER_LIST
    if product and is_certain and kind.version not in product.table_versions:
        reads = " and ".join(_version_in_words(version) for version in product.table_versions)
        message = f"this is {kind.title}; HCCL on {product.title} reads {reads}"
        return (Fault("HK108", Finding(at, message, f"make the table anew for {product.name}")),)
    if kind is not formats.SERVER_LIST:
        return (Fault("HK106", Finding(at, f"this is {kind.title}; this release judges version 1.0 only")),)
    if isinstance(value, dict) and value.get("status") == "initializing":
        message = 'the table is not ready: "status" is "initializing", so nothing else in it is judged yet'
        hint = 'wait for "completed"; HCCL itself looks every second, for up to 1800 s'
        return (Fault("HK109", Finding(("status",), message, hint)),)
    return formats.read(value)


def _version_in_words(version: str) -> str:
    return f"version {version}" if version else "template 2"


def _any_product() -> Product:
    """What every product that reads version 1.0 has in common; topology, where they differ, is left out."""
    readers = [product for product in PRODUCTS if "1.0" in product.table_versions]
    return Product(
        name=ANY_PRODUCT,
        title="any product that reads version 1.0",
        max_device_id=max(product.max_device_id for product in readers),
        table_versions=("1.0",),
    )


def _rule_diagnostics(table: RankTable, product: Product, document: Document) -> Iterator[Diagnostic]:
    for rule in RULES:
        severity = rule.by_product.get(product.name, rule.severity)
        if rule.check and severity:
            for finding in rule.check(table, product):
                yield _diagnostic(Fault(rule.id, finding), document, severity)


def _diagnostic(fault: Fault, document: Document, severity: Severity | None = None) -> Diagnostic:
    rule, finding = RULE_BY_ID[fault.rule], fault.finding
    severity = severity or rule.severity
    return Diagnostic(
        rule=rule.id,
        severity=severity,
        pointer=finding.pointer,
        span=fault.span or document.locate(finding.pointer, on_key=fault.on_key),
        message=finding.message,
        hint=finding.hint,
        hccl_error=rule.hccl_error if severity == "error" else None,
        related=tuple((document.locate(other.pointer), other.message) for other in finding.related),
    )


def _in_order(diagnostics: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(diagnostics, key=lambda found: (found.span.line, found.span.column, found.rule)))
