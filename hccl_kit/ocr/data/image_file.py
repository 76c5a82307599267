"""Encoded images of samples: only from regular files, and with a bounded number of pixels.

A file of a few kilobytes may decode to gigabytes, and a path may name a pipe without a writer.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hccl_kit.base.bounded_file import open_regular
from hccl_kit.ocr.data.samples import BadSampleError, Sample

MAX_PIXELS = 1 << 26
"""Default limit for an image: 200 MB when decoded."""
BYTES_OF_A_PIXEL = 4
OTHER_BYTES = 1 << 22
"""Bytes of a file besides its pixels: a thumbnail, a colour profile."""
AT_ONCE = 1 << 20
"""Largest file that is read whole before its header is parsed."""
FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP", "PPM", "JPEG2000")
"""Pillow's names of the formats that OpenCV decodes too."""
NOT_AN_IMAGE = "not an image that OpenCV reads"

Image.MAX_IMAGE_PIXELS = None  # callers have their own limit; Pillow reads headers only
warnings.filterwarnings("ignore", module=r"PIL\.")  # on damaged files, which are reported when they are decoded


def read_image(sample: Sample, max_pixels: int) -> bytes:
    """The encoded image of a sample. Raises BadSampleError if it is not an image, or too large as file or image."""
    limit = BYTES_OF_A_PIXEL * max_pixels + OTHER_BYTES
    with open_image(sample) as (file, size):
        if size > limit:
            raise BadSampleError(f"a file of {size} bytes; accepted: up to {limit}, see max_pixels of DecodeImage")
        data = file.read(size) if size <= AT_ONCE else b""  # Pillow reads in small pieces, which is faster in memory
        width, height = size_of(io.BytesIO(data) if data else file)
        if width * height > max_pixels:
            raise BadSampleError(
                f"an image of {width} x {height} pixels; accepted: up to {max_pixels} in total, "
                "see max_pixels of DecodeImage"
            )
        if not data:
            file.seek(0)
            data = file.read(size)
        return data


@contextmanager
def open_image(sample: Sample) -> Iterator[tuple[BinaryIO, int]]:
    """The file of a sample, or its row of a database as a file, and the size in bytes.

    Raises BadSampleError if it cannot be opened or is not a regular file.
    """
    if sample.data:
        data = sample.data()
        yield io.BytesIO(data), len(data)
        return
    try:
        with os.fdopen(open_regular(sample.path), "rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    except OSError as error:
        raise BadSampleError(str(error.strerror or error)) from error
    except ValueError as error:  # a path with a zero byte
        raise BadSampleError(str(error)) from error


def size_of(file: BinaryIO) -> tuple[int, int]:
    """Width and height from the header, without decoding. Raises BadSampleError if there is no valid header."""
    try:
        with Image.open(file, formats=FORMATS) as image:
            return image.size
    except Exception as error:  # a damaged header may raise anything
        raise BadSampleError(NOT_AN_IMAGE) from error


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
