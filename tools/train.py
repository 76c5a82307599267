"""Train a text recogniser, on one device or many.

    python tools/train.py -c configs/rec/crnn/crnn_small.yaml                      one process
    bash ascend4p.sh --config configs/rec/crnn/crnn_small.yaml                     four cards, script of hccl-gen
    mpirun -n 4 python tools/train.py -c configs/rec/crnn/crnn_small.yaml          the same without a rank table

Exit codes: 0 trained; 1 the training went wrong (loss not finite, weights that do not move); 2 it could not start.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from hccl_kit.errors import EXIT_OK, KitError
from hccl_kit.ocr import config as configuration
from hccl_kit.world import LAUNCHERS


def main(argv: Sequence[str] | None = None) -> int:
    """Read the configuration, join the group, train; returns the exit code."""
    args = _parser().parse_args(argv)
    size = 1
    try:
        config = configuration.load(args.config, args.opt)
        from hccl_kit.ocr.start import start  # noqa: PLC0415  # numpy, then MindSpore

        notes: list[str] = []
        world = start(config, launcher=args.launcher, say=notes.append)
        size = world.size
        from hccl_kit.ocr.journal import Journal  # noqa: PLC0415
        from hccl_kit.ocr.loop import train  # noqa: PLC0415

        journal = Journal(Path(config["train"]["ckpt_save_dir"]), world.rank)
        for note in notes:
            journal.say(note)
        train(config, world, journal)
        world.barrier()
    except KitError as error:
        print(error.render(), file=sys.stderr)
        return _leave(error.exit_code, size)
    return _leave(EXIT_OK, size)


def _leave(code: int, size: int) -> int:
    from hccl_kit.ocr.start import leave  # noqa: PLC0415

    leave(code, size)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-c", "--config", type=Path, required=True, help="YAML file, see configs/")
    parser.add_argument(
        "-o", "--opt", nargs="+", action="extend", default=[], metavar="KEY=VALUE",
        help="values that replace those of the file, such as train.ckpt_save_dir=./out",
    )
    parser.add_argument("--launcher", choices=list(LAUNCHERS), help="who started this process (default: found out)")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
