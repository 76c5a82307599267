"""Pieces of shell text, and the one gate through which text of others enters a script."""

from __future__ import annotations

import ast
import shlex
import textwrap
from collections.abc import Sequence
from importlib.resources import files

from hccl_kit.runtime.worker_env import NAMES


def word(text: str) -> str:
    """`text` as one word of a shell, whatever is in it."""
    return shlex.quote(text)


def words(texts: Sequence[str]) -> str:
    """A command or the elements of an array."""
    return " ".join(map(word, texts))


def export(field: str, value: str) -> str:
    """Export a field of WorkerEnv under each of its names; `value` is shell text."""
    return " ".join(["export", *(f"{name}={value}" for name in NAMES[field])])


def array(name: str, values: Sequence[str]) -> list[str]:
    """An array with one element on each line."""
    return [f"{name}=(", *(f"    {word(value)}" for value in values), ")"]


def program(name: str) -> list[str]:
    """A program of ours as a variable of the script."""
    return ["", "# shellcheck disable=SC2016  # a program in Python", f"{name}_program={word(program_text(name))}"]


def program_text(name: str) -> str:
    """The source of a program of this package that needs nothing of ours: the modules that it imports come first."""
    parts = dict.fromkeys([*_imported(name), name])
    return "\n\n\n".join(["from __future__ import annotations", *map(_without_imports, parts)]) + "\n"


def _imported(name: str) -> list[str]:
    """The modules of this package that a module imports, those that they import first."""
    modules = [node.module or "" for node in _imports(source(name))]
    own = [module.rpartition(".")[2] for module in modules if module != "__future__"]
    return [part for module in own for part in (*_imported(module), module)]


def _without_imports(name: str) -> str:
    """The source of a module without what `program_text` makes superfluous. No two parts define the same name."""
    lines = source(name).rstrip().split("\n")
    for node in reversed(_imports(source(name))):
        del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines)


def _imports(source: str) -> list[ast.ImportFrom]:
    """Imports from `__future__` and from `hccl_kit.launch.payload` that a module makes."""
    found = [node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom)]
    return [
        node for node in found if node.module and node.module.startswith(("__future__", "hccl_kit.launch.payload."))
    ]


def source(name: str) -> str:
    """The text of a module of `payload`."""
    return files("hccl_kit.launch.payload").joinpath(f"{name}.py").read_text(encoding="utf-8")


def fragment(name: str) -> list[str]:
    """The shell text `scripts/NAME.sh`, set off from what stands before it."""
    text = files("hccl_kit.launch").joinpath(f"scripts/{name}.sh").read_text(encoding="utf-8")
    return ["", *text.rstrip("\n").split("\n")]


def wrapped(command: str) -> str:
    """A long command over several lines; only for words without spaces in them."""
    return " \\\n    ".join(textwrap.wrap(command, 100, break_on_hyphens=False))
