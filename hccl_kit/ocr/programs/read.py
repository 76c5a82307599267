"""Find and read the texts of pages with published weights: no training and no configuration.

The networks are those of PP-OCRv6 small and a classifier that finds lines upside down; their
weights are in the package rapidocr (pip install "hccl-kit[weights]"). Prints a line for each text:
path TAB text TAB confidence, from top to bottom; a page without text has no line. --json writes
places and scores too (schemas/read.schema.json). --picture is a folder for a PNG of each page.
Existing files are kept unless --force is given.
An image that cannot be read is named on stderr, and in JSON it has an `error`.
Exit codes: 0 done; 1 some images could not be read; 2 it could not run, or none could be read.

examples:
  hccl-kit read receipt.jpg
  hccl-kit read scans/ --picture drawn/ --json found.json
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
from hccl_kit.base.arguments import Parser
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.base.output_place import assert_free_files, assert_free_folder
from hccl_kit.base.terminal import escaped, printable
from hccl_kit.ocr import rapidocr
from hccl_kit.ocr.data.image_paths import find_images
from hccl_kit.ocr.data.samples import BadSampleError
from hccl_kit.ocr.run import program

if TYPE_CHECKING:
    from hccl_kit.ocr.reader.engine import Networks
    from hccl_kit.ocr.serve.predict import PageOfText

VERSION = 1
"""Of the form of --json."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for; None for what it does not mention."""

    images: tuple[Path, ...]
    limit: int | None
    picture: Path | None
    json: Path | None
    force: bool


class Timed(NamedTuple):
    """A page and the seconds that its networks and its image took."""

    page: PageOfText
    seconds: float


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The program; ends the process with one of the exit codes above."""
    args = make_parser().parse(argv)
    run(Request(tuple(args.images), args.limit, args.picture, args.json, args.force))


def make_parser() -> Parser:
    """The options of the program."""
    parser = program.plain_parser(__doc__, "read")
    parser.add_argument("images", nargs="+", type=Path, metavar="PAGE", help="images and folders")
    parser.add_argument("--limit", type=int, metavar="N", help="maximum number of images (default: all)")
    parser.add_argument("--picture", type=Path, metavar="DIR", help="folder for a picture of each page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="file to write")
    parser.add_argument("--force", action="store_true", help="overwrite --picture and --json")
    return parser


def run(request: Request) -> NoReturn:
    """Read the pages; ends the process with one of the exit codes of this program."""
    program.run_unlaunched(lambda: _read(request))


def _read(request: Request) -> None:
    images = _checked(request)
    from hccl_kit.ocr.run.start import start_alone  # noqa: PLC0415  # after the options are valid: loads MindSpore

    start_alone()
    from hccl_kit.ocr.reader import networks  # noqa: PLC0415  # after MindSpore's environment is complete

    if request.picture:
        request.picture.mkdir(parents=True, exist_ok=True)
    done: list[Timed] = []
    with progress.track(_pages(networks.published(), images, request.picture), len(images), "reading pages") as pages:
        for timed in pages:
            done.append(timed)
            _show(timed.page)
    if request.json:
        text = json.dumps(_document(done), ensure_ascii=False, indent=1) + "\n"
        # A name that is not UTF-8 has halves of surrogates, and this writes them as JSON does.
        write_atomically(request.json, text.encode("utf-8", "backslashreplace"))
        progress.say(f"wrote: {request.json}")
    if request.picture:
        progress.say(f"wrote: {request.picture}")
    program.assert_read(sum(timed.page.error is not None for timed in done), len(done))


def _checked(request: Request) -> list[Path]:
    """The images. Raises KitError, before any heavy import, if the request cannot be fulfilled."""
    if request.limit is not None and request.limit < 1:
        raise KitError(f"--limit is {request.limit}; accepted: 1 or more")
    images = find_images(request.images, limit=request.limit)
    if request.json:
        assert_free_files([request.json], "--json", force=request.force)
    if request.picture:
        assert_free_folder(request.picture, "--picture", force=request.force)
    for name in rapidocr.FILES:
        rapidocr.path(name)
    return images


def _pages(networks: Networks, images: Sequence[Path], picture: Path | None) -> Iterator[Timed]:
    from hccl_kit.ocr.reader import engine  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.serve import predict  # noqa: PLC0415

    seconds = []
    for number, path in enumerate(images, 1):
        started = time.monotonic()
        try:
            image = predict.decoded(path)
            regions = tuple(predict.region(*text) for text in engine.read(networks, image))
        except BadSampleError as error:
            yield Timed(predict.PageOfText(path, (), str(error)), time.monotonic() - started)
            continue
        seconds.append(time.monotonic() - started)
        page = predict.PageOfText(path, regions)
        if picture:
            predict.write_page(picture / f"{number:04}_{path.stem}.png", page, image)
        yield Timed(page, seconds[-1])
    if seconds:
        first = f", the first {seconds[0]:.2f} s" if len(seconds) > 1 else ""
        progress.say(f"{len(seconds)} pages, {sum(seconds) / len(seconds):.2f} s a page{first}")


def _show(page: PageOfText) -> None:
    if page.error:
        progress.say(printable(f"warning: {page.path} could not be read: {page.error}"))
    for region in page.regions:
        if region.reading:
            fields = (str(page.path), region.reading.text, f"{region.reading.confidence:.3f}")
            progress.say("\t".join(map(escaped, fields)), sys.stdout)


def _document(done: Sequence[Timed]) -> dict[str, Any]:
    """What --json writes, as schemas/read.schema.json describes it."""
    pages = [{**timed.page.row(), "seconds": round(timed.seconds, 3)} for timed in done]
    return {"version": VERSION, "weights": list(rapidocr.FILES), "pages": pages}


if __name__ == "__main__":
    main()
