"""docs/errors.md: the codes and lines of HCCL's logs, their meaning, and the rules that find the cause."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.diagnosis.errors.row import ROLES, KnownError
from hccl_kit.diagnosis.errors.table import BY_CODE, CODES, ROWS

_HEADER = """\
# Errors of HCCL

<!-- Written by `pytest tests/diagnosis/test_error_page.py --update-golden`. -->

`hccl-kit explain` takes a code, or better a whole line of a log, with the rank table if you have it:
`hccl-kit explain "EI0014 ... Value 2 for ranktable variable server_count is invalid" table.json`. It takes a whole log
too, `hccl-kit explain - < log` or `hccl-kit explain LOG`, and picks the line that is most informative about the cause.
"""


def as_markdown() -> str:
    """The page; ends with a newline."""
    parts = [
        _HEADER,
        *_roles(),
        *(line for code in CODES for line in _section(code)),
        *_results(),
        *_others(),
        *_lines(),
    ]
    return "\n".join(parts)


def _roles() -> Iterator[str]:
    yield "A line is one of these, the most informative first:\n"
    yield from (f"- `{role}` is {text}" for role, text in ROLES.items())
    yield ""


def _section(code: str) -> Iterator[str]:
    yield f"## {code}\n"
    yield f"{_capital(BY_CODE[code].what)}.\n"
    yield from _advice(BY_CODE[code])
    messages = dict.fromkeys(row.what for row in ROWS if row.patterns and code in row.codes)
    if messages:
        yield "Its lines:\n"
        yield from (f"- {_escaped(what)}" for what in messages)
        yield ""
    rules = [rule for rule in CATALOGUE if rule.hccl_error == code]
    if rules:
        yield "| rule | finds | HCCL calls it |"
        yield "|---|---|---|"
        for rule in rules:
            names = ", ".join(f"`{name}`" for name in rule.variables) or "-"
            yield f"| [{rule.id}](rules.md#{rule.id.lower()}) | {rule.title} | {names} |"
        yield ""


def _advice(row: KnownError) -> Iterator[str]:
    """Causes, the command that tells them apart, the fix."""
    if row.causes:
        yield "Causes, the most frequent first:\n"
        yield from (f"{number}. {_escaped(cause)}" for number, cause in enumerate(row.causes, 1))
        yield ""
    for label, text in (("Distinguish", row.tells_apart), ("Fix", row.fix)):
        if text:
            yield f"{label}: {_escaped(text)}.\n"


def _results() -> Iterator[str]:
    yield "## HcclResult\n"
    yield (
        "What calls of HCCL return: `hcclRet -> 9`, `ret[9]`, `error code is 9`, `errNo[0x0000000005000009]`, the"
        " last in"
        " hexadecimal digits.\n"
    )
    yield "| number | name | means | causes |"
    yield "|---|---|---|---|"
    for code, row in BY_CODE.items():
        if code.startswith("HcclResult"):
            name, _, means = row.what.partition(": ")
            yield f"| {code.split()[1]} | `{name}` | {_escaped(means)} | {_escaped('; '.join(row.causes))} |"
    yield ""


def _others() -> Iterator[str]:
    yield "## Codes of other modules\n"
    yield "Of the runtime, the driver, operators, and the links between prefill and decode (HIXL).\n"
    yield "| code | means | causes |"
    yield "|---|---|---|"
    for code, row in sorted(BY_CODE.items()):
        if code not in CODES and not code.startswith(("HcclResult", "HCCL_E_")):
            yield f"| {code} | {_escaped(row.what)} | {_escaped('; '.join(row.causes))} |"
    yield ""


def _lines() -> Iterator[str]:
    yield "## Lines without a code\n"
    yield "| line | is | causes |"
    yield "|---|---|---|"
    for row in ROWS:
        if row.patterns and not row.codes:
            yield f"| {_escaped(row.what)} | {row.role} | {_escaped('; '.join(row.causes))} |"
    yield ""


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _escaped(text: str) -> str:
    """As text of a table of Markdown."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
