"""Train a network that finds texts, reads them or recognises their direction, on one device or many.

examples:
  hccl-kit train -c rec/crnn/crnn_small.yaml               one process
  hccl-kit train -c rec/ppocr/v6_small_lines -o data=mine  your own lines in a folder
  bash ascend4p.sh -c rec/crnn/crnn_small.yaml             four cards, by the script of hccl-gen
  mpirun -n 4 hccl-kit train -c rec/crnn/crnn_small.yaml   the same without a rank table

Exit codes: 0 trained; 1 the training started and then failed (loss not finite, weights that do not
move, a full disk); 2 it could not start (configuration, data, files), and earlier results in its
folder are where they were; 130 ended by Ctrl-C; 143 ended by SIGTERM, or by SIGUSR2, which first
lets the current step end and saves a checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_CANNOT_RUN, KitError
from hccl_kit.ocr.checkpoints import fetch
from hccl_kit.ocr.checkpoints.previous_run import PATIENCE, PATIENCE_OF_RESTART, announce, claim, restarts, withdraw
from hccl_kit.ocr.run import program

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.runtime.join import World
    from hccl_kit.runtime.worker_env import WorkerEnv


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The program; ends the process with one of the exit codes above."""
    args = make_parser().parse(argv)
    options = program.Options(args.config, args.opt, args.launcher)
    program.run(options, _train, data=("train", "eval"), first=_prepare, training=True)


def make_parser() -> Parser:
    """The options of the program."""
    return program.parser(__doc__, "train")


def _prepare(config: Config, env: WorkerEnv) -> Sequence[str]:
    """What needs no other rank and no heavy import: weights to download, and the folder of the run."""
    weights = fetch.fetch(config["model"], os.environ, partial(print, flush=True))
    if env.rank == 0:
        patience = PATIENCE_OF_RESTART if restarts(os.environ) else PATIENCE
        claim(Path(config["train"]["ckpt_save_dir"]), patience=patience)
        announce(config, os.environ)
    return weights


def _train(config: Config, world: World, notes: list[str]) -> None:
    from hccl_kit.ocr.run.log import RunLog  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.train.loop import train  # noqa: PLC0415

    folder = Path(config["train"]["ckpt_save_dir"])
    log = RunLog(folder, world.rank)
    for note in notes:
        log.say(note)
    try:
        train(config, world, log)
    except KitError as error:
        if error.exit_code == EXIT_CANNOT_RUN and world.is_main:
            withdraw(config)
        raise
    finally:
        log.close()


if __name__ == "__main__":
    main()
