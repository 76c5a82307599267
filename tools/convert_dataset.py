r"""Turn a data set as its makers publish it into the label files of the trainer.

python tools/convert_dataset.py --dataset_name ic15 --task det \
    --image_dir ch4_training_images --label_dir ch4_training_localization_transcription_gt

det writes det_gt.txt: path TAB JSON of the text regions. rec cuts every readable line out of the pages, straightens it
and writes rec_gt.txt: path TAB text, with paths from its own folder; the images lie in a folder of the same name. For
ic15 rec also takes the word list (rows `word_1.png, "text"`) as --label_dir. cls writes each of these lines twice, as
it is and upside down, and cls_gt.txt: path TAB 0 or 180. Options are those of MindOCR's converter. What is there
already is kept, unless --force is given.
Exit codes: 0 done, with what was left out on stderr; 2 it could not run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category

from hccl_kit.base import ctrl_c  # noqa: F401  # first: Ctrl-C while the rest loads
from hccl_kit.base.arguments import Parser
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_INTERRUPTED, EXIT_OK, KitError
from hccl_kit.base.output_place import assert_free_files, assert_free_folder, staged
from hccl_kit.base.terminal import printable
from hccl_kit.ocr.data.samples import numbered_lines
from hccl_kit.ocr.run.program import missing

if TYPE_CHECKING:
    from hccl_kit.ocr.data.pages.pages import Page

HIDDEN: dict[str, frozenset[str]] = {"ic15": frozenset({"###"}), "sroie": frozenset({"###", "***"})}
"""For each data set, what stands for a text that cannot be read."""
SHOWN = 10
NO_TEXT = ("Cc", "Cs")
"""Unicode's categories of what no name in a label file has: control characters, and bytes that are not UTF-8."""


def main(argv: Sequence[str] | None = None) -> int:
    """Convert as the command line says; returns the exit code."""
    args = _parser().parse(argv)
    try:
        is_list = args.label_dir.is_file() and (args.task, args.dataset_name) == ("rec", "ic15")
        output = _output(args, is_list=is_list)
        lines, left_out = _word_list(args.label_dir) if is_list else _folders(args, output)
        _assert_some(lines, left_out, args.label_dir)
        write_atomically(output, "".join(f"{line}\n" for line in lines))  # last: it stands for a complete set
    except KitError as error:
        print(error.render(), file=sys.stderr)
        return error.exit_code
    except ImportError as error:
        print(missing(error).render(), file=sys.stderr)
        return EXIT_CANNOT_RUN
    except KeyboardInterrupt:
        print("interrupted; nothing was written", file=sys.stderr)
        return EXIT_INTERRUPTED
    for reason in left_out[:SHOWN]:
        print(printable(f"warning: left out: {reason}"), file=sys.stderr)
    rest = f", {len(left_out)} left out" if left_out else ""
    print(f"{len(lines)} {'pages' if args.task == 'det' else 'lines'}{rest}: {output}")
    return EXIT_OK


def _output(args: argparse.Namespace, *, is_list: bool) -> Path:
    """The label file to write. Raises KitError if the folders to read are not there or the places to write not free."""
    label, image = args.label_dir, args.image_dir
    if is_list:
        output: Path = args.output_path or label.with_name("rec_gt.txt")
    elif not label.is_dir():
        hint = "only the word list of ic15 is a file: --task rec --label_dir gt.txt"
        raise KitError(f"--label_dir {label} is not a folder", hint=hint)
    elif image is None:
        raise KitError(f"--image_dir is missing, the folder of the pages that {label} labels", hint="add -i FOLDER")
    elif not image.is_dir():
        raise KitError(f"--image_dir {image} is not a folder", hint="name the folder of the pages")
    else:
        output = args.output_path or label.parent / f"{image.resolve().name}_{args.task}_gt.txt"
    assert_free_files([output], "--output_path", force=args.force)
    if not is_list and args.task != "det":
        if not output.suffix:
            hint = f"--output_path {output}.txt"
            raise KitError(f"--output_path {output} is the name of the images' folder too", hint=hint)
        assert_free_folder(_folder_of(output), "--output_path", force=args.force)
    return output


def _folder_of(output: Path) -> Path:
    """Where the images of lines lie."""
    return output.with_suffix("")


def _assert_some(lines: Sequence[str], left_out: Sequence[str], label: Path) -> None:
    if not lines:
        raise KitError(f"nothing in {label} can be used" + (f"; the first: {left_out[0]}" if left_out else ""))


