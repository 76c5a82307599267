"""A classifier that was trained for one dictionary, converted to another: each character keeps its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import listed
from hccl_kit.ocr.adapt.onnx_weights import DENSE, Layer
from hccl_kit.ocr.charset import SPECIAL_TOKENS
from hccl_kit.ocr.models.ppocr import nrtr

SHOWN = 10
"""Maximum number of new characters that a note lists."""
Token = str | int | None
"""What a class stands for: a character, a special token by its number, None for the CTC blank."""
Array = NDArray[Any]


class Alignment(NamedTuple):
    """Maps the classes of the wanted dictionary to those of given weights.

    `given` is the number of given classes. `rows` has for each wanted class its index among them, -1 if it is new;
    `characters` has the indices of the given characters, without special tokens. `note` lists the new characters and
    counts the dropped classes; None if there are neither.
    """

    given: int
    rows: NDArray[np.intp]
    characters: NDArray[np.intp]
    note: str | None

    def taken(self, array: Array, axis: int = 0) -> Array:
        """The array for the wanted classes; the last `given` entries of `array` along `axis` are the given classes.

        A new character starts with the mean of all characters, so that no image favours or excludes it.
        """
        values = np.moveaxis(array, axis, 0)
        first = len(values) - self.given
        classes = values[first:]
        taken = classes[self.rows]
        taken[self.rows < 0] = classes[self.characters].mean(axis=0)
        return np.ascontiguousarray(np.moveaxis(np.concatenate([values[:first], taken]), 0, axis))


class Place(NamedTuple):
    """Where the classes are in a parameter: at the end of `axis`, with special tokens around the characters."""

    before: tuple[Token, ...] = ()
    after: tuple[Token, ...] = ()
    axis: int = 0

    def tokens(self, characters: Sequence[str]) -> tuple[Token, ...]:
        """What the classes stand for."""
        return (*self.before, *characters, *self.after)


_CTC, _ATTENTION = Place(after=(None,)), Place(before=tuple(range(len(SPECIAL_TOKENS))))
_GUIDE = Place(before=tuple(range(nrtr.SPECIAL)))
PLACES: Mapping[str, Place] = {
    **dict.fromkeys(("head.dense1.weight", "head.dense1.bias", "head.weight", "head.bias"), _CTC),
    **dict.fromkeys(("head.generator.weight", "head.generator.bias"), _ATTENTION),
    "head.attention_cell.rnn.weight_ih": _ATTENTION._replace(axis=1),  # after the features, the last token
    **dict.fromkeys(("head.nrtr.embedding.embedding_table", "head.nrtr.generator.weight"), _GUIDE),
}
"""The parameters of all recognisers whose shape depends on the dictionary."""


def align(given: Sequence[Token], wanted: Sequence[Token]) -> Alignment:
    """Map the classes `wanted` to those `given`. Raises KitError if they have no character in common."""
    places = {token: number for number, token in enumerate(given)}
    new = [token for token in wanted if token not in places]
    if not any(isinstance(token, str) and token in places for token in wanted):
        raise KitError(
            "ocr.classifier.dictionary-file-no",
            "the dictionary of the file has no character in common with the configuration's",
        )
    dropped = len(places) - (len(wanted) - len(new))
    parts = [
        f"{len(new)} characters are new: {listed([repr(token) for token in new], SHOWN)}" if new else None,
        f"{dropped} of {len(given)} classes are left out" if dropped else None,
    ]
    return Alignment(
        given=len(given),
        rows=np.array([places.get(token, -1) for token in wanted]),
        characters=np.array([number for token, number in places.items() if isinstance(token, str)]),
        note="; ".join(part for part in parts if part) or None,
    )


def converted(layer: Layer, given: Sequence[str | None], wanted: Sequence[str | None]) -> tuple[Layer, str | None]:
    """Convert a dense layer from the classes `given` to `wanted`; returns it with a note on new and dropped ones.

    Raises KitError if it is not a dense layer with one row per given class, or if no character is in both dictionaries.
    """
    if layer.kind != DENSE or len(layer.arrays["weight"]) != len(given):
        raise KitError(
            "ocr.classifier.last-layer",
            "the last layer is a {layer}; expected {count} classes for its dictionary",
            layer=layer,
            count=len(given),
        )
    alignment = align(given, wanted)
    return Layer(layer.kind, {name: alignment.taken(array) for name, array in layer.arrays.items()}), alignment.note


def by_character(
    rows: Mapping[str, Array], given: Sequence[str], wanted: Sequence[str]
) -> tuple[dict[str, Array], str]:
    """Convert parameters of a recogniser from the characters `given` to `wanted`; returns them with a note.

    Parameters that are not in PLACES are unchanged. Raises KitError if no character is in both, or if a parameter does
    not have the classes of `given`.
    """
    changed = dict(rows)
    for name, place in PLACES.items():
        if name in rows:
            tokens = place.tokens(given)
            size = rows[name].shape[place.axis] if rows[name].ndim > place.axis else 0
            if size < len(tokens) or (not place.axis and size > len(tokens)):
                raise KitError(
                    "ocr.classifier.classes",
                    "{name} has {size} classes; expected {count} for its dictionary",
                    name=name,
                    size=size,
                    count=len(tokens),
                )
            changed[name] = align(tokens, place.tokens(wanted)).taken(rows[name], place.axis)
    note = align(given, wanted).note
    kept = len(set(given) & set(wanted))
    return changed, "; ".join(filter(None, [f"{kept} of its {len(given)} characters keep their weights", note]))
