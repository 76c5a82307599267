"""What the programs in tools/ have in common: their options, the way to a joined group, and the way they end."""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from hccl_kit.errors import EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_OK, EXIT_PIPE, KitError
from hccl_kit.failure import record, watch_stacks
from hccl_kit.ocr import config as configuration
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.data.sources import sources
from hccl_kit.world import LAUNCHERS, JointError, detect, finish

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.worker_env import WorkerEnv
    from hccl_kit.world import World

    Body = Callable[[Config, World, list[str]], None]
    First = Callable[[Config, WorkerEnv], Sequence[str]]


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


def run(
    args: argparse.Namespace,
    body: Body,
    *,
    data: Sequence[str] = (),
    first: First | None = None,
    training: bool = False,
) -> NoReturn:
    """Load the configuration, join the group, call `body` with both and the notes of the start; then end the process.

    `first` is called as soon as it is known who this process is, and returns notes too. `training` is for
    `hccl_kit.ocr.start`.

    MindSpore is loaded only after configuration and launcher are right and the files are there, among them the data
    sets of the sections `data`. What goes wrong is said, recorded for the
    launcher (`hccl_kit.failure`) and becomes the exit code; an exception that nobody foresaw is 1.
    """
    watch_stacks()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8 shows any text too
    env, world, code = None, None, EXIT_OK
    try:
        config = configuration.load(args.config, args.opt)
        _assert_files(config, data)
        launch = detect(os.environ, launcher=args.launcher)
        env = launch.env
        notes = [*configuration.ineffective(config), *(first(config, env) if first else ())]
        from hccl_kit.ocr.agreement import assert_one_job  # noqa: PLC0415  # loads numpy
        from hccl_kit.ocr.start import start  # noqa: PLC0415  # loads numpy and MindSpore

        world = start(config, launch, say=notes.append, training=training)
        assert_one_job(config, world)
        body(config, world, notes)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        code = _fail(error, env)
        if world is not None and isinstance(error, JointError):
            with suppress(KitError):
                finish(world)  # else the others might not learn of it: see `world.cpu.part`
    leave(code, world)


def _assert_files(config: Config, data: Sequence[str]) -> None:
    post = config.values.get("postprocess", {})
    if "character_dict_path" in post:
        Charset.load(post["character_dict_path"], use_space_char=post["use_space_char"])
    for section in data:
        if section in config:
            sources(config[section]["dataset"])


def missing(error: ImportError) -> KitError:
    """What to do about a package that is not there or does not load."""
    return KitError(
        f"{error.name or 'a package'} cannot be loaded: {error}",
        hint="install the training packages, in the folder of this project: pip install -e '.[train]'",
    )


def leave(code: int, world: World | None) -> NoReturn:
    """End this process: in order where all is well, at once where not.

    The threads of MindSpore that serve a store or wait for ranks that are gone would keep a failed rank alive. A group
    that HCCL or msrun's scheduler made is left in order: the scheduler would miss a rank that is gone.
    """
    if world is not None and not code:
        try:
            finish(world)
        except KitError as error:
            code = _fail(error, world.env)
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.flush()
    if code or (world is not None and world.store is not None):
        os._exit(code)
    sys.exit(code)


def _fail(error: BaseException, env: WorkerEnv | None) -> int:
    """Record and say what ended this program; returns its exit code. `env` None: it is not known yet who we are."""
    if isinstance(error, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return EXIT_PIPE
    if isinstance(error, ImportError):
        error = missing(error)
    elif isinstance(error, OSError):
        error = KitError(f"cannot read or write: {error}")
    record(error, env=env)
    with suppress(OSError):  # such as: the disk of the log is full
        if isinstance(error, KitError):
            print(error.render(), file=sys.stderr)  # noqa: T201  # the last word of a program
        else:
            traceback.print_exception(error)
    return error.exit_code if isinstance(error, KitError) else EXIT_FINDINGS
