"""What the programs in tools/ have in common: their options, the way to a joined group, and the way they end."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from hccl_kit.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_PIPE, KitError
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
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8 shows any text too
    world, code = None, EXIT_OK
    try:
        config = configuration.load(args.config, args.opt)
        from hccl_kit.ocr.start import start  # noqa: PLC0415  # loads numpy and MindSpore

        notes: list[str] = []
        world = start(config, launcher=args.launcher, say=notes.append)
        body(config, world, notes)
        sys.stdout.flush()
    except KitError as error:
        code = _say(error)
    except ImportError as error:
        code = _say(missing(error))
    except BrokenPipeError:
        code = EXIT_PIPE
    except OSError as error:
        code = _say(KitError(f"cannot read or write: {error}"))
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    leave(code, world)


def missing(error: ImportError) -> KitError:
    """What to do about a package that is not there or does not load."""
    return KitError(
        f"{error.name or 'a package'} cannot be loaded: {error}",
        hint="install the training packages, in the folder of this project: pip install -e '.[train]'",
    )


def leave(code: int, world: World | None) -> NoReturn:
    """End this process; where `world` holds a store, at once: its threads would wait for ranks that are gone.

    A group that HCCL or msrun's scheduler made is left in order: the scheduler would miss a rank that is gone.
    """
    if world is not None and not code:
        try:
            finish(world)
        except KitError as error:
            code = _say(error)
    with suppress(OSError):
        sys.stdout.flush()
    sys.stderr.flush()
    if world is None or world.store is None:
        sys.exit(code)
    os._exit(code)


def _say(error: KitError) -> int:
    print(error.render(), file=sys.stderr)  # noqa: T201  # the last word of a program
    return error.exit_code
