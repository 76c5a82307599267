"""A verdict as far as somebody wants to hear it: some rules only, warnings as errors, errors only."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.check.engine import Report
from hccl_kit.check.rules import RULE_BY_ID
from hccl_kit.table.finding import Diagnostic

NOT_READY = "HK109"
"""The one warning after which nothing else of a document is judged."""


def chosen_rules(texts: Iterable[str], among: Collection[str] = RULE_BY_ID) -> frozenset[str]:
    """The ids of the rules that texts such as "HK2,HK301" name, by id or by the beginning of it.

    KitError with the nearest id for one that names no rule.
    """
    ids: set[str] = set()
    for name in [part.strip() for text in texts for part in text.split(",")]:
        found = [rule for rule in among if name and rule.startswith(name.upper())]
        if not found:
            raise KitError(
                f"no rule is named {name!r}; accepted: {_accepted(name, among)}", hint="hccl-kit rules lists all"
            )
        ids.update(found)
    return frozenset(ids)


def selection(
    select: Sequence[str] | None, ignore: Sequence[str], among: Collection[str] = RULE_BY_ID
) -> tuple[frozenset[str] | None, frozenset[str]]:
    """The rules of --select (None: all of `among`) and of --ignore; raises KitError if no rule is left of them."""
    selected = chosen_rules(select, among) if select else None
    ignored = chosen_rules(ignore, among)
    if not (frozenset(among) if selected is None else selected) - ignored:
        asked = f" --select {','.join(select)}" if select else ""
        raise KitError(f"no rule is left to check:{asked} --ignore {','.join(ignore)}", hint="name fewer with --ignore")
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

    `strict` makes errors of warnings; `errors_only` drops what is none then. What kept a document from being judged
    at all stays, whatever is chosen: without it a file that nobody could read would look like a good one.
    """
    kept = [
        found
        for found in report.diagnostics
        if _stops(report, found) or ((select is None or found.rule in select) and found.rule not in ignore)
    ]
    if strict:
        kept = [found._replace(severity="error") if found.severity == "warning" else found for found in kept]
    if errors_only:
        kept = [found for found in kept if found.severity == "error"]
    return report._replace(diagnostics=tuple(kept))


def _stops(report: Report, found: Diagnostic) -> bool:
    return report.table is None and (found.severity == "error" or found.rule == NOT_READY)


def _accepted(name: str, among: Collection[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - 5 ms, and only after a slip

    digits = name.upper()[:16].replace("O", "0").replace("I", "1")
    near = get_close_matches(digits, among, n=1, cutoff=0.0) if name else []
    return f"an id or its beginning, such as HK2 or {near[0] if near else 'HK201'}"
