"""Find and read the texts of pages with published weights: no training and no configuration.

The networks are those of PP-OCRv6 small and a classifier that finds lines upside down; their
weights are in the package rapidocr (the extra "weights"). Prints a line for each text:
path TAB text TAB confidence, from top to bottom; a page without text has no line. --json writes
places and scores too (schemas/read.schema.json). --picture is a folder for a PNG of each page.
Existing files are kept unless --force is given.
On a CPU onnxruntime runs the networks if it is installed, several pages at once, else MindSpore;
--engine chooses. Both read the same texts.
An image that cannot be read is named on stderr, and in JSON it has an `error`.

examples:
  hccl-kit read receipt.jpg
  hccl-kit read scans/ --picture drawn/ --json found.json

Exit codes: 0 done; 1 some images could not be read; 2 could not run, or no image could be read.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from hccl_kit.base import progress
from hccl_kit.base.arguments import Parser, a_path
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.base.output_place import assert_free_files, assert_free_folder, assert_free_picture
from hccl_kit.base.terminal import escaped, printable
from hccl_kit.base.wording import counted
from hccl_kit.ocr import rapidocr
from hccl_kit.ocr.checkpoints.weights_file import WeightsFile
from hccl_kit.ocr.data.image_paths import find_images, short
from hccl_kit.ocr.data.samples import BadSampleError
from hccl_kit.ocr.run import engine, program
from hccl_kit.ocr.run.start import device_target, start_alone

if TYPE_CHECKING:
    from hccl_kit.ocr.reader.engine import Networks
    from hccl_kit.ocr.reader.page import Image
    from hccl_kit.ocr.serve.pages import PageOfText

VERSION = 1
"""Version of the format of --json."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for; None for what it does not mention."""

    images: tuple[Path, ...]
    limit: int | None
    picture: Path | None
    json: Path | None
    force: bool
    engine: str
    """See `hccl_kit.ocr.run.engine`."""


class Opened(NamedTuple):
    """The image of a file, or why it cannot be read, and the seconds that it took."""

    number: int
    """Number of the page, from 1."""
    path: Path
    image: Image | None
    error: str
    seconds: float


