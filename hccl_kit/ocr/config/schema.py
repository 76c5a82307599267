"""Checks a configuration against its schema, writes the defaults into it, and reports keys without effect.

The schema is plain JSON Schema, so editors can use it too. Keys that depend on `model.type` or a `name` are selected by
`allOf` of `if` and `then`; the conditions consist of `properties` and `const` only.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from hccl_kit.base import schemas
from hccl_kit.base.errors import KitError
from hccl_kit.base.typos import is_typo
from hccl_kit.base.wording import joined, shortened
from hccl_kit.ocr.config.yaml_text import copied, dotted, value_at
from hccl_kit.table.pointer import Pointer

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

SCHEMA = "train_config"
NO_EFFECT = "x-no-effect"
"""Marks keys of MindOCR that are accepted without effect, with the reason. Their default is the actual behaviour."""
NO_EFFECT_FOR = "x-no-effect-for"
"""The only value of such a key that has no effect, if its other values have one."""
MAX_PROBLEMS = 20
Rule = Mapping[str, Any]

_KINDS = {
    "object": "a section",
    "array": "a list",
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "True or False",
    "null": "null",
}
_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minLength": "a string of at least {} characters",
    "maxLength": "a string of at most {} characters",
}


@cache
def root() -> Rule:
    """The rule of a whole configuration, after files that build on each other are merged; with all definitions."""
    schema = schemas.load(SCHEMA)
    return {**schema["else"], "$defs": schema["$defs"]}  # "then" is for a file that still has __base__


def check(values: dict[str, Any], places: Mapping[Pointer, str], source: str) -> None:
    """Raises KitError with every mistake in `values`; `places` are the files and lines of the values."""
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415  # 80 ms, not for --help

    # JSON Schema accepts 16.0 as an integer, which a batch size must not be, and nan and inf as numbers. It
    # checks no bounds of a value that is not a number.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int and _fits(value))
    types = types.redefine("number", lambda _, value: type(value) in (int, float) and _fits(value))
    validator: Any = validators.extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    errors = list(validator(root()).iter_errors(values))
    _refuse_other_network(errors, values, places, source)
    problems = dict.fromkeys(
        f"{_place(pointer, places, source)}: {message}"
        for error in errors
        for pointer, message in _explain(error, values)
    )
    if problems:
        raise KitError("\n       ".join(shortened(list(problems), MAX_PROBLEMS)))


def _refuse_other_network(
    errors: Iterable[ValidationError], values: Mapping[str, Any], places: Mapping[Pointer, str], source: str
) -> None:
    """Raises KitError if a part of the network has a name that is unknown, and no typo: other keys depend on it."""
    unknown = []
    for error in errors:
        pointer, accepted = tuple(error.absolute_path), cast("Any", error.validator_value)
        if error.validator == "enum" and len(pointer) == 3 and (pointer[0], pointer[2]) == ("model", "name"):
            names = [_plain(name) for name in accepted]
            if not any(is_typo(str(error.instance), name) for name in names):
                unknown.append((pointer, error.instance, ", ".join(names)))
    if unknown:
        raise KitError(
            "ocr.schema.other-network",
            "{place}: this release has no network of type {type} with {parts}; accepted: {accepted}",
            fix="docs/models.md describes the networks; --list-configs prints their configurations",
            type=value_at(values, ("model", "type")),
            place=_place(unknown[0][0], places, source),
            parts=joined(_shown(name) for _, name, _ in unknown),
            accepted="; ".join(f"{dotted(pointer)} {names}" for pointer, _, names in unknown),
        )


def _fits(value: float) -> bool:
    """Whether a number is finite, and an integer not too large for a float."""
    return abs(value) <= sys.float_info.max


def fill(values: dict[str, Any], rule: Rule | None = None) -> None:
    """Write the defaults of the schema into `values`, in place. Options of transforms in a pipeline get none here."""
    for chosen in list(chosen_rules(root() if rule is None else rule, values)):
        for key, inner in chosen.get("properties", {}).items():
            rules = list(chosen_rules(inner, None))
            default = next((rule["default"] for rule in rules if "default" in rule), ...)
            if key not in values and default is not ... and not any(NO_EFFECT in rule for rule in rules):
                values[key] = copied(default)
            if isinstance(values.get(key), dict):
                fill(values[key], inner)


def ineffective(values: Mapping[str, Any]) -> list[str]:
    """A line for every reason why keys of `values` have no effect."""
    keys_by_reason: dict[str, list[str]] = {}
    for pointer, rule in without_effect(values, root(), ()):
        keys_by_reason.setdefault(rule[NO_EFFECT], []).append(dotted(pointer))
    return [f"no effect: {', '.join(dict.fromkeys(keys))}: {reason}" for reason, keys in keys_by_reason.items()]


def without_effect(value: Any, rule: Rule, pointer: Pointer) -> Iterator[tuple[Pointer, Rule]]:
    """The places in `value`, itself at `pointer`, without effect, with their rules; not if they have the default."""
    for chosen in chosen_rules(rule, value):
        if NO_EFFECT in chosen:
            if value != chosen.get("default", ...) and value == chosen.get(NO_EFFECT_FOR, value):
                yield pointer, chosen
            return
        if isinstance(value, Mapping):
            for key, inner in chosen.get("properties", {}).items():
                if key in value:
                    yield from without_effect(value[key], inner, (*pointer, key))
        if isinstance(value, list) and "items" in chosen:
            for index, item in enumerate(value):
                yield from without_effect(item, chosen["items"], (*pointer, index))


def chosen_rules(rule: Rule, value: Any) -> Iterator[Rule]:
    """A rule, the definition it refers to, and the rules it selects for `value`."""
    yield rule
    if "$ref" in rule:
        yield from chosen_rules(root()["$defs"][rule["$ref"].rsplit("/", 1)[1]], value)
    for choice in rule.get("allOf", ()):
        if holds(choice["if"], value):
            yield from chosen_rules(choice["then"], value)


def holds(condition: Rule, value: Any) -> bool:
    """Whether a value satisfies the `if` of a rule."""
    if "const" in condition:
        return bool(value == condition["const"])
    inner = value if isinstance(value, Mapping) else {}
    return all(holds(rule, inner.get(key)) for key, rule in condition["properties"].items())


def _place(pointer: Pointer, places: Mapping[Pointer, str], source: str) -> str:
    """The file and line of the pointer, or of its nearest parent that is in a file."""
    for end in range(len(pointer), -1, -1):
        if pointer[:end] in places:
            return places[pointer[:end]]
    return source


def _explain(error: ValidationError, values: Mapping[str, Any]) -> Iterator[tuple[Pointer, str]]:
    """One message per mistake: the name of the key, the value found, the accepted values."""
    pointer: Pointer = tuple(error.absolute_path)
    section: Any = error.instance
    rule: Any = error.validator_value
    name = dotted(pointer)
    known = list(error.schema.get("properties", ())) if isinstance(error.schema, Mapping) else []
    if error.validator == "additionalProperties":
        if len(section) > error.schema.get("maxProperties", len(section)):  # type: ignore[union-attr]  # an object, here
            return  # reported by another rule
        for key in [key for key in section if key not in known]:
            absent = [key for key in known if key not in section]
            near = _elsewhere(_RENAMED.get(key, key), pointer, values) or _nearest(key, absent) or _nearest(key, known)
            yield (*pointer, key), f"{dotted((*pointer, key))} is not a key of this release{near}"
    elif error.validator == "required":
        for key in rule:
            if key not in section and not difflib.get_close_matches(key, section.keys() - known):
                missing = cast("Rule", error.schema).get("x-missing", {}).get(key)
                yield pointer, f"{dotted((*pointer, key))} is missing{f': {missing}' if missing else ''}"
    elif error.validator in ("enum", "const"):
        accepted = rule if error.validator == "enum" else [rule]
        near = _nearest(str(section), accepted)
        yield pointer, f"{name} is {_shown(section)}; accepted: {', '.join(map(_plain, accepted))}{near}"
    elif error.validator == "type":
        kinds = [rule] if isinstance(rule, str) else rule
        is_text = "string" in kinds and not isinstance(section, (dict, list))
        quoted = """; quote it to make it a string: key='"1"'""" if is_text else ""
        yield pointer, f"{name} is {_shown(section)}; expected {' or '.join(_KINDS[kind] for kind in kinds)}{quoted}"
    elif error.validator in _BOUNDS:
        yield pointer, f"{name} is {_shown(section)}; accepted: {_BOUNDS[str(error.validator)].format(rule)}"
    else:
        meant = error.schema.get("x-accepted", error.message) if isinstance(error.schema, Mapping) else error.message
        yield pointer, f"{name} is {_shown(section)}; accepted: {meant}"


_RENAMED = {"unclip_ratio": "expand_ratio", "per_print_times": "log_interval", "resume_ckpt": "resume"}
"""Keys of older files of MindOCR and of PaddleOCR, and the keys here."""


def _elsewhere(key: str, section: Pointer, values: Mapping[str, Any]) -> str:
    """A hint where an unknown key belongs, in the same part of the file if possible; empty if nowhere."""
    places = [place for place in _keys(root(), values) if place[-1] == key]
    place = min(places, key=lambda place: place[:1] != section[:1], default=None)
    return f"; did you mean {dotted(place)}?" if place else ""


def _keys(rule: Rule, value: Any, pointer: Pointer = ()) -> Iterator[Pointer]:
    """The places outside lists of all keys with an effect, by the rules that `value` selects."""
    for chosen in chosen_rules(rule, value):
        for key, inner in chosen.get("properties", {}).items():
            if NO_EFFECT not in inner:
                yield (*pointer, key)
            yield from _keys(inner, value.get(key) if isinstance(value, Mapping) else None, (*pointer, key))


def _nearest(word: str, known: Iterable[Any]) -> str:
    match = difflib.get_close_matches(word, map(str, known), n=1)
    return f"; did you mean {match[0]}?" if match else ""


def _plain(value: Any) -> str:
    return "null" if value is None else str(value)


def _shown(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
