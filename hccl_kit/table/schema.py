"""The published schemas, asked only to explain: what exactly keeps a document from being a rank table.

jsonschema takes 80 ms to import and seconds on a large table, so `formats` reads first and comes here with a fault in
hand. Imported without jsonschema, this module costs nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from hccl_kit.base.schemas import load
from hccl_kit.base.typos import MAX_UNKNOWN, slips
from hccl_kit.base.wording import counted
from hccl_kit.table.document import Fault, shown
from hccl_kit.table.finding import Edit, Finding
from hccl_kit.table.hccl_parser.structure import code_of_missing, code_of_number, code_of_type
from hccl_kit.table.pointer import Pointer

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

MAX_FAULTS = 100
"""A document that is wrong everywhere needs no longer list."""

_JSON_TYPES = {"object": "an object", "array": "an array", "string": "a text", "integer": "a whole number"}
_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems")


def faults(value: object, stem: str, limit: int = MAX_FAULTS) -> Iterator[Fault]:
    """Where `value` departs from the schema `stem`, as faults of the rules HK101 to HK104, HK107, HK114 to HK116."""
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 - see the docstring of the module

    # Draft 2020-12 takes 1.0 for a whole number, HCCL does not.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, number: type(number) is int)
    strict = validators.extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]  # its own
    version = stem.removeprefix("rank_table_")
    done: set[Pointer] = set()
    for error in islice(strict(load(stem)).iter_errors(value), limit):
        pointer: Pointer = tuple(error.absolute_path)
        if pointer not in done:
            done.add(pointer)
            found = _missing if error.validator == "required" else _unfit
            yield from found(error, pointer, version)


def _missing(error: ValidationError, pointer: Pointer, version: str) -> Iterator[Fault]:
    """The required keys that an object lacks. A key that looks like a slip is named in place of the object."""
    from difflib import get_close_matches  # noqa: PLC0415 - as jsonschema

    rules, found = cast("Mapping[str, Any]", error.schema), cast("Mapping[str, Any]", error.instance)
    unknown = [key for key in found if key not in rules["properties"]]
    absent = [key for key in rules["properties"] if key not in found]
    meant = {key: slip for slip, key in slips(unknown, absent).items()}
    for key in rules["required"]:
        if key in found:
            continue
        code = code_of_missing(version, pointer, is_text=rules["properties"][key].get("type") != "array")
        like = meant.get(key) or next(iter(get_close_matches(key, unknown[:MAX_UNKNOWN], n=1, cutoff=0.7)), None)
        if like:
            message = f'{shown(like)} is not a key HCCL knows, and "{key}" is missing'
            place = (*pointer, like)
            fix = (Edit(place, json.dumps(key), on_key=True),) if key in meant else ()
            yield Fault(
                "HK101", Finding(place, message, f'did you mean "{key}"?', fix=fix, hccl_error=code), on_key=True
            )
        else:
            advice = _advice(key, rules["properties"][key])
            yield Fault("HK101", Finding(pointer, f'the key "{key}" is missing', advice, hccl_error=code))


def _advice(key: str, rules: Mapping[str, Any]) -> str:
    if key == "version":
        add = f'add "version": {shown(rules["const"])}'
        return f"{add}; without it HCCL takes the file for template 2 and looks for group_list"
    return 'add "status": "completed"' if key == "status" else f'add "{key}" here'


def _unfit(error: ValidationError, pointer: Pointer, version: str) -> Iterator[Fault]:
    key = f'"{pointer[-1]}"' if pointer and isinstance(pointer[-1], str) else "this" if pointer else "the document"
    value = error.instance
    if error.validator == "type":
        wanted = str(error.validator_value)
        message = f"{key} is {_kind(value)}, and {_JSON_TYPES[wanted]} is expected"
        hint: str | None = None
        fix: tuple[Edit, ...] = ()
        if wanted == "string" and isinstance(value, (int, float, bool)):
            message += "; HCCL takes any other type for a missing key"
            hint, fix = f'write "{shown(value)}" in quotes', _quoted(value, pointer)
        elif wanted == "integer" and isinstance(value, str) and re.fullmatch(" *(0|[1-9][0-9]{0,9}) *", value):
            hint, fix = f"write {value.strip()} without quotes", (Edit(pointer, value.strip()),)
        yield Fault("HK102", Finding(pointer, message, hint, fix=fix, hccl_error=code_of_type(version, wanted)))
    elif error.validator in ("minimum", "maximum"):
        bounds = f"{error.schema['minimum']} to {error.schema['maximum']}"  # type: ignore[index]  # an object, here
        yield Fault("HK114", Finding(pointer, f"{key} is {shown(value)}, and {bounds} is accepted"))
    elif error.validator in _LENGTHS:
        yield Fault("HK115", Finding(pointer, f"{key} {_length(error)}"))
    elif error.validator == "enum":
        words = cast("list[str]", error.validator_value)
        message = f"{key} is {shown(value)}; accepted: {', '.join(map(shown, words))}"
        meant = [word for word in words if word.casefold() == str(value).strip().casefold()]
        fix = tuple(Edit(pointer, json.dumps(word)) for word in meant)
        yield Fault("HK116", Finding(pointer, message, f"write {shown(meant[0])}" if meant else None, fix=fix))
    elif error.validator == "pattern":
        rule = "HK104" if pointer[-1] == "device_id" else "HK103"
        wanted = "a decimal number from 0 on is expected, 1 to 10 digits without sign or spaces"
        message = f"{key} is {shown(value)}, and {wanted}"
        fix = _trimmed(str(value), str(error.validator_value), pointer)
        code = code_of_number(version, str(pointer[-1]), str(value))
        yield Fault(rule, Finding(pointer, message, fix=fix, hccl_error=code))
    else:
        message = f"{key} is {shown(value)}, and {shown(error.validator_value)} is expected"
        yield Fault("HK107", Finding(pointer, message))


def _length(error: ValidationError) -> str:
    """How long a text or list is, and how long it may be."""
    rules, value = cast("Mapping[str, Any]", error.schema), cast("str | list[Any]", error.instance)
    unit, noun = ("Length", "character") if isinstance(value, str) else ("Items", "item")
    least, most = rules.get(f"min{unit}", 0), rules.get(f"max{unit}")
    return f"has {counted(len(value), noun)}; {least} to {most} are accepted"


def _quoted(value: float, pointer: Pointer) -> tuple[Edit, ...]:
    """The number as the text that was meant: a whole one from 0 on, or a version such as 1.0."""
    if pointer == ("version",):
        is_meant = type(value) is float and value in (1.0, 1.1, 1.2, 2.0)
    else:
        is_meant = type(value) is int and value >= 0
    return (Edit(pointer, f'"{value}"'),) if is_meant else ()


def _trimmed(text: str, pattern: str, pointer: Pointer) -> tuple[Edit, ...]:
    """The text without the spaces around it, where they are all that is wrong."""
    return (Edit(pointer, json.dumps(text.strip())),) if re.search(pattern, text.strip()) else ()


def _kind(value: object) -> str:
    if isinstance(value, (dict, list)):
        return shown(value)
    name = "the text" if isinstance(value, str) else "the number" if not isinstance(value, bool) else "the value"
    return f"{name} {shown(value)}" if value is not None else "null"
