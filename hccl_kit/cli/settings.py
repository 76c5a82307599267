"""Settings of hccl-check: the nearest .hccl-kit.toml, or pyproject.toml with [tool.hccl-kit], in or above a folder.

    product = "910"
    ignore = ["HK210"]
    strict = true

`schemas/settings.schema.json` describes every key. Options of the command line take precedence.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.check.rule import ANY_PRODUCT
from hccl_kit.check.selection import chosen_rules
from hccl_kit.table.products import PRODUCT_NAMES

FILE = ".hccl-kit.toml"
PROJECT, TABLE = "pyproject.toml", "hccl-kit"
MAX_BYTES = 1 << 20

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
        current = Path.cwd()
    except OSError:  # it was removed
        return Settings()
    above = current if file == "-" else (current / file).parent
    return _nearest(above) or _nearest(current) or Settings()


@cache
def _nearest(folder: Path) -> Settings | None:
    found = _in_folder(folder)
    return found if found is not None or folder == folder.parent else _nearest(folder.parent)


def _in_folder(folder: Path) -> Settings | None:
    own, project = folder / FILE, folder / PROJECT
    if os.path.isfile(own):  # noqa: PTH113 - Path.is_file raises if a folder may not be read
        return _settings(_toml(own, read_text(own, MAX_BYTES)), str(own))
    if not os.path.isfile(project):  # noqa: PTH113
        return None
    text = read_text(project, MAX_BYTES)
    if TABLE not in text:  # saves the parser, which takes 5 ms to load
        return None
    tool = _toml(project, text).get("tool")
    values = tool.get(TABLE) if isinstance(tool, dict) else None
    return None if values is None else _settings(values, f"{project}: tool.{TABLE}")


def _toml(path: Path, text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - most folders have no settings
    else:
        import tomli as tomllib  # noqa: PLC0415

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise KitError(f"{path} is not valid TOML: {error}") from error


def _settings(values: object, place: str) -> Settings:
    """The settings in a TOML table; `place` stands in messages."""
    if not isinstance(values, Mapping):
        raise KitError(f"{place} is {values!r}; accepted: a table with {', '.join(_ACCEPTED)}")
    for key, value in values.items():
        if key not in _ACCEPTED:
            raise KitError(f"{place}: {key[:40]!r} is not a setting; accepted: {', '.join(_ACCEPTED)}")
        if not _is_valid(key, value):
            raise KitError(f"{place}: {key} is {str(value)[:80]!r}; accepted: {_ACCEPTED[key]}")
        try:
            chosen_rules(value if isinstance(value, list) else ())
        except KitError as error:
            raise KitError(f"{place}: {key}: {error.message}", hint=error.hint) from error
    return Settings(**values)


def _is_valid(key: str, value: object) -> bool:
    if key == "strict":
        return isinstance(value, bool)
    if key == "product":
        return value in (*PRODUCT_NAMES, ANY_PRODUCT)
    return isinstance(value, list) and all(isinstance(rule, str) for rule in value) and (key == "ignore" or bool(value))
