"""What a command runs in the end, behind env, numactl, python -m and the like, and the framework that it imports: ranks
of torch number the cards of their job from 0, those of MindSpore do not. Nothing is started.

Sources: the options of GNU coreutils 9.5, util-linux 2.40, numactl 2.0.18, CPython 3.13, uv 0.9 and conda 25; those of
msprof (CANN 8.5) have the form --NAME=VALUE.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.base.frameworks import MINDSPORE, PYTORCH

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
PYTHON = re.compile(r"(python|pypy)[0-9.]*")
_PYTHON_OPTION = re.compile(r"-[bBdEhiIOPqRsSuvVx]*([mcXW]?)(.*)", re.DOTALL)
"""One-letter options in one word; the last may be one of four that have a value, in this word or the next."""
_WRAPPERS: Mapping[str, str] = {
    **dict.fromkeys(("command", "nohup", "setsid", "taskset", "msprof"), ""),
    **dict.fromkeys(("conda", "mamba", "micromamba"), "-n --name -p --prefix --cwd"),
    "env": "-u --unset -C --chdir -a --argv0",
    "exec": "-a",
    "time": "-f --format -o --output",
    "nice": "-n --adjustment",
    "ionice": "-c --class -n --classdata",
    "timeout": "-s --signal -k --kill-after",
    "stdbuf": "-i --input -o --output -e --error",
    "numactl": "-C --physcpubind -N --cpunodebind -m --membind -i --interleave -p --preferred -P --preferred-many"
    " -w --weighted-interleave",
    "sudo": "-u --user -g --group",
    "uv": "--with --with-editable --with-requirements --extra --group --env-file --project --directory --package"
    " --index --index-url -i --config-file -p --python",
}
"""Programs that run another, and their options that have a value in the next word."""
_WITH_RUN = ("conda", "mamba", "micromamba", "uv")
"""Those that do so by their subcommand `run`."""
_WITH_WORD = ("timeout", "taskset")
"""Those that have a word of their own after the options."""
MAX_BYTES = 1 << 20
_PACKAGES = {
    PYTORCH: ("torch", "torch_npu", "accelerate", "deepspeed", "lightning", "megatron", "pytorch_lightning"),
    MINDSPORE: ("mindspore", "mindformers", "mindnlp", "mindocr", "mindone"),
}


class Program(NamedTuple):
    """The program at the end of a command.

    `name` is its base name, that of a script, or the module of `python -m`; `path` is the word itself. `wrappers` are
    the words before it, without the `interpreter` and its options (empty: it runs without one).
    """

    name: str
    path: str
    wrappers: tuple[str, ...]
    interpreter: tuple[str, ...]
    arguments: tuple[str, ...]


def program_of(command: Sequence[str]) -> Program | None:
    """The program that a command runs; None for an empty one, for `python -c`, and for python without a program."""
    words, at = tuple(command), 0
    while at < len(words):
        name = base_name(words[at])
        if _ASSIGNMENT.fullmatch(words[at]):
            at += 1
        elif PYTHON.fullmatch(name):
            return _behind_python(words, at)
        elif name in _WRAPPERS and (name not in _WITH_RUN or words[at + 1 : at + 2] == ("run",)):
            begin = at + 1 + (name in _WITH_RUN)
            at = _end_of_options(words, begin, _WRAPPERS[name].split()) + (name in _WITH_WORD)
        else:
            return Program(name, words[at], words[:at], (), words[at + 1 :])
    return None


def base_name(word: str) -> str:
    """The name of a program without its folder."""
    return word.rpartition("/")[2]


def _end_of_options(words: Sequence[str], at: int, values: Sequence[str]) -> int:
    """The index behind the options of a wrapper that begin at `at`; those in `values` have one in the next word."""
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return at + 1
        at += 2 if words[at] in values else 1
    return at


def _behind_python(words: tuple[str, ...], start: int) -> Program | None:
    """The module or script of the interpreter at `start`."""
    at = start + 1
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        option = _PYTHON_OPTION.fullmatch(words[at])
        letter, value = option.groups() if option else ("", "")
        if letter == "c":
            return None
        if letter == "m":
            flags = words[at].partition("m")[0]
            interpreter = (*words[start:at], *([flags] if flags != "-" else []))
            module, *arguments = [value, *words[at + 1 :]] if value else words[at + 1 :] or [""]
            return Program(module, module, words[:start], interpreter, tuple(arguments))
        at += 2 if letter and not value else 1
    if at >= len(words):
        return None
    return Program(base_name(words[at]), words[at], words[:start], words[start:at], words[at + 1 :])


class Import(NamedTuple):
    """A framework, the file of the program, and the package in it that belongs to the framework."""

    framework: str
    file: str
    package: str


def imported_framework(command: Sequence[str]) -> Import | None:
    """The framework that the Python program of a command imports, if its file is here and it imports one of them.

    Only the file itself is read, and nothing is run. None if it imports both, or none.
    """
    program = program_of(command)
    if program is None or (not program.interpreter and not program.path.endswith(".py")):
        return None
    path = Path(program.path if program.path.endswith(".py") else f"{program.path.replace('.', '/')}.py")
    try:
        imported = set(_packages(ast.parse(read_bounded(path, MAX_BYTES))))
    except (KitError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    of_framework = {name: imported.intersection(packages) for name, packages in _PACKAGES.items()}
    matches = [(name, packages) for name, packages in of_framework.items() if packages]
    if len(matches) != 1:
        return None
    ((framework, packages),) = matches
    return Import(framework, program.path, min(packages, key=_PACKAGES[framework].index))


def _packages(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        yield from (name.partition(".")[0] for name in names)
