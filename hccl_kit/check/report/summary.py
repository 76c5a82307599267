"""The last line of a report for people."""

from __future__ import annotations

from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import counted
from hccl_kit.check.result import Report
from hccl_kit.check.rules import RULE_BY_ID
from hccl_kit.table.products import ANY_PRODUCT


def summary(report: Report) -> str:
    """The counts, and the assumptions behind the result: an assumed product, or what was not checked."""
    name = printable(report.name)
    counts = [sum(finding.severity == severity for finding in report.findings) for severity in ("error", "warning")]
    totals = ", ".join(counted(n, word) for n, word in zip(counts, ("error", "warning"), strict=True) if n)
    assumed = f"product {report.product} (derived from the version; change it with --product)"
    if report.table is None:
        return f"{name}: not ready, {totals}" if report.ok else f"{name}: {totals}, so nothing else was checked"
    if not report.ok:
        return f"{name}: {totals}, {assumed}" if report.is_assumed else f"{name}: {totals}"
    unchecked = " (topology not checked: name the product with --product)" if report.product == ANY_PRODUCT else ""
    facts = [
        "ok",
        *([totals] if totals else []),
        *_broken(report),
        f"version {report.format}",
        counted(len(report.table.servers), "server"),
        counted(report.table.world_size, "device"),
        assumed if report.is_assumed else f"product {report.product}{unchecked}",
    ]
    return f"{name}: {', '.join(facts)}"


def _broken(report: Report) -> list[str]:
    """A note if HCCL takes the table although it breaks a rule of the product's manual."""
    warned = {finding.rule for finding in report.findings if finding.severity == "warning"}
    broken = sorted(rule for rule in warned if RULE_BY_ID[rule].from_manual)
    if not broken:
        return []
    return [f"breaks a rule of product {report.product} ({', '.join(broken)}; with --strict an error)"]
