"""An explanation as text, wrapped at a width."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from hccl_kit.check.rule import Rule
from hccl_kit.check.rule_pages import HEADINGS, as_sections, in_columns, severities
from hccl_kit.diagnosis.errors.answers import Answer
from hccl_kit.diagnosis.errors.row import ROLES
from hccl_kit.diagnosis.errors.table import BY_CODE
from hccl_kit.diagnosis.explanation import Explanation

MAX_PAGES = 3
"""With more rules than this, each is shown on one line."""
MAX_ALSO = 5
MAX_OF_CODE = 12
"""With more rules for a code than this, only the frequent ones are shown."""
_FREQUENT = frozenset(
    ("HK103", "HK108", "HK201", "HK202", "HK203", "HK207", "HK302", "HK305", "HK401", "HK628", "HK639")
)
"""Rules for the errors that users run into most often."""
WIDTH = 80
_LABEL = 13
_COMMAND = re.compile(r"`[^`\n]{1,40}`")
_NO_BREAK = "\N{NO-BREAK SPACE}"


def as_page(explanation: Explanation, width: int = WIDTH) -> str:
    """The explanation as text: the answers, the notes, and the pages of the rules. No newline at the end.

    It may contain unescaped parts of the explained text.
    """
    parts = ["\n".join(_lines(answer, width)) for answer in explanation.answers]
    if explanation.codes and not explanation.answers:
        parts.append("\n".join(filled(f"{code}: {BY_CODE[code].what}", width) for code in explanation.codes))
    if explanation.notes:
        parts.append("\n".join(filled(note, width) for note in explanation.notes))
    if len(explanation.rules) > MAX_PAGES or (explanation.rules and not explanation.is_exact):
        parts.append(_rule_lines(explanation, width))
    else:
        parts += (_page(rule, width) for rule in explanation.rules)
    return "\n\n".join(parts)


def _lines(answer: Answer, width: int) -> Iterator[str]:
    """One answer: what it is first, then one labelled paragraph after the other."""
    row = answer.row
    head = f"{answer.code}: {row.what}" if answer.code else f"{row.what[0].upper()}{row.what[1:]}"
    yield filled(head, width)
    if answer.line is not None:
        yield _labelled("line", f"{answer.line}: {answer.text.strip()[:300]}", width)
    for number, sentence in enumerate(answer.says):
        yield _labelled("here" if number == 0 else "", sentence, width)
    yield _labelled("it is", ROLES[row.role], width)
    if row.stage:
        yield _labelled("when", row.stage, width)
    for number, cause in enumerate(row.causes):
        yield _labelled(
            "causes" if number == 0 else "", f"{number + 1}. {cause}" if len(row.causes) > 1 else cause, width
        )
    if row.tells_apart:
        yield _labelled("distinguish", row.tells_apart, width)
    if row.fix:
        yield _labelled("fix", row.fix, width)
    for number, code in enumerate(answer.also[:MAX_ALSO]):
        yield _labelled("also in it" if number == 0 else "", f"{code}: {BY_CODE[code].what}", width)


def _labelled(label: str, text: str, width: int) -> str:
    first = f"{label + ':' if label else '':<{_LABEL - 1}} "
    return filled(text, width, first, " " * _LABEL)


def filled(text: str, width: int, first: str = "", rest: str = "") -> str:
    """A wrapped paragraph. Lines break at blanks only, and never within a command in backquotes."""
    whole = _COMMAND.sub(lambda found: found[0].replace(" ", _NO_BREAK), text)
    lines = textwrap.fill(
        whole, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return lines.replace(_NO_BREAK, " ")


def _rule_lines(explanation: Explanation, width: int) -> str:
    """One line per rule: the id, the name, HCCL's names for the error, the title."""
    few = "matching rules" if explanation.is_exact else "rules with this code"
    shown = explanation.rules
    next_step = "run `hccl-kit explain` with the id of a rule, or with the whole line of the log, for details"
    if len(shown) > MAX_OF_CODE and not explanation.is_exact:
        shown = tuple(rule for rule in shown if rule.id in _FREQUENT) or shown[:MAX_OF_CODE]
        few = f"the most frequent of {len(explanation.rules)} rules with this code"
        next_step += "; docs/errors.md has all rules of the code, and `hccl-check FILE` checks them"
    rows = [(rule.id, rule.name, ", ".join(rule.variables) or "-", rule.title) for rule in shown]
    lines = (filled(line, width, rest=" " * 7) for line in in_columns(rows).split("\n"))
    heading = filled(f"{few}, with the name of the error in HCCL:", width)
    return "\n".join([heading, *lines, "", filled(next_step, width)])


def _page(rule: Rule[...], width: int) -> str:
    """The page of a rule; its headings are in a column."""
    texts = as_sections(rule)[1]
    column = max(map(len, HEADINGS)) + 2
    sections = [
        filled(texts[name], width, f"{name + ':':<{column}}", " " * column) for name in HEADINGS if name in texts
    ]
    title = filled(f"{rule.id} {rule.name} ({severities(rule)}): {rule.title}.", width)
    return "\n".join([title, "", *sections])
