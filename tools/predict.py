"""Read word images with trained weights.

python tools/predict.py -c configs/rec/crnn/crnn_small.yaml --images photos/ word.png --picture readings.png

Prints a line for each image: path TAB text TAB confidence (the mean probability of the characters), and the truth
where --labels names a file of lines `path TAB text`. The picture shows the images beside what was read.
Exit codes: 0 done; 2 it could not run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hccl_kit.errors import KitError
from hccl_kit.ocr import program

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.ocr.predict import Prediction
    from hccl_kit.world import World


def main(argv: Sequence[str] | None = None) -> None:
    """Read the images that the command line names; ends the process with one of the exit codes above."""
    parser = program.parser(__doc__)
    parser.add_argument("--images", nargs="+", type=Path, required=True, metavar="PATH", help="images and folders")
    parser.add_argument("--labels", type=Path, help="label file: shows the truth beside the readings")
    parser.add_argument("--limit", type=int, help="most images to read (default: all)")
    parser.add_argument("--picture", type=Path, help="PNG to write (the first 200 images)")
    args = parser.parse_args(argv)
    program.run(args, partial(_predict, args))


def _predict(args: argparse.Namespace, config: Config, world: World, notes: list[str]) -> None:
    from hccl_kit.ocr import predict  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.build import trained_network  # noqa: PLC0415

    del notes
    if world.size > 1:
        raise KitError(f"predict.py runs as one process, {world.size} were started")
    if args.limit is not None and args.limit < 1:
        raise KitError(f"--limit is {args.limit}; accepted: a number from 1 on")
    samples = predict.find_images(args.images, labels=args.labels, limit=args.limit)
    predictions = predict.read(config, trained_network(config), samples)
    for prediction in predictions:
        print(_line(prediction))
    bad = [prediction for prediction in predictions if prediction.fault]
    if len(bad) == len(predictions):
        raise KitError(f"none of the {len(bad)} images could be read")
    if bad:
        print(f"warning: {len(bad)} of {len(predictions)} images could not be read", file=sys.stderr)
    if args.picture:
        predict.write_picture(args.picture, predictions)
        print(f"wrote: {args.picture}", file=sys.stderr)


def _line(prediction: Prediction) -> str:
    fields = [str(prediction.path), prediction.reading.text, f"{prediction.reading.confidence:.3f}"]
    if prediction.fault:
        fields = [str(prediction.path), "", f"not read: {prediction.fault}"]
    fields[0] = fields[0].replace("\t", "\\t").replace("\n", "\\n")
    return "\t".join(fields + ([prediction.truth] if prediction.truth is not None else []))


if __name__ == "__main__":
    main()
