"""A rule, its row of facts and its check, and how rules are run on a table, a plan, a server or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Generic, ParamSpec, TypeVar

from hccl_kit.base.message import Message
from hccl_kit.table.finding import Finding, Related, Severity
from hccl_kit.table.pointer import Pointer

Subject = ParamSpec("Subject")
"""What a rule is about, as the arguments of its check: a table and a product, a plan and its table file, a node, ..."""

ALL_KINDS = ("1.0", "1.1", "1.2", "2.0", "template2")
SERVER_KINDS = ("1.0", "1.2", "template2")
"""The kinds of tables that list servers with their cards."""
DUPLICATE = ('"IP" is repeate',)
"""The variable in HCCL's message about a duplicate id or name: misleading, and cut off like this."""
TOPOLOGY = "HK4"


KINDS = {"HK6": ("node",)}
"""The kinds of a family whose rules are for other things than tables, unless a rule names its own."""

TITLES, SECTIONS = "check.title", "check.section"
"""The ids that the titles of all rules share in the catalogue of translations, and the texts of their pages."""
SEVERITIES: Mapping[Severity, Message] = {
    "error": Message("check.error", "error"),
    "warning": Message("check.warning", "warning"),
    "note": Message("check.note", "note"),
}


class Rule(Generic[Subject]):
    """A row of facts; the check yields findings and knows neither its id nor its severity.

    `id` is never reused, `name` is its readable form. `doc` is the docstring of the check: its first sentence is the
    title, the rest is the page under the headings What, Why it matters, Example, Fix, HCCL. The rules of
    `rules.reading` have no check: the readers enforce them.

    `severity` is the default, `by_product` what differs for a product (None: not checked there). `hccl_error` is the
    code that HCCL would report, None if it only logs; `variables` are the names that its message gives the mistake
    ("server_count"). `kinds` are the kinds of tables, or the launchers, that the rule is for; or "node" or "logs".

    `from_manual`: HCCL's parser does not always enforce it. `needs_server`: skipped if the server is not known.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 - the word of users
        name: str,
        check: Callable[Subject, Iterator[Finding]] | None = None,
        *,
        doc: str = "",
        severity: Severity = "error",
        by_product: Mapping[str, Severity | None] = MappingProxyType({}),
        hccl_error: str | None = None,
        variables: tuple[str, ...] = (),
        kinds: tuple[str, ...] = (),
        from_manual: bool = False,
        needs_server: bool = False,
    ) -> None:
        self.id, self.name, self.check = id, name, check
        self.doc = (check.__doc__ if check else doc) or ""
        self.severity, self.by_product = severity, by_product
        self.hccl_error, self.variables = hccl_error, variables
        self.kinds = kinds or KINDS.get(self.family, ("1.0", "1.2"))
        self.from_manual, self.needs_server = from_manual, needs_server

    def __repr__(self) -> str:
        return f"Rule({self.id} {self.name})"

    @property
    def family(self) -> str:
        """The first part of the id, a key of FAMILIES."""
        return self.id[:3]

    @property
    def title(self) -> str:
        """The first sentence of the page, without its full stop."""
        return " ".join(self.doc.strip().partition("\n\n")[0].split()).removesuffix(".")

    @property
    def page(self) -> str:
        """The rule in words, under the headings What, Why it matters, Example, Fix, HCCL."""
        first, _, rest = self.doc.partition("\n")
        text = rest.lstrip("\n")
        margin = len(text) - len(text.lstrip(" "))
        return f"{first}\n{rest}".replace("\n" + " " * margin, "\n").strip()

    def complete(self, finding: Finding, severity: Severity | None = None) -> Finding:
        """The finding with the id, the name, the severity and HCCL's code of this rule; only errors have a code."""
        severity = severity or self.severity
        code = self.hccl_error if finding.hccl_error is None else finding.hccl_error or None
        return finding._replace(
            rule=self.id, name=self.name, severity=severity, hccl_error=code if severity == "error" else None
        )


def run(
    rules: Iterable[Rule[Subject]], product: str, *subject: Subject.args, **named: Subject.kwargs
) -> Iterator[Finding]:
    """All findings on the subject, in the order of the rules; `product` decides their severity."""
    for rule in rules:
        severity = rule.by_product.get(product, rule.severity)
        if rule.check and severity:
            for finding in rule.check(*subject, **named):
                yield rule.complete(finding, severity)


def in_order(*groups: Iterable[Rule[Subject]]) -> tuple[Rule[Subject], ...]:
    """The rules of several modules in the order of their ids."""
    return tuple(sorted((rule for group in groups for rule in group), key=lambda rule: rule.id))


Key = TypeVar("Key", bound=Hashable)
Owner = TypeVar("Owner")


def repeated(pairs: Iterable[tuple[Key, Owner]]) -> Iterator[tuple[Key, Owner, Owner]]:
    """Every key that an earlier pair has too, with its owner and its first owner."""
    first: dict[Key, Owner] = {}
    for key, owner in pairs:
        if key in first:
            yield key, owner, first[key]
        else:
            first[key] = owner


def same_for(others: int) -> Message | str:
    """The end of a message that is reported once, with the number of the other places; "" without others."""
    return Message("check.same-for", "; the same holds for {count} more", count=others) if others else ""


def first_defined(at: Pointer) -> tuple[Related, ...]:
    """The reference from a duplicate to the place of the first."""
    return (Related(at, Message("check.first-defined", "first defined")),)
