"""Numbers and lists in words: "2 servers", "a, b and 3 more", "0, 4 to 7". What has English words is a message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from errno import errorcode
from functools import reduce
from itertools import groupby

from hccl_kit.base.message import Message

MAX_LISTED = 8
"""Items of a list in a message, unless the caller chooses another limit."""


def plural(noun: str, number: int) -> str:
    """The noun after a number: `plural("card", 2)` is "cards", `plural("process", 2)` is "processes"."""
    if number == 1:
        return noun
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def counted(number: int, noun: str) -> Message:
    """`counted(1, "server")` is "1 server", `counted(2, "server")` is "2 servers". The noun is a literal."""
    return Message(f"base.count-{noun.replace(' ', '-')}", "{number} {noun}", number=number, noun=plural(noun, number))


def joined(items: Iterable[object], conjunction: str = "and") -> str:
    """`joined([1, 2, 4])` is "1, 2 and 4"; the conjunction is "and" or "or"."""
    *most, last = _texts(items)
    if not most:
        return last
    if conjunction == "or":
        return Message("base.joined-or", "{items} or {last}", items=row(most), last=last)
    return Message("base.joined-and", "{items} and {last}", items=row(most), last=last)


def either(items: Iterable[str]) -> str:
    """`either(["a", "b", "c"])` is "a or b or c": each of them stands for itself."""
    return reduce(lambda left, right: Message("base.either", "{left} or {right}", left=left, right=right), items)


def listed(items: Iterable[object], limit: int = MAX_LISTED) -> str:
    """The first `limit` items and the number of the others: "a, b and 3 more"."""
    texts = _texts(items)
    items, more = row(texts[:limit]), len(texts) - limit
    return Message("base.listed", "{items} and {more} more", items=items, more=more) if more > 0 else items


def row(texts: Iterable[str]) -> str:
    """All of them: "a, b, c"; nothing is ""."""
    return _chained(texts, lambda left, right: Message("base.row", "{left}, {right}", left=left, right=right))


def clauses(texts: Iterable[str]) -> str:
    """Parts of a sentence: "ok, 1 warning, version 1.0"."""
    return _chained(texts, lambda left, right: Message("base.clauses", "{left}, {right}", left=left, right=right))


def sentences(texts: Iterable[str]) -> str:
    """Sentences in a row, without empty ones: "it ended by itself; nothing contradicts it"."""
    return _chained(
        filter(None, texts), lambda left, right: Message("base.sentences", "{left}; {right}", left=left, right=right)
    )


def _texts(items: Iterable[object]) -> list[str]:
    return [item if isinstance(item, str) else str(item) for item in items]


def _chained(texts: Iterable[str], join: Callable[[str, str], str]) -> str:
    texts = [*texts]
    return reduce(join, texts) if texts else ""


def shortened(lines: Sequence[str], limit: int) -> list[str]:
    """The first `limit` lines, then "and N more" for the others."""
    more = len(lines) - limit
    return [*lines[:limit], *([Message("base.more", "and {number} more", number=more)] if more > 0 else [])]


def indented(lines: Iterable[str]) -> str:
    """Each line on a line of its own below the first line of a message, four spaces in."""
    return "".join("\n    " + line.replace("\n", "\n    ") for line in lines)


def spans(numbers: Iterable[int]) -> list[str]:
    """Numbers in ascending order, consecutive ones as one text: `spans([0, 4, 5, 6])` is ["0", "4-6"]."""
    groups = groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0])
    runs = [[number for _, number in group] for _, group in groups]
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]


def system_reason(error: OSError) -> str:
    """What the system says about an error: "No such file or directory"."""
    name = errorcode.get(error.errno or 0)
    if name is None or not error.strerror:
        return str(error)
    return Message(f"base.{name}", "{words}", words=error.strerror)


def as_note(what: str) -> Message:
    """A note for the user: "note: ..."."""
    return Message("base.note", "note: {what}", what=what)


def not_started(program: str, error: OSError) -> Message:
    """That a program cannot be started, and why."""
    return Message(
        "base.not-started", "{program} cannot be started: {reason}", program=program, reason=system_reason(error)
    )


def no_answer(seconds: float) -> Message:
    """That a program gave no answer in time."""
    return Message("base.no-answer", "no answer in {seconds:g} s", seconds=seconds)
