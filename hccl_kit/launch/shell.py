"""Parts of shell scripts, and the only functions that put text from outside into one."""

from __future__ import annotations

import ast
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from hccl_kit.base.kit_program import START
from hccl_kit.base.network import derived_port
from hccl_kit.launch.passed_on import PATTERNS
from hccl_kit.launch.recorders import rows
from hccl_kit.runtime.worker_env import DIAGNOSE, NAMES, PLOGS, THREADS, VISIBLE_DEVICES

KIT_PROGRAM = "kit_program"
BUNDLED = ("hccl_kit.launch.payload.", f"hccl_kit.base.{KIT_PROGRAM}", "hccl_kit.agent.run_folder")
"""The modules whose source becomes part of a program in a script."""


def word(text: str) -> str:
    """`text` quoted as one word of a shell."""
    return shlex.quote(text)


def words(texts: Sequence[str]) -> str:
    """`texts` quoted: a command, or the elements of an array."""
    return " ".join(map(word, texts))


def export(field: str, value: str, *, but: Sequence[str] = ()) -> str:
    """Export a field of WorkerEnv under each of its names except those in `but`; `value` is shell text."""
    return " ".join(["export", *(f"{name}={value}" for name in NAMES[field] if name not in but)])


def set_unless_set(variables: Sequence[tuple[str, str]]) -> list[str]:
    """Export variables, whose values are numbers and ranges, unless they are set already, even to an empty text."""
    lines = [f'export {name}="${{{name}-{value}}}"' for name, value in variables]
    return (
        ["", "# Ports that no other job of the host has, and timeouts; what is set already is kept.", *lines]
        if lines
        else []
    )


def array(name: str, values: Sequence[str]) -> list[str]:
    """An array with one element per line."""
    return [f"{name}=(", *(f"    {word(value)}" for value in values), ")"]


def program(name: str) -> list[str]:
    """A program of `payload` as a variable of the script."""
    return ["", "# shellcheck disable=SC2016  # a program in Python", f"{name}_program={word(program_text(name))}"]


@cache
def program_text(name: str) -> str:
    """The source of a program of `payload` as one file: the modules that it imports come first."""
    parts = dict.fromkeys([*_imported(name), name])
    return "\n\n\n".join(["from __future__ import annotations", *map(_without_imports, parts)]) + "\n"


@cache
def _imported(name: str) -> tuple[str, ...]:
    """The modules of BUNDLED that a module imports, directly or not, in the order of dependence."""
    modules = [node.module or "" for node in _imports(source_of(name))]
    names = [module.rpartition(".")[2] for module in modules if module != "__future__"]
    return tuple(part for module in names for part in (*_imported(module), module))


def _without_imports(name: str) -> str:
    """The source of a module without the imports that `program_text` resolves. No two modules define the same name."""
    lines = source_of(name).rstrip().split("\n")
    for node in reversed(_imports(source_of(name))):
        del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines)


def _imports(source: str) -> list[ast.ImportFrom]:
    """The imports from `__future__` and from BUNDLED."""
    imports = [node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom)]
    return [node for node in imports if node.module and node.module.startswith(("__future__", *BUNDLED))]


def source_of(name: str) -> str:
    """The source of a module of `payload`, or of KIT_PROGRAM."""
    room = {KIT_PROGRAM: "hccl_kit.base", "run_folder": "hccl_kit.agent"}.get(name, "hccl_kit.launch.payload")
    return files(room).joinpath(f"{name}.py").read_text(encoding="utf-8")


def fragment(*names: str) -> Iterator[str]:
    """For each name, an empty line and `scripts/NAME.sh` without its first paragraph, a comment for its readers."""
    for name in names:
        text = files("hccl_kit.launch").joinpath(f"scripts/{name}.sh").read_text(encoding="utf-8")
        yield from ("", *text.partition("\n\n")[2].rstrip("\n").split("\n"))


def port_range() -> str:
    """The ports for rank 0 as variables of the script."""
    first, last = derived_port(0), derived_port(-1)
    return f"first_port={first} ports={last - first + 1} # below 32768, where Linux starts to assign ports to clients"


def from_user() -> list[str]:
    """What users may set for any script, as variables of the script: see the fragments `plogs` and `diagnose`."""
    return [f"given_plogs=${{{PLOGS}:-}}", f"diagnose_s=${{{DIAGNOSE}:-60}}"]


def diagnosis() -> list[str]:
    """The functions that show what hccl-kit says about a failed job."""
    return [
        "",
        "# shellcheck disable=SC2016  # a program in Python",
        f"kit_program={word(START)}",
        *fragment("common/kit", "common/diagnose"),
    ]


def cards_and_threads(*, limits_cards: bool) -> list[str]:
    """`check_visible` if the ranks see only the cards of the job, else `show_all_cards`; and `share_cores`."""
    cards = "common/visible" if limits_cards else "common/all_cards"
    names = f"visible_name={VISIBLE_DEVICES} threads_name={THREADS}"
    return ["", names, *fragment(cards, "common/threads")]


def recorders() -> list[str]:
    """The flight recorders of torch, of which `switch_recorders_on` switches on those that the user left alone."""
    return ["", *array("recorder_rows", rows()), *fragment("common/recorders")]


def variables() -> list[str]:
    """The patterns of `passed_on`, and the function that selects variables for other servers by them."""
    lines = [""]
    for name, patterns in PATTERNS.items():
        text = textwrap.fill(" ".join(patterns), 110, break_on_hyphens=False).replace(" ", "|").replace("\n", "|\\\n")
        lines += [f'{name}="@(\\', f'{text})"']
    return [*lines, *fragment("common/variables")]


def wrapped(command: str) -> str:
    """A long command over several lines; its words must not contain spaces."""
    return " \\\n    ".join(textwrap.wrap(command, 100, break_on_hyphens=False))
