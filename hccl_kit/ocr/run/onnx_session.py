"""A file in onnxruntime on the CPU, as a function of arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray

MOST_AT_ONCE = 8
"""Maximum number of pages or batches at the same time: a page takes up to half a gigabyte."""
SILENT = 4
"""Log level of onnxruntime: at lower ones it warns of the form of PaddleOCR's files."""


class Share(NamedTuple):
    """How the cores are shared."""

    at_once: int
    """Pages or batches that run at the same time, by as many threads."""
    threads: int
    """Cores of each."""


def share(tasks: int) -> Share:
    """Share the cores among `tasks` pages or batches: with one core for each, all work while an image is decoded."""
    cores = len(os.sched_getaffinity(0))
    at_once = max(1, min(tasks, cores, MOST_AT_ONCE))
    return Share(at_once, cores // at_once)


@dataclass(frozen=True, slots=True)
class Session:
    """A network: images (N, 3, H, W) to its output. Several threads may call it."""

    network: Any
    source: str
    """The name of the input."""

    def __call__(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """The first output."""
        output: NDArray[np.float32] = self.network.run(None, {self.source: images})[0]
        return output

    @property
    def metadata(self) -> Mapping[str, str]:
        """The metadata of the file."""
        metadata: Mapping[str, str] = self.network.get_modelmeta().custom_metadata_map
        return metadata


def opened(path: Path, threads: int) -> Session:
    """The network of a file; each call uses `threads` cores."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = SILENT
    # Threads that wait for work in a loop take a third of the processor time (measured).
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    network = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return Session(network, network.get_inputs()[0].name)
