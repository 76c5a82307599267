"""The networks of the reader in onnxruntime, which runs the files of the package `rapidocr` as they are."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import rapidocr
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.reader.engine import CLASSIFIER, DETECTOR, RECOGNISER, Networks, Run

MOST_AT_ONCE = 8
"""Pages: each takes up to half a gigabyte."""
SILENT = 4
"""Of onnxruntime's levels: it warns of the form of these files."""


def published(pages: int) -> Networks:
    """The networks of PP-OCRv6 small and its classifier of directions, to read so many pages.

    Several pages are read at once, each with its share of the cores: that keeps all cores at work, also while the boxes
    of a page are searched. Raises KitError if the package is not installed or holds other files.
    """
    cores = len(os.sched_getaffinity(0))
    at_once = max(1, min(pages, cores, MOST_AT_ONCE))
    sessions = {name: _session(name, cores // at_once) for name in (DETECTOR, CLASSIFIER, RECOGNISER)}
    detect, direct, recognise = (_run(session) for session in sessions.values())
    charset = _charset(sessions[RECOGNISER].get_modelmeta().custom_metadata_map)
    return Networks(detect, direct, recognise, charset, blank_first=True, at_once=at_once)


def _session(name: str, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = SILENT
    # Threads that wait for work in a loop take half of the processor time (measured).
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(rapidocr.path(name), options, providers=["CPUExecutionProvider"])


def _charset(metadata: Mapping[str, str]) -> Charset:
    """The dictionary in the file of the recogniser, and the space, which is its last class."""
    characters = rapidocr.listed_characters(metadata)
    if characters is None:
        raise KitError(f"{RECOGNISER} has no dictionary", hint=rapidocr.INSTALL)
    return Charset("".join(characters) + " ")


def _run(session: onnxruntime.InferenceSession) -> Run:
    source = session.get_inputs()[0].name

    def run(images: NDArray[np.float32]) -> NDArray[np.float32]:
        output: NDArray[np.float32] = session.run(None, {source: images})[0]
        return output

    return run
