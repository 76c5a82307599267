"""Evaluate trained weights on a data set: words read correctly, texts found on pages, directions
recognised.

The data set is that of the section `eval` of the configuration; with `eval.guard`, other sets are
scored too, each in a column of the table. With several ranks, each rank reads a part of it. The
weights are best.ckpt of the training of the configuration, or the file eval.ckpt_load_path; a line
on stderr names them. --picture shows the worst samples first: lines with the text that was read
and the right one, or pages with found, missed and false boxes. No picture is written if all are
right.
With --read a recognition reads the texts that a detection finds on pages, and those that are found
and read right are counted; --turn names a classification that finds lines upside down.

examples:
  hccl-kit eval -c rec/crnn/crnn_small.yaml
  hccl-kit eval -c ./runs/db_r18/train_config.yaml --picture worst.png --worst 40
  hccl-kit eval -c ./runs/mine/train_config.yaml -o 'eval.guard=[rendered, general/test_gt.txt]'
  hccl-kit eval -c ./runs/db_r18/train_config.yaml --read ./runs/mine/train_config.yaml

Exit codes: 0 done; 2 could not run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from hccl_kit.base import progress
from hccl_kit.base.arguments import Parser, a_path
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.base.output_place import assert_free_picture
from hccl_kit.base.terminal import printable
from hccl_kit.ocr.data.data_folder import guards
from hccl_kit.ocr.programs import page_readers
from hccl_kit.ocr.programs.page_readers import PageReaders
from hccl_kit.ocr.run import engine, inputs, program

if TYPE_CHECKING:
    from hccl_kit.ocr.checkpoints.weights_file import WeightsFile
    from hccl_kit.ocr.config import Config
    from hccl_kit.ocr.infer.inference import Evaluator, Prediction
    from hccl_kit.ocr.metrics.counts import Counts
    from hccl_kit.ocr.serve.end_to_end import EndToEnd, PageReader
    from hccl_kit.runtime.join import World
    from hccl_kit.runtime.worker_env import WorkerEnv

MOST = {"det": 40}
"""Maximum samples in a picture by `model.type`: image formats limit the height."""
MOST_LINES = 200


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for."""

    wrong: bool
    """Whether to print every mistake."""
    json: bool
    picture: Path | None
    worst: int
    """Samples in the picture."""
    force: bool
    engine: str
    """See `hccl_kit.ocr.run.engine`."""
    readers: PageReaders


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The program; ends the process with one of the exit codes above."""
    args = make_parser().parse(argv)
    options = program.Options(args.config, args.opt, args.launcher)
    request = Request(
        args.wrong,
        args.json,
        args.picture,
        args.worst,
        args.force,
        args.engine,
        PageReaders.of(args.read, args.read_opt, args.turn, args.turn_opt),
    )
    program.run(options, partial(_evaluate, request), data=("eval",), first=partial(_check, request))


def make_parser() -> Parser:
    """The options of the program."""
    parser = program.parser(__doc__, "eval")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--wrong", action="store_true", help="print every mistake; for a line: path, right text, text that was read"
    )
    form.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--picture", type=a_path, metavar="FILE", help="image file for the worst samples")
    parser.add_argument(
        "--worst",
        type=int,
        default=20,
        metavar="N",
        help="samples in the picture: up to 200 lines or 40 pages (default: 20)",
    )
    parser.add_argument("--force", action="store_true", help="overwrite --picture")
    parser.add_argument("--engine", **engine.OPTION)
    page_readers.add_options(parser)
    return parser


def _check(request: Request, config: Config, env: WorkerEnv) -> Sequence[str]:
    """Raises KitError, before any heavy import, if there are no weights, or the picture cannot be written."""
    most = MOST.get(config["model"]["type"], MOST_LINES)
    if not 1 <= request.worst <= most:
        raise KitError("ocr.eval.worst", "--worst is {worst}; accepted: 1 to {most}", worst=request.worst, most=most)
    if request.picture is not None and env.rank == 0:
        assert_free_picture(request.picture, "--picture", force=request.force)
    request.readers.check(config["model"]["type"])
    inputs.weights_in_use(config, speaks=env.rank == 0)
    request.readers.find_weights(speaks=env.rank == 0)
    return ()


def _evaluate(request: Request, config: Config, world: World, notes: list[str]) -> None:
    from hccl_kit.ocr import drawing  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.infer.inference import Evaluator  # noqa: PLC0415
    from hccl_kit.ocr.programs import engines  # noqa: PLC0415
    from hccl_kit.ocr.run.consistency import assert_one_file_of_weights  # noqa: PLC0415

    weights = inputs.weights_in_use(config, speaks=False)
    for file in (weights, *request.readers.weights()):
        assert_one_file_of_weights(file.sha256, world)
    for note in notes if world.is_main and not request.json else ():
        print(note)

    def warn(message: str) -> None:
        progress.say(f"warning: {printable(message)}")

    evaluator = Evaluator(config, world, warn)
    images = -(-len(evaluator.samples) // world.size)
    network = engines.trained(config, evaluator.inference, request.engine, images=images)
    reader = _page_reader(request, config, evaluator)
    mistakes = dict[int, list[str]]()

    def see(prediction: Prediction) -> None:
        misread = reader.read(prediction.sample, prediction.value) if reader and not prediction.error else []
        if request.wrong:
            mistake = evaluator.task.mistake(prediction.sample, prediction.value)
            mistakes[prediction.number] = [mistake, *misread] if mistake else misread

    counts, distances = evaluator(network, quiet=not world.is_main, see=see)
    guard = {}
    for name, other in guards(config).items():
        guard[name] = Evaluator(other, world, warn)(network, quiet=not world.is_main).counts.row()
    for number in sorted(mistakes):
        for line in mistakes[number]:
            print(line)
    if request.picture is not None:
        picture = evaluator.picture_of_worst(network, distances, request.worst)
        if picture is not None:
            write_atomically(request.picture, drawing.encoded(picture, request.picture.suffix))
            progress.say(f"wrote: {request.picture}")
    read = reader.total(counts, world) if reader else None
    if world.is_main:
        _print(request, counts, read, guard, weights)


def _page_reader(request: Request, config: Config, evaluator: Evaluator) -> PageReader | None:
    """What reads the texts of pages; None without --read."""
    from hccl_kit.ocr.serve.end_to_end import PageReader  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.tasks.detection import Detection  # noqa: PLC0415

    reader, turner = request.readers.trained(request.engine)
    if reader is None or not isinstance(evaluator.task, Detection):
        return None
    return PageReader(config, evaluator.task, reader, turner)


def _print(
    request: Request,
    counts: Counts,
    read: EndToEnd | None,
    guard: Mapping[str, Mapping[str, float]],
    weights: WeightsFile,
) -> None:
    """The scores as JSON, in lines, or if there are several sets as a table."""
    from hccl_kit.ocr.metrics.counts import table  # noqa: PLC0415  # loads numpy

    row = counts.row()
    if request.json:
        more = {**(read.row() if read else {}), **({"guard": guard} if guard else {})}
        print(json.dumps({**row, **more, "weights": weights.row()}))
        return
    print(*(table({"eval.dataset": row, **guard}) if guard else [counts]), sep="\n")
    if read:
        print(read)


if __name__ == "__main__":
    main()
