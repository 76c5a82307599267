r"""Find and read texts with trained weights.

python tools/predict.py -c configs/rec/crnn/crnn_small.yaml --images words/ word.png --picture readings.png
python tools/predict.py -c configs/det/dbnet/db_r18_icdar15.yaml --images page.jpg --picture pages/
python tools/predict.py -c configs/det/dbnet/db_r18_icdar15.yaml --images page.jpg --picture pages/ \
    --read configs/rec/crnn/crnn_vgg7.yaml --read_opt eval.ckpt_load_path=./runs/crnn_vgg7/best.ckpt
python tools/predict.py -c configs/det/dbnet/db_r18_icdar15.yaml --images page.jpg \
    --turn configs/cls/mobilenetv3/cls_mv3.yaml --read configs/rec/crnn/crnn_vgg7.yaml

A recognition prints a line for each image: path TAB text TAB confidence (the mean probability of the characters), and
the truth where --labels names a file of lines `path TAB text`; a classification its class in place of a text. A
detection prints path TAB JSON: the points and the score of each text from top to bottom, and what --read makes of it;
lines that --turn is sure to find upside down are turned before. --json writes all of it to a file.
The picture of lines is a file, in the format of its name; that of pages a folder with a PNG for each. What is there
already is kept, unless --force is given.
An image that cannot be read is named on stderr; its fields are empty, its regions null, and in JSON it has an `error`.
Exit codes: 0 done; 1 some images could not be read; 2 it could not run, or none could be read.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category

from hccl_kit.base import ctrl_c  # noqa: F401  # first: Ctrl-C while the rest loads
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import EXIT_FINDINGS, KitError
from hccl_kit.base.output_place import assert_free_files, assert_free_folder
from hccl_kit.base.terminal import printable
from hccl_kit.ocr import config as configuration
from hccl_kit.ocr.config import UPSIDE_DOWN
from hccl_kit.ocr.data.image_paths import find_images
from hccl_kit.ocr.data.samples import BadSampleError, read_labels
from hccl_kit.ocr.run import program

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.ocr.serve.predict import Line, PageOfText
    from hccl_kit.runtime import World
    from hccl_kit.runtime.worker_env import WorkerEnv


PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")


class UnreadError(KitError):
    """Some images were read, and others could not be."""

    exit_code = EXIT_FINDINGS


def main(argv: Sequence[str] | None = None) -> None:
    """Read the images that the command line names; ends the process with one of the exit codes above."""
    parser = program.parser(__doc__)
    parser.add_argument("--images", nargs="+", type=Path, required=True, metavar="PATH", help="images and folders")
    parser.add_argument("--labels", type=Path, help="label file of lines: shows the truth beside the readings")
    parser.add_argument("--limit", type=int, help="most images to read (default: all)")
    parser.add_argument("--picture", type=Path, help="image (of the first 200 lines) or folder (of pages) to write")
    parser.add_argument("--json", type=Path, metavar="FILE", help="file to write")
    parser.add_argument("--force", action="store_true", help="overwrite --picture and --json")
    parser.add_argument("--read", type=Path, metavar="CONFIG", help="read the texts that are found with this one")
    parser.add_argument("--read_opt", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="as -o, for it")
    parser.add_argument("--turn", type=Path, metavar="CONFIG", help="before, find lines upside down with this one")
    parser.add_argument("--turn_opt", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="as -o, for it")
    args = parser.parse(argv)
    chain: list[Config] = []
    program.run(args, partial(_predict, args, chain), first=partial(_look, args, chain))


def _look(args: argparse.Namespace, chain: list[Config], config: Config, env: WorkerEnv) -> Sequence[str]:
    """What can be wrong with the command line is said before anything heavy is loaded.

    Fills `chain` with the configurations of --read and --turn.
    """
    if env.size > 1:
        raise KitError(f"predict.py runs as one process, {env.size} were started")
    if args.limit is not None and args.limit < 1:
        raise KitError(f"--limit is {args.limit}; accepted: a number from 1 on")
    kind = config["model"]["type"]
    if kind == "det" and args.labels:
        raise KitError("--labels is for lines, and --config is a detection", hint="tools/eval.py judges a detection")
    for option, given, more in (("--read", args.read, args.read_opt), ("--turn", args.turn, args.turn_opt)):
        if more and given is None:
            raise KitError(f"{option}_opt without {option}")
    if args.turn is not None and args.read is None:
        raise KitError("--turn without --read", hint="it turns the lines that --read reads")
    if args.read is not None:
        _load_chain(args, chain, kind)
    find_images(args.images, limit=args.limit)
    if args.labels:
        read_labels(args.labels)
    _assert_free(args, kind)
    for option, one in zip(("-o", "--read_opt", "--turn_opt"), (config, *chain), strict=False):
        program.assert_files(one)
        program.assert_weights(one, option)
    return ()


def _assert_free(args: argparse.Namespace, kind: str) -> None:
    """The places to write are tried before anything is read."""
    if args.json:
        assert_free_files([args.json], "--json", force=args.force)
    if args.picture and kind == "det":
        assert_free_folder(args.picture, "--picture", force=args.force)
    elif args.picture:
        if args.picture.suffix.lower() not in PICTURES:
            raise KitError(f"--picture {args.picture}: accepted are names that end in {' '.join(PICTURES)}")
        assert_free_files([args.picture], "--picture", force=args.force)


def _load_chain(args: argparse.Namespace, chain: list[Config], kind: str) -> None:
    """The configurations of --read and --turn; each must be of the type that its place asks for."""
    chain.append(configuration.load(args.read, args.read_opt))
    if (kind, chain[0]["model"]["type"]) != ("det", "rec"):
        raise KitError(
            f"--config is of type {kind} and --read of type {chain[0]['model']['type']}",
            hint="a detection, --config, finds what a recognition, --read, reads",
        )
    if args.turn is not None:
        chain.append(configuration.load(args.turn, args.turn_opt))
        if chain[1]["model"]["type"] != "cls":
            raise KitError(f"--turn is of type {chain[1]['model']['type']}; accepted: a classification (cls)")
        labels = chain[1]["postprocess"]["label_list"]
        if UPSIDE_DOWN not in labels:
            raise KitError(f"--turn knows the classes {', '.join(labels)}; none is {UPSIDE_DOWN}, a line upside down")


def _predict(args: argparse.Namespace, chain: list[Config], config: Config, world: World, notes: list[str]) -> None:
    del world, notes
    kind = _pages if config["model"]["type"] == "det" else _lines
    rows, read, faults = [], 0, 0
    for prediction in kind(args, chain, config):
        print("\t".join(_escaped(field) for field in prediction.fields()), flush=True)
        rows.append(prediction.row())
        read, faults = read + 1, faults + bool(prediction.error)
        if prediction.error:
            print(printable(f"warning: {prediction.path} could not be read: {prediction.error}"), file=sys.stderr)
    if args.json:
        text = json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
        # A name that is not UTF-8 has halves of surrogates, and this writes them as JSON does.
        write_atomically(args.json, text.encode("utf-8", "backslashreplace"))
        print(f"wrote: {args.json}", file=sys.stderr)
    if faults == read:
        raise KitError(f"none of the {faults} images could be read")
    if faults:
        raise UnreadError(f"{faults} of {read} images could not be read", hint="see the warnings above")


def _lines(args: argparse.Namespace, chain: list[Config], config: Config) -> Iterator[Line]:
    from hccl_kit.ocr.serve import predict  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.train.build import trained_network  # noqa: PLC0415

    del chain
    lines = predict.lines_of(find_images(args.images, limit=args.limit), args.labels)
    found = []
    for line in predict.read_lines(predict.inference_of(config), trained_network(config), lines):
        yield line
        found.append(line)
    if args.picture and not all(line.error for line in found):
        predict.write_lines(args.picture, found, config)
        print(f"wrote: {args.picture}", file=sys.stderr)


def _pages(args: argparse.Namespace, chain: list[Config], config: Config) -> Iterator[PageOfText]:
    from hccl_kit.ocr.serve import predict  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.train.build import trained_network  # noqa: PLC0415

    paths = find_images(args.images, limit=args.limit)
    if args.picture:
        args.picture.mkdir(parents=True, exist_ok=True)
    trained = [(predict.inference_of(other), trained_network(other)) for other in chain]
    reader = trained[0] if trained else None
    turner = trained[1] if len(trained) > 1 else None
    finder = predict.inference_of(config)
    for number, found in enumerate(predict.find_texts(finder, trained_network(config), paths), 1):
        page = found
        if not page.error and (reader or args.picture):
            try:
                image = predict.page_image(config, page.path)
                if reader:
                    page = predict.read_texts(reader, page, image, turner)
            except BadSampleError as error:  # such as: another program has replaced the file
                yield replace(page, regions=(), error=str(error))
                continue
            if args.picture:
                predict.write_page(args.picture / f"{number:04}_{page.path.stem}.png", page, image)
        yield page
    if args.picture:
        print(f"wrote: {args.picture}", file=sys.stderr)


def _escaped(field: str) -> str:
    """Without what would end a field or move the cursor of a screen: a name of a file may hold anything."""
    return "".join(repr(character)[1:-1] if category(character) == "Cc" else character for character in field)


if __name__ == "__main__":
    main()
