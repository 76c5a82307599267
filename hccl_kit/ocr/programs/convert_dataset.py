r"""Convert a published data set into the label files of the trainer.

--task det writes a label file with a row for each page: path TAB JSON of the text regions.
--task rec crops every readable line from the pages and rectifies it. The label file has a row
for each line, path TAB text; the images of the lines are in a folder next to it, with the same name
but without .txt. Word lists are converted without cutting: those of cute80 and iiit5k, and that of
ic15 if --label_dir is its file of rows `word_1.png, "text"`.
--task cls cuts the lines as rec does, writes each image upright and upside down, and labels them
path TAB 0 or 180.

Rows that cannot be used are left out, and the first of them are named on stderr. The options are
called as in MindOCR's converter, which has --split too (here cocotext-train and cocotext-val) and
further data sets. Existing files are kept unless --force is given.

examples:
  hccl-kit convert-dataset --dataset_name ic15 --task det \
      --image_dir ch4_training_images --label_dir ch4_training_localization_transcription_gt
  hccl-kit convert-dataset -d textocr -t rec -i train_images -l TextOCR_0.1_train.json

Exit codes: 0 done; 2 could not run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category

from hccl_kit.base import progress
from hccl_kit.base.arguments import Parser, a_path
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.output_place import staged
from hccl_kit.base.terminal import printable, shown
from hccl_kit.base.wording import counted, joined
from hccl_kit.ocr.data.image_paths import short
from hccl_kit.ocr.data.published import sets
from hccl_kit.ocr.data.published.conversion import Conversion, assert_places
from hccl_kit.ocr.data.published.marked import ILLEGIBLE, NOT_IN_LABELS, Marked
from hccl_kit.ocr.data.samples import BadSampleError
from hccl_kit.ocr.run import program

if TYPE_CHECKING:
    from hccl_kit.ocr.data.pages.pages import Page

SHOWN = 10


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    return program.run_alone(lambda: _convert(_request(argv)))


def _request(argv: Sequence[str] | None) -> Conversion:
    args = make_parser().parse(argv)
    return Conversion(
        dataset=args.dataset_name,
        task=args.task,
        images=args.image_dir,
        labels=args.label_dir,
        wanted_output=args.output_path,
        force=args.force,
        absolute=args.path_mode == "abs",
    )


def _dataset(name: str) -> str:
    if name in sets.NAMES:
        return name
    parts = [known for known in sets.NAMES if known.startswith(f"{name}-")] or get_close_matches(name, sets.NAMES, n=1)
    raise KitError(
        "ocr.convert-dataset.other-set",
        "--dataset_name {name}: this release does not convert this data set; accepted: {names}",
        hint=Message("ocr.convert-dataset.other-set.near", "did you mean {parts}?", parts=joined(parts, "or"))
        if parts
        else Message(
            "ocr.convert-dataset.other-set.fix",
            "write the label file yourself, a row for each page: path TAB JSON of the text regions",
        ),
        name=shown(name[:40]),
        names=", ".join(sets.NAMES),
    )


def make_parser() -> Parser:
    """The options of the program."""
    parser = program.plain_parser(__doc__, "convert-dataset")
    parser.add_argument(
        "-d",
        "--dataset_name",
        type=_dataset,
        choices=sets.NAMES,
        default="ic15",
        metavar="NAME",
        help=f"the data set: {', '.join(sets.NAMES)} (default: %(default)s)",
    )
    parser.add_argument(
        "-t",
        "--task",
        choices=["det", "rec", "cls"],
        default="det",
        help="what the labels are for (default: %(default)s)",
    )
    parser.add_argument("-i", "--image_dir", type=a_path, metavar="DIR", help="the folder of the pages")
    parser.add_argument(
        "-l",
        "--label_dir",
        type=a_path,
        required=True,
        metavar="PATH",
        help="the folder or the file of the labels",
    )
    parser.add_argument(
        "-o",
        "--output",
        "--output_path",
        dest="output_path",
        type=a_path,
        metavar="FILE",
        help="the label file to write (default: next to the labels, such as images_det_gt.txt for --image_dir images;"
        " rec_gt.txt for a word list)",
    )
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    parser.add_argument(
        "--path_mode",
        choices=["relative", "abs"],
        default="relative",
        help="paths of the images in the label file (default: %(default)s)",
    )
    return parser


def _convert(request: Conversion) -> None:
    assert_places(request)
    lines, left_out = _words(request) if request.is_list else _folders(request)
    _assert_some(lines, left_out, request.labels)
    # Written last: where it exists, the set is complete.
    write_atomically(request.output, "".join(f"{line}\n" for line in lines))
    for reason in left_out[:SHOWN]:
        progress.say(printable(f"warning: left out: {reason}"))
    rest = f", {len(left_out)} left out" if left_out else ""
    print(printable(f"{counted(len(lines), 'page' if request.task == 'det' else 'line')}{rest}: {request.output}"))
    keys = f"dataset_root: .  data_dir: {request.data_dir}  label_file: {request.output}"
    print(printable(f"next: in train.dataset or eval.dataset of a configuration: {keys}"))


def _assert_some(lines: Sequence[str], left_out: Sequence[str], label: Path) -> None:
    if not lines:
        raise KitError(
            "ocr.convert-dataset.nothing-can-used",
            "nothing in {label} can be used{left_out}",
            label=label,
            left_out=Message("ocr.convert-dataset.first", "; the first: {reason}", reason=left_out[0])
            if left_out
            else "",
        )


def _folders(request: Conversion) -> tuple[list[str], list[str]]:
    """The lines of the label file, and what was left out; the images of lines are written."""
    if request.task == "det":
        return _pages(request)
    with staged(request.folder) as folder:
        lines, left_out = _pages(request, folder)
        _assert_some(lines, left_out, request.labels)
    shown = request.folder.resolve() if request.absolute else request.folder.name
    return [f"{shown}/{line}" for line in lines], left_out


def _pages(request: Conversion, folder: Path | None = None) -> tuple[list[str], list[str]]:
    """The lines of the label file, and what was left out. With `folder` the images of lines are written into it."""
    from hccl_kit.ocr.data.lines.crop import write_lines  # noqa: PLC0415  # after --help

    assert request.images is not None
    published = sets.PAGE_SETS[request.dataset]
    lines: list[str] = []
    left_out: list[str] = []
    prefixes: set[str] = set()
    rows = list(published.read(request.labels, request.images))
    with progress.track(rows, len(rows), "converting pages") as tracked:
        for row in tracked:
            if isinstance(row, str):
                left_out.append(row)
                continue
            left_out += row.left_out if isinstance(row, Marked) else []
            try:
                page = _checked(row)
                name = _name(page.path, request.images)
                if folder is None:
                    path = page.path.resolve() if request.absolute else name
                    lines.append(f"{path}\t{_regions(page, published.illegible)}")
                    continue
                prefix = short(Path(name).with_suffix("").as_posix().replace("/", "_"))
                if prefix in prefixes:
                    raise BadSampleError(f"another image yields the same file names {prefix}_001.png, ...")
                prefixes.add(prefix)
                lines += write_lines(page, folder / prefix, published.illegible, turns=request.task == "cls")
            except BadSampleError as error:
                left_out.append(f"{row.image if isinstance(row, Marked) else row.path}: {error}")
    return lines, left_out


def _checked(row: Page | Marked) -> Page:
    """The page of a row. Raises BadSampleError if none of its regions can be used."""
    from hccl_kit.ocr.data.pages.pages import checked_page  # noqa: PLC0415  # after --help

    if not isinstance(row, Marked):
        return row
    if row.left_out and not row.regions:
        raise BadSampleError("none of its regions can be used")
    return checked_page(row.image, row.regions)


def _name(path: Path, images: Path) -> str:
    """The path of an image below `images`. Raises BadSampleError if a label file cannot name it, or it is elsewhere."""
    name = path.relative_to(images).as_posix() if path.is_relative_to(images) else ""
    if not name or ".." in Path(name).parts or not path.is_file():
        raise BadSampleError(f"{images} has no such image")
    if any(category(character) in NOT_IN_LABELS for character in name):
        raise BadSampleError("a label file cannot name it: it is not UTF-8 or holds control characters")
    return name


def _regions(page: Page, illegible: frozenset[str]) -> str:
    """The regions of a page as the JSON of det_gt.txt; whole numbers are written as such."""
    rows = [
        {
            "transcription": ILLEGIBLE if text in illegible else text,
            "points": [[int(value) if value == int(value) else value for value in corner] for corner in poly.tolist()],
        }
        for text, poly in zip(page.texts, page.polys, strict=True)
    ]
    return json.dumps(rows, ensure_ascii=False)


def _words(request: Conversion) -> tuple[list[str], list[str]]:
    """The lines of the label file for a set of cropped words, and what was left out."""
    images = request.images or request.labels.parent
    lines, left_out = [], []
    for row in sets.WORD_SETS[request.dataset](request.labels, images):
        if isinstance(row, str):
            left_out.append(row)
        else:
            name, text = row
            lines.append(f"{(images / name).resolve() if request.absolute else name}\t{text}")
    return lines, left_out


if __name__ == "__main__":
    raise SystemExit(main())
