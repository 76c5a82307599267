"""The language model of a recogniser, `postprocess.language_model`, and the texts that it learns from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.lines.line_sources import read_lines
from hccl_kit.ocr.data.samples import are_there, numbered_lines
from hccl_kit.ocr.decode.beam import BeamSearch, LanguageModel, lowest_likeness

T = TypeVar("T")
MOST = 100_000
"""Maximum number of texts that a model learns from: of more, every second, third and so on. They take about a second.
"""


def texts_of(config: Config) -> Sequence[str]:
    """The texts of `postprocess.language_model`: none if it is null, or if there are no labels any more.

    Raises KitError if a file of texts cannot be read.
    """
    options = config["postprocess"]["language_model"]
    if options is None:
        return ()
    if options["texts"] is not None:
        return _sample(_read(Path(options["texts"])))
    if are_there(config["train"]["dataset"]):
        return [line.text for line in _sample(read_lines(config.training_set))]
    return _sample(_read(config.kept_texts)) if config.kept_texts.exists() else ()


def beam_search(config: Config, texts: Sequence[str], charset: Charset) -> BeamSearch | None:
    """The decoding with a language model of `texts`, restricted to the dictionary; None without a model or texts.

    Raises KitError if the head is not for CTC.
    """
    post = config["postprocess"]
    options = post["language_model"]
    if options is None:
        return None
    if post["name"] != "RecCTCLabelDecode":
        raise KitError(
            "ocr.language.postprocess-language-model",
            "postprocess.language_model is for RecCTCLabelDecode, and postprocess.name is {name}",
            name=post["name"],
        )
    if not texts:
        return None
    known = frozenset(charset.characters.lower())
    readable = ["".join(character for character in text.lower() if character in known) for text in texts]
    return BeamSearch(
        LanguageModel(readable, order=options["order"]),
        weight=options["weight"],
        bonus=options["bonus"],
        width=options["beam_width"],
        lowest=lowest_likeness(readable, order=options["order"]),
    )


def _read(path: Path) -> list[str]:
    """The texts of a file: one in each line, or after a path and a tab. Raises KitError if the file holds no text."""
    texts = [line.partition("\t")[2] if "\t" in line else line for _, line in numbered_lines(path)]
    if not any(texts):
        raise KitError("ocr.language.holds-no-texts", "{path} holds no texts for postprocess.language_model", path=path)
    return [text for text in texts if text]


def _sample(items: Sequence[T]) -> Sequence[T]:
    """At most MOST of them, evenly spread."""
    return items[:: max(1, -(-len(items) // MOST))]
