"""Filters a report by rule and severity (--select, --ignore, --strict, --quiet)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.typos import nearest
from hccl_kit.check.result import Report
from hccl_kit.check.rule import Rule
from hccl_kit.check.rules import RULES

_NOT_READY = "HK109"
"""A warning after which nothing else is checked."""


def chosen_rules(texts: Iterable[str], among: Sequence[Rule[...]] = RULES) -> frozenset[str]:
    """The ids of the rules that texts such as "HK2,duplicate-device" list, by id, by the beginning of it, or by name.

    Raises KitError with the nearest rule if one of them matches no rule.
    """
    ids: set[str] = set()
    for wanted in [part.strip() for text in texts for part in text.split(",")]:
        matching = [
            rule.id for rule in among if wanted and (rule.id.startswith(wanted.upper()) or rule.name == wanted.lower())
        ]
        if not matching:
            raise KitError(
                "check.no-rule",
                "no rule is named {wanted!r}; accepted: {accepted}",
                fix="hccl-kit rules lists all",
                wanted=wanted,
                accepted=_accepted(wanted, among),
            )
        ids.update(matching)
    return frozenset(ids)


def selection(
    select: Sequence[str] | None, ignore: Sequence[str], among: Sequence[Rule[...]] = RULES
) -> tuple[frozenset[str] | None, frozenset[str]]:
    """The rules of --select (None: all of `among`) and of --ignore; raises KitError if no rule is left of them."""
    selected = chosen_rules(select, among) if select else None
    ignored = chosen_rules(ignore, among)
    if not (frozenset(rule.id for rule in among) if selected is None else selected) - ignored:
        asked = " ".join([*([f"--select {','.join(select)}"] if select else []), f"--ignore {','.join(ignore)}"])
        raise KitError(
            "check.no-rule-left", "no rule is left to check: {options}", fix="ignore fewer rules", options=asked
        )
    return selected, ignored


def narrowed(
    report: Report,
    *,
    select: frozenset[str] | None = None,
    ignore: frozenset[str] = frozenset(),
    strict: bool = False,
    errors_only: bool = False,
) -> Report:
    """The report with the findings of the rules in `select` (None: all) that are not in `ignore`.

    `strict` turns warnings into errors; `errors_only` then drops everything else. A finding that kept the document from
    being checked stays in any case: without it a file that could not be read would look like a good one.
    """
    kept = [
        finding
        for finding in report.findings
        if (report.table is None and (finding.severity == "error" or finding.rule == _NOT_READY))
        or ((select is None or finding.rule in select) and finding.rule not in ignore)
    ]
    if strict:
        kept = [finding._replace(severity="error") if finding.severity == "warning" else finding for finding in kept]
    if errors_only:
        kept = [finding for finding in kept if finding.severity == "error"]
    return report._replace(findings=tuple(kept))


def _accepted(wanted: str, among: Sequence[Rule[...]]) -> Message:
    names, ids = {rule.name: rule for rule in among}, {rule.id: rule for rule in among}
    near = nearest(wanted.lower()[:40], names)
    digits = wanted.upper()[:16].replace("O", "0").replace("I", "1")
    rule = names[near] if near else ids[str(nearest(digits, ids, 0.0))]
    return Message(
        "check.rule-names",
        "an id, its beginning or a name, such as {id}, {family} or {name}",
        id=rule.id,
        family=rule.family,
        name=rule.name,
    )
