"""docs/config.md: the reference of all keys of a configuration, generated from the schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from hccl_kit.ocr.config.schema import NO_EFFECT, NO_EFFECT_FOR, Rule, root

INTRODUCTION = """\
# Configuration

<!-- Written by `pytest tests/ocr/config/test_page.py --update-golden` from schemas/train_config.schema.json. -->

Sections and keys are those of MindOCR that DBNet, PSENet, EAST, CRNN, RARE, SVTR and the direction classifier use.

- A file may extend others: `__base__: other.yaml`, or a list of paths, relative to the file. Sections are merged,
  everything else is replaced, lists as a whole.
- `-o train.loader.batch_size=8` replaces or adds a key. The value is YAML and may contain `=`. Items of a list are
  counted from 0: `-o 'train.dataset.transform_pipeline.2.RecResizeImg.image_shape=[32, 128]'`.
- `-o common.batch_size=8` changes every use of that value's anchor.
- `-o data=FOLDER` stands for the places of both data sets and `train.validation: 0.1`. FOLDER has one file of labels,
  which is divided by pages, or `train_gt.txt` and `test_gt.txt`. Keys that are given with it replace what it says.
- `train_config.yaml` in `train.ckpt_save_dir` has the whole configuration and starts the same job again.
- Numbers may be written as 1e-4. Unknown keys are errors; keys without effect are accepted and listed at the start.

Defaults are MindOCR's (compared with release 0.5.0). Keys have MindOCR's meaning, even if their name suggests another
one. Where another behaviour is better, an additional key selects it; the files in `configs/` that were measured with
this behaviour set the key: `optimizer.decay_as_named`, `DBHead.k_scales_threshold`, `DBPostprocess.score_mode`,
`EASTLoss.geometric_iou`,
`CrossEntropySmooth.of_probabilities`, `DetMetric.count_doubles`, `RecResizeImg.min_width`.
Remaining differences:

- Labels that are empty or too long are left out and counted. MindOCR trains them as lines without text, and counts
  characters that the dictionary lacks.
- Pages without text, or with a polygon outside the image, are left out of the training; MindOCR keeps them.
- A polygon that crosses itself is dropped; in MindOCR its page fails and is replaced by another one. A polygon that
  splits when it shrinks is drawn whole; MindOCR draws one piece.
- The warm-up is one step ahead (with `lr_epoch_stair` one epoch): MindOCR's first step has the rate 0 by default.
- Pages are rotated by any angle, not by whole degrees; consecutive geometric transforms are drawn at once, and pages
  that shrink to less than half are averaged.
