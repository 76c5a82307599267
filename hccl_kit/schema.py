"""The published schemas, asked only to explain: what exactly keeps a document from being a rank table.

jsonschema takes 80 ms to import and seconds on a large table, so `formats` reads first and comes here with a fault in
hand. Imported without jsonschema, this module costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hccl_kit.document import Fault, shown
from hccl_kit.errors import KitError
from hccl_kit.finding import Finding, Pointer

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

MAX_FAULTS = 100
"""A document that is wrong everywhere needs no longer list."""

_JSON_TYPES = {"object": "an object", "array": "an array", "string": "a text"}


def load(stem: str) -> Mapping[str, Any]:
    """The schema `stem` ("rank_table_1.0"): from the installed package, or from beside it in a source tree."""
    name = f"{stem}.schema.json"
    package = Path(__file__).parent
    for folder in (package / "schemas", package.parent / "schemas"):
        if (folder / name).is_file():
            schema: Mapping[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
            return schema
    raise KitError(f"the schema {name} is missing from this installation", hint="install hccl-kit again")


def faults(value: object, version: str) -> Iterator[Fault]:
    """Where `value` departs from the schema of `version`, as faults of HK101 to HK104 (HK107 for the version)."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - see the docstring of the module

    done: set[Pointer] = set()
    for error in islice(Draft202012Validator(load(f"rank_table_{version}")).iter_errors(value), MAX_FAULTS):
        pointer: Pointer = tuple(error.absolute_path)
        if pointer not in done:
            done.add(pointer)
            yield from _missing(error, pointer) if error.validator == "required" else _unfit(error, pointer)


def _missing(error: ValidationError, pointer: Pointer) -> Iterator[Fault]:
    """The required keys that an object lacks. A key that looks like a slip is named in place of the object."""
    rules, found = cast("Mapping[str, Any]", error.schema), cast("Mapping[str, Any]", error.instance)
    unknown = [key for key in found if key not in rules["properties"]]
    for key in rules["required"]:
        if key in found:
            continue
        like = get_close_matches(key, unknown, n=1, cutoff=0.7)
        if like:
            message = f'{shown(like[0])} is not a key HCCL knows, and "{key}" is missing'
            yield Fault("HK101", Finding((*pointer, like[0]), message, f'did you mean "{key}"?'), on_key=True)
        else:
            yield Fault("HK101", Finding(pointer, f'the key "{key}" is missing', _advice(key)))


def _advice(key: str) -> str:
    return {
        "version": 'add "version": "1.0"; without it HCCL takes the file for template 2 and looks for group_list',
        "status": 'add "status": "completed"',
    }.get(key, f'add "{key}" here')


def _unfit(error: ValidationError, pointer: Pointer) -> Iterator[Fault]:
    key = f'"{pointer[-1]}"' if pointer and isinstance(pointer[-1], str) else "this" if pointer else "the document"
    value = error.instance
    if error.validator == "type":
        wanted = str(error.validator_value)
        message = f"{key} is {_kind(value)}, and {_JSON_TYPES[wanted]} is expected"
        hint = None
        if wanted == "string" and isinstance(value, (int, float, bool)):
            message += "; HCCL takes any other type for a missing key"
            hint = f'write "{shown(value)}" in quotes'
        yield Fault("HK102", Finding(pointer, message, hint))
    elif error.validator == "pattern":
        rule = "HK104" if pointer[-1] == "device_id" else "HK103"
        wanted = "a decimal number from 0 on is expected, 1 to 10 digits without sign or spaces"
        message = f"{key} is {shown(value)}, and {wanted}"
        yield Fault(rule, Finding(pointer, message))
    else:
        message = f"{key} is {shown(value)}, and {shown(error.validator_value)} is expected"
        yield Fault("HK107", Finding(pointer, message))


def _kind(value: object) -> str:
    if isinstance(value, (dict, list)):
        return shown(value)
    name = "the text" if isinstance(value, str) else "the number" if not isinstance(value, bool) else "the value"
    return f"{name} {shown(value)}" if value is not None else "null"
