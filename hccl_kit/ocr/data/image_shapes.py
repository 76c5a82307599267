"""How wide images are beside their height, read from the first bytes of their files: nothing is decoded."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hccl_kit.ocr.data.samples import BadSampleError, Sample

READERS = 8
"""Threads: on a shared disk most of the time is waiting."""
CHUNK = 1024
"""Samples that a thread takes at a time: a set may have millions."""


def aspects(samples: Sequence[Sample]) -> NDArray[np.float32]:
    """Width over height of every image (N,); 0 where none can be read, which is said when it is used."""
    chunks = [samples[start : start + CHUNK] for start in range(0, len(samples), CHUNK)]
    with warnings.catch_warnings(), ThreadPoolExecutor(READERS) as pool:
        warnings.simplefilter("ignore")  # of images too large to be decoded, and of what is no image
        parts = list(pool.map(lambda chunk: np.array([_aspect(sample) for sample in chunk], np.float32), chunks))
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def _aspect(sample: Sample) -> float:
    try:
        with Image.open(io.BytesIO(sample.data()) if sample.data else sample.path) as image:
            return image.width / image.height
    except (OSError, BadSampleError, Image.DecompressionBombError, ValueError, ZeroDivisionError):
        return 0.0
