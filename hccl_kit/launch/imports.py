"""Which framework a program imports: those of torch number the cards of their job from 0, those of MindSpore do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.base.frameworks import MINDSPORE, PYTORCH
from hccl_kit.launch.program import program_of

MAX_BYTES = 1 << 20
_PACKAGES = {
    PYTORCH: ("torch", "torch_npu", "accelerate", "deepspeed", "lightning", "megatron", "pytorch_lightning"),
    MINDSPORE: ("mindspore", "mindformers", "mindnlp", "mindocr", "mindone"),
}


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
