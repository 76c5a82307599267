"""Parts of shell scripts, and the only functions that put text from outside into one."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from importlib.resources import files

from hccl_kit.base.kit_program import START
from hccl_kit.base.network import derived_port
from hccl_kit.launch.recorders import rows
from hccl_kit.runtime.worker_env import DIAGNOSE, NAMES, PLOGS, THREADS, VISIBLE_DEVICES


def word(text: str) -> str:
    """`text` quoted as one word of a shell."""
    return shlex.quote(text)


def words(texts: Sequence[str]) -> str:
    """`texts` quoted: a command, or the elements of an array."""
    return " ".join(map(word, texts))


def export(field: str, value: str) -> str:
    """Export a field of WorkerEnv under each of its names; `value` is shell text."""
    return " ".join(["export", *(f"{name}={value}" for name in NAMES[field])])


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


def wrapped(command: str, width: int = 100) -> str:
    """A long command over several lines; its words must not contain spaces."""
    return " \\\n    ".join(textwrap.wrap(command, width, break_on_hyphens=False))
