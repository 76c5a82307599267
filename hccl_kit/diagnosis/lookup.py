"""The meaning of a text (a rule's id, an error code, lines of a log), and the next step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from string import Formatter
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.check.rule import Rule
from hccl_kit.check.rule_pages import in_columns, severities
from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.diagnosis.hccl_errors import CODES, KNOWN_MESSAGES, KnownMessage

_BY_ID = {rule.id: rule for rule in CATALOGUE}
_ID_OF_NAME = {rule.name: rule.id for rule in CATALOGUE}

MAX_TEXT = 20_000
"""Characters of a text that are searched."""
MAX_PAGES = 3
"""With more rules than this, each is shown on one line."""
_VALUE = re.compile(
    r"Value[ ]+(?P<value>[^\n]{0,200}?)[ ]*\bfor ranktable variable (?P<variable>[^\n]{1,200}?) is invalid"
    r"(?:[. ]*Expected value: *(?P<expected>[^\n]{1,200}))?",
    re.IGNORECASE,
)
"""The message of EI0014."""


class Explanation(NamedTuple):
    """What is known about a text.

    `codes` are HCCL's error codes in it, `notes` sentences about this text, `rules` the matching rules in order of
    their ids. `is_exact`: the text is more specific than its code, so not all rules of the code match.
    """

    codes: tuple[str, ...]
    notes: tuple[str, ...]
    rules: tuple[Rule[...], ...]
    is_exact: bool


def explain(text: str) -> Explanation:
    """What is known about a text. Raises KitError if it matches nothing."""
    text = text[:MAX_TEXT]
    ids = dict.fromkeys(_ids_in(text))
    named = dict.fromkeys(re.findall(r"\bE[A-Z][0-9]{4}\b", text.upper()))
    codes = [code for code in named if code in CODES]
    if ids:
        return Explanation(tuple(codes), (), tuple(_of_ids(ids)), is_exact=True)
    sentences = list(_VALUE.finditer(text))
    if sentences and "EI0014" not in codes:
        codes.append("EI0014")
    notes, rules = _details(text, sentences)
    is_exact = bool(notes or rules)
    if not (codes or is_exact):
        raise _unknown(next(iter(named), text.strip()))
    rules = rules if is_exact else {rule.id for rule in CATALOGUE if rule.hccl_error in codes}
    notes = [*map(_in_words, sentences), *notes]
    return Explanation(
        tuple(codes), tuple(dict.fromkeys(notes)), tuple(_BY_ID[name] for name in sorted(rules)), is_exact
    )


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
            raise _unknown(name)
        yield from found


def as_page(explanation: Explanation) -> str:
    """The explanation as text: the codes, the notes, and the pages of the rules. No newline at the end.

    It may contain unescaped parts of the explained text.
    """
    codes = [f"{code}: {CODES[code]}" for code in explanation.codes]
    parts = ["\n".join([*codes, *explanation.notes])] if codes or explanation.notes else []
    if len(explanation.rules) > MAX_PAGES or (explanation.rules and not explanation.is_exact):
        parts.append(_rule_lines(explanation))
    else:
        parts += map(_page, explanation.rules)
    return "\n\n".join(parts)


def _rule_lines(explanation: Explanation) -> str:
    """One line per rule: the id, the name, HCCL's names for the error, the title."""
    few = "matching rules" if explanation.is_exact else "rules with this code"
    rows = [(rule.id, rule.name, ", ".join(rule.variables) or "-", rule.title) for rule in explanation.rules]
    next_step = "run `hccl-kit explain` with the id of a rule, or with the whole line of the log, for details"
    return f"{few}, with the name of the error in HCCL:\n{in_columns(rows)}\n\n{next_step}"


def _page(rule: Rule[...]) -> str:
    page = rule.page
    return f"{rule.id} {rule.name} ({severities(rule)}): {rule.title}.\n\n{page[page.index('What:') :]}"


def _details(text: str, sentences: Iterable[re.Match[str]]) -> tuple[list[str], set[str]]:
    """The notes on a text, and the ids of the rules that it matches."""
    notes: list[str] = []
    rules: set[str] = set()
    found_messages = [*_matches(_VALUE.sub("", text), {})]
    for sentence in sentences:
        found = {key: part.strip(' ."') for key, part in sentence.groupdict().items() if part}
        more = [*_matches(sentence[0], found)]
        rules.update(() if more else _rules_of(sentence["variable"]))
        found_messages += more
    for message, lines in found_messages:
        notes += lines
        rules.update(message.rules, _rules_of(message.variable))
    if not (notes or rules):
        names = {name for rule in CATALOGUE for name in rule.variables if len(name) > 2}
        rules.update(*(_rules_of(name) for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)))
    return notes, rules


def _in_words(sentence: re.Match[str]) -> str:
    value, expected = sentence["value"] or "nothing", (sentence["expected"] or "").strip(' ."')
    return f"HCCL found {value} for {sentence['variable']}" + (f"; it expects: {expected}" if expected else "")


def _matches(text: str, found: Mapping[str, str]) -> Iterator[tuple[KnownMessage, list[str]]]:
    """The known messages in a text, each with those of its notes whose placeholders have values."""
    for message in KNOWN_MESSAGES:
        match = re.search(message.pattern, text, re.IGNORECASE)
        if match:
            known = {**found, **{key: part for key, part in match.groupdict().items() if part}}
            notes = [line for line in message.notes if _placeholders(line) <= known.keys()]
            yield message, [line.format_map(known) for line in notes]


def _placeholders(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def _rules_of(variable: str) -> Iterator[str]:
    """The ids of the rules with this name of HCCL; "... of server Id X" matches every server."""
    for rule in CATALOGUE:
        for name in rule.variables:
            if variable == name or (name.endswith(" X") and variable.startswith(name[:-1])):
                yield rule.id


def _unknown(wanted: str) -> KitError:
    """Suggests no similar code: it would explain another error."""
    return KitError(
        f"no rule, code or message matches {wanted[:80]!r}",
        hint="pass a rule (HK203), a code (EI0014) or the whole line of the log; `hccl-kit rules` lists the rules",
    )
