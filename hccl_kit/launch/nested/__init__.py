"""Commands that are launchers themselves: in each rank, they would run the whole job once more.

Such a launcher ignores the variables of its rank: torchrun in N ranks is N complete jobs of one rank each or more, and
all end with exit code 0 (measured with torch 2.13).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.launch.nested.rows import ROWS, Nested
from hccl_kit.launch.nested.words import Program, commands_of_shell, options_of, program_of
from hccl_kit.runtime.worker_env import STARTS_TORCHRUN


def refuse_launcher(command: Sequence[str], ranks: int) -> None:
    """Raises KitError, with the command to write instead, if each of the ranks would start a job of its own."""
    whole = program_of(command)
    for program in _programs(whole):
        for row in ROWS:
            if _is_of(program, row) and (ranks > 1 or not row.is_driver):
                who = Message("launch.nested.rank", "the rank")
                if ranks > 1:
                    who = Message("launch.nested.ranks", "each of the {ranks} ranks", ranks=ranks)
                name = printable(" ".join([program.name, *_subcommand(program, row)]))
                raise KitError(
                    "launch.nested.starts-processes-job",
                    "{name} starts processes of a job by itself; {who} would run a whole job of its own",
                    hint=_instead(program, row) if program is whole else row.advice,
                    name=name,
                    who=who,
                )


def _programs(program: Program | None) -> Iterator[Program]:
    """The program, and those of the text in `bash -c TEXT`."""
    if program:
        yield program
        yield from filter(None, map(program_of, commands_of_shell(program)))


def _is_of(program: Program, row: Nested) -> bool:
    module = "." + program.path.removesuffix(".py").replace("/", ".")  # also a path such as torch/distributed/run.py
    is_named = any(program.name == name or ("." in name and module.endswith(f".{name}")) for name in row.names)
    return is_named and (not row.subcommands or bool(_subcommand(program, row))) and row.starts(program)


def _subcommand(program: Program, row: Nested) -> tuple[str, ...]:
    """The first words of the arguments, if they are a subcommand of the row."""
    return next((words for words in row.subcommands if program.arguments[: len(words)] == words), ())


def _instead(program: Program, row: Nested) -> Message:
    """What to write: the command of a rank if it can be read, otherwise the advice of the row."""
    arguments = program.arguments[len(_subcommand(program, row)) :]
    read = options_of(arguments, row.values.split(), row.flags.split())
    command = row.rewrite(program, *read) if read and read[1] else None
    if command is None:
        return row.advice
    wrappers = [word for word in program.wrappers if word.partition("=")[0] not in STARTS_TORCHRUN]
    if wrappers == ["env"]:
        wrappers = []
    return Message(
        "launch.nested.instead",
        "write after --: {command}{note}",
        command=printable(shlex.join([*wrappers, *command])),
        note=row.note,
    )
