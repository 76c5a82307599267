"""A training configuration: a YAML file in MindOCR's sections and keys, checked against its schema before it is used.

Nothing heavy is imported here, so a wrong key is refused before MindSpore loads. Defaults stand in the schema alone.
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from hccl_kit import schema
from hccl_kit.bounded_file import read_text
from hccl_kit.errors import KitError
from hccl_kit.finding import Pointer

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

MAX_BYTES = 1 << 20
MAX_VALUES = 100_000
SCHEMA = "train_config"


@dataclass(frozen=True, slots=True)
class Config:
    """A whole configuration: `values` with all defaults filled in, and the file it came from. Never changed."""

    values: Mapping[str, Any]
    source: str

    def __getitem__(self, section: str) -> Any:
        """The section of that name."""
        return self.values[section]

    @property
    def digest(self) -> str:
        """SHA-256 of the values, whatever their order and wherever they came from: ranks compare it."""
        return hashlib.sha256(json.dumps(self.values, sort_keys=True).encode()).hexdigest()

    def to_yaml(self) -> str:
        """The text that starts the same job again."""
        return yaml.dump(dict(self.values), Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def load(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Read the file and apply `a.b=c` overrides; KitError with the line for what is wrong."""
    values, root = _parse(read_text(path, MAX_BYTES), str(path))
    if not isinstance(values, dict):
        raise KitError(f"{path} holds no sections", hint="see configs/rec/crnn/crnn_small.yaml")
    places = {pointer: f"{path}:{line}" for pointer, line in _lines(root, ())}
    for override in overrides:
        pointer = _apply(values, override)
        for end in range(1, len(pointer)):
            places.setdefault(pointer[:end], f"-o {override}")
        places[pointer] = f"-o {override}"
    _check(values, places, str(path))
    rules = schema.load(SCHEMA)
    _fill_defaults(values, rules, rules)
    return Config(values, str(path))


class _Loader(yaml.SafeLoader):
    """SafeLoader, with 1e-3 read as a number: YAML 1.1 takes it for a text."""


_EXPONENT = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, [*"-+0123456789"])


class _Dumper(yaml.SafeDumper):
    """SafeDumper that quotes the texts which _Loader would take for numbers."""


_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, [*"-+0123456789"])


def _parse(text: str, source: str) -> tuple[Any, yaml.Node | None]:
    """The value of a document, every alias a copy of its own (an override reaches one place), and its nodes."""
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            return None, None
        _bound(root, source, itertools.count(1))
        return _copy(loader.construct_document(root)), root
    except yaml.YAMLError as error:
        raise KitError(f"{source} is not YAML: {error}") from error
    except RecursionError:
        raise KitError(f"{source} is nested too deeply") from None
    except (ValueError, LookupError, AttributeError) as error:  # PyYAML's own, at dates such as 2024-13-45
        raise KitError(f"{source} holds a number or date that cannot be read: {error}") from error


def _bound(node: yaml.Node, source: str, counter: Iterator[int]) -> None:
    """Count the nodes before values are made of them: aliases of aliases, also by '<<', grow without bound."""
    if next(counter) > MAX_VALUES:
        raise KitError(f"{source} holds more than {MAX_VALUES} values; aliases count as often as they are used")
    if isinstance(node, yaml.MappingNode):
        _assert_no_doubles(node, source)
    if isinstance(node, yaml.CollectionNode):
        for inner in node.value:
            for part in inner if isinstance(inner, tuple) else (inner,):
                _bound(part, source, counter)


