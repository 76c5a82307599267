"""What one line of a log says: the row that tells most about it, with the values of the line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from hccl_kit.diagnosis.errors.line_values import values_found, values_of
from hccl_kit.diagnosis.errors.row import ROLES, KnownError, literal_of, word_of, words_of
from hccl_kit.diagnosis.errors.table import BY_CODE, CONTEXT, ROWS, codes_in

_ORDER = {role: place for place, role in enumerate(ROLES)}


class Answer(NamedTuple):
    """What one line says. `line` counts from 1 in the text or log, None if there is only one.

    `says` are sentences with the values of the line, and `also` its other codes. `after`: of answers with one role, one
    with a lower number tells more.
    """

    row: KnownError
    code: str | None
    says: tuple[str, ...]
    also: tuple[str, ...] = ()
    line: int | None = None
    text: str = ""
    after: int = 0


def candidates(text: str) -> Sequence[KnownError]:
    """The rows that may be about a line, or about one of many."""
    of_word, wordless = _literals()
    places = {at for literal, at in wordless if literal in text}
    for word in words_of(text) & of_word.keys():
        places |= {at for literal, at in of_word[word] if literal in text}
    return [ROWS[at] for at in sorted(places)]


@cache
def _literals() -> tuple[dict[str, list[tuple[str, int]]], list[tuple[str, int]]]:
    """The text that every match of a pattern has, with its row: by a whole word of that text, and those without one."""
    of_word: dict[str, list[tuple[str, int]]] = {}
    for at, row in enumerate(ROWS):
        for pattern in row.all_patterns:
            of_word.setdefault(word_of(pattern), []).append((literal_of(pattern), at))
    return of_word, of_word.pop("", [])


def tells_more(answer: Answer, best: Answer) -> bool:
    """Whether a later line tells more than the best one so far; of one row, a line with values does."""
    return weight(answer) < weight(best) or (
        weight(answer) == weight(best) and answer.row is best.row and not best.says and bool(answer.says)
    )


def weight(answer: Answer) -> tuple[int, int]:
    """A key to sort answers by: the most telling ones first."""
    return _ORDER[answer.row.role], answer.after


def answer_of(
    line: str, rows: Sequence[KnownError], number: int | None = None, *, of_ascend: bool = False
) -> Answer | None:
    """What a line says, by the most telling of the rows; messages before codes. None if it has neither.

    `of_ascend`: the line is of Ascend's software, whether it has a word that tells so or not.
    """
    answers: list[Answer] = []
    codes = list(dict.fromkeys(codes_in(line)))
    for row in rows:
        match = row.found_in(line)
        if match and (not row.needs_context or of_ascend or CONTEXT.search(line)):
            sentences = (*values_found(line), *row.about(values_of(line, match)))
            code = next((code for code in row.codes if code in codes), row.codes[0] if row.codes else None)
            answers.append(Answer(row, code, sentences, after=int(row.vague)))
    if not answers and (first := next(values_found(line), None)):
        code = next((code for code in codes if BY_CODE[code].role == "cause"), "EI0014")
        answers.append(Answer(BY_CODE[code], code, (first,)))
    spoken_for = {code for answer in answers if answer.row.role == "frame" for code in answer.row.codes}
    answers += (
        Answer(BY_CODE[code], code, (), after=2 if code.isdecimal() else int(BY_CODE[code].vague))
        for code in codes
        if code not in spoken_for  # the message shows that the code says nothing here
    )
    if not answers:
        return None
    best = min(answers, key=lambda answer: _ORDER[answer.row.role])
    says = best.says
    if not says:  # the page of a result: what wraps it names the call
        says = tuple(text for answer in answers if answer.row.role == "frame" for text in answer.says)
    if is_of_tables(best.row) and best.row.patterns:
        same = [answer for answer in answers if answer.row.patterns and is_of_tables(answer.row)]
        says = tuple(dict.fromkeys(text for answer in same for text in answer.says))
    also = tuple(code for code in codes if code != best.code and BY_CODE[code].what != best.row.what)
    return best._replace(says=says, also=also, line=number, text=line)


def is_of_tables(row: KnownError) -> bool:
    """Whether a row is about the content of a rank table, so that its rules find the error there."""
    return bool(row.rules or row.variable or {"EI0014", "EI0017"} & set(row.codes))
