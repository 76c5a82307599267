"""What the training programs have in common: their options, how they join the group of ranks, and how they end."""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hccl_kit.base import progress, shipped
from hccl_kit.base.arguments import PAIRS, Parser, a_path
from hccl_kit.base.errors import (
    EXIT_FINDINGS,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PIPE,
    EXIT_TERMINATED,
    KitError,
    under_way,
)
from hccl_kit.base.extra import install_extra
from hccl_kit.base.terminal import printable, settle
from hccl_kit.ocr import interrupt
from hccl_kit.ocr.config import schema
from hccl_kit.ocr.run import inputs
from hccl_kit.runtime.consistency import JointError
from hccl_kit.runtime.detect import LAUNCHERS, detect
from hccl_kit.runtime.failure import record, watch_stacks
from hccl_kit.runtime.flight_recorder import DONE, recorder
from hccl_kit.runtime.join import finish

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.runtime.join import World
    from hccl_kit.runtime.worker_env import WorkerEnv

    Body = Callable[[Config, World, list[str]], None]
    First = Callable[[Config, WorkerEnv], Sequence[str]]


OVERRIDES: Mapping[str, Any] = {"nargs": "+", "action": "extend", "default": [], "metavar": PAIRS}
"""The arguments of `add_argument` for an option that takes overrides."""


class UnreadError(KitError):
    """Some images were read, and others could not be."""

    exit_code = EXIT_FINDINGS


@dataclass(frozen=True, slots=True)
class Options:
    """The values of the options that every program has, see `parser`."""

    config: Path
    overrides: Sequence[str] = ()
    launcher: str | None = None


def parser(description: str | None, verb: str | None = None, *, needs_config: bool = True) -> Parser:
    """A parser with the options of every program: --config, -o and --launcher. `verb` follows `hccl-kit`."""
    made = plain_parser(description, verb)
    made.add_argument(
        "-c",
        "--config",
        type=a_path,
        required=needs_config,
        metavar="FILE",
        help="a YAML file, or the name of a configuration that hccl_kit contains",
    )
    made.add_argument("--list-configs", action=_ListConfigs, nargs=0, help="print these names, then end")
    made.add_argument("-o", "--opt", **OVERRIDES, help="replace values of the file, such as train.ckpt_save_dir=./out")
    made.add_argument("--launcher", choices=list(LAUNCHERS), help="what started this process (default: detected)")
    return made


def plain_parser(description: str | None, verb: str | None = None) -> Parser:
    """A parser for `hccl-kit VERB`, whose help keeps the lines of the description."""
    return Parser(prog=f"hccl-kit {verb}" if verb else None, doc=description)