def _assert_no_doubles(node: yaml.MappingNode, source: str) -> None:
    """YAML would take the last of two equal keys without a word."""
    seen: dict[str, int] = {}
    for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
        line = key.start_mark.line + 1
        if key.value in seen:
            raise KitError(f"{source}:{line}: {key.value} is given twice, first in line {seen[key.value]}")
        seen[key.value] = line


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _copy(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_copy(inner) for inner in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _lines(node: yaml.Node | None, pointer: Pointer) -> Iterator[tuple[Pointer, int]]:
    """Every place of the document with its line (aliases point at their anchor)."""
    if node is None:
        return
    yield pointer, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _lines(value, (*pointer, str(key.value)))
            yield (*pointer, str(key.value)), key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _lines(value, (*pointer, index))


def _apply(values: dict[str, Any], override: str) -> Pointer:
    """Set one `a.b=c`; the value is YAML and may hold '='. Sections that are missing on the way are made."""
    name, sign, text = override.partition("=")
    keys = tuple(name.strip().split("."))
    if not sign or not all(keys):
        raise KitError(f"-o {override}: expected key=value, such as train.ckpt_save_dir=./out")
    if keys[0] == "common":
        raise KitError(
            f"-o {override}: the section common only feeds anchors of the file, so this would change nothing",
            hint="name the key that is used, such as train.loader.batch_size",
        )
    value, _ = _parse(text, f"-o {override}: the value")
    target = values
    for key in keys[:-1]:
        target = target.setdefault(key, {})
        if not isinstance(target, dict):
            raise KitError(f"-o {override}: {key} is a value, not a section")
    target[keys[-1]] = value
    return keys


def _check(values: dict[str, Any], places: Mapping[Pointer, str], source: str) -> None:
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415  # 80 ms, not for --help

    # JSON Schema takes 16.0 for an integer, which no batch size is, and knows nothing of nan and inf.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    types = types.redefine("number", lambda _, value: type(value) in (int, float) and abs(value) <= sys.float_info.max)
    validator: Any = validators.extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    problems = [
        f"{_place(pointer, places, source)}: {message}"
        for error in validator(schema.load(SCHEMA)).iter_errors(values)
        for pointer, message in _explain(error)
    ]
    if problems:
        raise KitError("\n       ".join(dict.fromkeys(problems)))


def _place(pointer: Pointer, places: Mapping[Pointer, str], source: str) -> str:
    """The file and line of the pointer or of the nearest part that stands in the file."""
    for end in range(len(pointer), -1, -1):
        if pointer[:end] in places:
            return places[pointer[:end]]
    return source


def _explain(error: ValidationError) -> Iterator[tuple[Pointer, str]]:
    """One message a mistake: the name of the key, what was found, what is accepted."""
    pointer: Pointer = tuple(error.absolute_path)
    found: Any = error.instance
    rule: Any = error.validator_value
    if error.validator == "additionalProperties":
        known = list(error.schema["properties"]) if isinstance(error.schema, Mapping) else []
        for key in found.keys() - known:
            yield (*pointer, key), f"{_dotted(*pointer, key)} is not a key of this release{_nearest(key, known)}"
    elif error.validator == "required":
        for key in rule:
            if key not in found:
                yield pointer, f"{_dotted(*pointer, key)} is missing"
    elif error.validator in ("enum", "const"):
        accepted = rule if error.validator == "enum" else [rule]
        shown = ", ".join(map(str, accepted))
        yield pointer, f"{_dotted(*pointer)} is {found!r}; accepted: {shown}{_nearest(str(found), accepted)}"
    else:
        quoted = """; a text is quoted: key='"1"'""" if error.validator == "type" and "string" in rule else ""
        yield pointer, f"{_dotted(*pointer)}: {_shortened(error.message)}{quoted}"


def _dotted(*parts: str | int) -> str:
    return ".".join(map(str, parts))


def _nearest(word: str, known: Iterable[Any]) -> str:
    match = difflib.get_close_matches(word, map(str, known), n=1)
    return f"; did you mean {match[0]}?" if match else ""


def _shortened(text: str) -> str:
    return text if len(text) <= 100 else text[:97] + "..."


def _fill_defaults(values: Any, rules: Mapping[str, Any], root: Mapping[str, Any]) -> None:
    """Write the schema's defaults into `values`, in place; it is this module's own copy."""
    for key, rule in rules.get("properties", {}).items():
        resolved = root["$defs"][rule["$ref"].rsplit("/", 1)[1]] if "$ref" in rule else rule
        if key not in values and "default" in resolved:
            values[key] = resolved["default"]
        if isinstance(values.get(key), dict):
            _fill_defaults(values[key], resolved, root)
