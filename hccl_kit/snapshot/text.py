"""A comparison in words: a line for each difference."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import counted, listed, shortened
from hccl_kit.snapshot.comparison import Comparison, Difference

MAX_LINES = 200
"""Differences that the text shows; the JSON form holds them all."""
MAX_VALUE = 80
"""Characters of a value that the text shows."""
_HEADINGS = {"versions": "version of {}", "weights": "weights {}", "packages": "package {}"}


def as_text(compared: Comparison) -> str:
    """A line for each difference, the number of them, and what could not be compared."""
    lines = shortened([_line(difference) for difference in compared.differences], MAX_LINES)
    lines.append(str(counted(len(compared.differences), "difference")) if lines else "no difference")
    if compared.not_compared:
        names = listed(map(printable, compared.not_compared))
        lines.append(f"not compared, since masked, cut or in one of them only: {names}")
    return "\n".join(lines)


def _line(difference: Difference) -> str:
    name = _HEADINGS.get(difference.section, "{}").format(printable(difference.name))
    where = f" of {listed(map(printable, difference.places))}" if difference.places else ""
    return f"{name}{where}: {'; '.join(_values(difference))}"


def _values(difference: Difference) -> Iterator[str]:
    """Each value with those that have it. Of more than two, the value that most of them have comes first."""
    columns: dict[str | None, list[str]] = {}
    for column, text in difference.values:
        columns.setdefault(text, []).append(column)
    count = len(difference.values)
    if count > 2:
        columns = dict(sorted(columns.items(), key=lambda item: -len(item[1])))
    for text, names in columns.items():
        is_usual = count > 2 and len(names) > count / 2
        who = f"{len(names)} of {count} servers" if is_usual else listed(map(printable, names))
        yield f"{_shown(text)} ({who})"


def _shown(text: str | None) -> str:
    if text is None:
        return "absent"
    return printable(text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 3] + "...") or '""'
