"""The layers of a configuration: files that extend others by `__base__`, and `-o` on top of them.

Values of the section `common` exist only for their anchors, which other sections use. A new value for one of them, by
`-o` or in an extending file, is applied to all its uses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hccl_kit.base import shipped
from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.config import yaml_text
from hccl_kit.ocr.config.yaml_text import dotted, value_at
from hccl_kit.table.pointer import Pointer

MAX_BYTES = 1 << 20
MAX_FILES = 32
BASE, COMMON = "__base__", "common"
BEST = "best.ckpt"
"""The best weights of a run, in its folder."""
OVERRIDE = "-o "
"""The start of the place of a value of the command line."""
FOLDER: Pointer = ("train", "ckpt_save_dir")
WEIGHTS: Pointer = ("eval", "ckpt_load_path")
MOVED: dict[Pointer, Pointer] = {
    ("model", "resume"): ("system", "resume"),
    ("train", "dataset", "sample_ratios"): ("train", "dataset", "sample_ratio"),
    ("eval", "dataset", "sample_ratios"): ("eval", "dataset", "sample_ratio"),
}
"""The places of keys in MindOCR's files, and their places here."""
TWINS = {**MOVED, **{new: old for old, new in MOVED.items()}}
RENAMED: dict[Pointer, dict[Any, Any]] = {("loss", "name"): {"L1BalancedCELoss": "DBLoss"}}
"""Names in MindOCR's older files, and their present names."""
_INDEX = re.compile("0|[1-9][0-9]{0,8}")


@dataclass(slots=True)
class Parts:
    """Values under construction, each with the `file:line` or `-o` it came from.

    `uses` are the places that use an anchor of the section `common`.
    """

    values: dict[str, Any]
    places: dict[Pointer, str]
    uses: dict[Pointer, set[Pointer]]

    def put(self, pointer: Pointer, value: Any, places: dict[Pointer, str]) -> None:
        """Set one value, and all uses of a value of `common`; missing sections are created."""
        for using in self.uses.values():
            using.discard(pointer)  # a value that is set directly no longer follows the anchor
        for target in (pointer, *sorted(self.uses.get(pointer, ()), key=str)):
            self._forget(target)
            parent: Any = self.values
            for key in target[:-1]:
                if not isinstance(parent, list) and parent.get(key) is None:
                    parent[key] = {}
                parent = parent[key]
            parent[target[-1]] = yaml_text.copied(value)
            self.places |= {(*target, *inner): place for inner, place in places.items()}
            for end in range(1, len(target)):
                self.places.setdefault(target[:end], places[()])

    def _forget(self, pointer: Pointer) -> None:
        """Drop the places and uses below a place that gets another value."""
        depth = len(pointer)
        for inside in [place for place in self.places if place[:depth] == pointer]:
            del self.places[inside]
        for using in self.uses.values():
            using -= {place for place in using if place[:depth] == pointer and len(place) > depth}

    def merge(self, other: Parts) -> None:
        """Apply another file on top of this one: sections are merged, everything else is replaced, lists as a whole."""
        for pointer in list(_leaves(other.values, self.values)):
            depth = len(pointer)
            if pointer in TWINS and value_at(other.values, TWINS[pointer]) is None:
                self._drop(TWINS[pointer])
            below = {place[depth:]: where for place, where in other.places.items() if place[:depth] == pointer}
            self.put(pointer, value_at(other.values, pointer), {(): other.places[()], **below})
        self.places[()] = other.places[()]
        for pointer, using in other.uses.items():
            self.uses.setdefault(pointer, set()).update(using)

    def override(self, option: str) -> None:
        """Apply one `a.b=c` of the command line; the value is YAML and may contain '='; `a.2.b` is in item 2 of a."""
        source = f"{OVERRIDE}{option}"
        name, sign, text = option.partition("=")
        keys = name.strip().split(".")
        if not sign or not all(keys):
            raise KitError(
                "ocr.layers.expected-key-value",
                "{source}: expected key=value, such as train.ckpt_save_dir=./out",
                source=source,
            )
        pointer = self._pointer(keys, source)
        if keys[0] == COMMON and not self.uses.get(pointer):
            raise KitError(
                "ocr.layers.no-section-uses",
                "{source}: no other section uses an anchor of {strip}, so it has no effect",
                fix="name the key that is used, such as train.loader.batch_size",
                source=source,
                strip=name.strip(),
            )
        value, _ = yaml_text.parse(text, f"{source}: the value")
        self._drop(TWINS.get(pointer))
        self.put(pointer, value, {(): source})

    def _pointer(self, keys: list[str], source: str) -> Pointer:
        target: Any = self.values
        pointer: Pointer = ()
        for key in keys:
            if isinstance(target, list):
                if not _INDEX.fullmatch(key) or int(key) >= len(target):
                    raise KitError(
                        "ocr.layers.list",
                        "{source}: {dotted} is a list; accepted: 0 to {count}",
                        source=source,
                        dotted=dotted(pointer),
                        count=len(target) - 1,
                    )
                pointer, target = (*pointer, int(key)), target[int(key)]
            elif isinstance(target, (dict, type(None))):
                pointer, target = (*pointer, key), (target or {}).get(key)
            else:
                raise KitError(
                    "ocr.layers.value-not-section",
                    "{source}: {dotted} is a value, not a section",
                    source=source,
                    dotted=dotted(pointer),
                )
        return pointer

    def _drop(self, pointer: Pointer | None) -> None:
        """Remove the value at the other place of a key that gets a new one: the later wins, under either name."""
        section = value_at(self.values, pointer[:-1]) if pointer else None
        if pointer and isinstance(section, dict) and section.pop(pointer[-1], None) is not None:
            self._forget(pointer)

    def settle(self) -> None:
        """Convert MindOCR's other places and names of keys to those of the schema."""
        for old, new in MOVED.items():
            value, section = value_at(self.values, old), value_at(self.values, new[:-1])
            if value is not None and (section is None or (isinstance(section, dict) and new[-1] not in section)):
                self.put(new, value, {(): self.places.get(old, dotted(old))})
                del value_at(self.values, old[:-1])[old[-1]]
        for place, names in RENAMED.items():
            name = value_at(self.values, place)
            if isinstance(name, str) and name in names:
                value_at(self.values, place[:-1])[place[-1]] = names[name]
        post = self.values.get("postprocess")
        if isinstance(post, dict) and isinstance(post.get("output_polygon"), bool) and "box_type" not in post:
            post["box_type"] = "poly" if post.pop("output_polygon") else "quad"
        optimizer = self.values.get("optimizer")
        if isinstance(optimizer, dict) and isinstance(optimizer.get("opt"), str):
            optimizer["opt"] = optimizer["opt"].lower()  # SGD


