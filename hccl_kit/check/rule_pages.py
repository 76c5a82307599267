"""The rules for people and programs: one line for each rule, a page for each, and the files of docs/rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import in_columns
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import joined, row
from hccl_kit.check.rule import SECTIONS, SEVERITIES, TITLES, TOPOLOGY, Rule
from hccl_kit.table.finding import Severity
from hccl_kit.table.products import ANY_PRODUCT, PRODUCT_NAMES

FAMILIES = {
    "HK0": (Message("check.text", "text"), Message("check.text-about", "the bytes of the file, and its JSON")),
    "HK1": (
        Message("check.structure", "structure"),
        Message("check.structure-about", "the kind of document, its keys and values"),
    ),
    "HK2": (Message("check.identity", "identity"), Message("check.identity-about", "ranks, devices, servers")),
    "HK3": (Message("check.network", "network"), Message("check.network-about", "addresses and ports")),
    TOPOLOGY: (
        Message("check.topology", "topology"),
        Message("check.topology-about", "which cards of a server, and how many"),
    ),
    "HK5": (Message("check.plan", "launch plan"), Message("check.plan-about", "what a launcher requires of a table")),
    "HK6": (
        Message("check.cluster", "server and cluster"),
        Message("check.cluster-about", "host, network and cards, before a job starts"),
    ),
    "HK7": (Message("check.faults", "first faults"), Message("check.faults-about", "what broke a job, by its logs")),
}
"""The rules whose ids begin alike: what they have in common, and what that is in detail."""
LABELS = {
    "What": Message("check.what", "What:"),
    "Why it matters": Message("check.why", "Why it matters:"),
    "Example": Message("check.example", "Example:"),
    "Fix": Message("check.how-to-fix", "Fix:"),
    "HCCL": Message("check.hccl", "HCCL:"),
}
HEADINGS = tuple(LABELS)
"""The headings of every page, in this order."""
PAGES_VERSION = 1
"""Raised when a field of the JSON form changes its meaning or goes away."""
_HEADING = rf"(?m)^({'|'.join(HEADINGS)}):[ ]*"
_SOURCE = r"\bR([1-9][0-9]?)\b"
"""A fact of docs/sources.md."""
_WRITTEN = Message("check.written", "<!-- Written by `pytest tests/check/test_rule_pages.py --update-golden`. -->")
_INDEX = Message(
    "check.index",
    """\
# Rules

{written}

`hccl-check` checks tables by HK0 to HK4, `hccl-kit launch` a plan by HK5, `hccl-kit preflight` a server by
HK6; HK7 rules are the causes that `hccl-kit diagnose` reports. `hccl-kit explain HK203` shows a page in the
terminal. --select, --ignore and explain take ids, beginnings of ids and names.

| family | name | about |
|---|---|---|""",
    written=_WRITTEN,
)
_TABLE = Message("check.table", "| rule | name | what it finds | severity | HCCL | kinds |\n|---|---|---|---|---|---|")
_KINDS = {
    "node": Message("check.kind-node", "node"),
    "all nodes": Message("check.kind-nodes", "all nodes"),
    "logs": Message("check.kind-logs", "logs"),
}
_ALL_KINDS = Message("check.kind-all", "all")


def as_sections(rule: Rule[...]) -> tuple[str, Mapping[str, str]]:
    """The first sentence of a rule's page, and the text under each of its HEADINGS, on one line each."""
    summary, *rest = re.split(_HEADING, rule.page)
    texts = [" ".join(text.split()) for text in rest[1::2]]
    return " ".join(summary.split()), dict(zip(rest[::2], texts, strict=True))


def translated_sections(rule: Rule[...]) -> Mapping[str, str]:
    """The texts of a rule's page in the language of the user, by their LABELS."""
    return {translated(LABELS[name]): translated(text, SECTIONS) for name, text in as_sections(rule)[1].items()}


