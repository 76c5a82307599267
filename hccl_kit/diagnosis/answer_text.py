"""An explanation as text, wrapped at a width."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.message import Message
from hccl_kit.base.paragraph import filled
from hccl_kit.base.terminal import in_columns, text_width
from hccl_kit.base.translation import translated
from hccl_kit.check.rule import TITLES, Rule
from hccl_kit.check.rule_pages import severities, translated_sections
from hccl_kit.diagnosis.errors.answers import Answer
from hccl_kit.diagnosis.errors.row import ROLES, TEXTS
from hccl_kit.diagnosis.errors.table import BY_CODE
from hccl_kit.diagnosis.known_lines import Explanation

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
_LINE, _HERE, _ROLE, _STAGE, _CAUSES, _TELLS_APART, _FIX, _ALSO = (
    Message("diagnosis.line", "line:"),
    Message("diagnosis.here", "here:"),
    Message("diagnosis.it-is", "it is:"),
    Message("diagnosis.when", "when:"),
    Message("diagnosis.causes", "causes:"),
    Message("diagnosis.distinguish", "distinguish:"),
    Message("diagnosis.fix", "fix:"),
    Message("diagnosis.also", "also in it:"),
)
"""The labels of paragraphs."""


def as_page(explanation: Explanation, width: int = WIDTH) -> str:
    """The explanation as text: the answers, the notes, and the pages of the rules. No newline at the end.

    It may contain unescaped parts of the explained text.
    """
    parts = ["\n".join(_lines(answer, width)) for answer in explanation.answers]
    if explanation.codes and not explanation.answers:
        parts.append("\n".join(filled(_meaning(code), width) for code in explanation.codes))
    if explanation.notes:
        parts.append("\n".join(filled(translated(note, TEXTS), width) for note in explanation.notes))
    if len(explanation.rules) > MAX_PAGES or (explanation.rules and not explanation.is_exact):
        parts.append(_rule_lines(explanation, width))
    else:
        parts += (_page(rule, width) for rule in explanation.rules)
    return "\n\n".join(parts)


def _lines(answer: Answer, width: int) -> Iterator[str]:
    """One answer: what it is first, then one labelled paragraph after the other."""
    row = answer.row
    what = translated(row.what, TEXTS)
    yield filled(f"{answer.code}: {what}" if answer.code else f"{what[0].upper()}{what[1:]}", width)
    causes = [translated(cause, TEXTS) for cause in row.causes]
    paragraphs = {
        _LINE: [] if answer.line is None else [f"{answer.line}: {answer.text.strip()[:300]}"],
        _HERE: [translated(sentence, TEXTS) for sentence in answer.says],
        _ROLE: [translated(ROLES[row.role], TEXTS)],
        _STAGE: [translated(row.stage, TEXTS)],
        _CAUSES: causes if len(causes) == 1 else [f"{number}. {cause}" for number, cause in enumerate(causes, 1)],
        _TELLS_APART: [translated(row.tells_apart, TEXTS)],
        _FIX: [translated(row.fix, TEXTS)],
        _ALSO: [_meaning(code) for code in answer.also[:MAX_ALSO]],
    }
    for label, texts in paragraphs.items():
        first = translated(label)
        for text in filter(None, texts):
            yield filled(text, width, first + " " * (_LABEL - text_width(first)), " " * _LABEL)
            first = ""


def _meaning(code: str) -> str:
    return f"{code}: {translated(BY_CODE[code].what, TEXTS)}"


def _rule_lines(explanation: Explanation, width: int) -> str:
    """One line per rule: the id, the name, HCCL's names for the error, the title."""
    shown = explanation.rules
    next_step = Message(
        "diagnosis.details",
        "run `hccl-kit explain` with the id of a rule, or with the whole line of the log, for details",
    )
    if explanation.is_exact:
        heading = Message("diagnosis.matching", "matching rules, with the name of the error in HCCL:")
    elif len(shown) <= MAX_OF_CODE:
        heading = Message("diagnosis.of-code", "rules with this code, with the name of the error in HCCL:")
    else:
        shown = tuple(rule for rule in shown if rule.id in _FREQUENT) or shown[:MAX_OF_CODE]
        heading = Message(
            "diagnosis.frequent",
            "the most frequent of {number} rules with this code, with the name of the error in HCCL:",
            number=len(explanation.rules),
        )
        next_step = Message(
            "diagnosis.all-of-code",
            "{details}; docs/errors.md has all rules of the code, and `hccl-check FILE` checks them",
            details=next_step,
        )
    rows = [(rule.id, rule.name, ", ".join(rule.variables) or "-", translated(rule.title, TITLES)) for rule in shown]
    lines = (filled(line, width, rest=" " * 7) for line in in_columns(rows, left=range(4)))
    return "\n".join([filled(translated(heading), width), *lines, "", filled(translated(next_step), width)])


def _page(rule: Rule[...], width: int) -> str:
    """The page of a rule; its headings are in a column."""
    texts = translated_sections(rule)
    column = max(map(text_width, texts)) + 1
    sections = [
        filled(text, width, label + " " * (column - text_width(label)), " " * column) for label, text in texts.items()
    ]
    title = Message(
        "diagnosis.rule",
        "{id} {name} ({severity}): {title}.",
        id=rule.id,
        name=rule.name,
        severity=severities(rule),
        title=Message(TITLES, rule.title),
    )
    return "\n".join([filled(translated(title), width), "", *sections])
