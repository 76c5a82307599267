"""The rules for people and programs: one line for each rule, a page for each, and the files of docs/rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hccl_kit.base.wording import joined
from hccl_kit.check.rule import FAMILIES, Rule
from hccl_kit.table.products import ANY_PRODUCT, PRODUCT_NAMES

HEADINGS = ("What", "Why it matters", "Example", "Fix", "HCCL")
"""The headings of every page, in this order."""
PAGES_VERSION = 1
"""Raised when a field of the JSON form changes its meaning or goes away."""
_HEADING = rf"(?m)^({'|'.join(HEADINGS)}):[ ]*"
_SOURCE = r"\bR([1-9][0-9]?)\b"
"""A fact of docs/sources.md."""
_WRITTEN = "<!-- Written by `pytest tests/check/test_rule_pages.py --update-golden`. -->"
_INDEX = f"""\
# Rules

{_WRITTEN}

`hccl-check` checks tables by HK0 to HK4, `hccl-kit launch` a plan by HK5, `hccl-kit preflight` a server by
HK6; HK7 rules are the causes that `hccl-kit diagnose` reports. `hccl-kit explain HK203` shows a page in the
terminal. --select, --ignore and explain take ids, beginnings of ids and names.

| family | name | about |
|---|---|---|"""
_TABLE = "| rule | name | severity | HCCL | kinds | what it finds |\n|---|---|---|---|---|---|"


def as_sections(rule: Rule[...]) -> tuple[str, Mapping[str, str]]:
    """The first sentence of a rule's page, and the text under each of its HEADINGS, on one line each."""
    summary, *rest = re.split(_HEADING, rule.page)
    texts = [" ".join(text.split()) for text in rest[1::2]]
    return " ".join(summary.split()), dict(zip(rest[::2], texts, strict=True))


def severities(rule: Rule[...]) -> str:
    """The severity by product: "error; warning on a3; not checked on 910 and auto"."""
    groups: dict[str, list[str]] = {}
    for product in (*PRODUCT_NAMES, ANY_PRODUCT):
        severity = rule.by_product.get(product, rule.severity)
        if severity != rule.severity:
            groups.setdefault(severity or "not checked", []).append(product)
    others = [f"{severity} on {joined(products)}" for severity, products in groups.items()]
    return "; ".join([rule.severity, *others])


def kinds_of(rule: Rule[...]) -> str:
    """The kinds of tables or the launchers that a rule is for, or "node", "logs"; "all" if the readers enforce it."""
    return ", ".join(rule.kinds) if rule.check or rule.kinds == ("logs",) else "all"


def as_lines(rules: Iterable[Rule[...]]) -> str:
    """One line a rule: id, name, severity by product, HCCL's error, title."""
    return in_columns([(rule.id, rule.name, severities(rule), rule.hccl_error or "-", rule.title) for rule in rules])


def in_columns(rows: Sequence[Sequence[str]]) -> str:
    """Format rows as an aligned text table."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join(lines)


def page_address(rule: Rule[...]) -> str:
    """The place of a rule in docs/rules: the page of its family, and the anchor on it."""
    return f"{rule.family.lower()}.md#{rule.id.lower()}"


def documents(rules: Sequence[Rule[...]], sources: str = "../sources.md") -> Mapping[str, str]:
    """The files of docs/rules, by name: the index of all rules, and a page for each family.

    `sources` is the path from there to docs/sources.md, to which the numbers of facts lead.
    """
    pages = {"index.md": _index(rules)}
    for family in FAMILIES:
        page = _family([rule for rule in rules if rule.family == family], family)
        pages[f"{family.lower()}.md"] = re.sub(_SOURCE, rf"[R\1]({sources}#r\1)", page)
    return pages


def _index(rules: Iterable[Rule[...]]) -> str:
    """The page with the table of all rules. Each row has the anchor of its rule, which addresses of old use."""
    families = (f"| [{id_}]({id_.lower()}.md) | {family.name} | {family.about} |" for id_, family in FAMILIES.items())
    anchored = (_row(rule, f'<a id="{rule.id.lower()}"></a>') for rule in rules)
    return "\n".join([_INDEX, *families, "", _TABLE, *anchored, ""])


def _family(rules: Sequence[Rule[...]], id_: str) -> str:
    """The page of a family: the table of its rules, then each of them in words."""
    family = FAMILIES[id_]
    lines = [
        f"# {id_}: {family.name}\n",
        f"{_WRITTEN}\n",
        f"Rules about {family.about}. [All rules](index.md)\n",
        _TABLE,
        *map(_row, rules),
    ]
    for rule in rules:
        lines += [
            f'\n## <a id="{rule.id.lower()}"></a>{rule.id} {rule.name}\n',
            f"{_plain(rule.title)}.\n",
            markdown_page(rule),
        ]
    return "\n".join([*lines, ""])


def _row(rule: Rule[...], anchor: str = "") -> str:
    """A row of the table of rules."""
    link = f"{anchor}[{rule.id}]({page_address(rule)})"
    cells = (link, rule.name, severities(rule), rule.hccl_error or "-", kinds_of(rule), _plain(rule.title))
    return f"| {' | '.join(cells)} |"


def markdown_page(rule: Rule[...]) -> str:
    """The sections of a rule's page as Markdown; no newline at the end."""
    _, sections = as_sections(rule)
    return "\n\n".join(f"**{heading}:** {_plain(text)}" for heading, text in sections.items())


def as_json(rules: Iterable[Rule[...]]) -> str:
    """All rules as JSON; ASCII. A product that is not in `by_product` has `severity`."""
    return json.dumps({"version": PAGES_VERSION, "rules": [_value(rule) for rule in rules]}, indent=2)


def _value(rule: Rule[...]) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.name,
        "title": rule.title,
        "severity": rule.severity,
        "by_product": dict(rule.by_product),
        "formats": list(rule.kinds) if rule.check else None,
        "hccl_error": rule.hccl_error,
        "variables": list(rule.variables),
        "page": rule.page,
    }


def _plain(text: str) -> str:
    """Escape what Markdown takes for emphasis, HTML or the end of a table cell, outside code spans."""
    parts = text.split("`")
    return "`".join(re.sub(r"([*_<>|])", r"\\\1", part) if n % 2 == 0 else part for n, part in enumerate(parts))
