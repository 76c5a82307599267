"""The images that a command line names. No heavy imports: they are checked before a network is loaded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hccl_kit.base.errors import KitError

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


def by_name(paths: Iterable[Path], name: Callable[[str], str] = str) -> tuple[dict[str, Path], list[str]]:
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
