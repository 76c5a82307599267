"""A comparison in words: a line for each difference."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import counted, listed, sentences, shortened
from hccl_kit.snapshot.comparison import Comparison, Difference

MAX_LINES = 200
"""Differences that the text shows; the JSON form holds them all."""
MAX_VALUES = 8
"""Values of a fact that the text shows: with many servers, those that most of them have."""
MAX_VALUE = 80
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
    return printable(text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 3] + "...") or '""'
