"""The errors in the structure of a rank table, found with the published schemas.

jsonschema takes 80 ms to import and seconds on a large table, so `formats` reads a table first and imports this module
only for a table that it cannot read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, cast

from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import ValidationError

from hccl_kit.base.message import Message
from hccl_kit.base.schemas import load
from hccl_kit.base.typos import MAX_UNKNOWN, find_typos, nearest
from hccl_kit.base.wording import counted, row
from hccl_kit.table.document import shown
from hccl_kit.table.finding import INVALID, MAX_FINDINGS, MISSING, NO_CODE, Edit, Finding
from hccl_kit.table.hccl_parser.reading import number
from hccl_kit.table.pointer import Pointer

_JSON_TYPES = {
    "object": Message("HK102.expected-object", "an object"),
    "array": Message("HK102.expected-array", "an array"),
    "string": Message("HK102.expected-string", "a string"),
    "integer": Message("HK102.expected-integer", "an integer"),
}
_MAIN_ITEMS = ("#/$defs/server", "#/$defs/rank")
"""What the schemas of versions 1.0, 1.2 and 2.0 call the items of server_list and rank_list."""
_CODED_NUMBERS = {
    "1.0": ("rank_id",),
    "1.2": ("rank_id", "super_device_id"),
    "1.1": (),
    "template2_cloud": (),
    "template2_lab": ("rank_id",),
}
"""By version: the numeric strings for which HCCL reports a code. Version 2.0 has none.

