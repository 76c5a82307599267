"""Evaluate trained weights on a data set: words read correctly, texts found on pages, directions
recognised.

The data set is the section `eval` of the configuration. With several ranks each reads its share.
Exit codes: 0 done; 2 it could not run.

examples:
  hccl-kit eval -c rec/crnn/crnn_small.yaml -o eval.ckpt_load_path=./runs/crnn_small/best.ckpt
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from hccl_kit.base import progress
from hccl_kit.base.arguments import Parser
from hccl_kit.base.terminal import printable
from hccl_kit.ocr.run import program

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.runtime import World
    from hccl_kit.runtime.worker_env import WorkerEnv


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for."""

    wrong: bool
    """Whether to print every mistake."""
    json: bool


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The program; ends the process with one of the exit codes above."""
    args = make_parser().parse(argv)
    options = program.Options(args.config, args.opt, args.launcher)
    program.run(options, partial(_evaluate, Request(args.wrong, args.json)), data=("eval",), first=_check)


def make_parser() -> Parser:
    """The options of the program."""
    parser = program.parser(__doc__, "eval")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--wrong", action="store_true", help="print every misread word: path, truth, reading")
    form.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def _check(config: Config, env: WorkerEnv) -> Sequence[str]:
    """Raises KitError, before any heavy import, if there are no weights."""
    del env
    program.assert_weights(config)
    return ()


def _evaluate(request: Request, config: Config, world: World, notes: list[str]) -> None:
    from hccl_kit.ocr.infer.evaluate import Evaluator  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.train.build import trained_network  # noqa: PLC0415

    for note in notes if world.is_main and not request.json else ():
        print(note)
    evaluator = Evaluator(config, world, lambda message: progress.say(f"warning: {printable(message)}"))
    watch = partial(progress.track, what="evaluating", quiet=not world.is_main)
    counts, found = evaluator(trained_network(config), watch)
    for one in found if request.wrong else ():
        if mistake := evaluator.task.mistake(one.sample, one.value):
            print(mistake)
    if world.is_main:
        print(json.dumps(counts.row()) if request.json else counts)


if __name__ == "__main__":
    main()
