"""From a text that somebody has (a rule's id, an error code, lines of a log) to what it means and what to do."""

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
"""Characters of a pasted text that are looked at; nobody means more of a log than this."""
MAX_PAGES = 3
"""Of more rules only a line each is shown."""
_VALUE = re.compile(
    r"Value[ ]+(?P<value>[^\n]{0,200}?)[ ]*\bfor ranktable variable (?P<variable>[^\n]{1,200}?) is invalid"
    r"(?:[. ]*Expected value: *(?P<expected>[^\n]{1,200}))?",
    re.IGNORECASE,
)
"""The sentence of EI0014."""


class Explanation(NamedTuple):
    """What a text is about.

    `codes` are HCCL's error codes in it; `told` sentences that hold for this very text; `rules` those that fit, in
    order of their ids; `is_exact` where the text says more than its code, so that not every rule of the code is meant.
    """

    codes: tuple[str, ...]
    notes: tuple[str, ...]
    rules: tuple[Rule[...], ...]
    is_exact: bool


def explain(text: str) -> Explanation:
    """What is known about a text; raises KitError if that is nothing."""
    text = text[:MAX_TEXT]
    ids = dict.fromkeys(_ids_in(text))
    named = dict.fromkeys(re.findall(r"\bE[A-Z][0-9]{4}\b", text.upper()))
    codes = [code for code in named if code in CODES]
    if ids:
        return Explanation(tuple(codes), (), tuple(_of_ids(ids)), is_exact=True)
    sentences = list(_VALUE.finditer(text))
    if sentences and "EI0014" not in codes:
        codes.append("EI0014")
    told, rules = _meant(text, sentences)
    is_exact = bool(told or rules)
    if not (codes or is_exact):
        raise _unknown(next(iter(named), text.strip()))
    rules = rules if is_exact else {rule.id for rule in CATALOGUE if rule.hccl_error in codes}
    told = [*map(_in_words, sentences), *told]
    return Explanation(
        tuple(codes), tuple(dict.fromkeys(told)), tuple(_BY_ID[name] for name in sorted(rules)), is_exact
    )


def _ids_in(text: str) -> list[str]:
    """The ids in a text. Names count only if the text is a list of rules: a word of a log may look like a name."""
    words = [_ID_OF_NAME.get(word.lower(), word) for word in re.split(r"[\s,]+", text.strip())]
    is_list = all(re.fullmatch(r"HK[0-9]+", word.upper()) for word in words)
    return re.findall(r"\bHK[0-9]+\b", (" ".join(words) if is_list else text).upper())


def _of_ids(ids: Iterable[str]) -> Iterator[Rule[...]]:
    """The rules that are named by their ids, or by the beginning of it for a family."""
    for name in ids:
        found = [rule for rule in CATALOGUE if rule.id.startswith(name)]
        if not found:
            raise _unknown(name)
        yield from found


def as_page(explanation: Explanation) -> str:
    """The explanation as text: the codes, what holds for this text, and the pages of the rules. No newline at the end.

    It may hold pieces of the text explained, as they were.
    """
    codes = [f"{code}: {CODES[code]}" for code in explanation.codes]
    parts = ["\n".join([*codes, *explanation.notes])] if codes or explanation.notes else []
    if len(explanation.rules) > MAX_PAGES or (explanation.rules and not explanation.is_exact):
        parts.append(_list(explanation))
    else:
        parts += map(_page, explanation.rules)
    return "\n\n".join(parts)


def _list(explanation: Explanation) -> str:
    """The rules with a line each, and before the title the names that HCCL gives their mistakes."""
    few = "the rules that fit" if explanation.is_exact else "the rules that end in this code"
    rows = [(rule.id, rule.name, ", ".join(rule.variables) or "-", rule.title) for rule in explanation.rules]
    next_step = "`hccl-kit explain` with the id of a rule, or with the whole line of the log, tells more"
    return f"{few}, and what HCCL calls the fault:\n{in_columns(rows)}\n\n{next_step}"


def _page(rule: Rule[...]) -> str:
    page = rule.page
    return f"{rule.id} {rule.name} ({severities(rule)}): {rule.title}.\n\n{page[page.index('What:') :]}"


def _meant(text: str, sentences: Iterable[re.Match[str]]) -> tuple[list[str], set[str]]:
    """What can be told of a text besides its code, and the ids of the rules that it points at."""
    told: list[str] = []
    rules: set[str] = set()
    said = [*_said(_VALUE.sub("", text), {})]
    for sentence in sentences:
        found = {key: part.strip(' ."') for key, part in sentence.groupdict().items() if part}
        more = [*_said(sentence[0], found)]
        rules.update(() if more else _called(sentence["variable"]))
        said += more
    for saying, lines in said:
        told += lines
        rules.update(saying.rules, _called(saying.variable))
    if not (told or rules):
        names = {name for rule in CATALOGUE for name in rule.variables if len(name) > 2}
        rules.update(*(_called(name) for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)))
    return told, rules


def _in_words(sentence: re.Match[str]) -> str:
    value, expected = sentence["value"] or "nothing", (sentence["expected"] or "").strip(' ."')
    return f"HCCL found {value} for {sentence['variable']}" + (f"; it expects: {expected}" if expected else "")


def _said(text: str, found: Mapping[str, str]) -> Iterator[tuple[KnownMessage, list[str]]]:
    """The sayings in a text, each with those of its sentences whose blanks can be filled."""
    for saying in KNOWN_MESSAGES:
        match = re.search(saying.pattern, text, re.IGNORECASE)
        if match:
            known = {**found, **{key: part for key, part in match.groupdict().items() if part}}
            told = [line for line in saying.notes if _blanks(line) <= known.keys()]
            yield saying, [line.format_map(known) for line in told]


def _blanks(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def _called(variable: str) -> Iterator[str]:
    """The ids of the rules whose fault HCCL calls by this name; "... of server Id X" is so on every server."""
    for rule in CATALOGUE:
        for name in rule.variables:
            if variable == name or (name.endswith(" X") and variable.startswith(name[:-1])):
                yield rule.id


def _unknown(wanted: str) -> KitError:
    """No nearest code is named: another code explains another error, and misleads."""
    return KitError(
        f"nothing is known of {wanted[:80]!r}",
        hint="give a rule (HK203), a code (EI0014) or the whole line of the log; `hccl-kit rules` lists the rules",
    )
