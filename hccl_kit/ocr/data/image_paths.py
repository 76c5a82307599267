"""The images that a command line names. No heavy imports: they are checked before a network is loaded."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.file_errors import cannot_read

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")
MAX_STEM_BYTES = 200
"""A file name has up to 255 bytes: this leaves room for a number, an ending and what a temporary name adds."""


def find_images(paths: Sequence[Path], *, limit: int | None = None) -> list[Path]:
    """The images in `paths`, those of a folder sorted by name; at most `limit`.

    Raises KitError if a path does not exist, is not a regular file, there are no images, or `limit` is below 1.
    """
    if limit is not None and limit < 1:
        raise KitError("ocr.image-paths.limit", "--limit is {limit}; accepted: 1 or more", limit=limit)
    images: list[Path] = []
    for path in paths:
        if path.is_dir():
            images += sorted(inner for inner in path.iterdir() if inner.suffix.lower() in SUFFIXES)
        elif path.is_file():
            images.append(path)
        elif path.exists():
            raise KitError(
                "ocr.image-paths.not-regular-file",
                "{path} is not a regular file",
                fix="name images and folders of images",
                path=path,
            )
        else:
            raise KitError("ocr.image-paths.no-image-folder", "there is no image or folder {path}", path=path)
    if not images:
        raise KitError(
            "ocr.image-paths.no-images",
            "no images in {value}",
            fix="accepted: {suffixes}",
            value=", ".join(map(str, paths)),
            suffixes=" ".join(SUFFIXES),
        )
    return images[:limit]


def pairs(
    labels: Path, images: Path, suffixes: Sequence[str], image_stem: Callable[[str], str] = str
) -> Iterator[tuple[Path, Path] | str]:
    """The label file and the image of each page, img_2 before img_10; `path: reason` for one without the other.

    `image_stem` makes the name of the image, without its suffix, from that of the label file. Raises KitError if a
    folder cannot be read.
    """
    try:
        pages, no_images = _by_name(path for path in images.iterdir() if path.suffix.lower() in SUFFIXES)
        files, no_labels = _by_name((path for path in labels.iterdir() if path.suffix in suffixes), image_stem)
    except OSError as error:
        raise cannot_read(error.filename, error) from error
    yield from (*no_images, *no_labels)
    for name in sorted(pages.keys() | files.keys(), key=lambda name: (_natural(name), name)):
        if name not in pages:
            yield f"{files[name]}: {images} has no image {name}.jpg"
        elif name not in files:
            yield f"{pages[name]}: {labels} has no {' or '.join(suffixes)} file of it"
        else:
            yield files[name], pages[name]


def _natural(name: str) -> list[tuple[int, str]]:
    """Orders img_2 before img_10."""
    return [
        (int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in re.split("([0-9]{1,18})", name)
    ]


def _by_name(paths: Iterable[Path], name: Callable[[str], str] = str) -> tuple[dict[str, Path], list[str]]:
    """The file of each page, by `name` of its stem, and `path: reason` for each file that another one replaces.

    Of several files for one page the last one by name counts, on all hosts.
    """
    files: dict[str, Path] = {}
    replaced = []
    for path in sorted(paths):
        key = name(path.stem)
        if key in files:
            replaced.append(f"{files[key]}: {path} is of the same page, and is taken")
        files[key] = path
    return files, replaced


def short(stem: str) -> str:
    """The beginning of a stem that still fits when a file is named after it: a page may have the longest name."""
    while len(os.fsencode(stem)) > MAX_STEM_BYTES:
        stem = stem[:-1]
    return stem
