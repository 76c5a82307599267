"""What a rule says about a document, before and after the engine adds its name and place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from hccl_kit.products import Product
    from hccl_kit.rank_table import RankTable

Pointer = tuple[str | int, ...]
"""The way from the root of a document to a value: keys and indexes (RFC 6901 without the escaping)."""

Severity = Literal["error", "warning", "note"]


def to_json_pointer(pointer: Pointer) -> str:
    """RFC 6901 text: `("server_list", 0)` becomes `/server_list/0`; the whole document is the empty string."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in pointer)


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text: line and column count from 1, column in characters; `width` characters are marked."""

    line: int
    column: int
    width: int = 1


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that explains a finding, such as the first of two equal ranks."""

    pointer: Pointer
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake: where (`pointer`), what was found and what would be accepted (`message`), what to do (`hint`)."""

    pointer: Pointer
    message: str
    hint: str | None = None
    related: tuple[Related, ...] = ()


Check = Callable[["RankTable", "Product"], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the table of rules.

    `id` is never used twice. `hccl_error` is the code the user would have met on the machine, or None where HCCL
    only logs. `severity` is the default, `by_product` what differs for a product name. `check` is None for the rules
    of reading (HK0 text, HK1 schema), which the readers themselves enforce.
    """

    id: str
    title: str
    hccl_error: str | None = None
    severity: Severity = "error"
    by_product: Mapping[str, Severity | None] = field(default_factory=dict)
    check: Check | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding with its rule's id, its severity for the product, and the line and column it points at."""

    rule: str
    severity: Severity
    pointer: Pointer
    span: Span
    message: str
    hint: str | None = None
    hccl_error: str | None = None
    related: tuple[tuple[Span, str], ...] = ()
