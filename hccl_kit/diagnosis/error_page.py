"""docs/errors.md: HCCL's error codes, their meaning, and the rules that find the cause."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.diagnosis.hccl_errors import CODES

_HEADER = """\
# Errors of HCCL

Written by `pytest tests/diagnosis/test_error_page.py --update-golden`; changes made here are lost.

`hccl-kit explain` takes a code, or better a whole line of a log, with the rank table if you have it:
`hccl-kit explain "EI0014 ... Value 2 for ranktable variable server_count is invalid" table.json`.
"""


def as_markdown() -> str:
    """The page; ends with a newline."""
    return "\n".join([_HEADER, *(line for code in CODES for line in _section(code))])


def _section(code: str) -> Iterator[str]:
    meaning = CODES[code]
    yield f"## {code}\n"
    yield f"{meaning[0].upper()}{meaning[1:]}.\n"
    rules = [rule for rule in CATALOGUE if rule.hccl_error == code]
    if rules:
        yield "| rule | finds | HCCL calls it |"
        yield "|---|---|---|"
        for rule in rules:
            names = ", ".join(f"`{name}`" for name in rule.variables) or "-"
            yield f"| [{rule.id}](rules.md#{rule.id.lower()}) | {rule.title} | {names} |"
        yield ""
