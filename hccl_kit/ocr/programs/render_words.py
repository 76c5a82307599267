"""Render a data set of word images: random strings to train on, real words to test with, or texts of
your own.

--texts FILE has one text in each line (UTF-8). Every tenth line is used for the test images only,
the others for the training images. --dict FILE has one character in each line; all texts are random
strings of these characters, and gb2312 instead of FILE stands for the 3,755 common Chinese
characters. It is an error if no font has all characters of a text; with --dict, one font must have
all characters of FILE. An existing data set is kept unless --force is given.

examples:
  hccl-kit render-words --output data/words
  hccl-kit render-words --output data/words --font SourceHanSans.ttc --texts lines.txt
  hccl-kit render-words --output data/words --font SourceHanSans.ttc --dict characters.txt
  hccl-kit render-words --output data/chinese --font SourceHanSans.ttc --dict gb2312

Exit codes: 0 done; 2 could not run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from hccl_kit.base import progress
from hccl_kit.base.arguments import Parser, a_path
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.base.output_place import assert_free_files, assert_free_folder, staged
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import counted
from hccl_kit.ocr.charset import ALPHANUMERIC, Charset
from hccl_kit.ocr.data.samples import numbered_lines
from hccl_kit.ocr.run import program

if TYPE_CHECKING:
    from hccl_kit.ocr.data.synthetic.render import Draw

SETS = ("train", "test")
Texts = Callable[[int, Any], str]
"""From the number of an image and the generator to its text."""
MAX_IMAGES = 1_000_000
MAX_TEXTS = 1_000_000
TENTH = 10
GB2312 = "gb2312"
"""The name of a dictionary for lines that show whether a recogniser of many languages still reads Chinese."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for. Raises KitError if a number is out of range."""

    output: Path
    force: bool
    counts: dict[str, int]
    """Images of each of SETS."""
    fonts: tuple[Path, ...]
    texts: Path | None
    dictionary: Path | None
    seed: int

    def __post_init__(self) -> None:
        if not all(1 <= count <= MAX_IMAGES for count in self.counts.values()):
            raise KitError(
                "ocr.render-words.train-test-take", "--train and --test take 1 to {max_images}", max_images=MAX_IMAGES
            )
        if self.seed < 0:
            raise KitError("ocr.render-words.seed", "--seed is {seed}; accepted: 0 or more", seed=self.seed)


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    args = make_parser().parse(argv)

    def body() -> None:
        counts = {"train": args.train, "test": args.test}
        _render(Request(args.output, args.force, counts, tuple(args.font), args.texts, args.dict, args.seed))

    return program.run_alone(body)


def make_parser() -> Parser:
    """The options of the program."""
    parser = program.plain_parser(__doc__, "render-words")
    parser.add_argument(
        "-o",
        "--output",
        type=a_path,
        default=Path("data/words"),
        metavar="DIR",
        help="where to write (default: %(default)s)",
    )
    parser.add_argument("--force", action="store_true", help="overwrite an existing data set")
    parser.add_argument(
        "--train", type=int, default=3000, metavar="N", help="number of training images (default: %(default)s)"
    )
    parser.add_argument(
        "--test", type=int, default=120, metavar="N", help="number of test images (default: %(default)s)"
    )
    parser.add_argument(
        "--font",
        nargs="+",
        type=a_path,
        default=[],
        metavar="FILE",
        help="font files (default: the strokes of OpenCV, ASCII only)",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--texts", type=a_path, metavar="FILE", help="file of the texts to draw")
    source.add_argument("--dict", type=a_path, metavar="FILE", help="file of the characters of random texts, or gb2312")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the random numbers (default: %(default)s)"
    )
    return parser


def _render(request: Request) -> None:
    _assert_free(request)
    texts = _own_texts(request.texts) if request.texts else {}
    _write(request, dict(_texts(request, texts)), _pen(request, texts))
    images = f"{request.counts['train']} training and {request.counts['test']} test images"
    print(printable(f"{images} in {request.output}"))
    if not request.texts:  # the network knows small letters and digits
        print(f"next: hccl-kit train -c rec/crnn/crnn_small.yaml -o {quote(printable(f'data={request.output}'))}")


def _texts(request: Request, texts: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Texts]]:
    """The name of each set and the function that makes the text of an image: from `texts` if there are any."""
    from hccl_kit.ocr.data.synthetic import render  # noqa: PLC0415  # after --help

    if texts:
        yield "train", lambda _, generator: texts["train"][generator.integers(len(texts["train"]))]
        yield "test", lambda number, _: texts["test"][number % len(texts["test"])]
    elif request.dictionary:
        characters = _characters(request.dictionary)
        yield "train", lambda _, generator: render.random_text(generator, characters)
        yield "test", lambda _, generator: render.random_text(generator, characters)
    else:
        yield "train", lambda _, generator: render.random_text(generator)
        yield "test", lambda number, _: render.REAL_WORDS[number % len(render.REAL_WORDS)]


