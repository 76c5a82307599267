"""Make a data set of word images: random strings to train on, real words to test with, or texts of your own.

python tools/render_words.py --output data/words
python tools/render_words.py --output data/words --font SourceHanSans.ttc --texts lines.txt
python tools/render_words.py --output data/words --font SourceHanSans.ttc --dict characters.txt

--texts: a text a line, UTF-8; every tenth is for the test, the training draws from the others. --dict: a character a
line; the strings of training and test are made of these. A character that no font has is refused.
A data set that is there already is kept, unless --force is given.
Exit codes: 0 done; 2 it could not run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hccl_kit.base import ctrl_c  # noqa: F401  # first: Ctrl-C while the rest loads
from hccl_kit.base.arguments import Parser
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_INTERRUPTED, EXIT_OK, KitError
from hccl_kit.base.output_place import assert_free_files, assert_free_folder, staged
from hccl_kit.ocr.charset import ALPHANUMERIC, Charset
from hccl_kit.ocr.data.samples import numbered_lines
from hccl_kit.ocr.run.program import missing

if TYPE_CHECKING:
    from hccl_kit.ocr.data.synthetic.render import Draw

SETS = ("train", "test")
Texts = Callable[[int, Any], str]
"""From the number of an image and the generator to its text."""
MAX_IMAGES = 1_000_000
TENTH = 10


def main(argv: Sequence[str] | None = None) -> int:
    """Write the images and their label files; returns the exit code."""
    args = _parser().parse(argv)
    try:
        if not (1 <= args.train <= MAX_IMAGES and 1 <= args.test <= MAX_IMAGES):
            raise KitError(f"--train and --test take 1 to {MAX_IMAGES}")
        if args.seed < 0:
            raise KitError(f"--seed is {args.seed}; accepted: a number from 0 on")
        _assert_free(args)
        _write(args, dict(_texts(args)), _pen(args))
    except KitError as error:
        print(error.render(), file=sys.stderr)
        return error.exit_code
    except ImportError as error:
        print(missing(error).render(), file=sys.stderr)
        return EXIT_CANNOT_RUN
    except KeyboardInterrupt:
        print("interrupted; nothing was written", file=sys.stderr)
        return EXIT_INTERRUPTED
    print(f"{args.train} training and {args.test} test images in {args.output}")
    return EXIT_OK


def _texts(args: argparse.Namespace) -> Iterator[tuple[str, Texts]]:
    """For each set its name, and the text of the image of a number."""
    from hccl_kit.ocr.data.synthetic import render  # noqa: PLC0415  # after --help

    if args.texts:
        lines = _own_texts(args.texts)
        yield "train", lambda _, generator: str(generator.choice(lines["train"]))
        yield "test", lambda number, _: lines["test"][number % len(lines["test"])]
    elif args.dict:
        characters = _characters(args.dict)
        yield "train", lambda _, generator: render.random_text(generator, characters)
        yield "test", lambda _, generator: render.random_text(generator, characters)
    else:
        yield "train", lambda _, generator: render.random_text(generator)
        yield "test", lambda number, _: render.REAL_WORDS[number % len(render.REAL_WORDS)]


def _own_texts(path: Path) -> dict[str, list[str]]:
    """The lines of a file, every tenth for the test; KitError where there are not enough for both."""
    lines = [line.strip() for _, line in numbered_lines(path)]
    sets = {"train": [line for number, line in enumerate(lines) if number % TENTH], "test": lines[::TENTH]}
    if not sets["train"]:
        raise KitError(f"{path} holds {len(lines)} texts; at least two are needed, one for the test")
    tab = next((line for line in lines if "\t" in line), None)
    if tab is not None:
        raise KitError(f"{path} holds {tab[:40]!r}: a label file cannot have a TAB within a text")
    return sets


def _characters(path: Path) -> str:
    characters = Charset.load(str(path), use_space_char=False).characters
    if not characters.strip():
        raise KitError(f"the dictionary {path} holds no character")
    return characters


def _pen(args: argparse.Namespace) -> Draw:
    """What draws the texts; KitError where it lacks one of their characters."""
    from hccl_kit.ocr.data.synthetic import fonts, render  # noqa: PLC0415  # after --help

    own = [line for lines in _own_texts(args.texts).values() for line in lines] if args.texts else []
    own += list(_characters(args.dict)) if args.dict else []
    if not args.font:
        foreign = next((text for text in own if not (text.isascii() and text.isprintable())), None)
        if foreign is not None:
            raise KitError(f"{foreign[:40]!r} is not ASCII", hint="name a font file that has its characters: --font")
        return render.strokes
    drawn = fonts.Fonts(args.font)
    drawn.assert_complete(own or [ALPHANUMERIC])
    if args.dict:  # strings mix the characters, so one font must have them all
        drawn.assert_complete(["".join(own)])
    return drawn.draw


def _write(args: argparse.Namespace, texts: dict[str, Texts], draw: Draw) -> None:
    """Both sets: all images are drawn before one gets its place, and a label file stands for a complete set."""
    with ExitStack() as stack:
        folders = {name: stack.enter_context(staged(args.output / name)) for name in SETS}
        labels = {name: _draw_set(args, name, texts[name], draw, folder) for name, folder in folders.items()}
    for name, rows in labels.items():
        write_atomically(args.output / f"{name}_gt.txt", "".join(rows))


def _draw_set(args: argparse.Namespace, name: str, texts: Texts, draw: Draw, folder: Path) -> list[str]:
    """Fill a folder; returns the lines of its label file."""
    import cv2  # noqa: PLC0415  # after --help
    import numpy as np  # noqa: PLC0415

    from hccl_kit.ocr.data.synthetic import render  # noqa: PLC0415  # after --help

    generator = np.random.default_rng((args.seed, name == "test"))
    labels = []
    for number in range(getattr(args, name)):
        text = texts(number, generator)
        done, data = cv2.imencode(".png", render.render(text, generator, draw))
        assert done
        (folder / f"{number:05}.png").write_bytes(data.tobytes())
        labels.append(f"{number:05}.png\t{text}\n")
    return labels


def _assert_free(args: argparse.Namespace) -> None:
    for name in SETS:
        assert_free_folder(args.output / name, "--output", force=args.force)
    if args.output.is_dir():
        labels = [args.output / f"{name}_gt.txt" for name in SETS]
        assert_free_files(labels, "--output", force=args.force)


def _parser() -> Parser:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("data/words"), help="folder (default: %(default)s)")
    parser.add_argument("--force", action="store_true", help="overwrite a data set that is there")
    parser.add_argument("--train", type=int, default=3000, help="training images (default: %(default)s)")
    parser.add_argument("--test", type=int, default=120, help="test images (default: %(default)s)")
    parser.add_argument("--font", nargs="+", type=Path, metavar="FILE", help="fonts (default: OpenCV's, ASCII only)")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--texts", type=Path, metavar="FILE", help="the texts to draw")
    source.add_argument("--dict", type=Path, metavar="FILE", help="the characters of random texts")
    parser.add_argument("--seed", type=int, default=0)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
