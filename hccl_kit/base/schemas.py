"""The published JSON Schemas, and how a document of another process, host or file is checked with one."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from hccl_kit.base import shipped
from hccl_kit.base.errors import KitError

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


class Mismatch(NamedTuple):
    """Where a document does not match its schema, such as `links/3/ranks` ("" is the whole), and in which way."""

    place: str
    reason: str


def load(stem: str) -> Mapping[str, Any]:
    """The schema `stem`, such as "rank_table_1.0". Raises KitError if this installation lacks it."""
    name = f"{stem}.schema.json"
    folder = shipped.folder("schemas")
    if folder is not None and (folder / name).is_file():
        schema: Mapping[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
        return schema
    raise KitError(
        "base.no-schema", "the schema {name} is missing from this installation", fix="install hccl-kit again", name=name
    )


def mismatch(document: Any, stem: str, part: str | None = None) -> Mismatch | None:
    """The first thing in a document that does not match the schema `stem`, or its definition `part`; None: it matches.

    Numbers that JSON does not have pass, so read the text with `loads`.
    """
    error = next(_validator(stem, part).iter_errors(document), None)
    return None if error is None else Mismatch("/".join(map(str, error.absolute_path)), error.message[:_MAX_REASON])


def loads(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError also for NaN and infinity, and for a text that is nested too deep."""
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except RecursionError as error:
        raise ValueError(str(error)) from error


def object_in(text: str | bytes) -> dict[str, Any] | None:
    """The object of a JSON text; None if it is no JSON, another value, or nested too deep. NaN and infinity pass."""
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        return value if isinstance(value, dict) else None
    return None


_MAX_REASON = 200


def refuse_constant(name: str) -> float:
    """For `parse_constant` of json. Raises ValueError: comparisons with NaN are false, so it would pass every limit."""
    raise ValueError(f"{name} is not a number of JSON")


@cache
def _validator(stem: str, part: str | None) -> "Validator":
    from jsonschema import Draft202012Validator, validators

    usual = Draft202012Validator.VALIDATORS
    quick = {name: _quick(usual[name], texts) for name, texts in _TEXTS.items()}
    made = validators.create(
        Draft202012Validator.META_SCHEMA, {**usual, **quick}, type_checker=Draft202012Validator.TYPE_CHECKER
    )
    schema = load(stem)
    return made({"$ref": f"#/$defs/{part}", "$defs": schema["$defs"]} if part else schema)


_TEXTS: Mapping[str, Callable[[Mapping[str, Any]], Iterable[Any]]] = {
    "additionalProperties": lambda document: document.values(),
    "propertyNames": lambda document: document.keys(),
}
"""The keywords about all values and all keys of an object."""


def _quick(usual: Callable[..., Any], texts: Callable[[Mapping[str, Any]], Iterable[Any]]) -> Callable[..., Any]:
    """The check of a keyword, with one loop in place of a validator for each text, if the texts need nothing else.

    A snapshot of 1,000 servers has half a million texts.
    """

    def check(validator: "Validator", rule: Any, document: Any, schema: Any) -> Iterator[Any]:
        is_plain = isinstance(rule, dict) and rule.keys() <= {"type", "maxLength"} and isinstance(document, dict)
        if is_plain and rule.get("type", "string") == "string":
            most = rule.get("maxLength", inf)
            if all(isinstance(text, str) and len(text) <= most for text in texts(document)):
                return
        yield from usual(validator, rule, document, schema)

    return check
