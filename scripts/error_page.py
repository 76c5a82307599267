"""Write errors.md and zh/errors.md, the pages of HCCL's errors: python scripts/error_page.py [FOLDER], by default docs.

They have the codes and lines of HCCL's logs, their meaning, and the rules that find the cause.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from hccl_kit.base.message import Message
from hccl_kit.base.translation import speak, translated
from hccl_kit.check.rule import TITLES
from hccl_kit.check.rule_pages import page_address
from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.diagnosis.errors.row import ROLES, TEXTS, KnownError
from hccl_kit.diagnosis.errors.table import BY_CODE, CODES, ROWS

_HEADER = Message(
    "diagnosis.page",
    """\
# Errors of HCCL

<!-- Written by `pytest tests/diagnosis/test_error_page.py --update-golden`. -->

`hccl-kit explain` takes a code, or better a whole line of a log, with the rank table if you have it:
`hccl-kit explain "EI0014 ... Value 2 for ranktable variable server_count is invalid" table.json`. It takes a whole log
too, `hccl-kit explain - < log` or `hccl-kit explain LOG`, and picks the line that is most informative about the cause.
""",
)
_ROLES = Message("diagnosis.page-roles", "A line is one of these, the most informative first:\n")
_CAUSES = Message("diagnosis.page-causes", "Causes, the most frequent first:\n")
_LINES = Message("diagnosis.page-lines", "Its lines:\n")
_RULES = Message("diagnosis.page-rules", "| rule | finds | HCCL calls it |\n|---|---|---|")
_RESULTS = Message(
    "diagnosis.page-results",
    "## HcclResult\n\nWhat calls of HCCL return: `hcclRet -> 9`, `ret[9]`, `error code is 9`,"
    " `errNo[0x0000000005000009]`, the last in hexadecimal digits.\n\n"
    "| number | name | means | causes |\n|---|---|---|---|",
)
_OTHERS = Message(
    "diagnosis.page-others",
    "## Codes of other modules\n\nOf the runtime, the driver, operators, and the links between prefill and decode"
    " (HIXL).\n\n| code | means | causes |\n|---|---|---|",
)
_WITHOUT_CODE = Message(
    "diagnosis.page-without-code", "## Lines without a code\n\n| line | is | causes |\n|---|---|---|"
)


def as_markdown() -> str:
    """The page, with links to the pages of rules beside it; ends with a newline."""
    parts = [
        translated(_HEADER),
        *_roles(),
        *(line for code in CODES for line in _section(code)),
        *_results(),
        *_others(),
        *_lines(),
    ]
    return "\n".join(parts)


def _roles() -> Iterator[str]:
    yield translated(_ROLES)
    for role, text in ROLES.items():
        meaning = Message("diagnosis.page-role", "- `{role}` is {text}", role=role, text=translated(text, TEXTS))
        yield translated(meaning)
    yield ""


def _section(code: str) -> Iterator[str]:
    yield f"## {code}\n"
    yield f"{_sentence(_capital(translated(BY_CODE[code].what, TEXTS)))}\n"
    yield from _advice(BY_CODE[code])
    messages = dict.fromkeys(row.what for row in ROWS if row.patterns and code in row.codes)
    if messages:
        yield translated(_LINES)
        yield from (f"- {_escaped(what)}" for what in messages)
        yield ""
    rules = [rule for rule in CATALOGUE if rule.hccl_error == code]
    if rules:
        yield translated(_RULES)
        for rule in rules:
            names = ", ".join(f"`{name}`" for name in rule.variables) or "-"
            title = translated(rule.title, TITLES)
            yield f"| [{rule.id}](rules/{page_address(rule)}) | {title} | {names} |"
        yield ""


def _advice(row: KnownError) -> Iterator[str]:
    """Causes, the command that tells them apart, the fix."""
    if row.causes:
        yield translated(_CAUSES)
        yield from (f"{number}. {_escaped(cause)}" for number, cause in enumerate(row.causes, 1))
        yield ""
    if row.tells_apart:
        text = _escaped(row.tells_apart)
        yield _sentence(translated(Message("diagnosis.page-distinguish", "Distinguish: {text}", text=text))) + "\n"
    if row.fix:
        yield _sentence(translated(Message("diagnosis.page-fix", "Fix: {text}", text=_escaped(row.fix)))) + "\n"


def _results() -> Iterator[str]:
    yield translated(_RESULTS)
    for code, row in BY_CODE.items():
        if code.startswith("HcclResult"):
            name, _, means = _escaped(row.what).partition(": ")
            yield f"| {code.split()[1]} | `{name}` | {means} | {_causes(row)} |"
    yield ""


def _others() -> Iterator[str]:
    yield translated(_OTHERS)
    for code, row in sorted(BY_CODE.items()):
        if code not in CODES and not code.startswith(("HcclResult", "HCCL_E_")):
            yield f"| {code} | {_escaped(row.what)} | {_causes(row)} |"
    yield ""


def _lines() -> Iterator[str]:
    yield translated(_WITHOUT_CODE)
    for row in ROWS:
        if row.patterns and not row.codes:
            yield f"| {_escaped(row.what)} | {row.role} | {_causes(row)} |"
    yield ""


def _causes(row: KnownError) -> str:
    return translated(Message("diagnosis.page-semicolon", "; ")).join(map(_escaped, row.causes))


def _sentence(text: str) -> str:
    return translated(Message("diagnosis.page-sentence", "{text}.", text=text))


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _escaped(text: str) -> str:
    """A text of a row as text of a table of Markdown."""
    return translated(text, TEXTS).replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    for language, page in (("en", folder / "errors.md"), ("zh", folder / "zh" / "errors.md")):
        page.parent.mkdir(exist_ok=True)
        speak(language)
        page.write_text(as_markdown(), encoding="utf-8")