If a table has one error, its code is that of `first_error`; these facts are for tables with several. EI0017 is for
strings only, except in 2.0.
"""
_RANK_LIST, _GROUPS = "2.0", ("template2_cloud", "template2_lab")
_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems")


def findings(
    value: object, stem: str, limit: int = MAX_FINDINGS, is_good: Callable[[object], bool] | None = None
) -> Iterator[Finding]:
    """The errors of `value` against the schema `stem`, by the rules HK101 to HK104, HK107, HK114 to HK116.

    `is_good` says whether an item of the main list has no error, in less time than jsonschema takes: of a large table,
    most have none.
    """
    # Draft 2020-12 accepts 1.0 as an integer, HCCL does not.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, number: type(number) is int)

    def items(validator: Any, schema: Any, instance: Any, _parent: Any) -> Iterator[ValidationError]:
        is_main = is_good is not None and schema.get("$ref") in _MAIN_ITEMS
        for index, item in enumerate(instance if isinstance(instance, list) else ()):
            if not (is_main and is_good is not None and is_good(item)):
                yield from validator.descend(item, schema, path=index)

    strict = validators.extend(  # type: ignore[no-untyped-call]  # of jsonschema
        Draft202012Validator, {"items": items}, type_checker=types
    )
    version = stem.removeprefix("rank_table_")
    done: set[Pointer] = set()
    for error in islice(strict(load(stem)).iter_errors(value), limit):
        pointer: Pointer = tuple(error.absolute_path)
        if pointer not in done:
            done.add(pointer)
            explain = _missing if error.validator == "required" else _unfit
            yield from explain(error, pointer, version)


def _missing(error: ValidationError, pointer: Pointer, version: str) -> Iterator[Finding]:
    """The missing required keys of an object. A finding about a likely typo points at that key instead."""
    rules, written = cast("Mapping[str, Any]", error.schema), cast("Mapping[str, Any]", error.instance)
    unknown = [key for key in written if key not in rules["properties"]]
    absent = [key for key in rules["properties"] if key not in written]
    meant = {key: typo for typo, key in find_typos(unknown, absent).items()}
    for key in rules["required"]:
        if key in written:
            continue
        code = _code_of_missing(version, pointer, is_text=rules["properties"][key].get("type") != "array")
        like = meant.get(key) or nearest(key, unknown[:MAX_UNKNOWN], 0.7)
        if like:
            message = Message(
                "HK101.typo", '{typo} is not a key HCCL knows, and "{key}" is missing', typo=shown(like), key=key
            )
            place = (*pointer, like)
            fix = (Edit(place, json.dumps(key), on_key=True),) if key in meant else ()
            hint = Message("HK101.typo.fix", 'did you mean "{key}"?', key=key)
            yield Finding(message, hint, pointer=place, fix=fix, hccl_error=code, rule="HK101", on_key=True)
        else:
            advice = _advice(key, rules["properties"][key])
            message = Message("HK101.key", 'the key "{key}" is missing', key=key)
            yield Finding(message, advice, pointer=pointer, hccl_error=code, rule="HK101")


def _advice(key: str, rules: Mapping[str, Any]) -> Message:
    if key == "version":
        return Message(
            "HK101.version.fix",
            'add "version": {version}; without it HCCL reads the file as template 2 and looks for group_list',
            version=shown(rules["const"]),
        )
    if key == "status":
        return Message("HK101.status.fix", 'add "status": "completed"')
    return Message("HK101.fix", 'add "{key}" here', key=key)


def _unfit(error: ValidationError, pointer: Pointer, version: str) -> Iterator[Finding]:
    """A value of another type, size, length or form than the schema accepts."""
    key: Message | str = Message("table.document", "the document")
    if pointer:
        key = f'"{pointer[-1]}"' if isinstance(pointer[-1], str) else Message("table.item", "this")
    value, written = error.instance, shown(error.instance)
    if error.validator == "type":
        yield _wrong_type(str(error.validator_value), key, value, pointer, version)
    elif error.validator in ("minimum", "maximum"):
        bounds = cast("Mapping[str, Any]", error.schema)
        message = Message(
            "HK114.bounds",
            "{key} is {value}; accepted: {least} to {most}",
            key=key,
            value=written,
            least=bounds["minimum"],
            most=bounds["maximum"],
        )
        yield Finding(message, pointer=pointer, rule="HK114")
    elif error.validator in _LENGTHS:
        yield Finding(_wrong_length(error, key), pointer=pointer, rule="HK115")
    elif error.validator == "enum":
        words = cast("list[str]", error.validator_value)
        accepted = row(map(shown, words))
        message = Message("HK116.word", "{key} is {value}; accepted: {words}", key=key, value=written, words=accepted)
        meant = [word for word in words if word.casefold() == str(value).strip().casefold()]
        fix = tuple(Edit(pointer, json.dumps(word)) for word in meant)
        hint = Message("HK116.fix", "write {value}", value=shown(meant[0])) if meant else None
        yield Finding(message, hint, pointer=pointer, fix=fix, rule="HK116")
    elif error.validator == "pattern":
        expected = Message("table.decimal", "expected a decimal number of 1 to 10 digits without sign or spaces")
        rule = "HK104" if pointer[-1] == "device_id" else "HK103"
        message = Message("HK103.number", "{key} is {value}; {expected}", key=key, value=written, expected=expected)
        if rule == "HK104":
            message = Message("HK104.number", "{key} is {value}; {expected}", key=key, value=written, expected=expected)
        fix = _trimmed(str(value), str(error.validator_value), pointer)
        code = _code_of_number(version, str(pointer[-1]), str(value))
        yield Finding(message, pointer=pointer, fix=fix, hccl_error=code, rule=rule)
    else:
        wanted = shown(error.validator_value)
        message = Message(
            "HK107.value", "{key} is {value}; expected {expected}", key=key, value=written, expected=wanted
        )
        yield Finding(message, pointer=pointer, rule="HK107")


def _wrong_type(wanted: str, key: str, value: object, pointer: Pointer, version: str) -> Finding:
    written, expected = _with_type(value), _JSON_TYPES[wanted]
    message = Message("HK102.type", "{key} is {value}; expected {expected}", key=key, value=written, expected=expected)
    hint: Message | None = None
    fix: tuple[Edit, ...] = ()
    if wanted == "string" and isinstance(value, (int, float, bool)):
        message = Message(
            "HK102.text",
            "{key} is {value}; expected {expected}; HCCL treats any other type as a missing key",
            key=key,
            value=written,
            expected=expected,
        )
        hint = Message("HK102.text.fix", 'write "{value}" in quotes', value=shown(value))
        fix = _quoted(value, pointer)
    elif wanted == "integer" and isinstance(value, str) and re.fullmatch(" *(0|[1-9][0-9]{0,9}) *", value):
        hint = Message("HK102.integer.fix", "write {value} without quotes", value=value.strip())
        fix = (Edit(pointer, value.strip()),)
    return Finding(message, hint, pointer=pointer, fix=fix, hccl_error=_code_of_type(version, wanted), rule="HK102")


def _wrong_length(error: ValidationError, key: str) -> Message:
    """The length of a string or list, and the accepted lengths."""
    rules, value = cast("Mapping[str, Any]", error.schema), cast("str | list[Any]", error.instance)
    is_text = isinstance(value, str)
    unit = "Length" if is_text else "Items"
    least, most = rules.get(f"min{unit}", 0), rules.get(f"max{unit}")
    return Message(
        "HK115.length",
        "{key} has {length}; accepted: {least} to {most}",
        key=key,
        length=counted(len(value), "character") if is_text else counted(len(value), "item"),
        least=least,
        most=most,
    )


def _quoted(value: float, pointer: Pointer) -> tuple[Edit, ...]:
    """The fix that quotes a number: a non-negative integer, or a version such as 1.0."""
    if pointer == ("version",):
        is_meant = type(value) is float and value in (1.0, 1.1, 1.2, 2.0)
    else:
        is_meant = type(value) is int and value >= 0
    return (Edit(pointer, f'"{value}"'),) if is_meant else ()


def _trimmed(text: str, pattern: str, pointer: Pointer) -> tuple[Edit, ...]:
    """The fix that removes surrounding spaces, if the text is valid without them."""
    return (Edit(pointer, json.dumps(text.strip())),) if re.search(pattern, text.strip()) else ()


def _with_type(value: object) -> str:
    if isinstance(value, (dict, list)) or value is None:
        return Message("HK102.plain", "{value}", value=shown(value))
    if isinstance(value, str):
        return Message("HK102.string", "the string {value}", value=shown(value))
    if isinstance(value, bool):
        return Message("HK102.value", "the value {value}", value=shown(value))
    return Message("HK102.number", "the number {value}", value=shown(value))


def _code_of_missing(version: str, pointer: Pointer, *, is_text: bool) -> str | None:
    """The code of a key that is missing in the object at `pointer`; None: that of the rule (HK101)."""
    if version not in _CODED_NUMBERS:
        return None
    if "super_pod_list" in pointer and is_text:
        return INVALID
    return None if is_text else NO_CODE


def _code_of_type(version: str, wanted: str) -> str | None:
    """The code of a value that does not have the type `wanted`; None: that of the rule (HK102)."""
    if version == _RANK_LIST:
        return {"array": INVALID, "object": MISSING}.get(wanted, NO_CODE)
    if version in _GROUPS and wanted == "object":
        return MISSING  # an item, in which HCCL looks for a string first
    return NO_CODE if version in _CODED_NUMBERS and wanted != "string" else None


def _code_of_number(version: str, key: str, text: str) -> str | None:
    """The code of a string that is not a number; None: that of the rule (HK103). HCCL reads "3x" as 3."""
    if version not in _CODED_NUMBERS:
        return None
    return None if key in _CODED_NUMBERS[version] and number(text) is None else NO_CODE
