"""tools/train.py, and each rank's parameters before and after in <ckpt_save_dir>/{before,after}_<rank>.npz.

keys_<rank>.npy holds the keys of its dropouts: a row for every step.

It replicates `loop.train`, which does not expose its network.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hccl_kit.ocr.run import program

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.runtime.join import World


def _train(config: Config, world: World, notes: list[str]) -> None:
    import numpy as np  # noqa: PLC0415  # after the environment is complete, as in tools/train.py

    from hccl_kit.ocr.models import dropout  # noqa: PLC0415
    from hccl_kit.ocr.run.log import RunLog  # noqa: PLC0415
    from hccl_kit.ocr.train import loop  # noqa: PLC0415
    from hccl_kit.ocr.train.job import build_job  # noqa: PLC0415

    folder = Path(config["train"]["ckpt_save_dir"])
    log = RunLog(folder, world.rank)
    for note in notes:
        log.say(note)
    job = build_job(config, world, log)
    keys, draw = [], dropout.draw

    def noted(dropouts: tuple[dropout.Dropout, ...], generator: np.random.Generator) -> None:
        draw(dropouts, generator)
        keys.append([int(cell.key.asnumpy()) for cell in dropouts])

    dropout.draw = noted
    for when in ("before", "after"):
        if when == "after":
            loop.run(job)
        values = {parameter.name: parameter.asnumpy() for parameter in job.network.get_parameters()}
        np.savez(folder / f"{when}_{world.rank}.npz", **values)
    np.save(folder / f"keys_{world.rank}.npy", np.array(keys))


if __name__ == "__main__":
    args = program.parser(__doc__).parse(None)
    program.run(program.Options(args.config, args.opt, args.launcher), _train)
