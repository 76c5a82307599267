"""Integers in environment variables."""

from __future__ import annotations

from collections.abc import Mapping

from hccl_kit.base.errors import KitError

MAX_DIGITS = 10


def parse_integer(name: str, text: str, *, least: int = 0, hint: str | None = None) -> int:
    """The integer `text`, the value of the variable `name`: decimal ASCII digits without sign.

    Raises KitError if it is not one, has more than MAX_DIGITS digits or is less than `least`.
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS and int(text) >= least):
        raise KitError(
            "base.not-integer",
            "{name}={value!r} is not an integer >= {least}",
            hint=hint,
            name=name,
            value=text,
            least=least,
        )
    return int(text)


def environ_integer(environ: Mapping[str, str], name: str, *, least: int = 0) -> int:
    """The integer in the variable `name`, as `parse_integer`; an unset variable is an empty text."""
    return parse_integer(name, environ.get(name, ""), least=least)
