"""Commands that are launchers themselves: in each rank, they would run the whole job once more.

Such a launcher ignores the variables of its rank: torchrun in N ranks is N complete jobs of one rank each or more, and
all end with exit code 0 (measured with torch 2.13).

Sources of the names, read in November 2026: the entry points of torch 2.13.0, mindspore 2.10.0, DeepSpeed 0.19.6,
accelerate 1.15.0, llamafactory 0.9.5, verl 0.9.1 and lightning 2.6.6; manuals of Open MPI 5.0, Slurm 25.05, Horovod and
Ray.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.bounded_file import is_of_shell, read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.launch.program import MAX_BYTES, PYTHON, Program, base_name, program_of

_SHELL = re.compile(r"(ba|da|k|z)?sh")
_KEYWORDS = re.compile(r"^\s*(?:(?:if|then|else|elif|do|while|until|!|\{)\s+)*")
_OF_SEVERAL = {"--multi-gpu", "--mpirun-hostfile", "--use-deepspeed", "--use-fsdp", "--tpu", "--config-file"}
"""Options with which `accelerate launch` starts another launcher even for one process; a file may hold them."""
_EXAMPLE = Message(
    "launch.nested.advice", "write after -- what one rank runs, such as: {command}", command="python train.py"
)
_ONCE = Message(
    "launch.nested.once",
    "run it once on one server, without a rank table; it brings its processes to the servers by itself",
)


class Launcher(NamedTuple):
    """The names of its programs, scripts and modules, and the subcommands that start a job, if it has any.

    `advice` is what to write instead, if that is not the command in its arguments. `is_driver`: it is to run once per
    job, so a job of one rank may run it.
    """

    names: tuple[str, ...]
    subcommands: tuple[tuple[str, ...], ...] = ()
    advice: Message | None = None
    is_driver: bool = False


_ACCELERATE = Message(
    "launch.nested.accelerate",
    "write after --: accelerate launch --num_processes 1 SCRIPT, without --multi_gpu, --use_fsdp,"
    " --use_deepspeed and --config_file\n  FSDP and DeepSpeed are set in the program then, or by variables"
    " (ACCELERATE_USE_FSDP, FSDP_*, ACCELERATE_USE_DEEPSPEED)",
)
_LAUNCHERS = (
    Launcher(
        (
            *("torchrun", "torch_npu_run", "torch.distributed.run", "torch_npu.distributed.run"),
            *("torch.distributed.launch", "msrun", "mindspore.parallel.cluster.run"),
            *("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prun", "srun"),
            *("deepspeed", "deepspeed.pt", "deepspeed.launcher.runner", "deepspeed.launcher.launch"),
            *("horovodrun", "horovod.runner.launch"),
        )
    ),
    Launcher(("colossalai", "fabric"), (("run",),)),
    Launcher(("accelerate",), (("launch",),), _ACCELERATE),
    Launcher(("accelerate-launch", "accelerate.commands.launch"), (), _ACCELERATE),
    Launcher(
        ("llamafactory-cli", "lmf"),
        (("train",),),
        Message(
            "launch.nested.llamafactory", "write after --: python -m llamafactory.launcher, and what follows train"
        ),
    ),
    Launcher(("ray",), (("start",), ("job", "submit")), _ONCE, is_driver=True),
    Launcher(("verl.trainer.main_ppo",), (), _ONCE, is_driver=True),
)
STARTING = tuple(
    " ".join((name, *words))
    for launcher in _LAUNCHERS
    if not launcher.is_driver
    for name in launcher.names
    for words in launcher.subcommands or ((),)
)
"""The first words of the commands that start a job of several ranks."""


def refuse_launcher(command: Sequence[str], ranks: int) -> None:
    """Raises KitError, with the command to write instead, if each of the ranks would start a job of its own."""
    whole = program_of(command)
    for program in _programs(whole):
        for launcher in _LAUNCHERS:
            words = _subcommand(program, launcher)
            if words is not None and (ranks > 1 or not launcher.is_driver):
                who = Message("launch.nested.rank", "the rank")
                if ranks > 1:
                    who = Message("launch.nested.ranks", "each of the {ranks} ranks", ranks=ranks)
                raise KitError(
                    "launch.nested.starts-processes-job",
                    "{name} starts processes of a job by itself; {who} would run a whole job of its own",
                    hint=launcher.advice or (_instead(program) if program is whole else _EXAMPLE),
                    name=printable(" ".join([program.name, *words])),
                    who=who,
                )


def warning_of_script(command: Sequence[str]) -> Message | None:
    """A warning if the command is a shell script with a line that would start a job in each rank, if it is reached.

    The script may have other branches, so it is not refused.
    """
    script = _script(program_of(command))
    if not script or is_of_shell(script):  # what is read here, the script itself would miss
        return None
    try:
        text = read_bounded(Path(script), MAX_BYTES).decode(errors="replace")
    except (KitError, ValueError):  # it is elsewhere; or a NUL character
        return None
    for program in _programs_in(re.sub(r"(?m)(?:^|\s)#.*", "", text.replace("\\\n", " "))):
        for launcher in _LAUNCHERS:
            words = _subcommand(program, launcher)
            if words is not None and not launcher.is_driver:
                return Message(
                    "launch.nested.script",
                    "warning: {script} runs {name}, which starts the processes of a job by itself; if it does so here,"
                    " each rank is a whole job of its own\n  {advice}",
                    script=printable(script),
                    name=printable(" ".join([program.name, *words])),
                    advice=launcher.advice or _EXAMPLE,
                )
    return None


def _script(program: Program | None) -> str:
    """The file of a shell script; empty for another program."""
    if program and _SHELL.fullmatch(program.name):
        return next((word for word in program.arguments if not word.startswith("-")), "")
    return program.path if program and program.path.endswith(".sh") else ""


def _programs(program: Program | None) -> Iterator[Program]:
    """The program, and those of the text in `bash -c TEXT`."""
    if not program:
        return
    yield program
    if _SHELL.fullmatch(program.name):
        for option, text in zip(program.arguments, program.arguments[1:], strict=False):
            if re.fullmatch("-[a-z]*c", option):
                yield from _programs_in(text)


def _programs_in(text: str) -> Iterator[Program]:
    """The programs that a text of the shell names at the begin of its commands."""
    parts = (_KEYWORDS.sub("", part) for part in re.split(r"[();<>|&\n]+", text))
    return filter(None, (program_of(part.split()) for part in parts))


def _subcommand(program: Program, launcher: Launcher) -> tuple[str, ...] | None:
    """The subcommand of the launcher that a program runs, empty if it has none; None if it is not this launcher."""
    module = "." + program.path.removesuffix(".py").replace("/", ".")  # also a path such as torch/distributed/run.py
    if not any(program.name == name or ("." in name and module.endswith(f".{name}")) for name in launcher.names):
        return None
    if launcher.advice is _ACCELERATE and _is_one_process(program.arguments):
        return None
    words = (words for words in launcher.subcommands if program.arguments[: len(words)] == words)
    return next(words, None) if launcher.subcommands else ()


def _is_one_process(arguments: Sequence[str]) -> bool:
    """Whether `accelerate launch` starts one process, which keeps the variables of its rank."""
    given = f" {' '.join(arguments)} ".replace("_", "-").replace("=", " ")
    return " --num-processes 1 " in given and not _OF_SEVERAL & set(given.split())


def _instead(program: Program) -> Message:
    """What to write: what seems to be the command of a rank, from Python, a script or -m on, or an example."""
    words = program.arguments
    for at, word in enumerate(words if ":" not in words else ()):  # several programs of mpirun
        is_python = PYTHON.fullmatch(base_name(word))
        if is_python or word.endswith(".py") or word == "-m":
            before = () if is_python else program.interpreter or ("python",)
            command = printable(shlex.join([*program.wrappers, *before, *words[at:]]))
            return Message("launch.nested.instead", "write after --: {command}", command=command)
    return _EXAMPLE
