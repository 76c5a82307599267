"""The rules for people and programs: one line for each rule, and a page for each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from hccl_kit.base.terminal import in_columns
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
    rows = [(rule.id, rule.name, severities(rule), rule.hccl_error or "-", rule.title) for rule in rules]
    return "\n".join(in_columns(rows, left=range(5)))


def as_markdown(rules: Iterable[Rule[...]]) -> str:
    """A document: the table of all rules, then the page of each; ends with a newline."""
    rules = tuple(rules)
    lines = [
        "# Rules",
        "",
        "<!-- Written by `hccl-kit rules --format markdown`. -->",
        "",
        "`hccl-check` checks tables by HK0 to HK4, `hccl-kit launch` a plan by HK5, `hccl-kit preflight` a server by",
        "HK6; HK7 rules are the causes that `hccl-kit diagnose` reports. `hccl-kit explain HK203` shows a page in the",
        "terminal. --select, --ignore and explain take ids, beginnings of ids and names.",
        "",
        "| family | about |",
        "|---|---|",
        *(f"| {family} | {about} |" for family, about in FAMILIES.items()),
        "",
        "| rule | name | severity | HCCL | kinds | what it finds |",
        "|---|---|---|---|---|---|",
    ]
    for rule in rules:
        link = f"[{rule.id}](#{rule.id.lower()})"
        cells = (link, rule.name, severities(rule), rule.hccl_error or "-", kinds_of(rule), _plain(rule.title))
        lines.append(f"| {' | '.join(cells)} |")
    for rule in rules:
        lines += ["", f"## {rule.id}", "", f"`{rule.name}`: {_plain(rule.title)}.", "", markdown_page(rule)]
    return re.sub(_SOURCE, r"[R\1](sources.md#r\1)", "\n".join(lines)) + "\n"


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
