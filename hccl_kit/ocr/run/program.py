"""What the training programs have in common: their options, how they join the group of ranks, and how they end."""

from __future__ import annotations

import argparse
import io
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
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
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable, settle
from hccl_kit.base.wording import either
from hccl_kit.ocr import config as configuration
from hccl_kit.ocr import interrupt
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.checkpoints import fetch
from hccl_kit.ocr.checkpoints.weights_file import WeightsFile
from hccl_kit.ocr.config import schema
from hccl_kit.ocr.data.data_folder import expanded
from hccl_kit.ocr.data.guard import guards
from hccl_kit.ocr.data.sources import are_there, sources
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


def load(given: Path, overrides: Sequence[str]) -> Config:
    """The configuration in the file `given`, or in the shipped one of that name if there is no such file.

    An override `data=FOLDER` stands for several keys. Raises KitError if there is neither, or if it is not valid.
    """
    file = given if os.path.lexists(given) else shipped.config(given)
    if file is not None:
        return configuration.load(file, expanded(overrides, file))
    near = get_close_matches(given.as_posix().removeprefix("configs/"), shipped.config_names(), n=3)
    hint = (
        Message("ocr.program.cannot-read.fix", "did you mean {near}?", near=either(near))
        if near
        else Message("ocr.program.cannot-read.fix-otherwise", "--list-configs prints the names of the shipped ones")
    )
    raise KitError(
        "ocr.program.cannot-read",
        "cannot read {given}: it does not exist, and no shipped configuration has this name",
        hint=hint,
        given=given,
    )


def note_choices(given: Path, config: Config, *, training: bool = False) -> None:
    """Print the file that was taken if it is not the path `given`, and what its language model lacks.

    Before a training, also print that another configuration has the same folder.
    """
    if config.source != str(given):
        progress.say(f"config: {printable(config.source)} (shipped with hccl-kit)")
    if training and (other := config.shares_folder_with):
        folder = config["train"]["ckpt_save_dir"]
        progress.say(
            printable(
                f"train.ckpt_save_dir is that of {shipped.short_name(other)}: trainings of both write into {folder}. "
                "To keep them apart: -o train.ckpt_save_dir=..., or set it in the file"
            )
        )
    model = config.values.get("postprocess", {}).get("language_model")
    if model and not model["texts"] and not are_there(config["train"]["dataset"]) and not config.kept_texts.exists():
        progress.say(
            "postprocess.language_model is off: its training labels were not found. Give it a file of texts: "
            "-o postprocess.language_model.texts=FILE"
        )


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
        config = load(options.config, options.overrides)
        assert_files(config, data)
        launch = detect(os.environ, launcher=options.launcher)
        env = launch.env
        # msrun's scheduler has no rank: it would take the place of rank 0 in the log and in the folder of the run.
        is_rank = not launch.is_scheduler(os.environ)
        if env.rank == 0 and is_rank:
            note_choices(options.config, config, training=training)
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


def assert_files(config: Config, data: Sequence[str] = ()) -> None:
    """Raises KitError if the dictionary or a data set of the sections `data` cannot be read.

    Those of `eval.guard` belong to the section `eval`.
    """
    if "eval" in data:
        guards(config)
    post = config.values.get("postprocess", {})
    if "character_dict_path" in post:
        _assert_dictionary(post, "postprocess")
    for section in filter(config.__contains__, data):
        try:
            sources(config[section]["dataset"])
        except KitError as error:
            raise KitError(
                "ocr.program.dataset",
                "{section}.dataset: {reason}",
                hint=error.hint,
                section=section,
                reason=error.message,
            ) from error
        for number, step in enumerate(config[section]["dataset"]["transform_pipeline"]):
            for name, options in step.items():
                if name.endswith("LabelEncode") and (options or {}).get("character_dict_path"):
                    _assert_dictionary(options, f"{section}.dataset.transform_pipeline.{number}.{name}")


def _assert_dictionary(options: Mapping[str, Any], place: str) -> None:
    try:
        Charset.load(options["character_dict_path"], use_space_char=options.get("use_space_char", False))
    except KitError as error:
        hint = (
            error.hint or "it is relative to the current folder; MindOCR's are in mindocr/utils/dict of its repository"
        )
        raise KitError(
            "ocr.program.character-dict-path",
            "{place}.character_dict_path: {reason}",
            hint=hint,
            place=place,
            reason=error.message,
        ) from error


def weights_in_use(config: Config, option: str = "-o", *, speaks: bool = True) -> WeightsFile:
    """The file of the weights of `config`, which is named on standard error; `option` is the one that names another.

    Raises KitError if it is not a file.
    """
    path = fetch.local_path("eval.ckpt_load_path", str(config.weights), os.environ)
    if not path.is_file():
        name = shlex.quote(shipped.short_name(config.source))
        raise KitError(
            "ocr.program.no-checkpoint-eval",
            "there is no checkpoint {weights} (eval.ckpt_load_path, or best.ckpt of a run)",
            fix="train first: hccl-kit train -c {name}\nor name another: {option} eval.ckpt_load_path=FILE",
            weights=config.weights,
            name=name,
            option=option,
        )
    weights = WeightsFile.of(path)
    if speaks:
        progress.say(printable(str(weights)))
    return weights


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
