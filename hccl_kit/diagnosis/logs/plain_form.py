"""What a log gave as a line of JSON, and back: every value is checked against the type that its field names."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hccl_kit.diagnosis.facts import Event, Fact, LogFile, Place, Process
from hccl_kit.diagnosis.logs.log_file import Found

_FACTS = {kind.__name__: kind for kind in get_args(Fact)}


def to_line(part: Found) -> bytes:
    """One line, without its end."""
    events = [(*event[:-1], type(event.fact).__name__, event.fact) for event in part.events]
    return json.dumps((part.file, events, part.notes), separators=(",", ":")).encode()


def from_line(line: bytes) -> Found:
    """Raises ValueError, TypeError or KeyError if it is not a line of `to_line`."""
    file, events, notes = json.loads(line)
    of_process, of_place, of_time, of_bool = map(_parser, (Process, Place, float | None, bool))
    return Found(
        _parser(LogFile | None)(file),
        tuple(
            Event(of_process(process), of_place(place), of_time(at), of_bool(is_error), _parser(_FACTS[name])(fact))
            for process, place, at, is_error, name, fact in events
        ),
        _parser(tuple[str, ...])(notes),
    )


@cache
def _parser(hint: Any) -> Callable[[Any], Any]:
    """What makes a value of the type `hint` from JSON."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _first_of([_parser(kind) for kind in inner])
    if origin is Literal:
        return _checked(lambda value: value in inner)
    if origin is tuple:
        item = _parser(inner[0])
        return lambda value: tuple(map(item, _list(value)))
    if hasattr(hint, "_fields"):
        parse = _tuple_parser(tuple(get_type_hints(hint).values()))
        return lambda value: hint(*parse(value))
    kinds = (int, float) if hint is float else (hint,)
    return _checked(lambda value: type(value) in kinds)


def _tuple_parser(hints: tuple[Any, ...]) -> Callable[[Any], list[Any]]:
    parsers = [_parser(hint) for hint in hints]

    def parse(value: Any) -> list[Any]:
        return [parser(item) for parser, item in zip(parsers, _list(value), strict=True)]

    return parse


def _first_of(parsers: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def parse(value: Any) -> Any:
        for parser in parsers[:-1]:
            with suppress(TypeError, ValueError):
                return parser(value)
        return parsers[-1](value)

    return parse


def _checked(is_valid: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def parse(value: Any) -> Any:
        if not is_valid(value):
            raise ValueError(value)
        return value

    return parse


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value
