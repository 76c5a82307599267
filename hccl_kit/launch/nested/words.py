"""What a command runs in the end, behind env, numactl, python -m and the like. Nothing is started.

Sources: the options of GNU coreutils 9.5, util-linux 2.40, numactl 2.0.18, CPython 3.13, uv 0.9, conda 25, coverage 7
and Nsight Systems 2025; those of msprof (CANN 8.5) have the form --NAME=VALUE.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_PYTHON = re.compile(r"(python|pypy)[0-9.]*")
_SHELL = re.compile(r"(ba|da|k|z)?sh")
_PYTHON_OPTION = re.compile(r"-[bBdEhiIOPqRsSuvVx]*([mcXW]?)(.*)", re.DOTALL)
"""One-letter options in one word; the last may be one of four that have a value, in this word or the next."""


class _Wrapper(NamedTuple):
    """A program that runs another: its own subcommand, the options that have a value, how many words of its own
    follow, and whether a script or -m comes next, as behind python.
    """

    subcommand: str = ""
    values: tuple[str, ...] = ()
    own_words: int = 0
    runs_python: bool = False


_CONDA = _Wrapper("run", ("-n", "--name", "-p", "--prefix", "--cwd"))
_WRAPPERS: Mapping[str, _Wrapper] = {
    "env": _Wrapper(values=("-u", "--unset", "-C", "--chdir", "-a", "--argv0")),
    "exec": _Wrapper(values=("-a",)),
    "command": _Wrapper(),
    "nohup": _Wrapper(),
    "setsid": _Wrapper(),
    "time": _Wrapper(values=("-f", "--format", "-o", "--output")),
    "nice": _Wrapper(values=("-n", "--adjustment")),
    "ionice": _Wrapper(values=("-c", "--class", "-n", "--classdata")),
    "timeout": _Wrapper(values=("-s", "--signal", "-k", "--kill-after"), own_words=1),
    "stdbuf": _Wrapper(values=("-i", "--input", "-o", "--output", "-e", "--error")),
    "numactl": _Wrapper(
        values=(
            *("-C", "--physcpubind", "-N", "--cpunodebind", "-m", "--membind", "-i", "--interleave"),
            *("-p", "--preferred", "-P", "--preferred-many", "-w", "--weighted-interleave"),
        )
    ),
    "taskset": _Wrapper(own_words=1),
    "sudo": _Wrapper(values=("-u", "--user", "-g", "--group")),
    "uv": _Wrapper(
        "run",
        (
            *("--with", "--with-editable", "--with-requirements", "--extra", "--group", "--env-file", "--project"),
            *("-p", "--python", "--directory", "--package", "--index", "--index-url", "-i", "--config-file"),
        ),
    ),
    **dict.fromkeys(("conda", "mamba", "micromamba"), _CONDA),
    "coverage": _Wrapper(
        "run",
        ("--rcfile", "--source", "--include", "--omit", "--data-file", "--context", "--concurrency"),
        runs_python=True,
    ),
    "nsys": _Wrapper(
        "profile",
        ("-o", "--output", "-t", "--trace", "-s", "--sample", "-y", "--delay", "-d", "--duration", "-f", "-w", "-c"),
    ),
    "msprof": _Wrapper(),
}


class Program(NamedTuple):
    """The program at the end of a command.

    `name` is its base name, that of a script, or the module of `python -m`; `path` is the word itself. `wrappers` are
    the words before it, without the `interpreter` and its options (None: it runs without one; empty: a wrapper runs
    it). `variables` is what `env` sets.
    """

    name: str
    path: str
    wrappers: tuple[str, ...]
    interpreter: tuple[str, ...] | None
    variables: Mapping[str, str]
    arguments: tuple[str, ...]


def program_of(command: Sequence[str]) -> Program | None:
    """The program that a command runs; None for an empty one, for `python -c`, and for python without a program."""
    words, at = list(command), 0
    variables: dict[str, str] = {}
    while at < len(words):
        name = base_name(words[at])
        assigned = _ASSIGNMENT.fullmatch(words[at])
        wrapper = _WRAPPERS.get(name)
        if assigned:
            variables[assigned[1]] = assigned[2]
            at += 1
        elif _PYTHON.fullmatch(name):
            program = _behind_python(words, at, at + 1, variables)
            if not (program and program.name == "coverage" and program.arguments[:1] == ("run",)):
                return program
            words = [*program.wrappers, "coverage", *program.arguments]  # python -m coverage run
            at = len(program.wrappers)
        elif wrapper and (not wrapper.subcommand or words[at + 1 : at + 2] == [wrapper.subcommand]):
            stop = () if "-m" in wrapper.values else ("-m",)
            end = _end_of_options(words, at + (2 if wrapper.subcommand else 1), wrapper.values, stop)
            if wrapper.runs_python or words[end : end + 1] == ["-m"]:
                return _behind_python(words, end, end, variables)
            at = end + wrapper.own_words
        else:
            return Program(name, words[at], tuple(words[:at]), None, variables, tuple(words[at + 1 :]))
    return None


def commands_of_shell(program: Program) -> list[list[str]]:
    """The commands in the text of `bash -c TEXT`; none for another program, and if the text is not closed."""
    texts = program.arguments
    if not _SHELL.fullmatch(program.name):
        return []
    for i, word in enumerate(texts[:-1]):
        if re.fullmatch(r"-[a-z]*c", word):
            lexer = shlex.shlex(texts[i + 1].replace("\n", ";"), posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            return _split(lexer)
        if not word.startswith("-"):
            break
    return []


def _split(lexer: shlex.shlex) -> list[list[str]]:
    """The words of each command of a shell."""
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if set(word) <= set("();<>|&"):
                commands.append([])
            else:
                commands[-1].append(word)
    except ValueError:  # a quote is not closed
        return []
    return commands


def base_name(word: str) -> str:
    """The name of a program without its folder."""
    return word.rpartition("/")[2]


class Given(NamedTuple):
    """An option: its name as `options_of` spells it, its value (empty without one), and its words."""

    name: str
    value: str
    words: tuple[str, ...]


def options_of(
    words: Sequence[str], values: Sequence[str], flags: Sequence[str]
) -> tuple[list[Given], tuple[str, ...]] | None:
    """The options in front, and the words after them; None if one is neither in `values` nor in `flags`.

    In names with two dashes, "_" and "-" are the same, written "-". Those with one may have the value in their word.
    """
    options: list[Given] = []
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            at += 1
            break
        name, equals, value = words[at].partition("=")
        if name.startswith("--"):
            name = f"--{name[2:].replace('_', '-')}"
        elif name not in values and name[:2] in values:  # -n4
            name, equals, value = words[at][:2], "=", words[at][2:]
        if name not in values and (equals or name not in flags):
            return None
        end = at + (2 if name in values and not equals else 1)
        options.append(Given(name, value if equals else " ".join(words[at + 1 : end]), tuple(words[at:end])))
        at = end
    return options, tuple(words[at:])


def _end_of_options(words: Sequence[str], at: int, values: Sequence[str], stop: Sequence[str]) -> int:
    """The index behind the options of a wrapper that begin at `at`; those in `values` have one in the next word."""
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", *stop):
        if words[at] == "--":
            return at + 1
        at += 2 if words[at] in values else 1
    return min(at, len(words))


def _behind_python(words: Sequence[str], start: int, at: int, variables: Mapping[str, str]) -> Program | None:
    """The module or script of an interpreter at `start` whose options begin at `at`."""
    wrappers = tuple(words[:start])
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        option = _PYTHON_OPTION.fullmatch(words[at])
        letter, value = option.groups() if option else ("", "")
        if letter == "c":
            return None
        if letter == "m":
            flags = words[at].partition("m")[0]
            interpreter = (*words[start:at], *([flags] if flags != "-" else []))
            module, *arguments = [value, *words[at + 1 :]] if value else words[at + 1 :] or [""]
            return Program(module, module, wrappers, interpreter, variables, tuple(arguments))
        at += 2 if letter and not value else 1
    if at >= len(words):
        return None
    path = words[at]
    return Program(base_name(path), path, wrappers, tuple(words[start:at]), variables, tuple(words[at + 1 :]))
