"""Judge trained weights on a data set: words read right, texts found on pages, lines whose direction is right.

python tools/eval.py -c configs/rec/crnn/crnn_small.yaml -o eval.ckpt_load_path=./runs/crnn_small/best.ckpt

The data set is the section `eval` of the configuration. With several ranks each reads its share.
Exit codes: 0 done; 2 it could not run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from hccl_kit.base import ctrl_c  # noqa: F401  # first: Ctrl-C while the rest loads
from hccl_kit.base.terminal import printable
from hccl_kit.ocr.run import program

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.runtime import World
    from hccl_kit.runtime.worker_env import WorkerEnv


def main(argv: Sequence[str] | None = None) -> None:
    """Evaluate as the command line says; ends the process with one of the exit codes above."""
    parser = program.parser(__doc__)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--wrong", action="store_true", help="print every word that was misread: path, truth, reading")
    form.add_argument("--json", action="store_true", help="print the result as JSON")
    args = parser.parse(argv)
    program.run(args, partial(_evaluate, args), data=("eval",), first=_look)


def _look(config: Config, env: WorkerEnv) -> Sequence[str]:
    """What can be wrong is said before anything heavy is loaded."""
    del env
    program.assert_weights(config)
    return ()


def _evaluate(args: argparse.Namespace, config: Config, world: World, notes: list[str]) -> None:
    from hccl_kit.ocr.infer.evaluate import Evaluator  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.train.build import trained_network  # noqa: PLC0415  # after MindSpore's environment is complete

    for note in notes if world.is_main and not args.json else ():
        print(note)
    evaluator = Evaluator(config, world, lambda message: print(f"warning: {printable(message)}", file=sys.stderr))
    counts, predictions = evaluator(trained_network(config))
    for one in predictions if args.wrong else ():
        if mistake := evaluator.task.mistake(one.sample, one.value):
            print(mistake)
    if not world.is_main:
        return
    if args.json:
        print(json.dumps(counts.row()))
    else:
        print(counts)


if __name__ == "__main__":
    main()