def read(path: Path, above: tuple[Path, ...] = (), count: Iterator[int] | None = None) -> Parts:
    """A file applied on top of those that it names as `__base__`: paths from its folder, or names of shipped files.

    `above` are the files that extend it. Raises KitError with the line of a mistake, or if a file extends itself.
    """
    count = count or iter(range(MAX_FILES))
    if next(count, None) is None:
        raise KitError(
            "ocr.layers.extends-files",
            "{above} extends more than {max_files} files by {base}",
            above=above[0],
            max_files=MAX_FILES,
            base=BASE,
        )
    extending = _read_one(path)
    if BASE not in extending.values:
        return extending
    parts = Parts({}, {}, {})
    names = extending.values.pop(BASE)
    for name in names if isinstance(names, list) else [names]:
        line = extending.places[(BASE,)]
        if not isinstance(name, str) or not name.isprintable():
            raise KitError(
                "ocr.layers.path-list-paths",
                "{line}: {base} is {name!r}; accepted: a path or a list of paths",
                line=line,
                base=BASE,
                name=name,
            )
        base = path.parent / name
        base = base if os.path.lexists(base) else shipped.config(Path(name)) or base
        if os.path.realpath(base) in map(os.path.realpath, (*above, path)):
            raise KitError("ocr.layers.extends-itself", "{line}: {base} extends itself", line=line, base=base)
        try:
            parts.merge(read(base, (*above, path), count))
        except KitError as error:
            raise KitError(
                "ocr.layers.reason", "{line}: {reason}", hint=error.hint, line=line, reason=error.message
            ) from error
    parts.merge(extending)
    return parts


def _read_one(path: Path) -> Parts:
    values, root = yaml_text.parse(read_text(path, MAX_BYTES), str(path))
    if not isinstance(values, dict):
        raise KitError(
            "ocr.layers.no-sections", "{path} has no sections", fix="see configs/rec/crnn/crnn_small.yaml", path=path
        )
    _drop_own_best(values)
    nodes = list(yaml_text.nodes(root))
    same: dict[int, set[Pointer]] = {}
    for pointer, node, _ in nodes:
        same.setdefault(id(node), set()).add(pointer)
    uses = {
        pointer: {use for use in same[id(node)] if use[0] != COMMON}
        for pointer, node, _ in nodes
        if pointer[:1] == (COMMON,)
    }
    return Parts(values, {pointer: f"{path}:{line}" for pointer, _, line in nodes}, uses)


def _drop_own_best(values: dict[str, Any]) -> None:
    """Let the weights that a file names be the default, if they are those of its own training.

    So they follow a train.ckpt_save_dir that replaces the one of this file: else an extending file would evaluate the
    weights of the other training.
    """
    folder, named = value_at(values, FOLDER), value_at(values, WEIGHTS)
    if isinstance(folder, str) and isinstance(named, str) and Path(named) == Path(folder, BEST):
        values["eval"]["ckpt_load_path"] = None


def _leaves(values: dict[str, Any], over: dict[str, Any], pointer: Pointer = ()) -> Iterator[Pointer]:
    """The places of `values` that replace those of `over` instead of being merged with them."""
    for key, value in values.items():
        other = over.get(key)
        if isinstance(value, dict) and isinstance(other, dict):
            yield from _leaves(value, other, (*pointer, key))
        else:
            yield (*pointer, key)
