"""The table of rules as people and programs read it: one line a rule, and a page for each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hccl_kit.check.rules import ANY_PRODUCT
from hccl_kit.table.finding import Rule
from hccl_kit.table.products import PRODUCT_NAMES

HEADINGS = ("What", "Why it matters", "Example", "Fix", "HCCL")
"""Of every page, in this order."""
FAMILIES = {
    "HK0": "the text",
    "HK1": "structure and kind",
    "HK2": "identity: ranks, devices, servers",
    "HK3": "network: addresses and ports",
    "HK4": "topology: which cards of a server, how many",
    "HK5": "plan and way out: what a launcher asks of a table",
    "HK6": "this node: host, network and cards, before a job starts",
}
PAGES_VERSION = 1
"""Raised when a field of the JSON form changes its meaning or goes away."""
_HEADING = re.compile(rf"^({'|'.join(HEADINGS)}):[ ]*", re.MULTILINE)
_SOURCE = re.compile(r"\bR([1-9][0-9]?)\b")
"""A fact of docs/sources.md."""


def as_sections(rule: Rule) -> tuple[str, Mapping[str, str]]:
    """The first sentence of a rule's page, and what stands under each of its HEADINGS, on one line each."""
    summary, *rest = _HEADING.split(rule.page)
    texts = [" ".join(text.split()) for text in rest[1::2]]
    return " ".join(summary.split()), dict(zip(rest[::2], texts, strict=True))


def severities(rule: Rule) -> str:
    """How bad it is, by product: "error; warning on a3; not judged on 910 and auto"."""
    groups: dict[str, list[str]] = {}
    for product in (*PRODUCT_NAMES, ANY_PRODUCT):
        severity = rule.by_product.get(product, rule.severity)
        if severity != rule.severity:
            groups.setdefault(severity or "not judged", []).append(product)
    others = [f"{severity} on {_listed(products)}" for severity, products in groups.items()]
    return "; ".join([rule.severity, *others])


def judged(rule: Rule) -> str:
    """The kinds of documents it looks at, or ways out, or "node"; what the readers enforce holds for all kinds."""
    return "all" if _is_of_reading(rule) else ", ".join(rule.formats)


def _is_of_reading(rule: Rule) -> bool:
    return rule.check is None and rule.id.startswith(("HK0", "HK1"))


def as_lines(rules: Iterable[Rule]) -> str:
    """One line a rule: id, severity by product, HCCL's error, title."""
    return in_columns([(rule.id, severities(rule), rule.hccl_error or "-", rule.title) for rule in rules])


def in_columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of equally many cells as lines whose cells stand under each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join(lines)


def as_markdown(rules: Iterable[Rule]) -> str:
    """A document: the table of all rules, then the page of each; ends with a newline."""
    rules = tuple(rules)
    lines = [
        "# Rules",
        "",
        "Written by `hccl-kit rules --format markdown`; what is changed here is lost. `hccl-kit explain HK203` shows a",
        "page in the terminal, --select and --ignore take ids and beginnings of ids. `hccl-check` judges tables by HK0",
        "to HK4, `hccl-kit launch` a plan by HK5, `hccl-kit preflight` a machine by HK6.",
        "",
        "| family | about |",
        "|---|---|",
        *(f"| {family} | {about} |" for family, about in FAMILIES.items()),
        "",
        "| rule | severity | HCCL | kinds | what it finds |",
        "|---|---|---|---|---|",
    ]
    for rule in rules:
        link = f"[{rule.id}](#{rule.id.lower()})"
        lines.append(f"| {link} | {severities(rule)} | {rule.hccl_error or '-'} | {judged(rule)} | {rule.title} |")
    for rule in rules:
        summary, _ = as_sections(rule)
        lines += ["", f"## {rule.id}", "", _plain(summary), "", markdown_page(rule)]
    return _SOURCE.sub(r"[R\1](sources.md#r\1)", "\n".join(lines)) + "\n"


def markdown_page(rule: Rule) -> str:
    """What stands under the headings of a rule's page; no newline at the end."""
    _, sections = as_sections(rule)
    return "\n\n".join(f"**{heading}:** {_plain(text)}" for heading, text in sections.items())


def as_json(rules: Iterable[Rule]) -> str:
    """Everything about the rules for programs; ASCII. A product that `by_product` does not name has `severity`."""
    return json.dumps({"version": PAGES_VERSION, "rules": [_value(rule) for rule in rules]}, indent=2)


def _value(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "title": rule.title,
        "severity": rule.severity,
        "by_product": dict(rule.by_product),
        "formats": None if _is_of_reading(rule) else list(rule.formats),
        "hccl_error": rule.hccl_error,
        "variables": list(rule.variables),
        "page": rule.page,
    }


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _plain(text: str) -> str:
    """Markdown takes a pair of stars or underscores for emphasis, and <x> for HTML; in code spans it does not."""
    parts = text.split("`")
    return "`".join(re.sub(r"([*_<>|])", r"\\\1", part) if n % 2 == 0 else part for n, part in enumerate(parts))
