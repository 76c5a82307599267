"""Pages read by hccl-kit and by rapidocr: the same texts, and in what time.

    python -m benchmarks.read_pages FOLDER [--limit 50] [--threads 2] [--engine mindspore]

FOLDER holds images. Both programs have the weights of the package rapidocr, run in turns in this process on the same
cores, and read a first page that is not timed: it includes the compilation of the networks. A turn is GROUP pages:
rapidocr reads one after the other, hccl-kit as many at once as its program does. Printed are, line by line, what
rapidocr read and ours did not, the shares, the medians of the seconds of a page and the ratio of all seconds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.row import Row
from hccl_kit.base import progress
from hccl_kit.ocr.data.image_paths import find_images
from hccl_kit.ocr.run import engine as engines
from hccl_kit.ocr.run.start import start_alone


class Found(NamedTuple):
    """A text, and the middle of its box."""

    text: str
    x: float
    y: float
    height: float


OURS, PEER = "hccl-kit", "rapidocr"
GROUP = 6
Reader = Callable[[Sequence[Any]], list[list[Found]]]
"""From the images of pages to their texts."""


def main() -> None:
    """Read the pages by both programs and print how they compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--engine", choices=[engines.ONNXRUNTIME, engines.MINDSPORE], default=engines.ONNXRUNTIME)
    args = parser.parse_args()
    images = find_images([args.folder], limit=args.limit)
    before = os.getloadavg()[0]
    seconds: dict[str, list[float]] = {OURS: [], PEER: []}
    texts = same = placed = own = 0
    with progress.track(read_in_turn(images, args.threads, args.engine), len(images), "reading pages") as pages:
        for path, found, took in pages:
            for name, one_page in took.items():
                seconds[name].append(one_page)
            pairs = [(one, nearest(one, found[OURS])) for one in found[PEER]]
            for one, other in pairs:
                if other is None or other.text != one.text:
                    progress.say(f"{path.name}: {one.text!r}, here {other.text if other else None!r}")
            texts += len(pairs)
            own += len(found[OURS])
            placed += sum(other is not None for _, other in pairs)
            same += sum(other is not None and other.text == one.text for one, other in pairs)
    print(f"{len(images)} pages, {texts} texts of rapidocr, {own} of hccl-kit")
    print(f"found by hccl-kit too: {placed / texts:.2%}; read the same: {same / texts:.2%}")
    for name, each in seconds.items():
        print(f"{name}: {sorted(each)[len(each) // 2]:.2f} s a page (median), {sum(each):.1f} s in all")
    ratio = sum(seconds[OURS]) / sum(seconds[PEER])
    print(f"hccl-kit / rapidocr: {ratio:.2f} on {args.threads} cores, load {before:.1f} to {os.getloadavg()[0]:.1f}")


class Page(NamedTuple):
    """A page, and of both programs the texts that they found and the seconds that they took."""

    path: Path
    found: dict[str, list[Found]]
    seconds: dict[str, float]


def read_in_turn(images: Sequence[Path], threads: int, engine: str) -> Iterator[Page]:
    """The pages as both programs read them, a group at a time; they take turns to be the first."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    start_alone()
    readers = {OURS: ours(engine, min(GROUP, len(images))), PEER: theirs(threads)}
    from hccl_kit.ocr.serve.pages import decoded  # noqa: PLC0415  # after MindSpore's environment is complete

    for read in readers.values():
        read([decoded(images[0])])
    for first in range(0, len(images), GROUP):
        paths = images[first : first + GROUP]
        group = [decoded(path) for path in paths]
        found: dict[str, list[list[Found]]] = {}
        seconds = {}
        for name in list(readers)[:: 1 if first // GROUP % 2 else -1]:
            began = time.perf_counter()
            found[name] = readers[name](group)
            seconds[name] = (time.perf_counter() - began) / len(group)
        for number, path in enumerate(paths):
            yield Page(path, {name: texts[number] for name, texts in found.items()}, seconds)


def rows(*, full: bool) -> Iterator[Row]:
    """For `python -m benchmarks`: drawn pages."""
    with tempfile.TemporaryDirectory() as folder:
        # In another process: what draws loads libraries before MindSpore's environment is complete.
        draw = "import sys; from pathlib import Path; from benchmarks.detection_pipeline import draw_pages as draw; "
        subprocess.run([sys.executable, "-c", f"{draw}draw(Path(sys.argv[1]))", folder], check=True)
        images = find_images([Path(folder, "images")], limit=24 if full else 6)
        for engine in (engines.ONNXRUNTIME, engines.MINDSPORE):
            seconds = [page.seconds for page in read_in_turn(images, 2, engine)]
            mine, other = (sum(took[name] for took in seconds) / len(seconds) for name in (OURS, PEER))
            what = f"`hccl-kit read --engine {engine}`, drawn pages of 20 texts, two threads"
            yield Row(what, "rapidocr in onnxruntime", "s a page", mine, other)


def ours(engine: str, pages: int) -> Reader:
    """What hccl-kit read does with `pages` pages."""
    from hccl_kit.ocr.data.loader import prefetch  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.reader.engine import read  # noqa: PLC0415

    if engine == engines.ONNXRUNTIME:
        from hccl_kit.ocr.reader import sessions  # noqa: PLC0415

        made = sessions.published(pages)
    else:
        from hccl_kit.ocr.reader import networks  # noqa: PLC0415

        made = networks.published()
    one = partial(read, made)

    def read_all(images: Sequence[Any]) -> list[list[Found]]:
        pages = prefetch(images, one, made.at_once) if made.at_once > 1 else map(one, images)
        return [[of(text.reading.text, text.points) for text in page] for page in pages]

    return read_all


def theirs(threads: int) -> Reader:
    """The package rapidocr with `threads` threads."""
    from rapidocr import RapidOCR  # noqa: PLC0415  # an extra

    made: Any = RapidOCR(params={"Global.log_level": "error", "EngineConfig.onnxruntime.intra_op_num_threads": threads})

    def read(image: Any) -> list[Found]:
        result = made(image)
        return [] if result.txts is None else [of(*one) for one in zip(result.txts, result.boxes, strict=True)]

    return lambda images: [read(image) for image in images]


def of(text: str, points: Any) -> Found:
    """A text by the corners (4, 2) of its box."""
    x, y = points.mean(axis=0)
    return Found(text, float(x), float(y), float(points[:, 1].max() - points[:, 1].min()))


def nearest(one: Found, others: Sequence[Found]) -> Found | None:
    """The text at the same place: its middle lies within half the height of `one`."""
    near = [other for other in others if max(abs(other.x - one.x), abs(other.y - one.y)) <= one.height / 2]
    return min(near, key=lambda other: abs(other.x - one.x) + abs(other.y - one.y), default=None)


if __name__ == "__main__":
    main()