def _own_texts(path: Path) -> dict[str, list[str]]:
    """The lines of a file, every tenth for the test. Raises KitError if there are too few for both, or too many."""
    lines = [line.strip() for _, line in islice(numbered_lines(path), MAX_TEXTS + 1)]
    if len(lines) > MAX_TEXTS:
        raise KitError(
            "ocr.render-words.holds-texts",
            "{path} holds more than {max_texts} texts",
            fix="take a sample: shuf -n 100000",
            path=path,
            max_texts=MAX_TEXTS,
        )
    sets = {"train": [line for number, line in enumerate(lines) if number % TENTH], "test": lines[::TENTH]}
    if not sets["train"]:
        raise KitError(
            "ocr.render-words.holds-least-two",
            "{path} holds {count}; at least two are needed, one for the test",
            path=path,
            count=counted(len(lines), "text"),
        )
    tab = next((line for line in lines if "\t" in line), None)
    if tab is not None:
        raise KitError(
            "ocr.render-words.holds-text-label",
            "{path} holds {tab!r}: a text of a label file cannot contain a TAB",
            path=path,
            tab=tab[:40],
        )
    return sets


def _characters(path: Path) -> str:
    if str(path) == GB2312:
        return common_chinese()
    characters = Charset.load(str(path), use_space_char=False).characters
    if not characters.strip():
        raise KitError("ocr.render-words.dictionary-holds-no", "the dictionary {path} holds no character", path=path)
    return characters


def common_chinese() -> str:
    """The 3,755 most frequent characters, by pronunciation: level 1 of GB 2312-80, whose last five cells are empty."""
    cells = bytes(0xA0 + number for row in range(16, 56) for cell in range(1, 95) for number in (row, cell))
    return cells.decode("gb2312", errors="ignore")


def _pen(request: Request, texts: Mapping[str, Sequence[str]]) -> Draw:
    """The function that draws the texts. Raises KitError if a character of them is missing in the fonts."""
    from hccl_kit.ocr.data.synthetic import fonts, render  # noqa: PLC0415  # after --help

    drawn_texts = [line for lines in texts.values() for line in lines]
    drawn_texts += list(_characters(request.dictionary)) if request.dictionary else []
    if not request.fonts:
        foreign = next((text for text in drawn_texts if not (text.isascii() and text.isprintable())), None)
        if foreign is not None:
            raise KitError(
                "ocr.render-words.not-ascii",
                "{foreign!r} is not ASCII",
                fix="name a font file that has its characters: --font",
                foreign=foreign[:40],
            )
        return render.strokes
    drawn = fonts.Fonts(request.fonts)
    drawn.assert_complete(drawn_texts or [ALPHANUMERIC])
    if request.dictionary:  # strings mix the characters, so one font must have them all
        drawn.assert_complete(["".join(drawn_texts)])
    return drawn.draw


def _write(request: Request, texts: dict[str, Texts], draw: Draw) -> None:
    """Write both sets: images move to their folders after all are drawn, and the label files are written last."""
    with ExitStack() as stack:
        folders = {name: stack.enter_context(staged(request.output / name)) for name in SETS}
        labels = {name: _draw_set(request, name, texts[name], draw, folder) for name, folder in folders.items()}
    for name, rows in labels.items():
        write_atomically(request.output / f"{name}_gt.txt", "".join(rows))


def _draw_set(request: Request, name: str, texts: Texts, draw: Draw, folder: Path) -> list[str]:
    """Fill a folder; returns the lines of its label file."""
    import numpy as np  # noqa: PLC0415  # after --help

    from hccl_kit.ocr.data.synthetic import render  # noqa: PLC0415
    from hccl_kit.ocr.drawing import encoded  # noqa: PLC0415

    generator = np.random.default_rng((request.seed, name == "test"))
    count = request.counts[name]
    labels = []
    with progress.track(range(count), count, f"rendering the {name} set") as numbers:
        for number in numbers:
            text = texts(number, generator)
            (folder / f"{number:05}.png").write_bytes(encoded(render.render(text, generator, draw)))
            labels.append(f"{number:05}.png\t{text}\n")
    return labels


def _assert_free(request: Request) -> None:
    for name in SETS:
        assert_free_folder(request.output / name, "--output", force=request.force)
    if request.output.is_dir():
        labels = [request.output / f"{name}_gt.txt" for name in SETS]
        assert_free_files(labels, "--output", force=request.force)


if __name__ == "__main__":
    raise SystemExit(main())