class _ListConfigs(argparse.Action):
    """Print the names of the shipped configurations and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        parser.exit(run_alone(lambda: print(*shipped.config_names(), sep="\n")))  # noqa: T201


def run(
    options: Options,
    body: Body,
    *,
    data: Sequence[str] = (),
    first: First | None = None,
    training: bool = False,
    plain_convolutions: bool = False,
) -> NoReturn:
    """Load the configuration, join the group, call `body` with both and the notes of the start; then end the process.

    `first` is called once the rank of this process is known; it returns further notes. `plain_convolutions` is
    for `hccl_kit.ocr.run.start`.

    MindSpore is imported only after the configuration and the launcher are valid and the files exist, among them the
    data sets of the sections `data`. An error is printed, recorded for the launcher (`hccl_kit.runtime.failure`) and
    becomes the exit code; that of an unexpected exception is 1.
    """
    watch_stacks()
    env, world, code = None, None, EXIT_OK
    try:
        if sys.stdout is not None or not training:  # a training has its log
            _ready_output()
        config = inputs.load(options.config, options.overrides)
        inputs.assert_files(config, data)
        launch = detect(os.environ, launcher=options.launcher)
        env = launch.env
        # msrun's scheduler has no rank: it would take the place of rank 0 in the log and in the folder of the run.
        is_rank = not launch.is_scheduler(os.environ)
        if env.rank == 0 and is_rank:
            inputs.note_choices(options.config, config, training=training)
        config = config.of_run() if training else config
        if training:
            interrupt.save_on_usr2()
        interrupt.listen("continue with -o system.resume=auto" if training else "", speaks=env.rank == 0)
        if is_rank:
            recorder(env=env)  # starts a thread
        prepares = first is not None and (is_rank or not training)
        notes = [*schema.ineffective(config.values), *(first(config, env) if first and prepares else ())]
        from hccl_kit.ocr.run.consistency import assert_one_job  # noqa: PLC0415  # loads numpy
        from hccl_kit.ocr.run.start import start  # noqa: PLC0415  # loads numpy and MindSpore

        world = start(config, launch, say=notes.append, plain_convolutions=plain_convolutions)
        assert_one_job(config, world)
        body(config, world, notes)
        _flush()
    except interrupt.SavedError as error:
        progress.say(str(error))
        code = EXIT_TERMINATED
    except (Exception, KeyboardInterrupt) as error:
        code = _fail(error, env)
        if world is not None and isinstance(error, JointError):
            with suppress(KitError):
                finish(world)  # else the others might not learn of it: see `runtime.cpu.finalize`
    leave(code, world)


def run_alone(body: Callable[[], None]) -> int:
    """Run a program that needs no group of ranks; returns its exit code. Its outputs are complete or absent.

    SIGTERM ends it as Ctrl-C does: a folder that is being filled is removed.
    """
    code = EXIT_OK
    try:
        with interrupt.raising_termination():
            body()
            _flush()
    except (KitError, ImportError, OSError) as error:
        code = _fail(error, None)
    except KeyboardInterrupt:
        _complain("interrupted; nothing was written")
        code = EXIT_INTERRUPTED
    except interrupt.TerminatedError:
        _complain("terminated; nothing was written")
        code = EXIT_TERMINATED
    settle()
    return code


def run_unlaunched(body: Callable[[], None]) -> NoReturn:
    """Run a program of one process that uses MindSpore without a configuration; then end the process.

    An error is printed and becomes the exit code; that of an unexpected exception is 1.
    """
    code = EXIT_OK
    try:
        _ready_output()
        body()
        _flush()
    except (Exception, KeyboardInterrupt) as error:
        code = _fail(error, None)
    leave(code, None)


def assert_alone(env: WorkerEnv, verb: str) -> None:
    """Raises KitError if several ranks were started for a program of one process."""
    if env.size > 1:
        raise KitError(
            "ocr.program.one-process",
            "hccl-kit {verb} runs as one process, {size} were started",
            verb=verb,
            size=env.size,
        )


def assert_read(unread: int, images: int) -> None:
    """Raises KitError if no image could be read, and UnreadError if only some could."""
    if unread == images:
        raise KitError("ocr.program.none-images-could", "none of the {unread} images could be read", unread=unread)
    if unread:
        raise UnreadError(f"{unread} of {images} images could not be read", hint="see the warnings above")


def missing(error: ImportError) -> KitError:
    """The error for a package that cannot be imported, with the extra to install; an installed MindSpore is kept."""
    extra = "train" if error.name == "mindspore" or find_spec("mindspore") is None else "ocr"
    return KitError(
        "ocr.program.cannot-imported",
        "{a_package} cannot be imported: {reason}",
        hint=install_extra(extra),
        a_package=error.name or "a package",
        reason=error,
    )


def leave(code: int, world: World | None) -> NoReturn:
    """End this process: after success it leaves the group first, after an error it exits at once.

    After an error, or with a store, os._exit is needed: MindSpore's threads that serve a store or wait for missing
    ranks would keep the process alive. After success in a group of HCCL or of msrun's scheduler, the interpreter exits
    normally: the scheduler would wait for a missing rank.
    """
    if world is not None and not code:
        try:
            with under_way():
                finish(world)
        except KitError as error:
            code = _fail(error, world.env)
    if world is not None and not code:
        world.recorder.ended(DONE)
    settle()
    if code or (world is not None and world.store is not None):
        os._exit(code)
    sys.exit(code)


def _ready_output() -> None:
    """Let standard output take text that the terminal cannot show. Raises KitError if it is closed."""
    if sys.stdout is None:
        raise KitError("ocr.program.standard-output-closed", "standard output is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _flush() -> None:
    if sys.stdout is not None:
        progress.flush(sys.stdout)


def _complain(text: str) -> None:
    """Print the last message of a program, if standard error can be written to."""
    with suppress(OSError):
        progress.say(text)


def _fail(error: BaseException, env: WorkerEnv | None) -> int:
    """Record and print what ended this program; returns its exit code. `env` is None if the rank is not known yet."""
    if isinstance(error, KeyboardInterrupt):  # before `interrupt.listen`
        _complain("interrupted")
        return EXIT_INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return EXIT_PIPE
    if isinstance(error, ImportError):
        error = missing(error)
    elif isinstance(error, OSError):
        error = KitError(
            "ocr.program.reason",
            "{cannot_read}: {reason}",
            cannot_read=printable(str(error.filename or "cannot read or write")),
            reason=error.strerror or error,
        )
    record(error, env=env)
    _complain(error.render() if isinstance(error, KitError) else "".join(traceback.format_exception(error)).rstrip())
    return error.exit_code if isinstance(error, KitError) else EXIT_FINDINGS
