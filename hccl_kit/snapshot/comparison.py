"""How two snapshots differ, or the servers of one, as values and in words.

The most telling difference comes first, such as the driver before patch levels of packages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.secret_texts import HIDDEN
from hccl_kit.base.terminal import printable
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import counted, listed, row, sentences, shortened, spans
from hccl_kit.diagnosis.environment import MAX_VALUE
from hccl_kit.preflight.machine import Machine
from hccl_kit.snapshot.document import Snapshot

SECTIONS = ("table", "servers", "versions", "cards", "variables", "settings", "weights", "packages")
"""What a difference is about, the most telling first."""
_NUMBERED = re.compile(r"<(address|host|user|name) [0-9]{1,9}>")
_OF_JOBS = re.compile(r"(HCCL|HCOMM|ASCEND|TORCH_HCCL)_")
_MINOR = re.compile(r"[0-9]+\.[0-9]+")

Values = tuple[tuple[str, str | None], ...]


class Difference(NamedTuple):
    """A fact that differs: its value by file or by server, None where it is absent.

    `places` are the cards and servers that have this difference, such as "card 3"; empty if there is only one place.
    """

    section: str
    name: str
    values: Values
    places: tuple[str, ...] = ()


class Comparison(NamedTuple):
    """The differences, and the names of facts that cannot be compared since they are masked, cut or missing."""

    differences: tuple[Difference, ...]
    not_compared: tuple[str, ...]


class _Fact(NamedTuple):
    """The name of a value, in the order of `SECTIONS`; `card` is "" for what is not about a card."""

    section: str
    name: str
    card: str = ""


_Columns = Mapping[str, Mapping[_Fact, str]]


def compare_servers(snapshot: Snapshot) -> Comparison:
    """How the servers of one snapshot differ. They have one mask, so equal marks are equal words."""
    return _comparison({"": {name: _machine_facts(machine) for name, machine in snapshot.servers.items()}}, str)


def compare_snapshots(first: Snapshot, second: Snapshot, names: tuple[str, str]) -> Comparison:
    """How two snapshots with these names differ. Servers are paired by name, and marks are equal if their kinds are."""
    wholes = _shared_facts(first), _shared_facts(second)
    lacking = {fact.section for fact in wholes[0]} ^ {fact.section for fact in wholes[1]}
    kept = [{fact: text for fact, text in whole.items() if fact.section not in lacking} for whole in wholes]
    groups = {"": dict(zip(names, kept, strict=True))}
    common = [name for name in first.servers if name in second.servers]
    for name in common:
        machines = (_machine_facts(snapshot.servers[name]) for snapshot in (first, second))
        groups[name if len(common) > 1 else " "] = dict(zip(names, machines, strict=True))
    compared = _comparison(groups, lambda text: _NUMBERED.sub(r"<\1>", text))
    return compared._replace(not_compared=(*sorted(lacking), *compared.not_compared))


def _machine_facts(machine: Machine) -> dict[_Fact, str]:
    facts = {
        _Fact(section, name): text
        for section in ("versions", "variables", "settings", "packages")
        for name, text in getattr(machine, section).items()
    }
    ids = sorted(machine.cards, key=lambda card: [int(part) for part in card.split(".")])
    numbers = row(spans(int(card) for card in ids if card.isdecimal()))
    facts[_Fact("cards", Message("snapshot.cards", "ids of the cards"))] = numbers or Message("snapshot.none", "none")
    return facts | {_Fact("cards", name, card): text for card in ids for name, text in machine.cards[card].items()}


def _shared_facts(snapshot: Snapshot) -> dict[_Fact, str]:
    """What a snapshot has apart from its machines."""
    digest = snapshot.table and snapshot.table["digest"]
    return {
        **({_Fact("table", Message("snapshot.digest", "digest of the table")): digest} if digest else {}),
        **{_Fact("servers", name): Message("snapshot.answered", "answered") for name in snapshot.servers},
        **{_Fact("servers", name): Message("snapshot.silent", "did not answer") for name in snapshot.silent},
        **{_Fact("weights", name): text for name, text in snapshot.weights.items()},
    }


def _comparison(groups: Mapping[str, _Columns], form: Callable[[str], str]) -> Comparison:
    """Compare the columns of each group, whose name is the place of its differences."""
    places: dict[tuple[str, str, Values], list[str]] = {}
    open_questions: dict[str, None] = {}
    for group, columns in groups.items():
        for fact, values in _rows(columns):
            if len({text if text is None else form(text) for _, text in values}) > 1:
                places.setdefault((fact.section, fact.name, values), []).append(_place(group.strip(), fact.card))
            elif any(text is not None and _is_partly_hidden(text, form) for _, text in values):
                open_questions[fact.name] = None
    differences = [Difference(*fact, tuple(filter(None, where))) for fact, where in places.items()]
    return Comparison(tuple(sorted(differences, key=_rank)), tuple(open_questions))


def _place(server: str, card: str) -> str:
    if not card:
        return server
    named = Message("snapshot.card", "card {card}", card=card)
    return Message("snapshot.card-of", "{server} {card}", server=server, card=named) if server else named


def _rows(columns: _Columns) -> Iterator[tuple[_Fact, Values]]:
    """Every fact with its values in the columns; a card only in those that have it."""
    for fact in dict.fromkeys(fact for facts in columns.values() for fact in facts):
        health = _Fact("cards", "health", fact.card)
        yield (
            fact,
            tuple((name, facts.get(fact)) for name, facts in columns.items() if not fact.card or health in facts),
        )


def _is_partly_hidden(text: str, form: Callable[[str], str]) -> bool:
    return HIDDEN in text or form(text) != text or len(text) >= MAX_VALUE


def _rank(difference: Difference) -> tuple[int, bool]:
    is_minor = False
    if difference.section == "variables":
        is_minor = not _OF_JOBS.match(difference.name)
    elif difference.section == "packages":
        releases = [_MINOR.match(text or "") for _, text in difference.values]
        is_minor = len({release and release[0] for release in releases}) == 1
    return SECTIONS.index(difference.section), is_minor


MAX_LINES = 200
"""Differences that the text shows; the JSON form holds them all."""
MAX_VALUES = 8
"""Values of a fact that the text shows: with many servers, those that most of them have."""
MAX_SHOWN = 80
"""Characters of a value that the text shows."""


def as_text(compared: Comparison) -> str:
    """A line for each difference, the number of them, and what could not be compared."""
    lines = shortened([_line(difference) for difference in compared.differences], MAX_LINES)
    number = counted(len(compared.differences), "difference")
    lines.append(number if lines else Message("snapshot.no-difference", "no difference"))
    if compared.not_compared:
        names = listed(map(printable, compared.not_compared))
        lines.append(
            Message(
                "snapshot.not-compared",
                "not compared, since masked, cut or in one of them only: {names}",
                names=names,
            )
        )
    return "\n".join(map(translated, lines))


def _line(difference: Difference) -> str:
    name = _heading(difference.section, printable(difference.name))
    if difference.places:
        name = Message(
            "snapshot.place", "{name} of {places}", name=name, places=listed(map(printable, difference.places))
        )
    values = sentences(_values(difference))
    return Message("snapshot.difference", "{name}: {values}", name=name, values=values)


def _heading(section: str, name: str) -> str:
    if section == "versions":
        return Message("snapshot.version", "version of {name}", name=name)
    if section == "weights":
        return Message("snapshot.weights-name", "weights {name}", name=name)
    return Message("snapshot.package", "package {name}", name=name) if section == "packages" else name


def _values(difference: Difference) -> Iterator[str]:
    """Each value with those that have it. Of more than two, the value that most of them have comes first."""
    columns = grouped((text, column) for column, text in difference.values)
    count = len(difference.values)
    if count > 2:
        columns = dict(sorted(columns.items(), key=lambda item: -len(item[1])))
    groups = [(_shown(text), names) for text, names in columns.items()]
    if others := [name for _, names in groups[MAX_VALUES:] for name in names]:
        groups[MAX_VALUES:] = [(counted(len(groups) - MAX_VALUES, "other value"), others)]
    for value, names in groups:
        is_usual = count > 2 and len(names) > count / 2
        who = listed(map(printable, names))
        if is_usual:
            who = Message("snapshot.most", "{number} of {count} servers", number=len(names), count=count)
        yield Message("snapshot.value", "{value} ({who})", value=value, who=who)


def _shown(text: str | None) -> str:
    if text is None:
        return Message("snapshot.absent", "absent")
    return printable(text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "...") or '""'
