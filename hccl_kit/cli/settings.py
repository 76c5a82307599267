"""Settings: the nearest .hccl-kit.toml, or pyproject.toml with [tool.hccl-kit], in or above a folder.

    product = "910"
    site-rules = "site.yaml"
    ignore = ["HK210"]
    strict = true

`site-rules` is read by preflight, all others by hccl-check. `schemas/settings.schema.json` describes every key. Options
of the command line take precedence.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import row
from hccl_kit.check.selection import chosen_rules
from hccl_kit.table.products import ANY_PRODUCT, PRODUCT_NAMES

FILE = ".hccl-kit.toml"
PROJECT, TABLE = "pyproject.toml", "hccl-kit"
MAX_BYTES = 1 << 20

_RULES = Message("cli.settings.rules", 'a list of rules, such as ["HK2", "HK301"]')
_SITE_RULES = "site-rules"
_ACCEPTED = {
    "select": _RULES,
    "ignore": _RULES,
    "strict": Message("cli.settings.boolean", "true or false"),
    "product": row([*PRODUCT_NAMES, ANY_PRODUCT]),
    _SITE_RULES: Message("cli.settings.file", "the name of a file"),
}


class Settings(NamedTuple):
    """Which rules are checked (`select` None: all), for which product, and whether warnings are errors.

    `site_rules` is the path of a file with rules of the site; None if no setting names one.
    """

    select: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    strict: bool = False
    product: str = ANY_PRODUCT
    site_rules: str | None = None


def settings_for(file: str) -> Settings:
    """The settings for a table; those of the current folder if no folder above the table has any.

    Raises KitError if a setting is not valid.
    """
    try:
        current = Path.cwd()
    except OSError:  # it was removed
        return Settings()
    folder = current if file == "-" else current / Path(file).parent
    return _nearest(folder) or _nearest(current) or Settings()


def _nearest(folder: Path) -> Settings | None:
    return next(filter(None, map(_in_folder, (folder, *folder.parents))), None)


@cache
def _in_folder(folder: Path) -> Settings | None:
    file, project = folder / FILE, folder / PROJECT
    if os.path.lexists(file):
        if not os.path.isfile(file):  # noqa: PTH113 - Path.is_file raises if a folder may not be read
            raise KitError(
                "cli.settings.not-file",
                "{file} is not a file",
                fix="remove it, or write the settings into it",
                file=file,
            )
        return _settings(_toml(file, read_text(file, MAX_BYTES)), str(file), folder)
    if not os.path.isfile(project):  # noqa: PTH113
        return None
    text = read_text(project, MAX_BYTES)
    if TABLE not in text:  # another project's file, valid or not
        return None
    tool = _toml(project, text).get("tool")
    values = tool.get(TABLE) if isinstance(tool, dict) else None
    return None if values is None else _settings(values, f"{project}: tool.{TABLE}", folder)


def _toml(path: Path, text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - 7 ms, and most tables have no settings
    else:
        import tomli as tomllib  # noqa: PLC0415
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: TOMLDecodeError, and integers of thousands of digits
        raise KitError(
            "cli.settings.not-valid-toml", "{path} is not valid TOML: {reason}", path=path, reason=error
        ) from error


def _settings(values: object, place: str, folder: Path) -> Settings:
    """The settings in a TOML table; `place` names it in messages. Files are named as seen from `folder`."""
    if not isinstance(values, Mapping):
        raise KitError(
            "cli.settings.table",
            "{place} is {values!r}; accepted: a table with {accepted}",
            place=place,
            values=values,
            accepted=row(_ACCEPTED),
        )
    for key, value in values.items():
        if key not in _ACCEPTED:
            raise KitError(
                "cli.settings.not-setting",
                "{place}: {key!r} is not a setting; accepted: {accepted}",
                place=place,
                key=key[:40],
                accepted=row(_ACCEPTED),
            )
        if not _is_valid(key, value):
            raise KitError(
                "cli.settings.reason",
                "{place}: {key} is {value!r}; accepted: {accepted}",
                place=place,
                key=key,
                value=str(value)[:80],
                accepted=_ACCEPTED[key],
            )
        try:
            chosen_rules(value if isinstance(value, list) else ())
        except KitError as error:
            raise KitError(
                "cli.settings.reason-2",
                "{place}: {key}: {reason}",
                hint=error.hint,
                place=place,
                key=key,
                reason=error.message,
            ) from error
    named = {key: value for key, value in values.items() if key != _SITE_RULES}
    return Settings(**named, site_rules=str(folder / values[_SITE_RULES]) if _SITE_RULES in values else None)


def _is_valid(key: str, value: object) -> bool:
    if key == _SITE_RULES:
        return isinstance(value, str) and bool(value)
    if key == "strict":
        return isinstance(value, bool)
    if key == "product":
        return value in (*PRODUCT_NAMES, ANY_PRODUCT)
    return isinstance(value, list) and all(isinstance(rule, str) for rule in value) and (key == "ignore" or bool(value))
