"""What the starter of a job and the agents of its servers say to each other: JSON, a line each.

The starter sends the assignment, then orders; the agent sends reports. An empty line is a sign of life.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from hccl_kit.agent.job import Clear, Exited, Gone, Hung, Send, Start

if TYPE_CHECKING:
    _Form = Callable[[Any], Any]
    """Makes a field of what JSON has in its place. Raises ValueError."""

LIFE = b"\n"
SIGN, SILENCE = 1.0, 8.0
"""Seconds between two signs of life, and without one until the other side counts as lost."""
LONGEST = 1 << 20
"""Bytes of a report."""
MOST_RANKS = 1 << 20
_PIECE = 1 << 14


# Orders, besides Start, Send and Clear.
class PassOn(NamedTuple):
    """Pass a signal of the user on to the ranks; the job goes on."""

    number: int


class Note(NamedTuple):
    """Add words to the notes of the server."""

    words: str


class Describe(NamedTuple):
    """Report what is said of a failed job; `is_shown`: the output of the rank ends the screen."""

    cause: Exited | Hung
    is_shown: bool


class End(NamedTuple):
    """The job is over."""


# Reports, besides Exited, Hung and Gone.
class Ready(NamedTuple):
    """The agent has its assignment; `is_here`: it sees the log folder of the starter."""

    is_here: bool


class Refused(NamedTuple):
    """The agent cannot start: `text` says why, and what to do."""

    text: str


class Started(NamedTuple):
    """The ranks were started, with rank 0 at `port`."""

    port: int


class Output(NamedTuple):
    """What a rank has printed."""

    rank: int
    data: bytes


class Said(NamedTuple):
    """A message of the agent for the user, on standard output or standard error (1, 2)."""

    text: str
    to: int


class Failure(NamedTuple):
    """The answer to Describe."""

    text: str


Order = Union[Start, Send, PassOn, Clear, Note, Describe, End]  # noqa: UP007 - Python 3.8
Report = Union[Ready, Refused, Started, Exited, Hung, Output, Said, Gone, Failure]  # noqa: UP007


def line(message: Order | Report) -> bytes:
    """A message as a line."""
    return json.dumps(_plain(message)).encode() + b"\n"


def _plain(value: Any) -> Any:
    """A message as its kind and its fields, which may be messages."""
    if hasattr(value, "_asdict"):
        return {"is": type(value).__name__, **{name: _plain(field) for name, field in value._asdict().items()}}
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def outputs(rank: int, data: bytes) -> bytes:
    """Output as lines, none of which is too long."""
    return b"".join(line(Output(rank, data[at : at + _PIECE])) for at in range(0, len(data), _PIECE))


class Lines:
    """Cuts what comes into lines of at most `longest` bytes."""

    def __init__(self, longest: int = LONGEST) -> None:
        self.longest = longest
        self.rest = b""

    def cut(self, data: bytes) -> Iterator[bytes]:
        """The lines that are complete. Raises ValueError if one is too long."""
        *complete, self.rest = (self.rest + data).split(b"\n")
        if max(map(len, [*complete, self.rest])) > self.longest:
            raise ValueError(f"a line of more than {self.longest} bytes")
        yield from (text for text in complete if text.strip())


def order(text: bytes) -> Order:
    """The order of a line. Raises ValueError."""
    made: Order = _message(Start, Send, PassOn, Clear, Note, Describe, End)(_json(text))
    return made


def report(text: bytes) -> Report:
    """The report of a line from another host. Raises ValueError."""
    made: Report = _message(Ready, Refused, Started, Exited, Hung, Output, Said, Gone, Failure)(_json(text))
    return made


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("not JSON") from None


def _message(*kinds: Any) -> _Form:
    """A message of one of these kinds; each field is read by its form in _FORMS."""
    names = {kind.__name__: kind for kind in kinds}

    def read(value: Any) -> Any:
        name = value.get("is") if isinstance(value, dict) else None
        if not isinstance(name, str) or name not in names:
            raise ValueError("not a message")
        kind, forms = names[name], _FORMS[names[name]]
        return kind(*(forms[number](value.get(field)) for number, field in enumerate(kind._fields)))

    return read


def _value(kind: Any, most: float = 0) -> _Form:
    def read(value: Any) -> Any:
        if type(value) is not kind or (kind is not str and not 0 <= value <= most):
            raise ValueError(f"a {'text' if kind is str else f'number from 0 to {most}'} is missing")
        return value

    return read


def _perhaps(form: _Form) -> _Form:
    return lambda value: None if value is None else form(value)


def _data(value: Any) -> bytes:
    return str(_TEXT(value)).encode("utf-8", "surrogateescape")


def _ranks(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError("ranks are missing")
    return tuple(map(_RANK, value))


_TEXT, _COUNT, _RANK = _value(str), _value(int, 10**18), _value(int, MOST_RANKS)
_PORT, _SIGNAL = _value(int, 65535), _value(int, 64)
_FORMS: dict[Any, tuple[_Form, ...]] = {
    Start: (_COUNT, _perhaps(_PORT)),
    Send: (_SIGNAL, bool),
    PassOn: (_SIGNAL,),
    Clear: (),
    Note: (_TEXT,),
    Describe: (_message(Exited, Hung), bool),
    End: (),
    Ready: (bool,),
    Refused: (_TEXT,),
    Started: (_PORT,),
    Exited: (_RANK, _value(int, 255)),
    Hung: (_ranks, _COUNT),
    Output: (_RANK, _data),
    Said: (_TEXT, lambda value: 1 if value == 1 else 2),
    Gone: (_perhaps(_COUNT), _perhaps(_message(Exited)), _value(float, 10**18)),
    Failure: (_TEXT,),
}