def severities(rule: Rule[...]) -> Message:
    """The severity by product: "error; not checked on 910 and auto; warning on a3"."""
    groups: dict[Severity | None, list[str]] = {}
    for product in (*PRODUCT_NAMES, ANY_PRODUCT):
        severity = rule.by_product.get(product, rule.severity)
        if severity != rule.severity:
            groups.setdefault(severity, []).append(product)
    text = SEVERITIES[rule.severity]
    for severity, products in groups.items():
        on = Message("check.not-checked-on", "not checked on {products}", products=joined(products))
        if severity:
            name = SEVERITIES[severity]
            on = Message("check.severity-on", "{severity} on {products}", severity=name, products=joined(products))
        text = Message("check.severities", "{first}; {other}", first=text, other=on)
    return text


def kinds_of(rule: Rule[...]) -> str:
    """The kinds of tables or the launchers that a rule is for, or "node", "logs"; "all" if the readers enforce it."""
    if not rule.check and rule.kinds != ("logs",):
        return _ALL_KINDS
    return row([_KINDS.get(kind, kind) for kind in rule.kinds])


def as_lines(rules: Iterable[Rule[...]]) -> str:
    """One line a rule, in the language of the user: id, name, severity by product, HCCL's error, title."""
    rows = [
        (rule.id, rule.name, translated(severities(rule)), rule.hccl_error or "-", translated(rule.title, TITLES))
        for rule in rules
    ]
    return "\n".join(in_columns(rows, left=range(5)))


def page_address(rule: Rule[...]) -> str:
    """The place of a rule in docs/rules: the page of its family, and the anchor on it."""
    return f"{rule.family.lower()}.md#{rule.id.lower()}"


def documents(rules: Sequence[Rule[...]], sources: str = "../sources.md") -> Mapping[str, str]:
    """The files of docs/rules, by name: the index of all rules, and a page for each family.

    They are in the language of the user, so that those of docs/zh/rules are made by the same functions. `sources` is
    the path from there to docs/sources.md, to which the numbers of facts lead.
    """
    pages = {"index.md": _index(rules)}
    for id_ in FAMILIES:
        page = _family_page(id_, [rule for rule in rules if rule.family == id_])
        pages[f"{id_.lower()}.md"] = re.sub(_SOURCE, rf"[R\1]({sources}#r\1)", page)
    return pages


def _index(rules: Iterable[Rule[...]]) -> str:
    """The page with the table of all rules. Each row has the anchor of its rule, which addresses of old use."""
    families = (
        f"| [{id_}]({id_.lower()}.md) | {translated(name)} | {translated(about)} |"
        for id_, (name, about) in FAMILIES.items()
    )
    anchored = (_row(rule, f'<a id="{rule.id.lower()}"></a>') for rule in rules)
    return "\n".join([translated(_INDEX), *families, "", translated(_TABLE), *anchored, ""])


def _family_page(id_: str, rules: Sequence[Rule[...]]) -> str:
    """The page of a family: the table of its rules, then each of them in words."""
    name, about = FAMILIES[id_]
    heading = Message(
        "check.family",
        "# {id}: {name}\n\n{written}\n\nRules about {about}. [All rules](index.md)\n",
        id=id_,
        name=name,
        about=about,
        written=_WRITTEN,
    )
    lines = [translated(heading), translated(_TABLE), *map(_row, rules)]
    for rule in rules:
        title = Message("check.sentence", "{text}.", text=_plain(translated(rule.title, TITLES)))
        lines += [
            f'\n## <a id="{rule.id.lower()}"></a>{rule.id} {rule.name}\n',
            f"{translated(title)}\n",
            markdown_page(translated_sections(rule)),
        ]
    return "\n".join([*lines, ""])


def _row(rule: Rule[...], anchor: str = "") -> str:
    """A row of the table of rules."""
    cells = (
        f"{anchor}[{rule.id}]({page_address(rule)})",
        rule.name,
        _plain(translated(rule.title, TITLES)),
        translated(severities(rule)),
        rule.hccl_error or "-",
        translated(kinds_of(rule)),
    )
    return f"| {' | '.join(cells)} |"


def markdown_page(sections: Mapping[str, str]) -> str:
    """The texts of a rule's page, by their labels, as Markdown; no newline at the end."""
    return "\n\n".join(f"**{label}** {_plain(text)}" for label, text in sections.items())


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
