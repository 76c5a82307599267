"""What a rule says about a document, before and after the engine adds its name and place.

Tuples and no dataclasses: these are made at every start, and a class of the other sort takes half a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from hccl_kit.table.pointer import Pointer, Span

if TYPE_CHECKING:
    from hccl_kit.table.model import RankTable
    from hccl_kit.table.products import Product

Severity = Literal["error", "warning", "note"]


class Related(NamedTuple):
    """Another place that explains a finding, such as the first of two equal ranks."""

    pointer: Pointer
    message: str


class Edit(NamedTuple):
    """The value at `pointer`, which is no object and no array, becomes `text`, which is JSON; or its key, `on_key`."""

    pointer: Pointer
    text: str
    on_key: bool = False


NO_CODE = ""
"""HCCL refuses what is found without a code, or takes it."""


class Finding(NamedTuple):
    """One mistake: where (`pointer`), what was found and what would be accepted (`message`), what to do (`hint`).

    `fix` mends it, where there is one right answer; empty where a person has to choose. `on_key`: the key of the
    value at `pointer` is the mistake. `hccl_error` is the code where it is not that of the rule, NO_CODE for none.
    """

    pointer: Pointer
    message: str
    hint: str | None = None
    related: tuple[Related, ...] = ()
    fix: tuple[Edit, ...] = ()
    on_key: bool = False
    hccl_error: str | None = None


Check = Callable[["RankTable", "Product"], Iterator[Finding]]


class Rule(NamedTuple):
    """A row of the table of rules.

    `id` is never used twice. `hccl_error` is the code the user would have met on the machine, or None where HCCL
    only logs; `variables` are the names that its message gives the fault ("server_count"). `severity` is the default,
    `by_product` what differs for a product name (None: not judged). `check` judges tables of the kinds in `formats`;
    it is None for the rules of reading (HK0 text, HK1 structure), which the readers enforce and `doc` describes.
    """

    id: str
    title: str
    hccl_error: str | None = None
    severity: Severity = "error"
    by_product: Mapping[str, Severity | None] = MappingProxyType({})
    check: Check | None = None
    formats: tuple[str, ...] = ("1.0", "1.2")
    variables: tuple[str, ...] = ()
    doc: str = ""

    @property
    def page(self) -> str:
        """The rule in words, under the headings What, Why it matters, Example, Fix, HCCL."""
        from inspect import cleandoc  # noqa: PLC0415 - 5 ms, which a check of a good table need not pay

        return cleandoc((self.check.__doc__ if self.check else self.doc) or "")


class Diagnostic(NamedTuple):
    """A finding with its rule's id, its severity for the product, and the line and column it points at."""

    rule: str
    severity: Severity
    pointer: Pointer
    span: Span
    message: str
    hint: str | None = None
    hccl_error: str | None = None
    related: tuple[tuple[Span, str], ...] = ()
    fix: tuple[Edit, ...] = ()
