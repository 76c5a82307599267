"""What the programs in tools/ have in common: their options, the way to a joined group, and the way they end."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from hccl_kit.errors import EXIT_CANNOT_RUN, EXIT_INTERRUPTED, EXIT_OK, KitError
from hccl_kit.ocr import config as configuration
from hccl_kit.world import LAUNCHERS, finish

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.world import World

    Body = Callable[[Config, World, list[str]], None]


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options of every program: --config, -o and --launcher."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("-c", "--config", type=Path, required=True, help="YAML file, see configs/")
    made.add_argument(
        "-o",
        "--opt",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="values that replace those of the file, such as train.ckpt_save_dir=./out",
    )
    made.add_argument("--launcher", choices=list(LAUNCHERS), help="who started this process (default: found out)")
    return made


def run(args: argparse.Namespace, body: Body) -> NoReturn:
    """Load the configuration, join the group, call `body` with both and the notes of the start; then end the process.

    MindSpore is loaded only after the configuration is right. A KitError becomes its text and its exit code.
    """
    world, code = None, EXIT_OK
    try:
        config = configuration.load(args.config, args.opt)
        from hccl_kit.ocr.start import start  # noqa: PLC0415  # loads numpy and MindSpore

        notes: list[str] = []
        world = start(config, launcher=args.launcher, say=notes.append)
        body(config, world, notes)
    except KitError as error:
        print(error.render(), file=sys.stderr)  # noqa: T201  # the last word of a program
        code = error.exit_code
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("hccl_kit"):
            raise
        print(f"error: {error.name} is not installed\n  fix: pip install 'hccl-kit[train]'", file=sys.stderr)  # noqa: T201
        sys.exit(EXIT_CANNOT_RUN)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201
        code = EXIT_INTERRUPTED
    leave(code, world)


def leave(code: int, world: World | None) -> NoReturn:
    """End this process; among other ranks at once, for an orderly end of one waits for the orderly end of all."""
    sys.stdout.flush()
    sys.stderr.flush()
    if world is None or world.size == 1 or world.device_target == "Ascend":
        sys.exit(code)
    if not code:
        finish(world)
    os._exit(code)