def _folders(args: argparse.Namespace, output: Path) -> tuple[list[str], list[str]]:
    """The lines of the label file, and what was left out; the images of lines are written."""
    if args.task == "det":
        return _pages(args)
    place = _folder_of(output)
    with staged(place) as folder:
        lines, left_out = _pages(args, folder)
        _assert_some(lines, left_out, args.label_dir)
    shown = place.resolve() if args.path_mode == "abs" else place.name
    return [f"{shown}/{line}" for line in lines], left_out


def _pages(args: argparse.Namespace, folder: Path | None = None) -> tuple[list[str], list[str]]:
    """The lines of the label file, and what was left out. With `folder` the images of lines are written into it."""
    from hccl_kit.ocr.data.pages import page_labels  # noqa: PLC0415  # after --help
    from hccl_kit.ocr.data.samples import BadSampleError  # noqa: PLC0415

    hidden = HIDDEN[args.dataset_name]
    lines: list[str] = []
    left_out: list[str] = []
    for page in page_labels.read_folder(args.label_dir, args.image_dir):
        if isinstance(page, str):
            left_out.append(page)
        elif any(category(character) in NO_TEXT for character in page.path.name):
            left_out.append(f"{page.path}: a label file cannot name it: it is not UTF-8 or holds control characters")
        elif folder is None:
            path = page.path.resolve() if args.path_mode == "abs" else page.path.name
            lines.append(f"{path}\t{_regions(page, hidden)}")
        else:
            try:
                lines += _cut(page, folder, hidden, is_rec=args.task == "rec")
            except BadSampleError as error:
                left_out.append(f"{page.path}: {error}")
    return lines, left_out


def _regions(page: Page, hidden: frozenset[str]) -> str:
    """The regions of a page as the JSON of det_gt.txt; whole numbers are written as such."""
    rows = [
        {
            "transcription": "###" if text in hidden else text,
            "points": [[int(value) if value == int(value) else value for value in corner] for corner in poly.tolist()],
        }
        for text, poly in zip(page.texts, page.polys, strict=True)
    ]
    return json.dumps(rows, ensure_ascii=False)


def _cut(page: Page, folder: Path, hidden: frozenset[str], *, is_rec: bool) -> Iterator[str]:
    """Write the images of each readable line of a page into `folder`; their names and labels."""
    import cv2  # noqa: PLC0415  # after --help
    import numpy as np  # noqa: PLC0415

    from hccl_kit.ocr.data.lines.crop import crop_line  # noqa: PLC0415
    from hccl_kit.ocr.data.pipeline import pipeline  # noqa: PLC0415

    whole = pipeline([{"DecodeImage": None}, {"DetLabelEncode": None}])(page, np.random.default_rng(0))
    assert whole.image is not None
    for number, (text, quad) in enumerate(zip(page.texts, page.polys, strict=True), 1):
        if not text.strip() or text in hidden:
            continue
        line = crop_line(whole.image, quad)
        upside_down = cv2.rotate(line, cv2.ROTATE_180)
        kinds = {"": (line, text)} if is_rec else {"_0": (line, "0"), "_180": (upside_down, "180")}
        for suffix, (image, label) in kinds.items():
            name = f"{page.path.stem}_{number:03}{suffix}.png"
            done, data = cv2.imencode(".png", image)
            assert done
            (folder / name).write_bytes(data.tobytes())
            yield f"{name}\t{label}"


def _word_list(path: Path) -> tuple[list[str], list[str]]:
    """The rows `word_1.png, "text"` of ICDAR 2015 as those of rec_gt.txt; quotes around a text are not part of it."""
    lines, left_out = [], []
    for number, row in numbered_lines(path):
        name, comma, text = (part.strip() for part in row.partition(","))
        if comma and name and len(text) > 1 and text[0] == text[-1] == '"':
            lines.append(f"{name}\t{text[1:-1]}")
        else:
            left_out.append(f'{path}:{number}: expected word_1.png, "text", found {row[:60]!r}')
    return lines, left_out


def _parser() -> Parser:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", "--dataset_name", choices=list(HIDDEN), default="ic15", help="default: %(default)s")
    parser.add_argument("-t", "--task", choices=["det", "rec", "cls"], default="det", help="default: %(default)s")
    parser.add_argument("-i", "--image_dir", type=Path, help="folder of the pages")
    parser.add_argument("-l", "--label_dir", type=Path, required=True, help="folder of the labels, one file a page")
    parser.add_argument(
        "-o", "--output_path", type=Path, help="file to write (default: IMAGE_DIR_TASK_gt.txt beside label_dir)"
    )
    parser.add_argument("--force", action="store_true", help="overwrite what is there")
    parser.add_argument("--path_mode", choices=["relative", "abs"], default="relative", help="paths of the images")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
