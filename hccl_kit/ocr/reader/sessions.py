"""The networks of the reader in onnxruntime, which runs the files of the package `rapidocr` as they are."""

from __future__ import annotations

from hccl_kit.ocr import rapidocr
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.reader.engine import CLASSIFIER, DETECTOR, RECOGNISER, Networks
from hccl_kit.ocr.run import onnx_session


def published(pages: int) -> Networks:
    """The networks of PP-OCRv6 small and its classifier of directions, to read `pages` pages, several at once.

    Raises KitError if the package is not installed or holds other files.
    """
    at_once, threads = onnx_session.share(pages)
    detect, direct, recognise = (
        onnx_session.opened(rapidocr.path(name), threads) for name in (DETECTOR, CLASSIFIER, RECOGNISER)
    )
    characters = rapidocr.listed_characters(recognise.metadata)
    assert characters is not None, "the file is the one with the known SHA-256"
    charset = Charset("".join(characters) + " ")  # its last class
    return Networks(detect, direct, recognise, charset, blank_first=True, at_once=at_once)
