"""The meaning of a text that a user asks for: a rule's id, an error code, a variable, lines of a log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.check.rule import Rule
from hccl_kit.diagnosis.catalogue import CATALOGUE, rule_ids_of
from hccl_kit.diagnosis.errors.answers import Answer
from hccl_kit.diagnosis.errors.row import TEXTS, KnownError
from hccl_kit.diagnosis.errors.table import BY_CODE, codes_in, only_maybe
from hccl_kit.diagnosis.known_lines import Explanation, explain_lines
from hccl_kit.diagnosis.variable_pages import PAGES, VariablePage
from hccl_kit.preflight.rules.variable_verdict import in_words, verdict_in_words

_ID_OF_NAME = {rule.name: rule.id for rule in CATALOGUE}
_NAMES = frozenset(name for rule in CATALOGUE for name in rule.variables)

MAX_TEXT = 20_000
"""Characters of a text that are searched; a log may be longer."""
MAYBE = Message("diagnosis.maybe", "if HCCL or CANN wrote this: other programs use the same words and numbers")


def explain(text: str) -> Explanation:
    """What is known about a text. Raises KitError if it matches nothing."""
    text = text[:MAX_TEXT]
    if ids := dict.fromkeys(_ids_in(text)):
        codes = tuple(dict.fromkeys(code for line in text.split("\n") for code in codes_in(line)))
        return Explanation(codes, (), (), tuple(_of_ids(ids)), is_exact=True)
    words = re.split(r"[\s,]+", text.strip())
    if (explanation := _of_variable(text.strip())) is not None:
        return explanation
    if (code := only_maybe(text)) is not None:
        answer = Answer(BY_CODE[code], code, (MAYBE,))
        return Explanation((code,), (answer,), (), (), is_exact=True)
    if (code := text.strip().upper()) in BY_CODE:
        return _of_code(code)
    lines = text.strip("\n").split("\n")
    explanation = explain_lines(lines)
    if explanation and len(lines) == 1:
        explanation = explanation._replace(answers=tuple(answer._replace(line=None) for answer in explanation.answers))
    if explanation is None and words and all(word in _NAMES or word in BY_CODE for word in words):
        explanation = Explanation((), (), (), tuple(_rules_named(words)), is_exact=True)
    if explanation is None:
        raise unknown(text.strip().split("\n")[0])
    if not explanation.is_exact and (named := tuple(_rules_named(words))):
        return explanation._replace(rules=named, is_exact=True)
    return explanation


def _of_code(code: str) -> Explanation:
    """The page of a code, and all rules that end in it."""
    rules = tuple(rule for rule in CATALOGUE if rule.hccl_error == code)
    says = (MAYBE,) if code.isdecimal() else ()
    return Explanation((code,), (Answer(BY_CODE[code], code, says),), (), rules, is_exact=False)


def _of_variable(text: str) -> Explanation | None:
    """What is known about a variable, written as NAME or NAME=VALUE; None for any other text."""
    name, equals, value = text.partition("=")
    accepted, page = in_words(name), PAGES.get(name)
    if accepted is None and page is None:
        return None
    says = (verdict_in_words(name, value),) if equals and accepted else ()
    what = Message(TEXTS, page.does) if page else Message("diagnosis.of-hccl", "a variable of HCCL")
    row = KnownError(what, "fact")
    if accepted:
        row = KnownError(
            Message("diagnosis.accepted", "{variable}; accepted: {values}", variable=what, values=accepted),
            "fact",
            fix=Message("diagnosis.checked", "`hccl-kit preflight TABLE` checks it"),
        )
    notes = tuple(_notes(page)) if page else ()
    return Explanation((), (Answer(row, name, says),), notes, (), is_exact=True)


def _notes(page: VariablePage) -> Iterator[Message]:
    yield Message("diagnosis.use", "Use: {text}", text=Message(TEXTS, page.when))
    yield Message("diagnosis.agrees", "Agrees with: {text}", text=Message(TEXTS, page.agrees))
    yield Message("diagnosis.source", "Source: {text}", text=Message(TEXTS, page.source))


def _ids_in(text: str) -> list[str]:
    """The ids in a text. Names count only if the text is a list of rules: a word of a log may look like a name."""
    words = [_ID_OF_NAME.get(word.lower(), word) for word in re.split(r"[\s,]+", text.strip())]
    is_list = all(re.fullmatch(r"HK[0-9]+", word.upper()) for word in words)
    return re.findall(r"\bHK[0-9]+\b", (" ".join(words) if is_list else text).upper())


def _of_ids(ids: Iterable[str]) -> Iterator[Rule[...]]:
    """The rules with one of the ids, or with a prefix of the id for a family."""
    for name in ids:
        rules = [rule for rule in CATALOGUE if rule.id.startswith(name)]
        if not rules:
            raise unknown(name)
        yield from rules


def _rules_named(words: Sequence[str]) -> Iterator[Rule[...]]:
    """The rules for the names of HCCL that a text consists of, besides codes."""
    names = [word for word in words if word in _NAMES]
    if names and len(words) <= 3:
        ids = {rule for name in names for rule in rule_ids_of(name)}
        yield from (rule for rule in CATALOGUE if rule.id in ids)


def unknown(wanted: str) -> KitError:
    """The error for a text that matches nothing. It suggests no similar code, which would explain another error."""
    return KitError(
        "diagnosis.unknown",
        "no rule, code or message matches {text!r}",
        fix="pass a rule (HK203), a code (EI0014), the whole line of a log, or the log: hccl-kit explain LOG\n"
        "what is unknown here may still be the cause: collect ~/ascend/log (debug and run) of all hosts, and the output"
        " of all ranks",
        text=wanted[:80],
    )
