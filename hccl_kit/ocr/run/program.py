"""What the programs in tools/ have in common: their options, the way to a joined group, and the way they end."""

from __future__ import annotations

import argparse
import io
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_OK, EXIT_PIPE, KitError, under_way
from hccl_kit.ocr import config as configuration
from hccl_kit.ocr import interrupt
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.data.sources import sources
from hccl_kit.runtime import LAUNCHERS, JointError, detect, finish
from hccl_kit.runtime.failure import record, watch_stacks

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.runtime import World
    from hccl_kit.runtime.worker_env import WorkerEnv

    Body = Callable[[Config, World, list[str]], None]
    First = Callable[[Config, WorkerEnv], Sequence[str]]


CONTINUE = "continue with -o system.resume=auto"
"""What a person does after a training was interrupted."""


def parser(description: str | None) -> Parser:
    """A parser with the options of every program: --config, -o and --launcher."""
    made = Parser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
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
    `hccl_kit.ocr.run.start`.

    MindSpore is loaded only after configuration and launcher are right and the files are there, among them the data
    sets of the sections `data`. What goes wrong is said, recorded for the
    launcher (`hccl_kit.runtime.failure`) and becomes the exit code; an exception that nobody foresaw is 1.
    """
    watch_stacks()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8 shows any text too
    env, world, code = None, None, EXIT_OK
    try:
        config = configuration.load(args.config, args.opt)
        assert_files(config, data)
        launch = detect(os.environ, launcher=args.launcher)
        env = launch.env
        config = config.of_run() if training else config
        interrupt.listen(CONTINUE if training else "", speaks=env.rank == 0)
        notes = [*configuration.ineffective(config), *(first(config, env) if first else ())]
        from hccl_kit.ocr.run.consistency import assert_one_job  # noqa: PLC0415  # loads numpy
        from hccl_kit.ocr.run.start import start  # noqa: PLC0415  # loads numpy and MindSpore

        world = start(config, launch, say=notes.append, training=training)
        assert_one_job(config, world)
        body(config, world, notes)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        code = _fail(error, env)
        if world is not None and isinstance(error, JointError):
            with suppress(KitError):
                finish(world)  # else the others might not learn of it: see `runtime.cpu.finalize`
    leave(code, world)


def assert_files(config: Config, data: Sequence[str] = ()) -> None:
    """Raises KitError if the dictionary or a data set of the sections `data` is not there or cannot be read."""
    post = config.values.get("postprocess", {})
    if "character_dict_path" in post:
        _assert_dictionary(post, "postprocess")
    for section in filter(config.__contains__, data):
        sources(config[section]["dataset"])
        for number, step in enumerate(config[section]["dataset"]["transform_pipeline"]):
            for name, options in step.items():
                if name.endswith("LabelEncode") and (options or {}).get("character_dict_path"):
                    _assert_dictionary(options, f"{section}.dataset.transform_pipeline.{number}.{name}")


def _assert_dictionary(options: Mapping[str, Any], place: str) -> None:
    try:
        Charset.load(options["character_dict_path"], use_space_char=options.get("use_space_char", False))
    except KitError as error:
        raise KitError(f"{place}.character_dict_path: {error.message}", hint=error.hint) from error


def assert_weights(config: Config, option: str = "-o") -> None:
    """Raises KitError if the weights of `config` are not there; `option` is what names others.

    Programs ask this before anything heavy is loaded.
    """
    if not config.weights.exists():
        source = shlex.quote(config.source)
        raise KitError(
            f"there is no checkpoint {config.weights} (eval.ckpt_load_path, or best.ckpt of a run)",
            hint=f"train first: python tools/train.py -c {source}\nor name another: {option} eval.ckpt_load_path=FILE",
        )


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
            with under_way():
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
    if isinstance(error, KeyboardInterrupt):  # before `interrupt.listen`
        print("interrupted", file=sys.stderr)  # noqa: T201
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
