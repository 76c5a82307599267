r"""Find and read texts with trained weights.

A recognition prints a line for each image: path TAB text TAB confidence (the mean probability of
the characters), and the truth if --labels names a file of lines `path TAB text`; a classification
prints its class instead of a text. A detection prints path TAB JSON: the points and the score of
each text from top to bottom, and its text with --read; lines that --turn recognises as upside down
are rotated first. --json writes all of it to a file.
The picture of lines is a file in the format of its ending; that of pages is a folder with a PNG for
each. Existing files are kept unless --force is given.
Without -c, pages are read with published weights as by hccl-kit read.
An image that cannot be read is named on stderr; its fields are empty, its regions null, and in JSON
it has an `error`.

examples:
  hccl-kit predict -c rec/crnn/crnn_small.yaml --images words/ word.png --picture readings.png
  hccl-kit predict -c det/dbnet/db_r18_icdar15.yaml --images page.jpg --picture pages/
  hccl-kit predict -c det/dbnet/db_r18_icdar15.yaml --images page.jpg --picture pages/ \
      --read rec/crnn/crnn_vgg7.yaml --read-opt eval.ckpt_load_path=./runs/crnn_vgg7/best.ckpt
  hccl-kit predict -c det/dbnet/db_r18_icdar15.yaml --images page.jpg \
      --turn cls/mobilenetv3/cls_mv3.yaml --read rec/crnn/crnn_vgg7.yaml

Exit codes: 0 done; 1 some images could not be read; 2 could not run, or no image could be read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from hccl_kit.base import progress
from hccl_kit.base.arguments import Parser, a_path
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import escaped
from hccl_kit.ocr.data.image_paths import find_images, short
from hccl_kit.ocr.data.samples import BadSampleError, read_labels
from hccl_kit.ocr.programs import page_readers, read
from hccl_kit.ocr.programs.page_readers import PageReaders
from hccl_kit.ocr.run import engine, inputs, program

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.ocr.serve.pages import PageOfText
    from hccl_kit.ocr.serve.predict import Line
    from hccl_kit.runtime.join import World
    from hccl_kit.runtime.worker_env import WorkerEnv

    Prediction = Line | PageOfText


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for; None for what it does not mention."""

    images: tuple[Path, ...]
    labels: Path | None
    limit: int | None
    picture: Path | None
    json: Path | None
    force: bool
    engine: str
    """See `hccl_kit.ocr.run.engine`."""
    readers: PageReaders

    def find_images(self) -> list[Path]:
        """The images to read, in order."""
        return find_images(self.images, limit=self.limit)


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The program; ends the process with one of the exit codes above."""
    parser = make_parser()
    args = parser.parse(argv)
    if args.config is None:
        needing = ("labels", "read", "turn", "opt", "read_opt", "turn_opt", "launcher")
        given = [f"--{name.replace('_', '-')}" for name in needing if getattr(args, name)]
        if given:
            parser.error(
                Message("ocr.predict.needs-config", "these need --config: {options}", options=", ".join(given))
            )
        read.run(read.Request(tuple(args.images), args.limit, args.picture, args.json, args.force, args.engine))
    request = Request(
        images=tuple(args.images),
        labels=args.labels,
        limit=args.limit,
        picture=args.picture,
        json=args.json,
        force=args.force,
        engine=args.engine,
        readers=PageReaders.of(args.read, args.read_opt, args.turn, args.turn_opt),
    )
    options = program.Options(args.config, args.opt, args.launcher)
    program.run(options, partial(_predict, request), first=partial(_check, request))


def make_parser() -> Parser:
    """The options of the program."""
    parser = program.parser(__doc__, "predict", needs_config=False)
    parser.add_argument("--images", nargs="+", type=a_path, required=True, metavar="PATH", help="images and folders")
    parser.add_argument("--labels", type=a_path, metavar="FILE", help="label file of lines: also show the right texts")
    parser.add_argument("--limit", type=int, metavar="N", help="maximum number of images (default: all)")
    parser.add_argument(
        "--picture", type=a_path, metavar="PATH", help="image file for the first 200 lines, or folder for pages"
    )
    parser.add_argument("--json", type=a_path, metavar="FILE", help="file for the results as JSON")
    parser.add_argument("--force", action="store_true", help="overwrite --picture and --json")
    parser.add_argument("--engine", **engine.OPTION)
    page_readers.add_options(parser)
    return parser


def _check(request: Request, config: Config, env: WorkerEnv) -> Sequence[str]:
    """Raises KitError, before any heavy import, if the request cannot be fulfilled."""
    program.assert_alone(env, "predict")
    request.find_images()
    kind = config["model"]["type"]
    if kind == "det" and request.labels:
        raise KitError(
            "ocr.predict.labels-lines-config",
            "--labels is for lines, and --config is a detection",
            fix="hccl-kit eval scores a detection",
        )
    request.readers.check(kind)
    if request.labels:
        read_labels(request.labels)
    read.assert_free(request.json, request.picture, force=request.force, are_pages=kind == "det")
    inputs.assert_files(config)
    inputs.weights_in_use(config)
    request.readers.find_weights()
    return ()


def _predict(request: Request, config: Config, world: World, notes: list[str]) -> None:
    del world, notes
    images, weights = request.find_images(), _digests(request, config) if request.json else []
    is_detection = config["model"]["type"] == "det"
    predicted = _pages(request, config, images) if is_detection else _lines(request, config, images)
    rows, unread = [], 0
    with progress.track(predicted, len(images), "reading images") as predictions:
        for prediction in predictions:
            progress.say("\t".join(map(escaped, prediction.fields())), sys.stdout)
            rows.append({**prediction.row(), "weights": weights})
            if prediction.error:
                unread += 1
                read.warn_of_unread(prediction.path, prediction.error)
    if request.json:
        read.write_json(request.json, rows)
    program.assert_read(unread, len(rows))


def _digests(request: Request, config: Config) -> list[str]:
    """The first digits of the SHA-256 of the weights of --config, --read and --turn, as the lines on stderr show."""
    return [weights.short for weights in (inputs.weights_in_use(config, speaks=False), *request.readers.weights())]


def _lines(request: Request, config: Config, images: Sequence[Path]) -> Iterator[Prediction]:
    from hccl_kit.ocr.programs import engines  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.serve import predict  # noqa: PLC0415

    shown = []
    lines, inference = predict.lines_of(images, request.labels), predict.inference_of(config)
    network = engines.trained(config, inference, request.engine, images=len(lines))
    for line in predict.read_lines(inference, network, lines):
        yield line
        shown.append(line)
    if request.picture and not all(line.error for line in shown):
        predict.write_lines(request.picture, shown, config)
        progress.say(f"wrote: {request.picture}")


def _pages(request: Request, config: Config, images: Sequence[Path]) -> Iterator[Prediction]:
    from hccl_kit.ocr.programs import engines  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.serve import predict  # noqa: PLC0415
    from hccl_kit.ocr.serve.pages import write_page  # noqa: PLC0415

    if request.picture:
        request.picture.mkdir(parents=True, exist_ok=True)

    reader, turner = request.readers.trained(request.engine)
    inference = predict.inference_of(config)
    network = engines.trained(config, inference, request.engine, images=len(images))
    for number, boxed in enumerate(predict.find_texts(inference, network, images), 1):
        page = boxed
        if not page.error and (reader or request.picture):
            try:
                image = predict.page_image(config, page.path)
                if reader:
                    page = predict.read_texts(reader, page, image, turner)
            except BadSampleError as error:  # such as: another program has replaced the file
                yield replace(page, regions=(), error=str(error))
                continue
            if request.picture:
                write_page(request.picture / f"{number:04}_{short(page.path.stem)}.png", page, image)
        yield page
    if request.picture:
        progress.say(f"wrote: {request.picture}")


if __name__ == "__main__":
    main()