class Timed(NamedTuple):
    """A page and the seconds from its file to its texts."""

    page: PageOfText
    seconds: float


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The program; ends the process with one of the exit codes above."""
    args = make_parser().parse(argv)
    run(Request(tuple(args.images), args.limit, args.picture, args.json, args.force, args.engine))


def make_parser() -> Parser:
    """The options of the program."""
    parser = program.plain_parser(__doc__, "read")
    parser.add_argument("images", nargs="+", type=a_path, metavar="PAGE", help="images and folders")
    parser.add_argument("--limit", type=int, metavar="N", help="maximum number of images (default: all)")
    parser.add_argument("--picture", type=a_path, metavar="DIR", help="folder for a picture of each page")
    parser.add_argument("--json", type=a_path, metavar="FILE", help="file to write")
    parser.add_argument("--force", action="store_true", help="overwrite --picture and --json")
    parser.add_argument("--engine", **engine.OPTION)
    return parser


def run(request: Request) -> NoReturn:
    """Read the pages; ends the process with one of the exit codes of this program."""
    program.run_unlaunched(lambda: _read(request))


def _read(request: Request) -> None:
    images = _checked(request)
    target = device_target("auto")
    chosen = engine.chosen(request.engine, target)
    networks = _networks(chosen, len(images))
    progress.say(f"engine: {engine.named(chosen, target)}")
    weights = [WeightsFile.of(rapidocr.path(name)) for name in rapidocr.FILES]
    for file in weights:
        progress.say(printable(str(file)))
    if request.picture:
        request.picture.mkdir(parents=True, exist_ok=True)
    done: list[Timed] = []
    with progress.track(_pages(networks, images, request.picture), len(images), "reading pages") as pages:
        for timed in pages:
            done.append(timed)
            _show(timed.page)
    if request.json:
        write_json(request.json, _document(done, chosen, weights))
    if request.picture:
        progress.say(f"wrote: {request.picture}")
    program.assert_read(sum(timed.page.error is not None for timed in done), len(done))


def _checked(request: Request) -> list[Path]:
    """The images. Raises KitError, before any heavy import, if the request cannot be fulfilled."""
    images = find_images(request.images, limit=request.limit)
    assert_free(request.json, request.picture, force=request.force, are_pages=True)
    for name in rapidocr.FILES:
        rapidocr.path(name)
    return images


def assert_free(json: Path | None, picture: Path | None, *, force: bool, are_pages: bool) -> None:
    """Raises KitError if an output cannot be written; the pictures of pages are a folder, that of lines is a file."""
    if json and json == picture:
        raise KitError(
            "ocr.read.named-two-outputs",
            "{json} is named for two outputs",
            fix="name another file for --json or --picture",
            json=json,
        )
    if json:
        assert_free_files([json], "--json", force=force)
    if picture and are_pages:
        assert_free_folder(picture, "--picture", force=force)
    elif picture:
        assert_free_picture(picture, "--picture", force=force)


def write_json(path: Path, value: Any) -> None:
    """Write the file of --json. A name that is not UTF-8 contains lone surrogates, which become JSON escapes."""
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    write_atomically(path, text.encode("utf-8", "backslashreplace"))
    progress.say(f"wrote: {path}")


def warn_of_unread(path: Path, error: str) -> None:
    """Name an image that could not be used."""
    progress.say(printable(f"warning: {path} could not be read: {error}"))


def _networks(chosen: str, pages: int) -> Networks:
    # Both are loaded only when they are needed, MindSpore after its environment is complete.
    if chosen == engine.ONNXRUNTIME:
        from hccl_kit.ocr.reader import sessions  # noqa: PLC0415

        return sessions.published(pages)
    start_alone()
    from hccl_kit.ocr.reader import networks  # noqa: PLC0415

    return networks.published()


def _pages(networks: Networks, images: Sequence[Path], picture: Path | None) -> Iterator[Timed]:
    from hccl_kit.ocr.data.loader import prefetch  # noqa: PLC0415  # after MindSpore's environment is complete

    began, files = time.monotonic(), enumerate(images, 1)
    timed_pages = (
        prefetch(files, lambda file: _read_page(networks, _opened(file), picture), networks.at_once)
        if networks.at_once > 1
        else (_read_page(networks, opened, picture) for opened in prefetch(files, _opened, 1))
    )
    seconds = []
    for timed in timed_pages:
        if not timed.page.error:
            seconds.append(timed.seconds)
        yield timed
    if seconds:
        first = f", the first {seconds[0]:.2f} s" if len(seconds) > 1 else ""
        progress.say(
            f"{counted(len(seconds), 'page')}, {(time.monotonic() - began) / len(seconds):.2f} s a page{first}"
        )


def _opened(file: tuple[int, Path]) -> Opened:
    from hccl_kit.ocr.serve import pages  # noqa: PLC0415  # after MindSpore's environment is complete

    (number, path), started = file, time.monotonic()
    try:
        image, error = pages.decoded(path), ""
    except BadSampleError as reason:
        image, error = None, str(reason)
    return Opened(number, path, image, error, time.monotonic() - started)


def _read_page(networks: Networks, opened: Opened, picture: Path | None) -> Timed:
    from hccl_kit.ocr.decode.boxes import Box  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.reader.engine import read  # noqa: PLC0415
    from hccl_kit.ocr.serve.pages import PageOfText, Region, write_page  # noqa: PLC0415

    started = time.monotonic()
    page = PageOfText(opened.path, (), opened.error or None)
    if opened.image is not None:
        try:
            texts = read(networks, opened.image)
        except BadSampleError as error:
            page = PageOfText(opened.path, (), str(error))
        else:
            page = PageOfText(opened.path, tuple(Region(Box(text.points, text.score), text.reading) for text in texts))
    seconds = opened.seconds + time.monotonic() - started
    if picture and opened.image is not None and not page.error:
        write_page(picture / f"{opened.number:04}_{short(opened.path.stem)}.png", page, opened.image)
    return Timed(page, seconds)


def _show(page: PageOfText) -> None:
    if page.error:
        warn_of_unread(page.path, page.error)
    for region in page.regions:
        if region.reading:
            fields = (str(page.path), region.reading.text, f"{region.reading.confidence:.3f}")
            progress.say("\t".join(map(escaped, fields)), sys.stdout)


def _document(done: Sequence[Timed], engine: str, weights: Sequence[WeightsFile]) -> dict[str, Any]:
    """What --json writes, as schemas/read.schema.json describes it."""
    pages = [{**timed.page.row(), "seconds": round(timed.seconds, 3)} for timed in done]
    files = [file.row() for file in weights]
    sources = list(rapidocr.FILES)
    return {"version": VERSION, "weights": sources, "weight_files": files, "engine": engine, "pages": pages}


if __name__ == "__main__":
    main()
