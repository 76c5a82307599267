"""The language model of a recogniser, `postprocess.language_model`, and the texts that it learns from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.config import TEXTS, Config
from hccl_kit.ocr.data.lines.line_sources import read_lines
from hccl_kit.ocr.decode.beam import BeamSearch
from hccl_kit.ocr.decode.language_model import LanguageModel

MAX_BYTES = 1 << 27
MOST = 100_000
"""Texts that a model learns from; of more every second, third and so on. These take about a second."""


def texts_of(config: Config) -> Sequence[str]:
    """The texts of `postprocess.language_model`; none if it is null.

    Raises KitError if neither the file of texts nor the labels of the training can be read.
    """
    options = config["postprocess"]["language_model"]
    if options is None:
        return ()
    if options["texts"] is not None:
        return _sample(_lines(Path(options["texts"])))
    kept = Path(config.source).with_name(TEXTS)
    try:
        return _labels(config)
    except KitError as error:
        if kept.exists():
            return _sample(_lines(kept))
        raise KitError(
            f"postprocess.language_model learns from the labels of the training: {error.message}",
            hint="give it a file of texts: -o postprocess.language_model.texts=FILE\n"
            "or read without it: -o postprocess.language_model=null",
        ) from error


def beam_search(config: Config, texts: Iterable[str], charset: Charset) -> BeamSearch | None:
    """The decoding with a language model of `texts`, restricted to the dictionary; None if it is null.

    Raises KitError if the head is not for CTC.
    """
    post = config["postprocess"]
    options = post["language_model"]
    if options is None:
        return None
    if post["name"] != "RecCTCLabelDecode":
        raise KitError(f"postprocess.language_model is for RecCTCLabelDecode, and postprocess.name is {post['name']}")
    known = frozenset(charset.characters.lower())
    readable = ("".join(character for character in text.lower() if character in known) for text in texts)
    model = LanguageModel(readable, order=options["order"])
    return BeamSearch(model, weight=options["weight"], bonus=options["bonus"], width=options["beam_width"])


def _labels(config: Config) -> list[str]:
    lines = read_lines(config["train"]["dataset"])
    return [line.text for line in lines[:: _stride(len(lines))]]


def _lines(path: Path) -> list[str]:
    """The texts of a file with one in each line, also after a path and a tab. Raises KitError if there are none."""
    lines = read_text(path, MAX_BYTES).replace("\r\n", "\n").split("\n")
    texts = [line.partition("\t")[2] if "\t" in line else line for line in lines]
    if not any(texts):
        raise KitError(f"{path} holds no texts for postprocess.language_model")
    return [text for text in texts if text]


def _sample(texts: Sequence[str]) -> Sequence[str]:
    return texts[:: _stride(len(texts))]


def _stride(count: int) -> int:
    return max(1, -(-count // MOST))
