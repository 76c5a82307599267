"""Settings of hccl-check: the nearest .hccl-kit.toml, or pyproject.toml with [tool.hccl-kit], in or above a folder.

    product = "910"
    ignore = ["HK210"]
    strict = true

`schemas/settings.schema.json` describes every key. Options of the command line take precedence.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.table.products import ANY_PRODUCT, PRODUCT_NAMES

FILE = ".hccl-kit.toml"
PROJECT, TABLE = "pyproject.toml", "hccl-kit"
MAX_BYTES = 1 << 20
_KEY = r"""(?m)\btool["']?[ \t]*\.[ \t]*["']?hccl-kit|^[ \t]*\[?[ \t]*["']?tool["']?[ \t]*[\]=]"""
"""How TOML can write the table: `tool.hccl-kit`, or in a table `tool`. The name alone may be that of a dependency."""

_RULES = 'a list of rules, such as ["HK2", "HK301"]'
_ACCEPTED = {
    "select": _RULES,
    "ignore": _RULES,
    "strict": "true or false",
    "product": ", ".join([*PRODUCT_NAMES, ANY_PRODUCT]),
}


class Settings(NamedTuple):
    """Which rules are checked (`select` None: all), for which product, and whether warnings are errors."""

    select: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    strict: bool = False
    product: str = ANY_PRODUCT


def settings_for(file: str) -> Settings:
    """The settings for a table; those of the current folder if no folder above the table has any.

    Raises KitError if a setting is not valid.
    """
    try:
        current = os.getcwd()  # noqa: PTH109 - pathlib takes 4 ms to load, which every check would pay
    except OSError:  # it was removed
        return Settings()
    above = "" if file == "-" else os.path.dirname(file)  # noqa: PTH120
    return _nearest(os.path.join(current, above) if above else current) or _nearest(current) or Settings()  # noqa: PTH118


def _nearest(folder: str) -> Settings | None:
    found, below = _in_folder(folder), ""
    while found is None and folder != below:
        below, folder = folder, os.path.dirname(folder)  # noqa: PTH120
        found = _in_folder(folder)
    return found


@cache
def _in_folder(folder: str) -> Settings | None:
    own, project = (os.path.join(folder, name) for name in (FILE, PROJECT))  # noqa: PTH118
    if os.path.lexists(own):
        if not os.path.isfile(own):  # noqa: PTH113
            raise KitError(
                Message("cli.settings.not-file", "{own} is not a file", own=own),
                hint=Message("cli.settings.not-file.fix", "remove it, or write the settings into it"),
            )
        return _settings(_toml(own, read_text(own, MAX_BYTES)), own)
    if not os.path.isfile(project):  # noqa: PTH113
        return None
    text = read_text(project, MAX_BYTES)
    if TABLE not in text or not re.search(_KEY, text):  # saves the parser, which takes 5 ms to load
        return None
    tool = _toml(project, text).get("tool")
    values = tool.get(TABLE) if isinstance(tool, dict) else None
    return None if values is None else _settings(values, f"{project}: tool.{TABLE}")


def _toml(path: str, text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - most folders have no settings
    else:
        import tomli as tomllib  # noqa: PLC0415

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: TOMLDecodeError, and integers of thousands of digits
        raise KitError(
            Message("cli.settings.not-valid-toml", "{path} is not valid TOML: {reason}", path=path, reason=error)
        ) from error


def _settings(values: object, place: str) -> Settings:
    """The settings in a TOML table; `place` names it in messages."""
    if not isinstance(values, Mapping):
        raise KitError(
            Message(
                "cli.settings.table",
                "{place} is {values!r}; accepted: a table with {accepted}",
                place=place,
                values=values,
                accepted=", ".join(_ACCEPTED),
            )
        )
    for key, value in values.items():
        if key not in _ACCEPTED:
            raise KitError(
                Message(
                    "cli.settings.not-setting",
                    "{place}: {key!r} is not a setting; accepted: {accepted}",
                    place=place,
                    key=key[:40],
                    accepted=", ".join(_ACCEPTED),
                )
            )
        if not _is_valid(key, value):
            raise KitError(
                Message(
                    "cli.settings.reason",
                    "{place}: {key} is {value!r}; accepted: {accepted}",
                    place=place,
                    key=key,
                    value=str(value)[:80],
                    accepted=_ACCEPTED[key],
                )
            )
        from hccl_kit.check.selection import chosen_rules  # noqa: PLC0415 - it loads all rules

        try:
            chosen_rules(value if isinstance(value, list) else ())
        except KitError as error:
            raise KitError(
                Message(
                    "cli.settings.reason-2", "{place}: {key}: {reason}", place=place, key=key, reason=error.message
                ),
                hint=error.hint,
            ) from error
    return Settings(**values)


def _is_valid(key: str, value: object) -> bool:
    if key == "strict":
        return isinstance(value, bool)
    if key == "product":
        return value in (*PRODUCT_NAMES, ANY_PRODUCT)
    return isinstance(value, list) and all(isinstance(rule, str) for rule in value) and (key == "ignore" or bool(value))
