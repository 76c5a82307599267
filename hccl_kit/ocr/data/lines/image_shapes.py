"""Aspect ratios of images, read from the headers of their files without decoding."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.data.image_file import open_image, size_of
from hccl_kit.ocr.data.samples import BadSampleError, Sample

READERS = 8
"""Threads: on a shared disk most of the time is spent waiting."""
CHUNK = 1024
"""Samples per task of a thread: a data set may have millions."""


def aspects(samples: Sequence[Sample]) -> NDArray[np.float32]:
    """Width over height of every image (N,); 0 for an image that cannot be read, which is reported when it is used."""
    chunks = [samples[start : start + CHUNK] for start in range(0, len(samples), CHUNK)]
    with ThreadPoolExecutor(READERS) as pool:
        parts = list(pool.map(lambda chunk: np.array([_aspect(sample) for sample in chunk], np.float32), chunks))
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def _aspect(sample: Sample) -> float:
    try:
        with open_image(sample) as (file, _):
            width, height = size_of(file)
    except BadSampleError:
        return 0.0
    return width / height if height else 0.0
