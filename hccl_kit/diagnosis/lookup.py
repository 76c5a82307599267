"""The meaning of a text (a rule's id, an error code, lines of a log), and the next step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.check.rule import Rule
from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.diagnosis.errors.links import COMMANDS, REDUCTIONS
from hccl_kit.diagnosis.errors.row import ROLES, KnownError, words_of
from hccl_kit.diagnosis.errors.table import BY_CODE, CONTEXT, ROWS, codes_in, may_have_code, only_maybe
from hccl_kit.preflight.rules.variable_values import accepted_values, in_words

_BY_ID = {rule.id: rule for rule in CATALOGUE}
_ID_OF_NAME = {rule.name: rule.id for rule in CATALOGUE}
_NAMES = frozenset(name for rule in CATALOGUE for name in rule.variables)

MAX_TEXT = 20_000
"""Characters of a text that are searched; a log may be longer."""
MAX_LINE = 16 << 10
"""Characters of a line that are searched."""
MAX_OF_TABLES = 100
"""Answers about a rank table that are shown."""
_BLOCK = 256
"""Lines that are searched at once."""
MAX_VALUE = 160
"""Characters of a value of a line that are shown."""
MAYBE = "if HCCL or CANN wrote this: other programs use the same words and numbers"
_ORDER = {role: place for place, role in enumerate(ROLES)}
_VALUE = re.compile(
    r"Value[ ]+(?P<value>[^\n]{0,200}?)[ ]*\bfor ranktable variable (?P<variable>[^\n]{1,200}?) is invalid"
    r"(?:[. ]*Expected value: *(?P<expected>[^\n]{1,200}))?",
    re.IGNORECASE,
)
"""The message of EI0014."""
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
_BYTES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_MUCH = 0.2
"""The share of a card's memory that only another process explains: HCCL and the runtime need less."""


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


class Explanation(NamedTuple):
    """What is known about a text.

    `codes` are those in it, `answers` what its most telling line says and, if that is one about a rank table, all
    others about it; `notes` are sentences about this text, `rules` the matching rules in order of their ids.
    `is_exact`: the text is more specific than its code, so not all rules of the code match.
    """

    codes: tuple[str, ...]
    answers: tuple[Answer, ...]
    notes: tuple[str, ...]
    rules: tuple[Rule[...], ...]
    is_exact: bool


def explain(text: str) -> Explanation:
    """What is known about a text. Raises KitError if it matches nothing."""
    text = text[:MAX_TEXT]
    if ids := dict.fromkeys(_ids_in(text)):
        codes = tuple(dict.fromkeys(code for line in text.split("\n") for code in codes_in(line)))
        return Explanation(codes, (), (), tuple(_of_ids(ids)), is_exact=True)
    words = re.split(r"[\s,]+", text.strip())
    if (found := _of_variable(text.strip())) is not None:
        return found
    if (code := only_maybe(text)) is not None:
        answer = Answer(BY_CODE[code], code, (MAYBE,))
        return Explanation((code,), (answer,), (), (), is_exact=True)
    if (code := text.strip().upper()) in BY_CODE:
        return _of_code(code)
    lines = text.strip("\n").split("\n")
    found = explain_lines(lines)
    if found and len(lines) == 1:
        found = found._replace(answers=tuple(answer._replace(line=None) for answer in found.answers))
    if found is None and words and all(word in _NAMES or word in BY_CODE for word in words):
        found = Explanation((), (), (), tuple(_rules_named(words)), is_exact=True)
    if found is None:
        raise unknown(text.strip().split("\n")[0])
    if not found.is_exact and (named := tuple(_rules_named(words))):
        return found._replace(rules=named, is_exact=True)
    return found


def explain_lines(lines: Iterable[str]) -> Explanation | None:
    """What the most telling line says: a root error goes before a consequence, and that before a frame or a fact.

    Of equally telling lines, the first one counts; a message goes before the number that a call returned. None if no
    line is known.
    """
    best: Answer | None = None
    of_tables: list[Answer] = []
    own_error: tuple[int, str] | None = None
    joined: list[int] = []
    needed: set[int] = set()
    for number, line, rows in _with_candidates(lines):
        if len(joined) <= _MOST_RANKS:
            joined += (int(rank) for row in _JOINED.findall(line) for rank in _RANK.findall(row))
        needed |= {int(count) for count in _NEEDED.findall(line)}
        answer = _best_of(line, number, rows)
        if answer is None:
            if own_error is None and _OWN_ERROR.found_in(line):
                own_error = number, line
            continue
        if _is_of_tables(answer.row) and answer not in of_tables and len(of_tables) < MAX_OF_TABLES:
            of_tables.append(answer)
        if best is None or tells_more(answer, best):
            best = answer
    if best is None:
        return None
    answers = of_tables if _is_of_tables(best.row) else [best]
    notes = (*_earlier(best, own_error), *_absent(joined, needed))
    codes = tuple(dict.fromkeys(answer.code for answer in answers if answer.code))
    exact = {rule for answer in answers for rule in _rules_of_answer(answer)}
    is_exact = bool(exact or any(answer.row.patterns for answer in answers))
    ids = exact if is_exact else {rule.id for rule in CATALOGUE if rule.hccl_error in codes}
    return Explanation(codes, tuple(answers), notes, tuple(_BY_ID[one] for one in sorted(ids)), is_exact)


