"""A finding: one mistake in a rank table, a launch plan, a server or a cluster."""

from typing import Literal, NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.table.pointer import Pointer, Span

Severity = Literal["error", "warning", "note"]

NOWHERE = Span(0, 0, 0)
"""The place of a finding that is not located in a text."""
MAX_FINDINGS = 100
"""With more errors than this, the program that wrote the file is at fault; a longer list does not help."""
MISSING, INVALID = "EI0017", "EI0014"
"""The codes that HCCL reports for most errors of a table: a key is missing, a value is not valid."""
NO_CODE = ""
"""The `hccl_error` of a finding for which HCCL reports no code, although its rule has one."""


class Related(NamedTuple):
    """Another place that explains a finding, such as the first of two equal ranks."""

    pointer: Pointer
    message: str
    span: Span = NOWHERE


class Edit(NamedTuple):
    """Replaces the value at `pointer`, which is not an object or an array, by the JSON `text`; or its key, `on_key`."""

    pointer: Pointer
    text: str
    on_key: bool = False


class Finding(NamedTuple):
    """One mistake: what was found and what would be accepted (`message`), and what to do (`hint`).

    Of a document: `pointer` is the place, and with `on_key` the key there; `fix` the edits, if there is exactly one
    correct value. Of a server: `device` is the physical id of the card. `hccl_error` is the code that HCCL reports, if
    it is not the code of the rule.

    `check.rule.run` fills in `rule`, `name` and `severity`, `check.engine` fills in `span`; the readers of documents
    set `rule`, and `span` in text that is not valid JSON.
    """

    message: str
    hint: str | None = None
    pointer: Pointer = ()
    on_key: bool = False
    related: tuple[Related, ...] = ()
    fix: tuple[Edit, ...] = ()
    device: int | None = None
    hccl_error: str | None = None
    rule: str = ""
    name: str = ""
    severity: Severity = "error"
    span: Span = NOWHERE


def finding(
    number: str,
    template: str,
    /,
    *,
    fix: str | None = None,
    hint: str | None = None,
    device: int | None = None,
    hccl_error: str | None = None,
    **values: object,
) -> Finding:
    """A finding whose texts are Messages by the ids ID and ID.fix, with the same values, as those of a KitError."""
    advice = hint if fix is None else Message(f"{number}.fix", fix, **values)
    return Finding(Message(number, template, **values), advice, device=device, hccl_error=hccl_error)