- `eps` applies to adam and adamw, and `nesterov` to momentum on CPU; in MindOCR they have no effect there.
- `RecMetric` compares by the dictionary of `postprocess`, and `filter_ood` keeps spaces.
"""
KINDS = {"string": "text", "boolean": "True, False", "null": "null", "object": "section"}


@dataclass(frozen=True, slots=True)
class Row:
    """A key of a section; `of` are the names for which it is valid."""

    key: str
    rule: Rule
    titled: tuple[str, ...]
    is_required: bool
    of: tuple[str, ...] = ()


def as_markdown() -> str:
    """The page, with a final newline."""
    parts, seen, waiting = [INTRODUCTION], set(), ["det", "rec", "cls"]
    while waiting:
        name = waiting.pop(0)
        if name not in seen:
            seen.add(name)
            rows = merged(_rows(_definition(name), ""))
            waiting += [other for row in rows for other in row.titled]
            parts.append(_section(_definition(name), rows))
    return "\n".join(parts)


def merged(rows: Iterator[Row]) -> list[Row]:
    """The rows, with equal rows of several names merged."""
    found: list[Row] = []
    for row in rows:
        same = next((n for n, one in enumerate(found) if replace(one, of=row.of) == row), None)
        if same is None:
            found.append(row)
        else:
            found[same] = replace(row, of=found[same].of + row.of)
    return found


def _section(rule: Rule, rows: list[Row]) -> str:
    lines = [f"## {rule['title']}", "", rule["description"], ""]
    if NO_EFFECT in rule:
        lines += [f"No effect: {rule[NO_EFFECT]}.", ""]
    if rows:
        lines += ["| key | accepted | default | meaning |", "|---|---|---|---|", *map(_line, rows), ""]
    return "\n".join(lines)


def _line(row: Row) -> str:
    rule = row.rule
    default = f"`{plain(rule['default'])}`" if "default" in rule else "required" if row.is_required else ""
    meaning = [rule["description"]] if "description" in rule else []
    of_one = f" for {plain(rule[NO_EFFECT_FOR])}" if NO_EFFECT_FOR in rule else ""
    meaning += [f"No effect{of_one}: {rule[NO_EFFECT]}."] if NO_EFFECT in rule else []
    if row.titled:
        titles = [_definition(name)["title"] for name in row.titled]
        meaning += ["See " + ", ".join(f"[{title}](#{anchor(title)})" for title in titles) + "."]
        default = "" if rule.get("default") == {} else default
    of = f"{', '.join(row.of)}: " if row.of else ""
    return f"| `{row.key}` | {accepted(rule)} | {default} | {of}{' '.join(meaning)} |"


def _rows(rule: Rule, prefix: str, of: tuple[str, ...] = ()) -> Iterator[Row]:
    """The keys of a section, and those of its subsections without a title."""
    for key, given in rule.get("properties", {}).items():
        titled, inner = _titled(given), _resolved(given)
        if inner:
            yield Row(prefix + key, inner, titled, key in rule.get("required", ()), of)
        yield from _rows(given if titled else inner, f"{prefix}{key}.", of)
    for choice in rule.get("allOf", ()):
        (value,) = choice["if"]["properties"].values()
        if not _titled(choice["then"]):
            yield from _rows(_resolved(choice["then"]), prefix, (value["const"],))


def _titled(rule: Rule) -> tuple[str, ...]:
    """The titled definitions that a rule refers to: directly, in a choice, or for list items."""
    names: list[str] = []
    for one in (rule, rule.get("items", {}), *(choice["then"] for choice in rule.get("allOf", ()))):
        if "$ref" in one:
            name = one["$ref"].rsplit("/", 1)[1]
            names += [name] if "title" in _definition(name) else _titled(_definition(name))
    return tuple(names)


def _definition(name: str) -> Rule:
    rule: Rule = root()["$defs"][name]
    return rule


def _resolved(rule: Rule) -> Rule:
    """A rule merged with the definition that it refers to."""
    if "$ref" not in rule:
        return rule
    own = {key: value for key, value in rule.items() if key != "$ref"}
    return {**_resolved(_definition(rule["$ref"].rsplit("/", 1)[1])), **own}


def accepted(rule: Rule) -> str:
    """The accepted values of a key, in words."""
    rule = _resolved(rule)
    if "x-accepted" in rule and "enum" not in rule:
        return str(rule["x-accepted"])
    if "enum" in rule or "const" in rule:
        return ", ".join(plain(value) for value in rule.get("enum", [rule.get("const")]))
    kinds = rule.get("type", "object")
    return " or ".join(_kind(kind, rule) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _kind(kind: str, rule: Rule) -> str:
    if kind in ("integer", "number"):
        ends = (("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to"), ("exclusiveMaximum", "below"))
        bounds = [f" {word} {plain(rule[end])}" for end, word in ends if end in rule]
        return ("whole number" if kind == "integer" else "number") + "".join(bounds)
    if kind == "array":
        least, most = rule.get("minItems"), rule.get("maxItems")
        count = f"{least} times " if least == most and least is not None else ""
        return f"list: {count}{accepted(rule['items'])}" if "items" in rule else "list"
    return KINDS[kind]


def plain(value: Any) -> str:
    """A value in YAML, on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(plain, value))}]"
    return "null" if value is None else "{}" if value == {} else str(value)


def anchor(title: str) -> str:
    """The anchor that GitHub gives a heading."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c in "-_")