def _with_candidates(lines: Iterable[str]) -> Iterator[tuple[int, str, Sequence[KnownError]]]:
    """Each line with its number, and the rows that may be about it.

    A log has few of the texts that rows look for: looking in many lines at once rules most rows out.
    """
    numbered = _pieces(lines)
    while block := [*islice(numbered, _BLOCK)]:
        text = "\n".join(line for _, line in block)
        words = words_of(text)
        rows = [row for row in ROWS if row.may_be_in(text, words)]
        if rows or may_have_code(text) or _OWN_ERROR.may_be_in(text, words):
            yield from ((number, line, rows) for number, line in block)


def _may_have_value(text: str) -> bool:
    return "ranktable variable" in text.casefold()


def _pieces(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Each line with its number, and what only counts as one line: a table of torchrun. A log inside JSON is split.

    A line with a rank table stays whole.
    """
    table: list[str] = []
    start = 0
    for number, whole in enumerate(lines, 1):
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


def tells_more(answer: Answer, best: Answer) -> bool:
    """Whether a later line tells more than the best one so far; of one row, a line with values does."""
    place, best_place = (_ORDER[answer.row.role], answer.after), (_ORDER[best.row.role], best.after)
    return place < best_place or (
        place == best_place and answer.row is best.row and not best.says and bool(answer.says)
    )


def _best_of(line: str, number: int, rows: Sequence[KnownError]) -> Answer | None:
    """What a line says, by the most telling row; messages before codes."""
    found: list[Answer] = []
    codes = list(dict.fromkeys(codes_in(line)))
    for row in rows:
        match = row.found_in(line)
        if match and (not row.needs_context or CONTEXT.search(line)):
            values = {**_sentence(line), **_values(match)}
            code = next((one for one in row.codes if one in codes), row.codes[0] if row.codes else None)
            found.append(Answer(row, code, (*_found(line), *row.about(values)), after=int(row.vague)))
    if not found and _may_have_value(line) and (sentence := _VALUE.search(line)):
        code = next((one for one in codes if BY_CODE[one].role == "cause"), "EI0014")
        found.append(Answer(BY_CODE[code], code, tuple(_found(sentence[0]))))
    found += (
        Answer(BY_CODE[code], code, (), after=2 if code.isdecimal() else int(BY_CODE[code].vague)) for code in codes
    )
    if not found:
        return None
    best = min(found, key=lambda answer: _ORDER[answer.row.role])
    says = best.says
    if not says:  # the page of a result: what wraps it names the call
        says = tuple(text for each in found if each.row.role == "frame" for text in each.says)
    if _is_of_tables(best.row) and best.row.patterns:
        same = [each for each in found if each.row.patterns and _is_of_tables(each.row)]
        says = tuple(dict.fromkeys(text for each in same for text in each.says))
    also = tuple(code for code in codes if code != best.code and BY_CODE[code].what != best.row.what)
    return best._replace(says=says, also=also, line=number, text=line)


def _sentence(line: str) -> Mapping[str, str]:
    """The value, the variable and the expectation of a message of EI0014."""
    found = _VALUE.search(line)
    return {key: part.strip(' ."') for key, part in found.groupdict().items() if part} if found else {}


def _found(line: str) -> Iterator[str]:
    for sentence in _VALUE.finditer(line):
        value, expected = sentence["value"] or "nothing", (sentence["expected"] or "").strip(' ."')
        yield f"HCCL found {value} for {sentence['variable']}" + (f"; it expects: {expected}" if expected else "")


def _values(match: re.Match[str]) -> Mapping[str, str]:
    """The values of a line. A `peer` that is unknown or local becomes `untold` or `itself`, with its own sentence."""
    values = {key: _bounded(part) for key, part in match.groupdict().items() if part}
    values |= _memory(values)
    special = {"unknown": "untold", "4294967295": "untold", "local": "itself"}
    if name := special.get(values.get("peer", "")):
        values[name] = values.pop("peer")
    names = {"cmdType": COMMANDS, "op": REDUCTIONS}.get(values.get("field", ""), {})
    for end in ("own", "other"):
        if values.get(end) in names:
            values[end] += f" ({names[values[end]]})"
    return values


def _memory(values: Mapping[str, str]) -> Mapping[str, str]:
    """Who holds the memory of a card: `outside` of this process, or `mostly` this process itself."""
    sizes = [_in_bytes(values.get(name, "")) for name in ("total", "free", "reserved")]
    if not all(sizes):
        return {}
    total, free, reserved = sizes
    outside = total - free - reserved
    if outside > _MUCH * total:
        return {"outside": f"{outside / _BYTES['GiB']:.1f} GiB"}
    return {"mostly": values["reserved"]} if reserved > total / 2 else {}


def _in_bytes(size: str) -> float:
    """60.96 GiB as a number; 0 if it is not a size."""
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,4})?) ?([KMGT]iB)", size)
    return float(found[1]) * _BYTES[found[2]] if found else 0.0


def _bounded(value: str) -> str:
    return value if len(value) <= MAX_VALUE else f"{value[:MAX_VALUE]}..."


def _is_of_tables(row: KnownError) -> bool:
    """Whether a row is about the content of a rank table, so that its rules find the error there."""
    return bool(row.rules or row.variable or {"EI0014", "EI0017"} & set(row.codes))


def _earlier(best: Answer, own_error: tuple[int, str] | None) -> Iterator[str]:
    """An error of the program itself above a consequence is the one to read first."""
    if own_error and best.line and own_error[0] < best.line and best.row.role not in ("cause", "fact", "value"):
        yield (
            f"line {own_error[0]} has an earlier error of the program itself; read it first:"
            f" {_bounded(own_error[1].strip())}"
        )


def _absent(joined: Sequence[int], needed: Set[int]) -> Iterator[str]:
    """The gaps in the list of ranks that joined. A list with a rank twice is of several communicators."""
    if not 0 < len(joined) <= _MOST_RANKS or len(set(joined)) < len(joined) or len(needed) > 1:
        return
    if max([*joined, *needed]) > _MOST_RANKS:
        return
    missing = sorted(set(range(max([*needed, max(joined) + 1]))) - set(joined))
    if missing:
        shown = ", ".join(map(str, missing[:_MAX_MISSING])) + (", ..." if len(missing) > _MAX_MISSING else "")
        after = "" if needed else f" (and perhaps ranks after {max(joined)})"
        yield f"the list of ranks that joined lacks {shown}{after}: read their logs"


def _rules_of_answer(answer: Answer) -> Iterator[str]:
    """The ids of the rules that find an answer's error in a table."""
    yield from answer.row.rules
    if answer.row.patterns:
        yield from _rules_of(answer.row.variable)
    else:
        for sentence in _VALUE.finditer(answer.text):
            yield from _rules_of(sentence["variable"])


def _of_code(code: str) -> Explanation:
    """The page of a code, and all rules that end in it."""
    rules = tuple(rule for rule in CATALOGUE if rule.hccl_error == code)
    says = (MAYBE,) if code.isdecimal() else ()
    return Explanation((code,), (Answer(BY_CODE[code], code, says),), (), rules, is_exact=False)


def _of_variable(text: str) -> Explanation | None:
    """What HCCL accepts for one of its variables, written as NAME or NAME=VALUE; None for any other text."""
    name, equals, value = text.partition("=")
    accepted = in_words(name)
    if accepted is None:
        return None
    fits = accepted_values("")[name].takes(value)
    says = (f"{_bounded(value)!r} is {'' if fits else 'not '}accepted",) if equals else ()
    row = KnownError(f"a variable of HCCL; accepted: {accepted}", "fact", fix="`hccl-kit preflight TABLE` checks it")
    return Explanation((), (Answer(row, name, says),), (), (), is_exact=True)


def _ids_in(text: str) -> list[str]:
    """The ids in a text. Names count only if the text is a list of rules: a word of a log may look like a name."""
    words = [_ID_OF_NAME.get(word.lower(), word) for word in re.split(r"[\s,]+", text.strip())]
    is_list = all(re.fullmatch(r"HK[0-9]+", word.upper()) for word in words)
    return re.findall(r"\bHK[0-9]+\b", (" ".join(words) if is_list else text).upper())


def _of_ids(ids: Iterable[str]) -> Iterator[Rule[...]]:
    """The rules with one of the ids, or with a prefix of the id for a family."""
    for name in ids:
        found = [rule for rule in CATALOGUE if rule.id.startswith(name)]
        if not found:
            raise unknown(name)
        yield from found


def _rules_named(words: Sequence[str]) -> Iterator[Rule[...]]:
    """The rules for the names of HCCL that a text consists of, besides codes."""
    names = [word for word in words if word in _NAMES]
    if names and len(words) <= 3:
        yield from (_BY_ID[one] for one in sorted({one for name in names for one in _rules_of(name)}))


def _rules_of(variable: str) -> Iterator[str]:
    """The ids of the rules with this name of HCCL; "... of server Id X" matches every server."""
    for rule in CATALOGUE:
        for name in rule.variables:
            if variable == name or (name.endswith(" X") and variable.startswith(name[:-1])):
                yield rule.id


def unknown(wanted: str) -> KitError:
    """The error for a text that matches nothing. It suggests no similar code, which would explain another error."""
    return KitError(
        f"no rule, code or message matches {wanted[:80]!r}",
        hint="pass a rule (HK203), a code (EI0014), the whole line of a log, or the log: hccl-kit explain LOG\n"
        "what is unknown here may still be the cause: collect ~/ascend/log (debug and run) of all hosts, and the output"
        " of all ranks",
    )
