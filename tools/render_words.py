"""Make a small data set of word images: random strings to train on, real words to test with.

python tools/render_words.py --output data/words
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from hccl_kit.atomic_file import write_atomically
from hccl_kit.errors import EXIT_CANNOT_RUN, EXIT_OK, KitError
from hccl_kit.ocr.program import missing

MAX_IMAGES = 1_000_000


def main(argv: Sequence[str] | None = None) -> int:
    """Write the images and their label files; returns the exit code."""
    args = _parser().parse_args(argv)
    try:
        if not (1 <= args.train <= MAX_IMAGES and 1 <= args.test <= MAX_IMAGES):
            raise KitError(f"--train and --test take 1 to {MAX_IMAGES}")
        if args.seed < 0:
            raise KitError(f"--seed is {args.seed}; accepted: a number from 0 on")
        _write_set(args.output, "train", args.train, args.seed)
        _write_set(args.output, "test", args.test, args.seed)
    except KitError as error:
        print(error.render(), file=sys.stderr)
        return error.exit_code
    except ImportError as error:
        print(missing(error).render(), file=sys.stderr)
        return EXIT_CANNOT_RUN
    print(f"{args.train} training and {args.test} test images in {args.output}")
    return EXIT_OK


def _write_set(root: Path, name: str, count: int, seed: int) -> None:
    import cv2  # noqa: PLC0415  # after --help
    import numpy as np  # noqa: PLC0415

    from hccl_kit.ocr.data import render  # noqa: PLC0415

    folder = root / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KitError(f"cannot write into {folder}: {error.strerror}") from error
    generator = np.random.default_rng((seed, name == "test"))
    words: Callable[[int], str] = (
        (lambda n: render.REAL_WORDS[n % len(render.REAL_WORDS)])
        if name == "test"
        else (lambda _: render.random_text(generator))
    )
    labels = []
    for number in range(count):
        text = words(number)
        done, data = cv2.imencode(".png", render.render(text, generator))
        assert done
        try:
            (folder / f"{number:05}.png").write_bytes(data.tobytes())
        except OSError as error:
            raise KitError(f"cannot write into {folder}: {error.strerror}") from error
        labels.append(f"{number:05}.png\t{text}\n")
    write_atomically(root / f"{name}_gt.txt", "".join(labels))  # last: a label file stands for a complete set


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("data/words"), help="folder (default: %(default)s)")
    parser.add_argument("--train", type=int, default=3000, help="training images (default: %(default)s)")
    parser.add_argument("--test", type=int, default=120, help="test images (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
