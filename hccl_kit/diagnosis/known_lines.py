"""The most telling line of many, what is known about it, and the rules that match."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import islice
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.check.rule import Rule
from hccl_kit.diagnosis.catalogue import CATALOGUE, rule_ids_of
from hccl_kit.diagnosis.errors.answers import Answer, answer_of, candidates, is_of_tables, tells_more, weight
from hccl_kit.diagnosis.errors.line_values import bounded, variables_in
from hccl_kit.diagnosis.errors.row import KnownError, words_of
from hccl_kit.diagnosis.errors.table import may_have_code

MAX_LINE = 16 << 10
"""Characters of a line that are searched."""
MAX_OF_TABLES = 100
"""Answers about a rank table that are shown."""
_BLOCK = 256
"""Lines that are searched at once."""
_OWN_ERROR = KnownError(
    "an error of the program itself, or its end by the system: it beats every timeout",
    patterns=(
        *(
            # ChildFailedError is torchrun's
            rf"^(?:\w{{1,60}}\.){{0,6}}(?!ChildFailedError)[A-Z]\w{{0,60}}{end}\b(?:: |\N{{FULLWIDTH COLON}}|$)"
            for end in ("Error", "Exception", "Interrupt")
        ),
        *("Segmentation fault", r"\bcore dumped\b", r"\bKilled\b", "Out of memory: Kill", "oom-kill"),
        *(r"\bNo space left on device\b", "Bus error"),
    ),
)
_ROOT_CAUSE = "Root Cause (first observed failure):"
"""Starts a table of torchrun, which has one value on each line."""
_TABLE_LINES = 10
_JOINED = re.compile(r"connected rankinfo\[LINE [0-9]{1,6}\]: ?([\[\]0-9, ]{1,400})")
_NEEDED = re.compile(r"need connect rankNum is ?\[([0-9]{1,6})\]")
_RANK = re.compile(r"\[([0-9]{16})\]")
_MOST_RANKS = 1 << 17
_MAX_MISSING = 32


def explain_lines(lines: Iterable[str], above: int = 0) -> Explanation | None:
    """What the most telling line says: a root error goes before a consequence, and that before a frame or a fact.

    Of equally telling lines, the first one counts; a message goes before the number that a call returned. None if no
    line is known. `above` is the number of lines of the log before these.
    """
    best: Answer | None = None
    rivals: set[str] = set()
    of_tables: list[Answer] = []
    own_error: tuple[int, str] | None = None
    joined: list[int] = []
    needed: set[int] = set()
    for number, line, rows in _with_candidates(lines, above):
        if len(joined) <= _MOST_RANKS:
            joined += (int(rank) for row in _JOINED.findall(line) for rank in _RANK.findall(row))
        needed |= {int(count) for count in _NEEDED.findall(line)}
        answer = answer_of(line, rows, number)
        if answer is None:
            if own_error is None and _OWN_ERROR.found_in(line):
                own_error = number, line
            continue
        if is_of_tables(answer.row) and answer not in of_tables and len(of_tables) < MAX_OF_TABLES:
            of_tables.append(answer)
        if best is None or weight(answer) < weight(best):
            rivals.clear()
        if best is None or weight(answer) <= weight(best):
            rivals.add(answer.row.what)
        if best is None or tells_more(answer, best):
            best = answer
    if best is None:
        return None
    answers = of_tables if is_of_tables(best.row) else [best]
    notes = (*_earlier(best, own_error), *_absent(joined, needed))
    codes = tuple(dict.fromkeys(answer.code for answer in answers if answer.code))
    exact = {rule for answer in answers for rule in _rules_of_answer(answer)}
    is_exact = bool(exact or any(answer.row.patterns for answer in answers))
    ids = exact if is_exact else {rule.id for rule in CATALOGUE if rule.hccl_error in codes}
    rules = tuple(rule for rule in CATALOGUE if rule.id in ids)
    return Explanation(codes, tuple(answers), notes, rules, is_exact, frozenset(rivals))


def _with_candidates(lines: Iterable[str], above: int) -> Iterator[tuple[int, str, Sequence[KnownError]]]:
    """Each line with its number, and the rows that may be about it.

    A log has few of the texts that rows look for: looking in many lines at once rules most rows out.
    """
    numbered = _pieces(lines, above)
    while block := [*islice(numbered, _BLOCK)]:
        text = "\n".join(line for _, line in block)
        rows = candidates(text)
        if rows or may_have_code(text) or _OWN_ERROR.may_be_in(text, words_of(text)):
            yield from ((number, line, rows) for number, line in block)


def _pieces(lines: Iterable[str], above: int) -> Iterator[tuple[int, str]]:
    """Each line with its number, and what only counts as one line: a table of torchrun. A log inside JSON is split.

    A line with a rank table stays whole.
    """
    table: list[str] = []
    start = 0
    for number, whole in enumerate(lines, above + 1):
        line = whole[:MAX_LINE]
        parts = [line] if "server_list" in line else line.split("\\n")
        yield from ((number, part) for part in parts)
        if table:
            table.append(line.strip())
        elif _ROOT_CAUSE in line:
            table, start = [line.strip()], number
        if len(table) > _TABLE_LINES or (table and "=====" in line):
            yield start, " ".join(table)[:MAX_LINE]
            table = []
    if table:
        yield start, " ".join(table)[:MAX_LINE]


def _earlier(best: Answer, own_error: tuple[int, str] | None) -> Iterator[Message]:
    """An error of the program itself above a consequence is the one to read first."""
    if own_error and best.line and own_error[0] < best.line and best.row.role not in ("cause", "fact", "value"):
        yield Message(
            "diagnosis.earlier",
            "line {line} has an earlier error of the program itself; read it first: {text}",
            line=own_error[0],
            text=bounded(own_error[1].strip()),
        )


def _absent(joined: Sequence[int], needed: Set[int]) -> Iterator[Message]:
    """The gaps in the list of ranks that joined. A list with a rank twice is of several communicators."""
    if not 0 < len(joined) <= _MOST_RANKS or len(set(joined)) < len(joined) or len(needed) > 1:
        return
    if max([*joined, *needed]) > _MOST_RANKS:
        return
    missing = sorted(set(range(max([*needed, max(joined) + 1]))) - set(joined))
    if missing:
        shown = ", ".join(map(str, missing[:_MAX_MISSING])) + (", ..." if len(missing) > _MAX_MISSING else "")
        if needed:
            yield Message(
                "diagnosis.absent", "the list of ranks that joined lacks {ranks}: read their logs", ranks=shown
            )
        else:
            yield Message(
                "diagnosis.absent-and-more",
                "the list of ranks that joined lacks {ranks} (and perhaps ranks after {last}): read their logs",
                ranks=shown,
                last=max(joined),
            )


def _rules_of_answer(answer: Answer) -> Iterator[str]:
    """The ids of the rules that find an answer's error in a table."""
    yield from answer.row.rules
    for variable in [answer.row.variable] if answer.row.patterns else variables_in(answer.text):
        yield from rule_ids_of(variable)


class Explanation(NamedTuple):
    """What is known about a text.

    `codes` are those in it, `answers` what its most telling line says and, if that is one about a rank table, all
    others about it; `notes` are sentences about this text, `rules` the matching rules in order of their ids.
    `is_exact`: the text is more specific than its code, so not all rules of the code match. `equals` says what each of
    the rows is that tell as much.
    """

    codes: tuple[str, ...]
    answers: tuple[Answer, ...]
    notes: tuple[str, ...]
    rules: tuple[Rule[...], ...]
    is_exact: bool
    equals: Set[str] = frozenset()
