"""Numbers and lists as English text: "2 servers", "a, b and 3 more", "0, 4 to 7"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from signal import Signals

MAX_LISTED = 8
"""Items of a list in a message, unless the caller chooses another limit."""


def plural(noun: str, number: int) -> str:
    """The noun after a number: `plural("card", 2)` is "cards", `plural("process", 2)` is "processes"."""
    if number == 1:
        return noun
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def counted(number: int, noun: str) -> str:
    """`counted(1, "server")` is "1 server", `counted(2, "server")` is "2 servers"."""
    return f"{number} {plural(noun, number)}"


def joined(items: Iterable[object], conjunction: str = "and") -> str:
    """`joined([1, 2, 4])` is "1, 2 and 4"."""
    *most, last = map(str, items)
    return f"{', '.join(most)} {conjunction} {last}" if most else last


def listed(items: Iterable[object], limit: int = MAX_LISTED) -> str:
    """The first `limit` items and the number of the others: "a, b and 3 more"."""
    texts = list(map(str, items))
    return ", ".join(texts[:limit]) + (f" and {len(texts) - limit} more" if len(texts) > limit else "")


def shortened(lines: Sequence[str], limit: int) -> list[str]:
    """The first `limit` lines, then "and N more" for the others."""
    return [*lines[:limit], *([f"and {len(lines) - limit} more"] if len(lines) > limit else [])]


def indented(lines: Iterable[str]) -> str:
    """Each line on a line of its own below the first line of a message, four spaces in."""
    return "".join("\n    " + line.replace("\n", "\n    ") for line in lines)


def spans(numbers: Iterable[int], to: str = "-") -> list[str]:
    """Numbers in ascending order, consecutive ones as one text: `spans([0, 4, 5, 6])` is ["0", "4-6"]."""
    groups = groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0])
    runs = [[number for _, number in group] for _, group in groups]
    return [str(run[0]) if len(run) == 1 else f"{run[0]}{to}{run[-1]}" for run in runs]


def killed_by(number: int) -> str:
    """How a process ended: `killed_by(9)` is "killed by SIGKILL"; signals without a name have their number."""
    try:
        return f"killed by {Signals(number).name}"
    except ValueError:
        return f"killed by signal {number}"
