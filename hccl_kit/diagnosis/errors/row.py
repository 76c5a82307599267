"""What a row of the table of known errors is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from functools import cache
from string import Formatter
from typing import Any, NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.diagnosis.errors.message import Maker
from hccl_kit.diagnosis.facts import Role

ROLES: Mapping[Role, str] = {
    "cause": "a root error: its message states the cause",
    "pointer": "a pointer: it names the end to look at, whose own log has the cause",
    "symptom": "a consequence: this process waited, or got the error from another rank; the cause is in the log of"
    " another rank, or earlier",
    "result": "only a result: the first ERROR line of the same process, above this one, has the cause",
    "frame": "only context: the cause is in the lines around it",
    "fact": "a fact, not an error",
    "value": "a value that is in effect, not an error",
}
"""What each role means, the most informative about the cause first."""
TEXTS = "diagnosis.text"
"""The id that the texts of all rows share in the catalogue of translations."""


FIX = "fix: "
"""Begins a sentence about a line that is the next step."""


class KnownError(NamedTuple):
    """A code, or a kind of line, and what is known about it.

    A row with patterns is found by them, within one line and case-sensitively. A row without patterns is the page of
    its codes; the page of any other code is the first row with patterns that has it. `needs_context`: other programs
    print the message too, so the row counts only with a word of Ascend in the same line.

    `what` is the first sentence. `says` are sentences about this line, whose blanks are the groups of the pattern; a
    sentence with a missing value is left out. `causes` are in order of frequency, the most frequent first. `rules` find
    the error in a rank table, and so do those with `variable`, the name that HCCL gives it. `vague`: any other row of
    its role tells more, wherever it is in the log. `in_output`: `diagnose` looks for it in lines of any program too;
    other rows only in records of level ERROR and in exceptions. `of_card`: the card, or its port, is broken.

    `example` is a line as the program prints it. `fact` makes what a line with one of the `patterns` states for
    `diagnose`, beyond that there is an error; `mentions` are patterns of lines that state no such fact.
    """

    what: str
    role: Role = "cause"
    codes: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    tells_apart: str = ""
    fix: str = ""
    stage: str = ""
    rules: tuple[str, ...] = ()
    variable: str = ""
    needs_context: bool = False
    vague: bool = False
    in_output: bool = False
    of_card: bool = False
    example: str = ""
    fact: Maker | None = None

    @property
    def headline(self) -> str:
        """What it is, in a phrase."""
        return re.split(r"[:;.] |, such as ", self.what, maxsplit=1)[0]

    def may_be_in(self, text: str, words: Set[str]) -> bool:
        """Whether one of many lines, which have these words, may have one of the patterns."""
        return any(
            (not (word := word_of(pattern)) or word in words) and literal_of(pattern) in text
            for pattern in self.all_patterns
        )

    @property
    def all_patterns(self) -> tuple[str, ...]:
        """Those of lines that state the fact of the row, then those of other lines."""
        return self.patterns + self.mentions

    def found_in(self, line: str) -> re.Match[str] | None:
        """The match of the first pattern that is in a line; None if there is none."""
        return _first_match(self.all_patterns, line)

    def stated_in(self, line: str) -> re.Match[str] | None:
        """The same for the patterns of lines that state the fact of the row."""
        return _first_match(self.patterns, line) if self.fact else None

    def about(self, values: Mapping[str, str]) -> Iterable[Message]:
        """The sentences whose blanks all have a value, without those that tell nothing new."""
        filled: set[str] = set()
        for sentence in self.says:
            blanks = blanks_of(sentence)
            if blanks <= values.keys() and not (blanks and blanks <= filled):
                filled |= blanks
                text = Message(TEXTS, sentence.removeprefix(FIX), **{name: values[name] for name in blanks})
                yield Message("diagnosis.line-fix", "fix: {what}", what=text) if sentence.startswith(FIX) else text


_FIELDS = {"line": "patterns", "mention": "mentions", "cause": "causes", "apart": "tells_apart", "rule": "rules"}
"""What a text calls fields, where that is not the name of the field."""
_ENTRY = re.compile(r"(line|mention|example|says|cause|apart|fix|stage|rule|variable): (.*)")
_FLAGS = ("needs_context", "vague", "in_output", "of_card")


def known(text: str, /) -> KnownError:
    """The row of a text. Fields that several rows share, or that hold no text, are set with `_replace`.

    The first line has the role, the codes and the flags, the second one says what it is. Each line below is a value:
    `line: PATTERN`, `cause: SENTENCE`. One that goes on is indented; a pattern goes on without a blank.
    """
    head, what, *lines = text.rstrip("\n").split("\n")
    role, *words = head.split()
    entries = [["what", what]]
    for line in lines:
        if entry := _ENTRY.fullmatch(line):
            entries.append([*entry.groups()])
        elif line.startswith("    "):
            entries[-1][1] += line[4:] if entries[-1][0] in ("line", "mention") else line[3:]
        else:
            raise ValueError(line)
    values: dict[str, Any] = {"role": role, "codes": tuple(word for word in words if word not in _FLAGS)}
    values |= {word: True for word in words if word in _FLAGS}
    for key, value in entries:
        name = _FIELDS.get(key, key)
        is_one = isinstance(KnownError._field_defaults.get(name, ""), str)
        values[name] = value if is_one else (*values.get(name, ()), value)
    return KnownError(**values)


def row_text(text: str) -> str:
    """A text of a table of errors as a message, which a sentence may hold; one with braces, as in commands, stays."""
    return text if isinstance(text, Message) or "{" in text or "}" in text else Message(TEXTS, text)


def with_reason(what: str, reason: str) -> Message:
    """What happened, and the reason that the line gives."""
    return Message("diagnosis.with-reason", "{what}: {reason}", what=what, reason=reason)


def _first_match(patterns: Iterable[str], line: str) -> re.Match[str] | None:
    for pattern in patterns:
        if literal_of(pattern) in line and (match := re.search(pattern, line)):
            return match
    return None


def in_stage(stage: str, *rows: KnownError) -> tuple[KnownError, ...]:
    """The rows, all of which are of one stage of a job."""
    return tuple(row._replace(stage=stage) for row in rows)


def blanks_of(sentence: str) -> set[str]:
    """The names of the blanks of a sentence."""
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


_WORD = re.compile(r"[A-Za-z0-9_]+")
_WHOLE_WORD = re.compile(r"(?<=[^A-Za-z0-9_])[A-Za-z0-9_]+(?=[^A-Za-z0-9_])")
_PART = re.compile(
    r"\\(?P<escaped>[^\w])|(?P<plain>[^\\\[\](){}?*+.|^$]+(?![?*{])|[^\\\[\](){}?*+.|^$])"
    r"|(?P<break>\\\w|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[0-9,]*\}|[.^$+])|(?P<optional>[?*])|(?P<other>.)",
    re.DOTALL,
)
"""A piece of a pattern; plain characters in one, but the last one alone if it is optional or counted."""


def words_of(text: str) -> Set[str]:
    """The words of many lines: to look one up is much faster than to look for a text in all of them."""
    return set(_WORD.findall(text))


@cache
def word_of(pattern: str) -> str:
    """The longest whole word of the text that every match has; empty if it has none."""
    return max(_WHOLE_WORD.findall(literal_of(pattern)), key=len, default="")


@cache
def literal_of(pattern: str) -> str:
    """The longest text that every match has: looking for it first is much faster than searching the pattern."""
    runs = [""]
    depth = 0
    for part in _PART.finditer(pattern):
        if part["other"] in ("(", ")"):
            depth += 1 if part["other"] == "(" else -1
            runs.append("")
        elif part["other"] == "|" and depth == 0:
            return ""
        elif depth or part["break"] or part["other"]:
            if not depth and part[0].startswith("{"):  # the count may be 0
                runs[-1] = runs[-1][:-1]
            runs.append("")
        elif part["optional"]:
            runs[-1] = runs[-1][:-1]
            runs.append("")
        else:
            runs[-1] += part["escaped"] or part["plain"]
    return max(runs, key=len)
