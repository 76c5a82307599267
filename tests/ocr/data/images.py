"""Small data sets on disk for tests to modify."""

import struct
import zlib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

PIPELINE: list[dict[str, Any]] = [
    {"DecodeImage": {"img_mode": "BGR"}},
    {"RecCTCLabelEncode": {"max_text_len": 8}},
    {"RecResizeImg": {"image_shape": [8, 16], "padding": True}},
    {"NormalizeImage": {"mean": [127] * 3, "std": [127] * 3}},
    {"ToCHWImage": None},
]


def write_png(path: Path, image: NDArray[np.uint8]) -> None:
    """A PNG, whatever the name of the file."""
    done, data = cv2.imencode(".png", image)
    assert done
    path.write_bytes(data.tobytes())


def write_image(path: Path, shade: int, *, height: int = 10, width: int = 20) -> None:
    write_png(path, np.full((height, width, 3), shade, np.uint8))


def png_of(width: int, height: int) -> bytes:
    """A PNG that declares a size but has almost no data."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(bytes(99))), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def dataset(root: Path, texts: list[str]) -> dict[str, Any]:
    """A section `dataset`: image number n has the gray value n."""
    folder = root / "images"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(len(texts)):
        write_image(folder / f"{number}.png", number)
    labels = "".join(f"{number}.png\t{text}\n" for number, text in enumerate(texts))
    (root / "gt.txt").write_text(labels, encoding="utf-8")
    return {
        "type": "RecDataset",
        "dataset_root": str(root),
        "data_dir": "images",
        "label_file": "gt.txt",
        "transform_pipeline": PIPELINE,
    }
